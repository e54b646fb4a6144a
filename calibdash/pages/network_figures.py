"""Graph, map and raster of a network: Bokeh figures made once, then changed in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, TapTool, WMTSTileSource
from bokeh.plotting import figure

from calibdash.data.network import Network
from calibdash.pages.plots import (
    COLOURS,
    EDGE_COLUMNS,
    EDGE_LOOKS,
    edge_looks,
    graph_edges,
    map_axes,
    mercator,
    plain,
    raster_rows,
    sensor_rows,
    visits_raster,
)

Picked = Callable[[list[int]], None]
TITLES = {"label": "Name", "last": "Last visit", "one": "Between", "other": "and", "met": "Met"}
TILES = "https://tile.openstreetmap.org/{Z}/{X}/{Y}.png"  # asked for only when a user switches the street map on
DETAILS = ("sensor", "label", "role", "colocations", "last")
SIZE, RING = 11, 20.0
MOST_NAMES = 60


class Marks:
    """Sensors as marks on a figure, rings around references; ``picked`` hears the places of those a user picks."""

    def __init__(self, plot: figure, picked: Picked) -> None:
        self.source = ColumnDataSource({name: [] for name in (*DETAILS, "x", "y", "colour", "dot", "ring")})
        marks = plot.scatter(
            "x", "y", source=self.source, size=SIZE, color="colour", line_color="white", nonselection_alpha=0.35
        )
        # References once more, above all others.
        plot.scatter(
            "x", "y", source=self.source, size="dot", color="colour", line_color="white", nonselection_alpha=0.35
        )
        plot.scatter(
            "x",
            "y",
            source=self.source,
            size="ring",
            fill_alpha=0,
            line_width=2,
            line_color=COLOURS["reference"],
            nonselection_fill_alpha=0,
            nonselection_line_alpha=1,
        )
        plot.add_tools(hover(DETAILS, marks))
        self.source.selected.on_change("indices", lambda _attr, _old, new: picked(list(new)))

    def show(self, rows: pd.DataFrame, x: Any, y: Any) -> None:
        """Put the sensors of ``rows`` at these places.   x, y [S]"""
        reference = rows["role"].to_numpy() == "reference"
        self.source.data = {
            **columns(rows[list(DETAILS)]),
            "x": x,
            "y": y,
            "colour": rows["role"].map(COLOURS).to_numpy(),
            "dot": np.where(reference, SIZE, 0.0),
            "ring": np.where(reference, RING, 0.0),
        }

    def select(self, places: list[int]) -> None:
        """Show these as picked."""
        if sorted(self.source.selected.indices) != places:
            self.source.selected.indices = places


class GraphFigure:
    """Who met whom; sensors and lines can be picked."""

    def __init__(
        self, places: dict[str, tuple[float, float]], picked: Picked, joined: Callable[[str, str], None]
    ) -> None:
        self.places = places
        self.figure = canvas(400)
        self.figure.axis.visible = False
        self.figure.grid.visible = False
        self.figure.outline_line_color = None
        self._rows = pd.DataFrame(columns=EDGE_COLUMNS)
        self._path: tuple[str, ...] = ()
        self.edges = ColumnDataSource({name: [] for name in (*EDGE_COLUMNS, *EDGE_LOOKS)})
        lines = self.figure.segment(
            *("x0", "y0", "x1", "y1"),
            source=self.edges,
            line_width="width",
            color="colour",
            alpha="strength",
            nonselection_alpha=0.5,
        )
        self.figure.add_tools(hover(("one", "other", "kind", "colocations", "last"), lines))
        self.marks = Marks(self.figure, picked)

        def tapped(_attr: str, _old: object, new: list[int]) -> None:
            if len(new) == 1:
                joined(str(self.edges.data["one"][new[0]]), str(self.edges.data["other"][new[0]]))

        self.edges.selected.on_change("indices", tapped)

    def show(self, network: Network, path: Sequence[str]) -> None:
        """Draw a network; ``path`` stands out."""
        self._rows, self._path = graph_edges(network, self.places), tuple(path)
        self.edges.selected.indices = []
        self.edges.data = columns(self._rows) | columns(edge_looks(self._rows, path))
        x, y = zip(*(self.places[sensor] for sensor in network.sensors["sensor"]), strict=True)
        self.marks.show(sensor_rows(network), np.array(x), np.array(y))

    def show_path(self, path: Sequence[str]) -> None:
        """Let another path stand out."""
        if self.edges.selected.indices:
            self.edges.selected.indices = []
        if tuple(path) != self._path:
            self._path = tuple(path)
            self.edges.data.update(columns(edge_looks(self._rows, path)))


class MapFigure:
    """Where the sensors stand, on Web Mercator; streets behind it when asked for."""

    def __init__(self, picked: Picked) -> None:
        self.figure = canvas(400, match_aspect=True)
        axes = map_axes()
        for axis, letter in ((self.figure.xaxis, "x"), (self.figure.yaxis, "y")):
            axis.formatter, axis.ticker = axes[f"{letter}formatter"], axes[f"{letter}ticks"]
            axis.axis_label = axes[f"{letter}label"]
        self.marks = Marks(self.figure, picked)

    def show(self, network: Network) -> None:
        """Draw the sensors whose place is known."""
        places = mercator(network.sensors["longitude"], network.sensors["latitude"])
        self.marks.show(sensor_rows(network), *places)

    def show_streets(self, wanted: bool) -> None:
        """Put the street map behind the sensors, or take it away."""
        tiles = [renderer for renderer in self.figure.renderers if renderer.name == "streets"]
        if wanted and not tiles:
            source = WMTSTileSource(url=TILES, attribution="© OpenStreetMap contributors")
            self.figure.add_tile(source, name="streets", level="underlay")
        elif not wanted:
            self.figure.renderers = [renderer for renderer in self.figure.renderers if renderer not in tiles]


class RasterFigure:
    """Who met whom when; ``picked`` hears the names of the sensors of the marks a user picks."""

    def __init__(self, network: Network, picked: Callable[[list[str]], None]) -> None:
        rows = raster_rows(network)
        stamped = network.clock.origin is not None
        self.figure = canvas(max(240, min(18 * len(rows) + 70, 900)), x_axis_type="datetime" if stamped else "linear")
        self.figure.y_range.update(start=-0.7, end=len(rows) - 0.3)
        self.figure.xaxis.axis_label = "Time (UTC)" if stamped else "Time (hours)"
        self.figure.ygrid.visible = False
        if len(rows) <= MOST_NAMES:
            self.figure.yaxis.ticker = FixedTicker(ticks=list(rows.values()))
            self.figure.yaxis.major_label_overrides = {row: sensor for sensor, row in rows.items()}
        else:
            self.figure.yaxis.visible = False
        self.source = ColumnDataSource({name: [] for name in ("time", "row", "sensor", "met", "colour")})
        marks = self.figure.scatter(
            "time",
            "row",
            source=self.source,
            marker="square",
            size=5,
            color="colour",
            line_color=None,
            alpha=0.8,
            nonselection_alpha=0.12,
        )
        self.figure.add_tools(hover(("sensor", "met"), marks))

        self._following = False

        def tapped(_attr: str, _old: object, new: list[int]) -> None:
            if not self._following:
                picked(sorted({str(self.source.data["sensor"][place]) for place in new}))

        self.source.selected.on_change("indices", tapped)

    def show(self, network: Network) -> None:
        """Draw the visits."""
        marks = visits_raster(network)
        times = marks["time"]
        if isinstance(times.dtype, pd.DatetimeTZDtype):
            times = pd.Series(plain(pd.DatetimeIndex(times)))
        names = ("row", "sensor", "met", "colour")
        self.source.data = {"time": times.to_numpy(), **{name: marks[name].to_numpy() for name in names}}

    def select(self, sensors: Sequence[str]) -> None:
        """Let the visits of these stand out."""
        places = np.flatnonzero(np.isin(self.source.data["sensor"], list(sensors))).tolist()
        self._following = True
        if self.source.selected.indices != places:
            self.source.selected.indices = places
        self._following = False


def canvas(height: int, **options: Any) -> figure:
    """A quiet figure that fills its place, on which things can be picked."""
    plot = figure(
        height=height,
        sizing_mode="stretch_width",
        tools="pan,wheel_zoom,box_select,reset,save",
        active_drag=None,
        **options,
    )
    plot.toolbar.logo = None
    tap = TapTool()
    plot.add_tools(tap)
    plot.toolbar.active_tap = tap
    return plot


def hover(names: Sequence[str], renderer: Any) -> HoverTool:
    """Details of what is under the pointer; names are text, never markup."""
    tips = [(TITLES.get(name, name.capitalize()), f"@{name}") for name in names]
    return HoverTool(tooltips=tips, renderers=[renderer])


def columns(frame: pd.DataFrame) -> dict[str, Any]:
    """A table as Bokeh takes it."""
    return {str(name): frame[name].to_numpy() for name in frame}


def pane(plot: figure) -> pn.pane.Bokeh:
    """A figure on a page."""
    return pn.pane.Bokeh(plot, sizing_mode="stretch_width")
