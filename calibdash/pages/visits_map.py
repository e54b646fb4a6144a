"""The map of a plan: sensors and how much they count, and the tours of a day in the riders' colours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, HoverTool, TapTool
from bokeh.plotting import figure

from calibdash.data.network import Network
from calibdash.pages.plots import COLOURS, map_axes, mercator, role
from calibdash.planning import Plan, Tour
from calibdash.planning.reasons import percent
from calibdash.state.planning import IGNORED, IMPORTANT

RIDERS = ("#1e88e5", "#d81b60", "#43a047", "#8e24aa", "#f4511e", "#00acc1", "#6d4c41", "#c0ca33", "#5e35b1", "#546e7a")
FORBIDDEN, QUIET_TEXT, COUNTED = "#e53935", "#78909c", "#546e7a"
MOST_NAMES = 60  # more would cover each other
LONGEST_NAME = 16
LOOKS = {  # marker, size, how strong
    "reference": ("diamond", 17, 1.0),
    "": ("circle", 12, 0.9),
    IMPORTANT: ("star", 22, 1.0),
    IGNORED: ("circle_x", 12, 0.35),
}
COLUMNS = {
    "tours": ["xs", "ys", "colour"],
    "bases": ["x", "y", "colour", "rider"],
    "sensors": ["x", "y", "sensor", "name", "counts", "band", "marker", "size", "colour", "strength", "short"],
    "forbidden": ["x", "y"],
    "stops": ["x", "y", "text", "colour", "offset"],
}
Layers = dict[str, dict[str, Any]]


def rider_colours(plan: Plan | None) -> dict[str, str]:
    """A colour a rider, the same on every day."""
    riders = plan.ground.riders if plan is not None else ()
    return {rider.name: RIDERS[number % len(RIDERS)] for number, rider in enumerate(riders)}


def chosen_tours(plan: Plan | None, day: str, rider: str) -> list[Tour]:
    """Tours of a day and a rider; '' is all."""
    tours = plan.tours if plan is not None else ()
    return [tour for tour in tours if day in ("", tour.day) and rider in ("", tour.rider)]


def has_map(network: Network | None) -> bool:
    """Whether the position of any static sensor is known."""
    if network is None:
        return False
    fixed = network.sensors[network.sensors["kind"] == "static"]
    return bool((fixed["latitude"].notna() & fixed["longitude"].notna()).any())


def map_layers(
    network: Network, plan: Plan | None, marks: Mapping[str, str], forbidden: Sequence[str], tours: Sequence[Tour]
) -> Layers:
    """Columns to draw. A single day numbers its stops by rider; several days count the visits of each sensor."""
    sensors = _sensor_layer(network, plan, marks)
    closed = np.isin(sensors["sensor"], list(forbidden))
    colours = rider_colours(plan)
    several = len({tour.day for tour in tours}) > 1
    return {
        "tours": _tour_layer(tours, colours),
        "bases": _base_layer(tours, colours),
        "sensors": sensors,
        "forbidden": {"x": sensors["x"][closed], "y": sensors["y"][closed]},
        "stops": _count_layer(tours) if several else _stop_layer(tours, colours),
    }


def _sensor_layer(network: Network, plan: Plan | None, marks: Mapping[str, str]) -> dict[str, Any]:
    table = network.sensors.assign(role=role(network.sensors))
    here = (table["kind"] == "static") & table["latitude"].notna() & table["longitude"].notna()
    table = table[here].sort_values("reference", kind="stable")
    x, y = mercator(table["longitude"], table["latitude"])
    bands = plan.bands.set_index("sensor") if plan is not None else None
    names = table["sensor"].astype(str)
    known = zip(names, table["reference"], strict=True)
    kinds = ["reference" if reference else marks.get(name, "") for name, reference in known]
    looks = [LOOKS[kind] for kind in kinds]
    return {
        "x": x,
        "y": y,
        "sensor": names.to_numpy(dtype=object),
        "name": table["label"].to_numpy(dtype=object),
        "counts": np.array([_counts(kind) for kind in kinds], dtype=object),
        "band": np.array([_change(bands, name) for name in names], dtype=object),
        "marker": np.array([look[0] for look in looks], dtype=object),
        "size": np.array([look[1] for look in looks]),
        "colour": table["role"].map(COLOURS).to_numpy(dtype=object),
        "strength": np.array([look[2] for look in looks]),
        "short": np.array([shortened(name) if len(table) <= MOST_NAMES else "" for name in names], dtype=object),
    }


def _counts(kind: str) -> str:
    return {"": "ordinary", IMPORTANT: "important (3 times)", IGNORED: "not at all", "reference": "reference"}[kind]


def _change(bands: Any, sensor: str) -> str:
    if bands is None or sensor not in bands.index:
        return "–"
    return f"{percent(bands.at[sensor, 'before'])} → {percent(bands.at[sensor, 'after'])}"


def shortened(name: str, longest: int = LONGEST_NAME) -> str:
    """A name that leaves room for others."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def _places(tour: Tour) -> tuple[np.ndarray, np.ndarray]:
    """The way of a tour, from its base and back; stops without a position are passed over.   → [P], [P]"""
    base = [tour.base] if tour.base is not None else []
    places = [*base, *((stop.latitude, stop.longitude) for stop in tour.stops), *base]
    latitude, longitude = np.array(places, dtype=float).reshape(-1, 2).T
    known = np.isfinite(latitude) & np.isfinite(longitude)
    return mercator(longitude[known], latitude[known])


