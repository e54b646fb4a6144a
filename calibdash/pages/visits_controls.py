"""The left side of the page of visits: who goes, within which limits, and what counts."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui

from calibdash.data.network import Network
from calibdash.pages.dropper import STYLE, WholeDropper
from calibdash.pages.layout import later, titled, words
from calibdash.pages.tables import table
from calibdash.pages.visits_print import day_words
from calibdash.planning import Promise
from calibdash.state.planning import Planning
from calibdash.state.rider_table import HEADINGS, rider_frame

FILL: dict[str, Any] = {"sizing_mode": "stretch_width"}
REMOVE, VISIT, COUNTS = "✕", "Visit", "Counts"
CLICKED = f"""
.tabulator-cell[tabulator-field="{REMOVE}"], .tabulator-cell[tabulator-field="{VISIT}"],
.tabulator-cell[tabulator-field="{COUNTS}"] {{ cursor: pointer; }}
"""


def visit_controls(planning: Planning) -> pn.Column:
    """Riders, limits, sensors and promises.

    What the first plan changes is made with the page: a component that changes while a browser makes it may miss that.
    """
    return pn.Column(
        titled("Riders", _riders(planning)),
        titled("Limits", _limits(planning)),
        titled("Sensors", later(lambda: _sensors(planning))),
        titled("Promised and left out", _promises(planning)),
        **FILL,
    )


def _caption(text: str) -> pn.pane.HTML:
    return words(text, variant="caption", margin=(0, 10, 4, 10))


def _riders(planning: Planning) -> pn.Column:
    """A table to write into; a file to drop instead."""
    mobiles = _names(planning.session.network, "mobile")
    # labels of the list are markup to the table, the values are not
    choice = {"type": "list", "values": [{"label": escape(name), "value": name} for name in mobiles]}

    def frame() -> pd.DataFrame:
        return rider_frame(planning.riders).assign(**{REMOVE: "✕"})

    view = pn.widgets.Tabulator(
        frame(),
        show_index=False,
        layout="fit_data",
        sizing_mode="stretch_width",
        frozen_columns=["Rider"],
        widths={"Rider": 84, "Carries": 84, "From": 60, "Until": 60, "Days": 110, REMOVE: 34},
        editors={
            "Carries": choice,
            REMOVE: None,
            **{name: {"type": "input"} for name in HEADINGS if name != "Carries"},
        },
        sortable=False,
        max_height=330,
        selectable=False,
        stylesheets=[CLICKED],
    )
    view.on_edit(lambda event: planning.change_rider(event.row, event.column, event.value))
    view.on_click(lambda event: planning.remove_rider(event.row) if event.column == REMOVE else None)
    planning.param.watch(lambda *_: view.param.update(value=frame()), ["riders", "refused"])
    more = pmui.Button(label="Add a rider", icon="person_add", variant="text", size="small")
    more.on_click(lambda _: planning.add_rider())
    drop = WholeDropper(max_file_size="5MB", most_bytes=5_000_000, stylesheets=[STYLE], height=90, **FILL)

    def dropped(event: Any) -> None:
        for name, content in dict(event.new or {}).items():
            planning.take_riders(name, content)
            drop.value = {}

    drop.param.watch(dropped, "value")
    may = planning.session.person.may_change
    return pn.Column(
        view,
        more,
        _caption("Click a cell to change it; scroll sideways for minutes a visit, speed, costs and days."),
        *([_caption("Or drop a riders.csv, which may also say where riders start:"), drop] if may else []),
        **FILL,
    )


def _limits(planning: Planning) -> pn.Column:
    budget = pmui.TextInput(label="Budget for all visits (none: no limit)", value="", **FILL)
    budget.param.watch(lambda event: planning.set_budget(event.new), "value")
    return pn.Column(
        _first_day(planning),
        _slider(planning, "days", "Days", 30),
        budget,
        _caption("A stop costs 1 unless the table of riders says otherwise: the budget then is a number of visits."),
        _slider(planning, "horizon_days", "Sensors stay good for (days)", 120),
        _slider(planning, "target_percent", "Good enough: within ± %", 50),
        **FILL,
    )


def _first_day(planning: Planning) -> pn.viewable.Viewable:
    """A date, or the number of a day where the record has no dates; what the plan took is shown."""
    dated = planning.session.network.clock.origin is not None
    widget: Any = (
        pmui.DatePicker(label="First day", **FILL) if dated else pmui.IntInput(label="First day", start=0, **FILL)
    )

    def taken() -> Any:
        if planning.plan is None:
            return planning.start
        label = planning.plan.ground.days[0].label
        return pd.Timestamp(label).date() if dated else int(label)

    def chosen(event: Any) -> None:
        if event.new is not None and event.new != taken():
            planning.start = event.new

    def follow(*_: object) -> None:
        widget.value = taken()

    widget.param.watch(chosen, "value")
    planning.param.watch(follow, "plan")
    follow()
    return widget


def _slider(planning: Planning, name: str, label: str, end: int) -> pn.viewable.Viewable:
    longest = int(planning.param[name].bounds[1])
    value = int(getattr(planning, name))
    widget = pmui.EditableIntSlider(label=label, start=1, end=end, fixed_end=longest, value=value, **FILL)
    widget.param.watch(lambda event: setattr(planning, name, event.new), "value_throttled")
    return widget


def _sensors(planning: Planning) -> pn.Column:
    """Whether each may be visited and how much it counts; a click changes either."""
    network = planning.session.network
    fixed = network.sensors[network.sensors["kind"] == "static"].sort_values("sensor", kind="stable")
    references = set(network.references)

    def frame() -> pd.DataFrame:
        names = fixed["sensor"].astype(str).tolist()
        return pd.DataFrame(
            {
                "Sensor": names,
                VISIT: [name not in planning.forbidden for name in names],
                COUNTS: ["reference" if name in references else planning.marks.get(name, "ordinary") for name in names],
            }
        )

    def clicked(event: Any) -> None:
        name = str(view.value["Sensor"].iloc[event.row])
        if event.column == VISIT:
            planning.allow(name, allowed=name in planning.forbidden)
        elif event.column == COUNTS and name not in references:
            planning.next_mark(name)

    view = table(
        frame(),
        page_size=8,
        pagination="local",
        formatters={VISIT: {"type": "tickCross"}},
        text_align={VISIT: "center"},
        widths={VISIT: 70, COUNTS: 96},
        header_filters={"Sensor": {"type": "input", "placeholder": "find…"}} if len(fixed) > 8 else {},
        selectable=False,
        stylesheets=[CLICKED],
    )
    view.on_click(clicked)
    planning.param.watch(lambda *_: view.param.update(value=frame()), ["marks", "forbidden"])
    return pn.Column(_caption("Click to say who may not be visited, and who is important or ignored."), view, **FILL)


def _promises(planning: Planning) -> pn.Column:
    """A form for visits already promised; below it all that was kept or left out."""
    day, rider, sensor = (pmui.Select(label=label, size="small", **FILL) for label in ("Day", "Rider", "Sensor"))
    _offer(sensor, {name: name for name in _names(planning.session.network, "static")})
    add = pmui.Button(label="Promise this visit", icon="add", variant="outlined", size="small")
    add.on_click(lambda _: planning.keep(Promise(day.value, rider.value, sensor.value)))
    view = table(_changes(planning), widths={"": 76, REMOVE: 34}, formatters={"Visit": {"type": "textarea"}},
                 page_size=8, pagination="local", selectable=False, stylesheets=[CLICKED])  # fmt: skip
    place = pn.Column(**FILL)  # a table that is hidden and not yet drawn cannot be changed

    def released(event: Any) -> None:
        if event.column == REMOVE:
            planning.release([*planning.fixed, *planning.dropped][event.row])

    view.on_click(released)

    def show_changes(*_: object) -> None:
        frame = _changes(planning)
        view.value = frame
        place.objects = [] if frame.empty else [view]

    def show_choice(*_: object) -> None:
        ground = planning.plan.ground if planning.plan is not None else None
        if ground is not None:
            _offer(day, {day_words(each.label): each.label for each in ground.days})
            _offer(rider, {each.name: each.name for each in ground.riders})
        add.disabled = ground is None

    planning.param.watch(show_changes, ["fixed", "dropped"])
    planning.param.watch(show_choice, "plan")
    show_changes()
    show_choice()
    return pn.Column(day, rider, sensor, add, place, **FILL)


def _offer(select: pmui.Select, options: dict[str, str]) -> None:
    if select.options != options:
        kept = select.value if select.value in options.values() else next(iter(options.values()), None)
        select.param.update(options=options, value=kept)


def _changes(planning: Planning) -> pd.DataFrame:
    rows = [("kept", visit) for visit in planning.fixed] + [("left out", visit) for visit in planning.dropped]
    return pd.DataFrame(
        [(what, f"{visit.sensor} by {visit.rider}, {day_words(visit.day)}", "✕") for what, visit in rows],
        columns=["", "Visit", REMOVE],
    )


def _names(network: Network, kind: str) -> list[str]:
    return sorted(network.sensors.loc[network.sensors["kind"] == kind, "sensor"].astype(str))
