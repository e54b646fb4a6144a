"""Figures of the paper, as pure functions: arrays in, Bokeh figures out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from bokeh.models import Span
from bokeh.plotting import figure

from calibdash.data.network import Network

REFERENCE, STATIC, MOBILE = "#1565c0", "#2e7d32", "#c62828"
TRUTH, ESTIMATE = "#1565c0", "#212121"


def visits_figure(network: Network, first_hour: float, hours: float) -> figure:
    """Who visited whom in a stretch of time: a vertical line from the mobile sensor to the static one."""
    sensors = network.sensors
    kinds = np.where(sensors["reference"], 0, np.where(sensors["kind"] == "mobile", 2, 1))
    order = sensors.assign(rank=kinds).sort_values(["rank", "sensor"], ascending=[False, False])["sensor"].tolist()
    colour = {name: (REFERENCE, STATIC, MOBILE)[kind] for name, kind in zip(sensors["sensor"], kinds, strict=True)}
    row = {name: place for place, name in enumerate(order)}
    table = network.colocations
    at = network.clock.hours(table["time"])
    table = table[(at >= first_hour) & (at < first_hour + hours)]
    at = at[(at >= first_hour) & (at < first_hour + hours)]
    plot = _figure("Visits", "hours", "", height=60 + 22 * len(order), width=1000)
    for name in order:
        plot.add_layout(Span(location=row[name], dimension="width", line_color=colour[name], line_alpha=0.5))
    a, b = table["sensor_a"].map(row), table["sensor_b"].map(row)
    plot.segment(at, a, at, b, color="#212121", line_width=1)
    for side in (a, b):
        plot.scatter(at, side, size=5, color="#212121")
    plot.yaxis.ticker = list(range(len(order)))
    plot.yaxis.major_label_overrides = dict(enumerate(order))
    return plot


def gain_figure(
    sensor: str,
    band: pd.DataFrame,
    truth: tuple[np.ndarray, np.ndarray] | None,
    ratios: Mapping[str, tuple[np.ndarray, np.ndarray]],
    *,
    steps: bool = False,
    width: int = 330,
    top: float = 3.0,
) -> figure:
    """One sensor's gain: estimate, 95 % band, truth, and the ratios of its colocations.

    band: ``hours, median, lower, upper``; ratios: points (hours, partner ÷ own reading) by ``low-cost``/``reference``
    """
    plot = _figure(sensor, "", "", height=180, width=width)
    for kind, marker, colour in (("low-cost", "dot", STATIC), ("reference", "x", MOBILE)):
        hours, values = ratios.get(kind, (np.array([]), np.array([])))
        plot.scatter(hours, values, marker=marker, size=10 if kind == "low-cost" else 6, color=colour, alpha=0.5)
    if steps:
        plot.step(band["hours"], band["median"], mode="after", color=ESTIMATE, line_width=1.5)
        for side in ("lower", "upper"):
            plot.step(band["hours"], band[side], mode="after", color=ESTIMATE, alpha=0.35)
    else:
        plot.varea(band["hours"], band["lower"], band["upper"], color=ESTIMATE, alpha=0.18)
        plot.line(band["hours"], band["median"], color=ESTIMATE, line_width=1.5)
    if truth is not None:
        plot.line(*truth, color=TRUTH, line_width=1.5)
    plot.y_range.start, plot.y_range.end = 0.0, top
    return plot


def ratio_points(network: Network, sensor: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Partner ÷ own reading at each colocation of a sensor, apart for references and others."""
    table = network.colocations
    hours = network.clock.hours(table["time"])
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {"low-cost": [], "reference": []}
    for own, other in (("a", "b"), ("b", "a")):
        mine = (table[f"sensor_{own}"] == sensor).to_numpy() & (table[f"value_{own}"] > 0).to_numpy()
        to_reference = table[f"sensor_{other}"].isin(network.references).to_numpy()
        for kind, rows in (("low-cost", mine & ~to_reference), ("reference", mine & to_reference)):
            ratio = table[f"value_{other}"].to_numpy()[rows] / table[f"value_{own}"].to_numpy()[rows]
            found[kind].append((hours[rows], ratio))
    return {kind: _joined(parts) for kind, parts in found.items()}


def _joined(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def histogram_figure(title: str, errors: np.ndarray, reach: float, *, width: int = 330) -> figure:
    """How errors of calibrated readings are spread."""
    counts, edges = np.histogram(np.clip(errors, -reach, reach), bins=41, range=(-reach, reach))
    plot = _figure(title, "error", "readings", height=220, width=width)
    plot.quad(top=counts, bottom=0, left=edges[:-1], right=edges[1:], color=TRUTH, line_color="white", alpha=0.8)
    plot.add_layout(Span(location=0, dimension="height", line_color=ESTIMATE))
    return plot


def _figure(title: str, x: str, y: str, **size: int) -> figure:
    plot = figure(title=title, x_axis_label=x, y_axis_label=y, toolbar_location=None, tools="", **size)
    plot.xgrid.grid_line_color = None
    plot.ygrid.grid_line_alpha = 0.4
    return plot