def _tour_layer(tours: Sequence[Tour], colours: Mapping[str, str]) -> dict[str, Any]:
    ways = [_places(tour) for tour in tours]
    return {
        "xs": [x for x, _ in ways],
        "ys": [y for _, y in ways],
        "colour": [colours[tour.rider] for tour in tours],
    }


def _base_layer(tours: Sequence[Tour], colours: Mapping[str, str]) -> dict[str, Any]:
    homes = {tour.rider: tour.base for tour in tours if tour.base is not None}
    x, y = mercator([place[1] for place in homes.values()], [place[0] for place in homes.values()])
    return {"x": x, "y": y, "colour": [colours[name] for name in homes], "rider": list(homes)}


def _stop_layer(tours: Sequence[Tour], colours: Mapping[str, str]) -> dict[str, Any]:
    """A numbered tag a stop, beside the sensor; tags of several riders stand in a row."""
    rows, taken = [], dict[str, int]()
    for tour in tours:
        for order, stop in enumerate(tour.stops, start=1):
            if np.isfinite(stop.latitude) and np.isfinite(stop.longitude):
                place = taken.get(stop.sensor, 0)
                taken[stop.sensor] = place + 1
                rows.append((stop.longitude, stop.latitude, str(order), colours[tour.rider], 11 + 20 * place))
    return _tags(rows)


def _count_layer(tours: Sequence[Tour]) -> dict[str, Any]:
    counts: dict[str, list[Any]] = {}
    for stop in (stop for tour in tours for stop in tour.stops):
        if np.isfinite(stop.latitude) and np.isfinite(stop.longitude):
            counts.setdefault(stop.sensor, [stop.longitude, stop.latitude, 0])[2] += 1
    return _tags([(x, y, f"{count}×", COUNTED, 11) for x, y, count in counts.values()])


