"""Two sensors that met: their readings against each other by period, and their ratio over time."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param
from bokeh.plotting import figure

from calibdash.data.network import Network
from calibdash.models.posterior import Posterior
from calibdash.models.translate import translate
from calibdash.pages.layout import side_by_side, words
from calibdash.pages.plots import plain
from calibdash.state.session import Session
from calibdash.state.shown import Shown

PERIODS = 4
GRID_POINTS = 60
COLOURS = ("#1e88e5", "#43a047", "#fb8c00", "#8e24aa")


def pair_table(network: Network, a: str, b: str) -> pd.DataFrame:
    """``hours, first, second, period`` of all colocations of two sensors; periods 0 … are equal stretches of time."""
    table = network.colocations
    forth = table[(table["sensor_a"] == a) & (table["sensor_b"] == b)]
    back = table[(table["sensor_a"] == b) & (table["sensor_b"] == a)]
    rows = pd.concat(
        [
            forth[["time", "value_a", "value_b"]].set_axis(["time", "first", "second"], axis=1),
            back[["time", "value_b", "value_a"]].set_axis(["time", "first", "second"], axis=1),
        ]
    ).sort_values("time", kind="stable", ignore_index=True)
    hours = network.clock.hours(rows["time"])
    span = max(float(np.ptp(hours)), 1e-9) if len(hours) else 1.0
    share = (hours - hours.min()) / span if len(hours) else hours
    return rows.assign(hours=hours, period=np.minimum((share * PERIODS).astype(int), PERIODS - 1))


def pair_plot(network: Network, a: str, b: str, posterior: Posterior | None) -> figure:
    """Readings of b over those of a, coloured by period, with what the calibrations say b would read."""
    rows = pair_table(network, a, b)
    most = max(_high(rows["first"]), 1e-9)
    plot = _canvas(
        f"{a} reads", f"{b} reads", x_range=(0.0, most), y_range=(0.0, 1.1 * max(_high(rows["second"]), 1e-9))
    )
    plot.line([0.0, most], [0.0, most], color="grey", line_dash="dotted")
    readings = np.linspace(0.0, most, 40)[1:]
    for period in range(PERIODS):
        part = rows[rows["period"] == period]
        if part.empty:
            continue
        colour = COLOURS[period]
        moment = network.clock.times(np.array([float(part["hours"].mean())]))[0]
        name = f"{moment:%b %Y}" if isinstance(moment, pd.Timestamp) else f"hour {moment:.0f}"
        plot.scatter(
            part["first"], part["second"], size=5, color=colour, alpha=0.6, legend_label=f"{period + 1}: {name}"
        )
        if posterior is not None and {a, b} <= set(posterior.sensors):
            line = translate(posterior, a, b, moment, readings)
            plot.varea(line["reading"], line["lower"], line["upper"], color=colour, alpha=0.15)
            plot.line(line["reading"], line["median"], color=colour, line_width=2)
    plot.legend.location = "top_left"
    plot.legend.background_fill_alpha = 0.5
    return plot


def ratio_plot(network: Network, a: str, b: str, posterior: Posterior | None) -> figure:
    """Reading of b ÷ reading of a over time, and the band of what the calibrations expect."""
    rows = pair_table(network, a, b)
    rows = rows[(rows["first"] > 0) & (rows["second"] > 0)]
    ratio = rows["second"] / rows["first"]
    stamped = network.clock.origin is not None
    top = 1.3 * max(_high(ratio), 1e-9)
    plot = _canvas("", f"{b} ÷ {a}", x_axis_type="datetime" if stamped else "linear", y_range=(0.0, top))
    if posterior is not None and {a, b} <= set(posterior.sensors) and len(rows):
        grid = np.linspace(rows["hours"].min(), rows["hours"].max(), GRID_POINTS)
        typical = np.array([float(np.median(rows["first"]))])
        lines = [translate(posterior, a, b, moment, typical) for moment in network.clock.times(grid)]
        band = pd.concat(lines, ignore_index=True)[["median", "lower", "upper"]] / typical[0]
        if len(band):
            times = plain(network.clock.times(grid))
            plot.varea(times, band["lower"], band["upper"], color="#78909c", alpha=0.3)
            plot.line(times, band["median"], color="#546e7a", line_width=2)
    times = plain(network.clock.times(rows["hours"].to_numpy()))
    plot.scatter(times, ratio, color=[COLOURS[period] for period in rows["period"]], size=5, alpha=0.6)
    return plot


def _canvas(x: str, y: str, **options: Any) -> figure:
    plot = figure(
        height=360,
        sizing_mode="stretch_width",
        x_axis_label=x or None,
        y_axis_label=y,
        tools="pan,wheel_zoom,reset,save",
        **options,
    )
    plot.toolbar.logo = None
    return plot


def _high(values: pd.Series) -> float:
    """Where an axis ends so that outliers do not rule it."""
    return float(np.quantile(values, 0.99)) if len(values) else 1.0


class PairView(pn.viewable.Viewer):
    """The chosen pair of a session; nothing while none is chosen. ``shown`` gives the calibrations, once asked."""

    session: Any = param.ClassSelector(class_=Session, allow_None=False)
    shown: Any = param.Callable(doc="Gives the session's Shown; made when the first pair is chosen.")

    def __panel__(self) -> pn.viewable.Viewable:
        return pn.Column(
            pn.bind(self._content, self.session.param.pair, self.session.param.network), sizing_mode="stretch_width"
        )

    def _content(self, pair: tuple[str, str] | None, network: Network | None) -> pn.viewable.Viewable:
        if pair is None or network is None or pair_table(network, *pair).empty:
            return pn.Spacer(height=0)
        a, b = sorted(pair, key=lambda sensor: sensor not in network.references)
        shown: Shown = self.shown()
        plots = [
            pn.Column(pn.bind(_pane, draw, network, a, b, shown.param.posterior), sizing_mode="stretch_width")
            for draw in (pair_plot, ratio_plot)
        ]
        close = pmui.Button(label="Close", variant="text", icon="close")
        close.on_click(lambda _: setattr(self.session, "pair", None))
        return pn.Column(
            pn.Row(words(escape(f"{a} and {b} side by side"), variant="h6", margin=(20, 0, 6, 0)), close),
            words(
                "Dots are their readings at the same place and time; lines with bands are what their calibrations "
                "expect in each period; dotted: both read the same.",
                variant="body2",
            ),
            side_by_side(*plots),
            sizing_mode="stretch_width",
        )


def _pane(draw: Any, network: Network, a: str, b: str, posterior: Posterior | None) -> pn.pane.Bokeh:
    return pn.pane.Bokeh(draw(network, a, b, posterior), sizing_mode="stretch_width")
