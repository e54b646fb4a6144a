"""The figure of a sensor's calibration: made once, then changed in place, so that it answers at once."""

from __future__ import annotations

from typing import Any

import panel as pn
from bokeh.models import ColumnDataSource, HoverTool, Legend, LegendItem, NumeralTickFormatter, Range1d
from bokeh.plotting import figure

from calibdash.pages.bands import Drawn

BAND, HOPS, TRUTH, RATIO, CROSS, OTHER = "#1e88e5", "#8e24aa", "#e65100", "#9e9e9e", "#d81b60", "#00897b"
COLUMNS = {
    "band": ["time", "median", "lower", "upper", "lower50", "upper50"],
    "other": ["time", "median", "lower", "upper"],
    "hops": ["time", "median"],
    "truth": ["time", "median"],
    "visits": ["time"],
    "reference_visits": ["time"],
    "ratios": ["time", "ratio"],
    "reference_ratios": ["time", "ratio"],
}


class BandFigure:
    """A Bokeh figure and its sources; ``show`` puts another sensor or another fit into it."""

    def __init__(self, *, stamped: bool, log: bool = False, even: bool = False) -> None:
        self.sources = {name: ColumnDataSource({column: [] for column in columns}) for name, columns in COLUMNS.items()}
        self.figure = figure(
            name="large",
            height=430,
            sizing_mode="stretch_width",
            x_axis_type="datetime" if stamped else "linear",
            y_axis_type="log" if log else "linear",
            y_range=Range1d(0.5, 2.0),
            tools="pan,box_zoom,wheel_zoom,save,reset",
            toolbar_location="above",
            title=" ",
        )
        self.figure.title.text_font_size = "12pt"
        self.figure.toolbar.logo = None
        if even:  # labels of one width: else the whole page is laid out anew when another sensor is shown
            self.figure.yaxis.formatter = NumeralTickFormatter(format="0.00")
        self._items = self._glyphs()
        self.figure.add_layout(
            Legend(items=list(self._items.values()), orientation="horizontal", ncols=3, location="center"), "below"
        )

    def show(self, drawn: Drawn) -> None:
        """Draw this instead of what is there; one message takes all of it to the browser."""
        with pn.io.hold():
            self._show(drawn)

    def _show(self, drawn: Drawn) -> None:
        for name, source in self.sources.items():
            empty: dict[str, Any] = {column: [] for column in COLUMNS[name]}
            columns = drawn.layers.get(name, empty)
            source.data = {column: columns[column] for column in COLUMNS[name]}
            if name in self._items:
                self._items[name].visible = len(columns["time"]) > 0
        self.figure.y_range.update(start=drawn.limits[0], end=drawn.limits[1])
        self.figure.title.text = drawn.title
        self.figure.yaxis.axis_label = drawn.axis

    def pane(self) -> pn.pane.Bokeh:
        """The figure on a page."""
        return pn.pane.Bokeh(self.figure, sizing_mode="stretch_width")

    def _glyphs(self) -> dict[str, LegendItem]:
        """All layers from the back to the front; the entries of the legend."""
        plot, sources = self.figure, self.sources
        plot.vspan("time", source=sources["visits"], color=RATIO, alpha=0.25)
        plot.vspan("time", source=sources["reference_visits"], color=CROSS, alpha=0.45)
        near = plot.scatter("time", "ratio", source=sources["ratios"], color=RATIO, size=4, alpha=0.45)
        cross = plot.scatter(
            "time", "ratio", source=sources["reference_ratios"], marker="x", color=CROSS, size=6, alpha=0.5
        )
        wide = plot.varea("time", "lower", "upper", source=sources["band"], color=BAND, alpha=0.22)
        plot.varea("time", "lower50", "upper50", source=sources["band"], color=BAND, alpha=0.38)
        line = plot.line("time", "median", source=sources["band"], color=BAND, line_width=2)
        other = plot.line("time", "median", source=sources["other"], color=OTHER, line_width=2)
        for side in ("lower", "upper"):
            plot.line("time", side, source=sources["other"], color=OTHER, line_dash="dashed")
        hops = plot.step("time", "median", source=sources["hops"], mode="after", color=HOPS, line_width=1.5, alpha=0.8)
        truth = plot.line("time", "median", source=sources["truth"], color=TRUTH, line_width=1.5)
        tips = [("", "@median{0.000} (@lower{0.000} to @upper{0.000})")]
        plot.add_tools(HoverTool(renderers=[line], tooltips=tips, mode="vline"))
        return {
            "band": LegendItem(label="Estimate, 95 and 50 %", renderers=[line, wide]),
            "other": LegendItem(label="Other run", renderers=[other], visible=False),
            "hops": LegendItem(label="Multi-hop", renderers=[hops], visible=False),
            "truth": LegendItem(label="Truth", renderers=[truth], visible=False),
            "ratios": LegendItem(label="Ratio to low-cost", renderers=[near], visible=False),
            "reference_ratios": LegendItem(label="Ratio to reference", renderers=[cross], visible=False),
        }
