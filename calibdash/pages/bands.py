"""Pure plot functions of the calibration page: a sensor's gain over time, as every method sees it."""

from __future__ import annotations

from typing import Any

import holoviews as hv
import numpy as np
import pandas as pd

from calibdash.data.network import Network
from calibdash.models.multihop import Multihop
from calibdash.models.posterior import Posterior
from calibdash.pages.plots import QUIET
from calibdash.reports.figures import ratio_points

BAND, HOPS, TRUTH, RATIO, CROSS = "#1e88e5", "#8e24aa", "#e65100", "#9e9e9e", "#d81b60"
HALF = 0.6744897501960817 / 1.959963984540054  # of a 95 % band, the part that holds 50 %
GRID_POINTS = 160


def grid(network: Network) -> np.ndarray:
    """Hours over the whole record, for drawing.   → [T]"""
    hours = network.clock.hours(network.colocations["time"])
    return np.linspace(hours.min(), hours.max(), GRID_POINTS)


def band_table(posterior: Posterior, network: Network, sensor: str) -> pd.DataFrame:
    """``time, median, lower, upper, lower50, upper50`` of a sensor's gain over the record."""
    table = posterior.calibration(network.clock.times(grid(network)), [sensor])
    table = table[table["parameter"] == "gain"]
    spread = np.log(table["upper"] / table["median"])
    half = {"lower50": table["median"] * np.exp(-HALF * spread), "upper50": table["median"] * np.exp(HALF * spread)}
    return _plain_times(table.assign(**half))


def gain_plot(
    network: Network,
    sensor: str,
    posterior: Posterior | None,
    hops: Multihop | None,
    truth: pd.DataFrame | None,
    *,
    height: int = 420,
    small: bool = False,
) -> hv.Overlay:
    """The gain of one sensor: 95 and 50 % bands, multi-hop steps, ratios of its colocations, and the truth if known."""
    layers: list[hv.Element] = []
    reach: list[np.ndarray] = []
    if not small:
        layers += _ratios(network, sensor)
    if posterior is not None and sensor in posterior.sensors:
        band = band_table(posterior, network, sensor)
        reach += [band["lower"].to_numpy(), band["upper"].to_numpy()]
        for low, high, alpha in (("lower", "upper", 0.22), ("lower50", "upper50", 0.38)):
            columns = band[["time", low, high]].set_axis(["time", "low", "high"], axis=1)
            layers.append(hv.Area(columns, "time", ["low", "high"]).opts(color=BAND, alpha=alpha, line_alpha=0))
        layers.append(hv.Curve(band, "time", "median", label="Gain").opts(color=BAND, line_width=2))
    if hops is not None and sensor in hops.sensors:
        steps = _plain_times(hops.calibration(None, [sensor]))
        reach.append(steps["median"].to_numpy())
        curve = hv.Curve(steps, "time", "median", label="Multi-hop")
        layers.append(curve.opts(color=HOPS, interpolation="steps-post", line_width=1.5, alpha=0.8))
    if truth is not None:
        mine = truth[(truth["sensor"] == sensor) & (truth["parameter"] == "gain")]
        if len(mine):
            layers.append(
                hv.Curve(_plain_times(mine), "time", "value", label="Truth").opts(color=TRUTH, line_width=1.5)
            )
            reach.append(mine["value"].to_numpy())
    return hv.Overlay(layers).opts(**_frame(network, sensor, reach, height, small))


def _ratios(network: Network, sensor: str) -> list[hv.Element]:
    """Partner ÷ own reading: dots with other low-cost sensors, crosses with references."""
    layers = []
    for kind, label, options in (
        ("low-cost", "Ratio to low-cost", {"color": RATIO, "marker": "circle", "size": 4, "alpha": 0.45}),
        ("reference", "Ratio to reference", {"color": CROSS, "marker": "x", "size": 8, "line_width": 2}),
    ):
        hours, ratio = ratio_points(network, sensor)[kind]
        points = pd.DataFrame({"time": network.clock.times(hours), "ratio": ratio})
        layers.append(hv.Scatter(_plain_times(points), "time", "ratio", label=label).opts(**options))
    return layers


def _frame(network: Network, sensor: str, reach: list[np.ndarray], height: int, small: bool) -> dict[str, Any]:
    values = np.concatenate(reach) if reach else np.array([0.5, 2.0])
    values = values[np.isfinite(values)]
    low, high = np.quantile(values, (0.01, 0.99)) if len(values) else (0.5, 2.0)
    room = 0.35 * max(high - low, 0.2)
    names = dict(zip(network.sensors["sensor"], network.sensors["label"], strict=True))
    return {
        **QUIET,
        "height": height,
        "ylim": (max(0.0, low - room), high + room),
        "xlabel": "",
        "ylabel": "" if small else "True level ÷ reading",
        "title": f"{sensor}  {names.get(sensor, '')}".strip(),
        "xticks": 3 if small else 8,
        "fontsize": {"title": 10 if small else 12},
        "toolbar": None if small else "above",
        "show_legend": not small,
        "legend_position": "bottom",
        "legend_cols": 5,
    }


def _plain_times(table: pd.DataFrame) -> pd.DataFrame:
    """Bokeh draws naive UTC stamps as they are."""
    if isinstance(table["time"].dtype, pd.DatetimeTZDtype):
        return table.assign(time=table["time"].dt.tz_localize(None))
    return table
