"""The confusion matrix of a labeller at one moment, and every entry over time: Bokeh figures changed in place."""

from __future__ import annotations

import numpy as np
import pandas as pd
import panel as pn
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, PlainText, Range1d
from bokeh.plotting import figure

from calibdash.pages.labellers_drawn import (
    HEIGHT,
    POINTS,
    RIGHT,
    WIDTH,
    WRONG,
    Sheet,
    entry_layers,
    matrix_columns,
    sheet,
    shortened,
)
from calibdash.state.label_run import History

CELLS = ("x", "y", "true", "label", "colour", "words", "ink", "mean", "lower", "upper")
TRUTH, QUIET = "#43a047", "#90a4ae"
INTERVAL = "@mean{0.0} % (95 %: @lower{0.0} to @upper{0.0} %)"
TIPS = [("It is", "@true"), ("Called", "@label"), ("How often", INTERVAL)]
LONGEST = 26
TILTED = 0.7


class MatrixFigure:
    """What is called what at one moment; ``show`` draws another moment or another labeller."""

    def __init__(self) -> None:
        self.source = ColumnDataSource({name: [] for name in CELLS})
        self.figure = figure(
            height=420,
            sizing_mode="stretch_width",
            x_range=Range1d(-0.5, 0.5),
            y_range=Range1d(-0.5, 0.5),
            tools="save",
            toolbar_location=None,
            x_axis_label="called",
            y_axis_label="in truth",
        )
        plot = self.figure
        plot.grid.visible = False
        plot.outline_line_color = None
        plot.axis.axis_line_color = plot.axis.major_tick_line_color = None
        plot.axis.major_label_text_font_size = "10pt"
        cells = plot.rect(
            "x", "y", 0.97, 0.97, source=self.source, fill_color="colour", line_color=None,
        )  # fmt: skip
        plot.text(
            "x", "y", "words", source=self.source, text_color="ink", text_align="center", text_baseline="middle",
            text_font_size="10pt",
        )  # fmt: skip
        plot.add_tools(HoverTool(renderers=[cells], tooltips=TIPS))
        self._classes: tuple[str, ...] = ()

    def show(self, history: History, moment: int) -> None:
        """Draw one time of a labeller's matrix."""
        self.source.data = matrix_columns(history, moment)
        if history.classes != self._classes:
            self._name(history.classes)

    def _name(self, classes: tuple[str, ...]) -> None:
        self._classes = classes
        K, plot = len(classes), self.figure
        for axis, names in ((plot.xaxis[0], classes), (plot.yaxis[0], classes[::-1])):
            axis.ticker = FixedTicker(ticks=list(range(K)))
            # plain, since a name between dollar signs would else be taken for a formula
            axis.major_label_overrides = {
                number: PlainText(text=shortened(name, LONGEST)) for number, name in enumerate(names)
            }
            axis.major_label_text_font_size = "10pt" if K <= 12 else "8pt"
        tilted = K > 2 and max(len(name) for name in classes) > 8
        plot.xaxis[0].major_label_orientation = TILTED if tilted else "horizontal"
        plot.x_range.update(start=-0.5, end=K - 0.5)
        plot.y_range.update(start=-0.5, end=K - 0.5)
        plot.height = int(np.clip(44 * K + 170, 300, 900))

    def pane(self) -> pn.pane.Bokeh:
        """The figure on a page."""
        return pn.pane.Bokeh(self.figure, sizing_mode="stretch_width")


