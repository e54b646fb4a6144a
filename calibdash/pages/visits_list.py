"""The ordered list of stops, with what can be done about each, and the files to take along."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import panel as pn
import panel_material_ui as pmui

from calibdash.data.network import Network
from calibdash.pages.tables import table
from calibdash.pages.visits_print import day_words, rider_sheets
from calibdash.planning import Plan, PlanSettings, Promise, gpx_text, ics_text, write_plan
from calibdash.state.planning import Planning

KEEP, DROP = "Keep", "Drop"
PAGE = 25
COLUMNS = ["#", "Arrive", "Rider", "Stop", KEEP, DROP]
LINKS = """
.tabulator-cell[tabulator-field="Keep"], .tabulator-cell[tabulator-field="Drop"] {
  cursor: pointer; color: #1e88e5; text-decoration: underline; text-underline-offset: 3px;
}
"""


def chosen_visits(plan: Plan | None, day: str, rider: str) -> list[int]:
    """Rows of the plan's stops of a day and a rider; '' is all."""
    visits = plan.visits if plan is not None else ()
    return [row for row, visit in enumerate(visits) if day in ("", visit.day) and rider in ("", visit.rider)]


def stop_frame(
    plan: Plan | None, network: Network | None, rows: Sequence[int], fixed: Sequence[Promise]
) -> pd.DataFrame:
    """These stops as people read them; the day is said where there are several."""
    if plan is None or network is None:
        return pd.DataFrame(columns=COLUMNS)
    names = dict(zip(network.sensors["sensor"].astype(str), network.sensors["label"].astype(str), strict=True))
    stops, visits = plan.stops.iloc[list(rows)], [plan.visits[row] for row in rows]
    several = len(set(stops["day"])) > 1
    carried = zip(stops["rider"], stops["with_sensor"], strict=True)
    places = [f"{sensor}, {names[sensor]}" if names.get(sensor) else sensor for sensor in stops["sensor"]]
    return pd.DataFrame(
        {
            "#": stops["order"].tolist(),
            "Arrive": [
                f"{day_words(day, year=False)}\n{time}" if several else time
                for day, time in zip(stops["day"], stops["arrive"], strict=True)
            ],
            "Rider": [rider if rider == sensor else f"{rider}\nwith {sensor}" for rider, sensor in carried],
            "Stop": [f"{place}\n{why}" for place, why in zip(places, stops["reason"], strict=True)],
            KEEP: ["kept ✓" if visit in fixed else "keep" for visit in visits],
            DROP: ["drop"] * len(visits),
        },
        columns=COLUMNS,
    )


class StopList:
    """The table of stops; clicking a word in its last columns keeps a stop or drops it."""

    def __init__(self, planning: Planning) -> None:
        self._planning = planning
        self._visits: list[Promise] = []
        self._settings: PlanSettings | None = None
        self._table: pn.widgets.Tabulator | None = None
        self.view = pn.Column(sizing_mode="stretch_width")

    def show(self, day: str, rider: str) -> None:
        """List the stops of a day and a rider; '' is all."""
        planning = self._planning
        plan, network = planning.plan, planning.session.network
        rows = chosen_visits(plan, day, rider)
        self._visits = [plan.visits[row] for row in rows] if plan is not None else []
        frame = stop_frame(plan, network, rows, planning.fixed)
        settings = plan.ground.settings if plan is not None else None
        if self._table is None or settings != self._settings:
            # Plans may follow each other faster than a table is drawn, and one that is not drawn misses the change.
            self._table = self._made(frame, pages=plan is not None and len(plan.stops) > PAGE)
            self.view.objects = [self._table]
        elif not frame.equals(self._table.value):
            self._table.value = frame
        self._settings = settings

    def _made(self, frame: pd.DataFrame, *, pages: bool) -> pn.widgets.Tabulator:
        made = table(
            frame,
            page_size=PAGE,
            pagination="local" if pages else None,
            formatters={name: {"type": "textarea"} for name in ("Arrive", "Rider", "Stop")},
            widths={"#": 36, "Arrive": 84, "Rider": 84, KEEP: 64, DROP: 64},
            sortable=False,
            selectable=False,
            stylesheets=[LINKS],
        )
        made.on_click(lambda event: self.act(event.row, event.column))
        return made

    def act(self, row: int, column: str) -> None:
        """A cell was clicked."""
        if row < len(self._visits) and column in (KEEP, DROP):
            (self._planning.keep if column == KEEP else self._planning.drop)(self._visits[row])


def downloads(planning: Planning, chosen: Callable[[], tuple[str, str]]) -> list[pmui.FileDownload]:
    """Files of the plan on show; sheets are those of the chosen day and rider. No home of a rider is in any."""

    def sheets() -> io.BytesIO:
        return io.BytesIO(rider_sheets(planning.plan, planning.session.network, *chosen()).encode())

    files: list[tuple[str, str, str, Callable[[], io.BytesIO]]] = [
        ("Sheets to print", "print", "visits.html", sheets),
        ("Table", "table_view", "plan.csv", lambda: io.BytesIO(csv_bytes(planning.plan))),
        ("Routes (GPX)", "route", "visits.gpx", lambda: io.BytesIO(gpx_text(planning.plan).encode())),
        ("Calendar", "event", "visits.ics", lambda: io.BytesIO(ics_text(planning.plan).encode())),
    ]
    buttons = [
        pmui.FileDownload(callback=content, filename=name, label=label, icon=icon, size="small", margin=0)
        for label, icon, name, content in files
    ]

    for button in buttons:
        button.variant = "outlined"  # given at construction, it makes Panel warn of itself

    def follow(*_: object) -> None:
        plan = planning.plan
        empty = plan is None or plan.stops.empty
        for button, (label, *_rest) in zip(buttons, files, strict=True):
            dated = label != "Calendar" or (plan is not None and plan.ground.clock.origin is not None)
            button.disabled = empty or not dated

    planning.param.watch(follow, "plan")
    follow()
    return buttons


def csv_bytes(plan: Plan) -> bytes:
    """The plan's table, as ``calibdash plan`` writes it."""
    with tempfile.TemporaryDirectory(prefix="calibdash-") as scratch:
        path = Path(scratch) / "plan.csv"
        write_plan(plan, path)
        return path.read_bytes()