def _tags(rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    columns: Any = list(zip(*rows, strict=True)) if rows else [[] for _ in range(5)]
    x, y = mercator(columns[0], columns[1])
    return {"x": x, "y": y, "text": columns[2], "colour": columns[3], "offset": columns[4]}


class VisitsMap:
    """A Bokeh figure and its sources; ``show`` draws other layers, ``on_pick`` tells of clicked sensors.

    It has no tool to save a picture, since it shows where riders start.
    """

    def __init__(self, on_pick: Callable[[str], None]) -> None:
        self._on_pick = on_pick
        self.sources = {name: ColumnDataSource({column: [] for column in columns}) for name, columns in COLUMNS.items()}
        self.figure = figure(
            name="visits-map",
            height=430,
            sizing_mode="stretch_width",
            match_aspect=True,
            tools="pan,wheel_zoom,box_zoom,reset",
            toolbar_location="above",
        )
        self.figure.toolbar.logo = None
        axes = map_axes()
        for axis, letter in ((self.figure.xaxis, "x"), (self.figure.yaxis, "y")):
            axis.formatter, axis.ticker = axes[f"{letter}formatter"], axes[f"{letter}ticks"]
            axis.axis_label = axes[f"{letter}label"]
        self._glyphs()
        self.sources["sensors"].selected.on_change("indices", self._picked)

    def show(self, layers: Layers) -> None:
        """Draw this instead of what is there."""
        for name, source in self.sources.items():
            source.data = {column: layers[name][column] for column in COLUMNS[name]}

    def pane(self) -> pn.pane.Bokeh:
        """The figure on a page."""
        return pn.pane.Bokeh(self.figure, sizing_mode="stretch_width")

    def _picked(self, _attribute: str, _old: object, picked: list[int]) -> None:
        """One sensor of those under the pointer, a reference only if there is no other: those do not count."""
        data = self.sources["sensors"].data
        names = [data["sensor"][place] for place in picked if data["counts"][place] != "reference"]
        if picked:
            self.sources["sensors"].selected.indices = []
        if names:
            self._on_pick(str(names[0]))

    def _glyphs(self) -> None:
        plot, sources = self.figure, self.sources
        plot.multi_line("xs", "ys", source=sources["tours"], color="colour", line_width=2.5, alpha=0.75)
        homes = plot.scatter(
            "x", "y", source=sources["bases"], marker="square", size=11, fill_color="white", line_color="colour"
        )
        homes.glyph.line_width = 2.5
        marks = plot.scatter(
            "x",
            "y",
            source=sources["sensors"],
            marker="marker",
            size="size",
            color="colour",
            alpha="strength",
            line_color="white",
            nonselection_alpha="strength",
        )
        marks.selection_glyph = marks.nonselection_glyph = None
        plot.scatter("x", "y", source=sources["forbidden"], marker="x", size=20, color=FORBIDDEN, line_width=3)
        plot.text(
            "x", "y", "short", source=sources["sensors"], text_font_size="8.5pt", text_color=QUIET_TEXT,
            text_align="center", y_offset=21,
        )  # fmt: skip
        plot.text(
            "x", "y", "text", source=sources["stops"], x_offset="offset", text_font_size="9.5pt",
            text_font_style="bold", text_color="white", background_fill_color="colour", padding=3, border_radius=6,
            text_baseline="middle",
        )  # fmt: skip
        tips = [("Sensor", "@sensor"), ("Name", "@name"), ("Counts", "@counts"), ("Band", "@band")]
        plot.add_tools(HoverTool(renderers=[marks], tooltips=tips), HoverTool(renderers=[homes], tooltips="@rider"))
        plot.add_tools(TapTool(renderers=[marks]))
        for ranges in (plot.x_range, plot.y_range):
            ranges.renderers = [marks, homes]
            ranges.range_padding = 0.25


def rider_chips(plan: Plan | None, tours: Sequence[Tour]) -> str:
    """Whose tours have which colour, as markup; names are escaped."""
    colours = rider_colours(plan)
    lengths: dict[str, tuple[int, float]] = {}
    for tour in tours:
        count, km = lengths.get(tour.rider, (0, 0.0))
        lengths[tour.rider] = count + len(tour.stops), km + tour.km
    known = plan is not None and plan.ground.travel.known
    chips = "".join(
        f'<span style="margin-right:18px;white-space:nowrap"><span style="display:inline-block;width:12px;height:12px;'
        f'border-radius:3px;margin-right:6px;background:{colours[name]}"></span>{escape(shortened(name, 40))}: '
        f"{count} {'stop' if count == 1 else 'stops'}" + (f", {km:.0f} km" if known else "") + "</span>"
        for name, (count, km) in sorted(lengths.items())
    )
    return f'<div style="line-height:1.8">{chips}</div>'
