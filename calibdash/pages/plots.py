"""What the plots of the network page draw, as plain tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from calibdash.data.network import Network, meetings

COLOURS = {"reference": "#e65100", "static": "#1e88e5", "mobile": "#43a047"}
PATH = "#d81b60"
EDGES = {
    "with a reference": "#ef9a5b",
    "static and mobile": "#90a4ae",
    "two static": "#64b5f6",
    "two mobile": "#81c784",
}
EDGE_COLUMNS = ["x0", "y0", "x1", "y1", "one", "other", "kind", "colocations", "last"]
EDGE_LOOKS = ["width", "colour", "strength"]
RASTER_COLUMNS = 400
EARTH_METRES = 6_378_137.0


def role(sensors: pd.DataFrame) -> np.ndarray:
    """``reference``, ``static`` or ``mobile`` for each sensor.   [S] → [S]"""
    return np.where(sensors["reference"], "reference", sensors["kind"])


def sensor_rows(network: Network) -> pd.DataFrame:
    """A row a sensor, in the order of the sensors table, with what people want to see of it.

    ``sensor, label, role, type, colocations, at`` (its last visit, missing: never), ``last`` (the same in words)
    """
    sensors, table = network.sensors, network.colocations
    sides = [table[["time", f"sensor_{side}"]].set_axis(["time", "sensor"], axis=1) for side in "ab"]
    met = pd.concat(sides).groupby("sensor")["time"].agg(["size", "max"])
    rows = pd.DataFrame({"sensor": sensors["sensor"], "label": sensors["label"], "role": role(sensors)})
    rows["type"] = sensors["type"]
    rows["colocations"] = met["size"].reindex(sensors["sensor"]).fillna(0).astype(int).to_numpy()
    rows["at"] = met["max"].reindex(sensors["sensor"]).array
    rows["last"] = [_moment(last) for last in rows["at"]]
    return rows


def _moment(time: object) -> str:
    if time is None or time != time:
        return "never"
    return f"{time:%-d %b %Y %H:%M}" if isinstance(time, pd.Timestamp) else f"hour {time:.0f}"


def graph_edges(network: Network, places: dict[str, tuple[float, float]]) -> pd.DataFrame:
    """Who met whom: ``x0, y0, x1, y1, one, other, kind, colocations, last``, a row a pair"""
    graph = meetings(network.colocations, network.sensors)
    roles = dict(zip(network.sensors["sensor"], role(network.sensors), strict=True))
    rows = [
        (*places[a], *places[b], a, b, edge_kind(roles[a], roles[b]), edge["colocations"], _moment(edge["last"]))
        for a, b, edge in graph.edges(data=True)
    ]
    return pd.DataFrame(rows, columns=EDGE_COLUMNS)


def edge_looks(edges: pd.DataFrame, path: Sequence[str]) -> pd.DataFrame:
    """The wider, the oftener they met, coloured by who they are; a path stands out.   → width, colour, strength"""
    along = {frozenset(step) for step in pairwise(path)}
    chosen = np.array([frozenset(pair) in along for pair in zip(edges["one"], edges["other"], strict=True)], dtype=bool)
    width = 0.6 + 1.1 * np.log10(edges["colocations"].to_numpy(dtype=float))
    colour = np.where(chosen, PATH, edges["kind"].map(EDGES).to_numpy(dtype=object))
    looks = (width * np.where(chosen, 1.6, 1.0), colour, np.where(chosen, 0.95, 0.6))
    return pd.DataFrame(dict(zip(EDGE_LOOKS, looks, strict=True)))


def edge_kind(one: str, other: str) -> str:
    """Which sort of meeting it is, by the roles of the two."""
    if "reference" in (one, other):
        return "with a reference"
    return "static and mobile" if one != other else f"two {one}"


def mercator(longitude: Any, latitude: Any) -> tuple[np.ndarray, np.ndarray]:
    """Places on a Web Mercator map, in metres.   [S], [S] → [S], [S]"""
    x = EARTH_METRES * np.radians(np.asarray(longitude, dtype=float))
    y = EARTH_METRES * np.log(np.tan(np.pi / 4 + np.radians(np.clip(np.asarray(latitude, dtype=float), -85, 85)) / 2))
    return x, y


def map_axes() -> dict[str, Any]:
    """Axes of a Web Mercator map, read in degrees."""
    from bokeh.models import MercatorTicker, MercatorTickFormatter

    return {
        "xformatter": MercatorTickFormatter(dimension="lon"),
        "yformatter": MercatorTickFormatter(dimension="lat"),
        "xticks": MercatorTicker(dimension="lon", desired_num_ticks=4),
        "yticks": MercatorTicker(dimension="lat", desired_num_ticks=5),
        "xlabel": "Longitude",
        "ylabel": "Latitude",
    }


def raster_rows(network: Network) -> dict[str, int]:
    """The row of each sensor in the drawing of visits: mobiles below, references in between, statics on top."""
    sensors = network.sensors.assign(role=role(network.sensors))
    order = sensors.sort_values(["role", "sensor"], ascending=[True, False])["sensor"]
    return {sensor: row for row, sensor in enumerate(order)}


def visits_raster(network: Network) -> pd.DataFrame:
    """Who met somebody when: a row a sensor, a mark a colocation in the colour of the sensor that was met.

    ``time, row, sensor, met, role, colour``, a row a mark
    """
    roles = dict(zip(network.sensors["sensor"], role(network.sensors), strict=True))
    frame = network.colocations
    sides = [("sensor_a", "sensor_b"), ("sensor_b", "sensor_a")]
    marks = pd.concat(
        [pd.DataFrame({"time": frame["time"], "sensor": frame[one], "met": frame[other]}) for one, other in sides]
    )
    marks["row"] = marks["sensor"].map(raster_rows(network))
    marks["role"] = marks["met"].map(roles)
    hours = network.clock.hours(marks["time"])
    marks["pixel"] = np.floor(hours / max(np.ptp(hours), 1.0) * RASTER_COLUMNS) if len(hours) else hours
    marks = marks.drop_duplicates(["row", "pixel", "role"], ignore_index=True)  # one mark where they would overlap
    marks["colour"] = marks["role"].map(COLOURS)
    return marks.drop(columns="pixel")


def plain(times: pd.DatetimeIndex | np.ndarray) -> pd.DatetimeIndex | np.ndarray:
    """Bokeh draws naive UTC stamps as they are."""
    return times.tz_localize(None) if isinstance(times, pd.DatetimeIndex) else times