class EntriesFigure:
    """Small plots of the entries over a labeller's time, all on one canvas, so that many are quick."""

    def __init__(self) -> None:
        self.sources = {
            "frames": _source("left", "right", "bottom", "top", "title"),
            "bands": _source("xs", "ys", "colour"),
            "lines": _source("xs", "ys", "colour"),
            "truths": _source("xs", "ys"),
            "points": _source(*POINTS),
            "over": _source("x", "y", "words"),
            "beside": _source("x", "y", "words"),
            "ends": _source("x", "y", "words", "align"),
            "now": _source("x0", "y0", "x1", "y1"),
        }
        self.figure = figure(
            height=420,
            sizing_mode="stretch_width",
            x_range=Range1d(-0.3, 1),
            y_range=Range1d(0, 1),
            tools="",
            toolbar_location=None,
        )
        plot = self.figure
        plot.axis.visible = plot.grid.visible = False
        plot.outline_line_color = None
        self._glyphs()
        self._sheet: Sheet | None = None

    def show(self, history: History, truth: pd.DataFrame | None) -> None:
        """Draw a labeller's entries."""
        plan = sheet(history)
        layers = entry_layers(history, plan, truth)
        for name, columns in layers.items():
            self.sources[name].data = columns
        self._arrange(plan, history)
        self._sheet = plan

    def show_moment(self, history: History, moment: int) -> None:
        """Mark the time that the matrix shows."""
        if self._sheet is None:
            return
        share = (history.hours[moment] - history.hours[0]) / max(float(np.ptp(history.hours)), 1e-12)
        x = [panel.column * WIDTH + share for panel in self._sheet.panels]
        y = [-panel.row * HEIGHT for panel in self._sheet.panels]
        self.sources["now"].data = {"x0": x, "x1": x, "y0": y, "y1": [bottom + 1 for bottom in y]}

    def pane(self) -> pn.pane.Bokeh:
        """The figure on a page."""
        return pn.pane.Bokeh(self.figure, sizing_mode="stretch_width")

    def _arrange(self, plan: Sheet, history: History) -> None:
        bottom = -(plan.rows - 1) * HEIGHT
        self.sources["over"].data = {
            "x": [number * WIDTH + 0.5 for number in range(len(plan.over))],
            "y": [1.27] * len(plan.over),
            "words": list(plan.over),
        }
        self.sources["beside"].data = {
            "x": [0.0] * len(plan.beside),
            "y": [1.04 - number * HEIGHT for number in range(len(plan.beside))],
            "words": [f"really {name}" for name in plan.beside],
        }
        self.sources["ends"].data = {
            "x": [0.0, (plan.columns - 1) * WIDTH + 1.0],
            "y": [bottom - 0.06] * 2,
            "words": [history.words[0], history.words[-1]],
            "align": ["left", "right"],
        }
        plot = self.figure
        plot.x_range.update(start=-0.04, end=(plan.columns - 1) * WIDTH + 1.04)
        plot.y_range.update(start=bottom - 0.28, end=1.55 if plan.over else 1.3)
        plot.height = int(plan.rows * 112 + 60)

    def _glyphs(self) -> None:
        plot, sources = self.figure, self.sources
        plot.quad(
            "left", "right", "top", "bottom", source=sources["frames"], fill_color=QUIET, fill_alpha=0.08,
            line_color=QUIET, line_alpha=0.4,
        )  # fmt: skip
        words = {"text_color": QUIET, "text_font_size": "9pt"}
        plot.text("left", "top", "title", source=sources["frames"], y_offset=-3, **words)
        plot.text("x", "y", "words", source=sources["over"], text_align="center", text_font_style="bold",
                  **words)  # fmt: skip
        plot.text("x", "y", "words", source=sources["beside"], **words)
        plot.text("x", "y", "words", source=sources["ends"], text_align="align", text_baseline="top", **words)
        plot.patches("xs", "ys", source=sources["bands"], color="colour", fill_alpha=0.25, line_alpha=0)
        plot.segment("x0", "y0", "x1", "y1", source=sources["now"], color=QUIET, line_dash="dotted")
        plot.multi_line("xs", "ys", source=sources["lines"], color="colour", line_width=2)
        plot.multi_line("xs", "ys", source=sources["truths"], color=TRUTH, line_width=1.5, line_dash="dashed")
        points = plot.scatter("x", "y", source=sources["points"], size=9, alpha=0)
        plot.add_tools(HoverTool(renderers=[points], tooltips=[*TIPS, ("When", "@when")]))


def legend(*, truth: bool) -> str:
    """What the colours of small plots mean, as markup of our own words."""
    marks = [(RIGHT, "right, with its 95 % band"), (WRONG, "wrong")]
    marks += [(TRUTH, "truth (simulated)")] if truth else []
    return " ".join(
        f'<span style="margin-right:18px;white-space:nowrap"><span style="display:inline-block;width:16px;height:4px;'
        f'margin-right:6px;vertical-align:middle;background:{colour}"></span>{words}</span>'
        for colour, words in marks
    )


def _source(*columns: str) -> ColumnDataSource:
    return ColumnDataSource({name: [] for name in columns})
