"""What visits do to the bands: before and after for every sensor, and effort against uncertainty."""

from __future__ import annotations

from typing import Any

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Range1d, Span
from bokeh.plotting import figure

from calibdash.pages.visits_map import shortened
from calibdash.planning import EffortCurve, Plan

BEFORE, AFTER, LINK, TARGET = "#90a4ae", "#1e88e5", "#90a4ae", "#e65100"
MOST_ROWS = 40
ROW_PIXELS = 22


def band_rows(plan: Plan, most: int = MOST_ROWS) -> dict[str, Any]:
    """``row, sensor, before, after`` (± %) of the sensors that count, those that gain most at the top."""
    bands = plan.bands[plan.bands["weight"] > 0]
    bands = bands.assign(gain=bands["before"] - bands["after"])
    bands = bands.sort_values(["gain", "before"], ascending=False, kind="stable").head(most)
    return {
        "row": np.arange(len(bands), 0, -1, dtype=float),
        "sensor": bands["sensor"].astype(str).to_numpy(dtype=object),
        "before": 100 * bands["before"].to_numpy(),
        "after": 100 * bands["after"].to_numpy(),
    }


class BandsFigure:
    """Two dots a sensor and what lies between them; ``show`` draws another plan."""

    def __init__(self) -> None:
        self.source = ColumnDataSource({name: [] for name in ("row", "sensor", "before", "after")})
        self.figure = figure(
            height=300,
            sizing_mode="stretch_width",
            x_range=Range1d(0, 10),
            y_range=Range1d(0, 1),
            tools="",
            toolbar_location=None,
            x_axis_label="Band of a sensor: ± %, over the days it should stay good",
        )
        plot = self.figure
        self.target = Span(location=0, dimension="height", line_color=TARGET, line_dash="dashed", line_width=1.5)
        plot.add_layout(self.target)
        plot.segment(
            "before", "row", "after", "row", source=self.source, color=LINK, line_width=5, alpha=0.5, line_cap="round"
        )
        first = plot.scatter(
            "before", "row", source=self.source, size=11, color=BEFORE, legend_label="without these visits"
        )
        second = plot.scatter("after", "row", source=self.source, size=11, color=AFTER, legend_label="with them")
        tips = [("Sensor", "@sensor"), ("Without", "±@before{0.0} %"), ("With", "±@after{0.0} %")]
        plot.add_tools(HoverTool(renderers=[first, second], tooltips=tips))
        plot.ygrid.grid_line_color = None
        plot.legend.orientation, plot.legend.location = "horizontal", "bottom_right"
        plot.legend.padding, plot.legend.background_fill_alpha = 4, 0.7
        plot.add_layout(plot.legend[0], "above")

    def show(self, plan: Plan | None) -> None:
        """Draw the bands of a plan; None: nothing."""
        rows = band_rows(plan) if plan is not None else {name: [] for name in self.source.data}
        count = len(rows["row"])
        target = plan.ground.settings.target if plan is not None else None
        self.source.data = rows
        self.target.update(location=100 * (target or 0.0), visible=target is not None)
        widest = max([*rows["before"], *rows["after"], 120 * (target or 0.0), 1.0])
        plot = self.figure
        plot.x_range.update(start=0, end=1.06 * widest)
        plot.y_range.update(start=0.3, end=count + 0.7)
        axis = plot.yaxis[0]
        axis.ticker = FixedTicker(ticks=list(rows["row"]))
        axis.major_label_overrides = {
            int(row): shortened(name) for row, name in zip(rows["row"], rows["sensor"], strict=True)
        }
        plot.height = ROW_PIXELS * max(count, 4) + 100

    def pane(self) -> pn.pane.Bokeh:
        """The figure on a page."""
        return pn.pane.Bokeh(self.figure, sizing_mode="stretch_width")


class EffortFigure:
    """Visits a week against bands; ``show`` draws another curve."""

    def __init__(self) -> None:
        self.source = ColumnDataSource({name: [] for name in ("visits", "mean", "worst")})
        self.figure = figure(
            height=300,
            sizing_mode="stretch_width",
            y_range=Range1d(0, 10),
            tools="",
            toolbar_location=None,
            x_axis_label="Visits a week",
            y_axis_label="Band (± %)",
        )
        plot = self.figure
        self.target = Span(location=0, dimension="width", line_color=TARGET, line_dash="dashed", line_width=1.5)
        self.needed = Span(location=0, dimension="height", line_color=TARGET, line_dash="dotted", line_width=1.5)
        plot.add_layout(self.target)
        plot.add_layout(self.needed)
        worst = plot.line(
            "visits", "worst", source=self.source, line_width=2.5, color="#d81b60", legend_label="widest sensor"
        )
        plot.line("visits", "mean", source=self.source, line_width=2.5, color=AFTER, legend_label="mean of all")
        tips = [("Visits a week", "@visits"), ("Mean", "±@mean{0.0} %"), ("Widest", "±@worst{0.0} %")]
        plot.add_tools(HoverTool(renderers=[worst], tooltips=tips, mode="vline"))
        plot.legend.orientation, plot.legend.padding = "horizontal", 4
        plot.add_layout(plot.legend[0], "above")

    def show(self, curve: EffortCurve | None) -> None:
        """Draw a curve; None: nothing."""
        if curve is None:
            self.source.data = {name: [] for name in self.source.data}
            return
        table = curve.table
        mean, worst = (100 * table[name].to_numpy() for name in ("mean_band", "worst_band"))
        self.source.data = {"visits": table["visits_per_week"].to_numpy(), "mean": mean, "worst": worst}
        self.target.location = 100 * curve.target
        self.needed.update(location=curve.needed or 0, visible=curve.needed is not None)
        self.figure.y_range.update(start=0, end=1.1 * max(worst.max(), 100 * curve.target))

    def pane(self) -> pn.pane.Bokeh:
        """The figure on a page."""
        return pn.pane.Bokeh(self.figure, sizing_mode="stretch_width")
