"""Pure plot functions of the network page: tables in, HoloViews elements out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import holoviews as hv
import numpy as np
import pandas as pd

from calibdash.data.network import Network, meetings

hv.extension("bokeh")

COLOURS = {"reference": "#e65100", "static": "#1e88e5", "mobile": "#43a047"}
PATH = "#d81b60"
RASTER_COLUMNS = 400
QUIET: dict[str, Any] = {"toolbar": "above", "active_tools": [], "responsive": True}
PLAIN: dict[str, Any] = {"xaxis": None, "yaxis": None, "show_frame": False}


def role(sensors: pd.DataFrame) -> np.ndarray:
    """``reference``, ``static`` or ``mobile`` for each sensor.   [S] → [S]"""
    return np.where(sensors["reference"], "reference", sensors["kind"])


def sensor_rows(network: Network) -> pd.DataFrame:
    """A row a sensor, in the order of the sensors table, with what people want to see of it."""
    sensors, table = network.sensors, network.colocations
    sides = [table[["time", f"sensor_{side}"]].set_axis(["time", "sensor"], axis=1) for side in "ab"]
    met = pd.concat(sides).groupby("sensor")["time"].agg(["size", "max"])
    rows = pd.DataFrame({"sensor": sensors["sensor"], "label": sensors["label"], "role": role(sensors)})
    rows["type"] = sensors["type"]
    rows["colocations"] = met["size"].reindex(sensors["sensor"]).fillna(0).astype(int).to_numpy()
    rows["last"] = [_moment(last) for last in met["max"].reindex(sensors["sensor"])]
    return rows


def _moment(time: object) -> str:
    if time is None or time != time:
        return "never"
    return f"{time:%-d %b %Y %H:%M}" if isinstance(time, pd.Timestamp) else f"hour {time:.0f}"


def reference_rings(rows: pd.DataFrame, x: Any, y: Any) -> hv.Points:
    """A ring around each reference, for those who do not tell colours apart.   x, y [S]"""
    frame = rows.assign(x=x, y=y)
    return hv.Points(frame[frame["role"] == "reference"], kdims=["x", "y"], vdims=["sensor"]).opts(
        size=20, fill_alpha=0, line_color=COLOURS["reference"], line_width=2, show_legend=False, **QUIET
    )


def sensor_points(rows: pd.DataFrame, x: Any, y: Any, selected: Sequence[str]) -> hv.Points:
    """Sensors as marks at x, y [S], the picked ones strong; the order of ``rows`` is the order of the marks."""
    frame = rows.assign(x=x, y=y)
    picked = np.flatnonzero(rows["sensor"].isin(selected)).tolist()
    details = ["sensor", "label", "role", "colocations", "last"]
    return hv.Points(frame, kdims=["x", "y"], vdims=details).opts(
        color="role",
        cmap=COLOURS,
        size=11,
        selected=picked,
        nonselection_alpha=0.35 if picked else 1.0,
        line_color="white",
        tools=["tap", "box_select", _hover(details)],
        show_legend=False,
        xlabel="",
        ylabel="",
        **QUIET,
    )


def _hover(columns: Sequence[str]) -> Any:
    from bokeh.models import HoverTool

    titles = {"sensor": "Sensor", "label": "Name", "role": "Role", "colocations": "Colocations", "last": "Last visit"}
    return HoverTool(tooltips=[(titles[name], f"@{name}") for name in columns])


def graph_edges(network: Network, places: dict[str, tuple[float, float]], path: Sequence[str]) -> hv.Segments:
    """Who met whom: the wider, the oftener; the path of the picked sensor to its reference stands out."""
    graph = meetings(network.colocations, network.sensors)
    along = {frozenset(step) for step in pairwise(path)}
    rows = [
        (
            *places[a],
            *places[b],
            0.6 + 1.1 * np.log10(edge["colocations"]),
            PATH if frozenset((a, b)) in along else "#9e9e9e",
            0.95 if frozenset((a, b)) in along else 0.45,
        )
        for a, b, edge in graph.edges(data=True)
    ]
    columns = ["x0", "y0", "x1", "y1", "width", "colour", "strength"]
    return hv.Segments(pd.DataFrame(rows, columns=columns), ["x0", "y0", "x1", "y1"], columns[4:]).opts(
        line_width="width", color="colour", alpha="strength", **QUIET, **PLAIN
    )


def visits_raster(network: Network, selected: Sequence[str]) -> hv.Points:
    """Who met somebody when: a row a sensor, a mark a colocation in the colour of the sensor that was met."""
    sensors = network.sensors.assign(role=role(network.sensors))
    order = sensors.sort_values(["role", "sensor"], ascending=[True, False])["sensor"].tolist()
    frame = network.colocations
    sides = [("sensor_a", "sensor_b"), ("sensor_b", "sensor_a")]
    marks = pd.concat(
        [pd.DataFrame({"time": frame["time"], "sensor": frame[one], "met": frame[other]}) for one, other in sides]
    )
    marks["row"] = marks["sensor"].map({sensor: row for row, sensor in enumerate(order)})
    marks["role"] = marks["met"].map(dict(zip(sensors["sensor"], sensors["role"], strict=True)))
    hours = network.clock.hours(marks["time"])
    marks["pixel"] = np.floor(hours / max(np.ptp(hours), 1.0) * RASTER_COLUMNS) if len(hours) else hours
    marks = marks.drop_duplicates(["row", "pixel", "role"], ignore_index=True)  # one mark where they would overlap
    marks["strength"] = np.where(marks["sensor"].isin(selected) | (not selected), 0.8, 0.12)
    ticks = list(enumerate(order)) if len(order) <= 60 else 0
    return hv.Points(marks, kdims=["time", "row"], vdims=["sensor", "met", "role", "strength"]).opts(
        color="role",
        cmap=COLOURS,
        marker="square",
        size=5,
        alpha="strength",
        nonselection_alpha=0.8,
        tools=["tap"],
        show_legend=False,
        height=max(240, min(18 * len(order) + 70, 900)),
        yticks=ticks,
        ylim=(-0.7, len(order) - 0.3),
        xlabel="Time (UTC)" if network.clock.origin is not None else "Time (hours)",
        ylabel="",
        **QUIET,
    )
