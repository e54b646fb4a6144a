"""Multi-hop calibration: each sensor's gain in each window of time, along the shortest path to a reference.

true = gain·raw. Nodes are (sensor, window); an edge of weight 1 joins two sensors that met often enough in a window,
one of weight ``time_weight`` joins neighbouring windows of a sensor. The log gain of a node is the sum of mean log
ratios along its path, its variance the sum of the variances of those means and of the drift: of a whole window at each
step in time, and of a third of one at each colocation, as two times in one window are that far apart on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from calibdash.data.network import Clock, Network
from calibdash.data.problems import did_you_mean
from calibdash.errors import CalibdashError
from calibdash.models.multihop_graph import (
    Arcs,
    MultihopSettings,
    Windows,
    as_networkx,
    edge_variance,
    find_drift,
    make_arcs,
    pool,
    reading_noise,
    windows_over,
)
from calibdash.models.multihop_paths import Z95, Paths, log_normal, shortest_paths
from calibdash.models.multihop_words import NO_PATH, path_texts, path_words
from calibdash.models.pairs import PairData, pair_data

Times = Sequence | np.ndarray | pd.Series | pd.DatetimeIndex


class Node(NamedTuple):
    """A sensor in a window; windows count from the clock's origin."""

    sensor: str
    window: int


@dataclass(frozen=True)
class Multihop:
    """Every sensor's gain in every window, and the path it came along.

    sensors [S], reference [S]; ``found`` has a node for each sensor and window (S·W, sensor by sensor);
    noise: log sd of one reading; drift: log sd of a gain's change over a day (estimated unless it was set).
    """

    settings: MultihopSettings
    sensors: tuple[str, ...]
    reference: np.ndarray
    clock: Clock
    windows: Windows
    arcs: Arcs
    found: Paths
    noise: float
    drift: float
    dropped: tuple[str, ...] = ()

    @property
    def log_gain(self) -> np.ndarray:
        """Log gains; NaN where there is no path to a reference.   → [S, W]"""
        return self.found.log_gain.reshape(len(self.sensors), -1)

    @property
    def sd(self) -> np.ndarray:
        """Standard deviations of the log gains; NaN where there is no path.   → [S, W]"""
        return np.sqrt(self.found.variance).reshape(len(self.sensors), -1)

    @property
    def without_path(self) -> tuple[str, ...]:
        """Sensors that no path ties to a reference (steps in time make that all windows or none)."""
        return tuple(np.array(self.sensors, dtype=object)[np.isnan(self.log_gain).all(axis=1)])

    def number(self, sensor: str) -> int:
        """The row of a sensor."""
        if sensor not in self.sensors:
            hint = did_you_mean(sensor, self.sensors) or "Give an id of the sensors table."
            raise CalibdashError(f"There is no sensor {sensor[:60]!r}.", hint)
        return self.sensors.index(sensor)

    def window(self, time: object) -> int | None:
        """The window a time is in, counted from the clock's origin; None outside the data."""
        place = int(self._places([time])[0])  # type: ignore[list-item]
        return self.windows.first + place if place >= 0 else None

    def path(self, sensor: str, window: int) -> list[Node]:
        """The nodes from a reference to a sensor in a window; empty where there is no path."""
        place = window - self.windows.first
        node = self.number(sensor) * self.windows.count + place
        if not 0 <= place < self.windows.count or self.found.root[node] < 0:
            return []
        nodes = [node]
        while nodes[-1] != self.found.root[node]:
            nodes.append(int(self.found.previous[nodes[-1]]))
        return [self._node(node) for node in reversed(nodes)]

    def describe_path(self, sensor: str, time: object) -> str:
        """Where a calibration comes from, for people: ``from R0 via M2, 3 days ago``."""
        if self.reference[self.number(sensor)]:
            return "a reference itself"
        window = self.window(time)
        return path_words([] if window is None else self.path(sensor, window), self.windows.hours)

    def steps(self, sensor: str) -> tuple[np.ndarray, np.ndarray]:
        """Where every window begins, and the gain that holds from there; NaN without a path.   → hours [W], gain [W]"""
        return self.windows.starts(), np.exp(self.log_gain[self.number(sensor)])

    def calibration(self, times: Times | None = None, sensors: Sequence[str] | None = None) -> pd.DataFrame:
        """``time, sensor, parameter, mean, sd, median, lower, upper`` of the gain, as a fit gives them.

        times None: the start of every window, from which its gain holds; sensors None: all but references, which
        are 1 if asked for. NaN where there is no path to a reference, and outside the windows of the data.
        """
        hours = self.windows.starts() if times is None else self.clock.hours(_array(times))
        stamps, place = self.clock.times(hours), self.windows.place(hours)
        chosen = self._drifting() if sensors is None else sensors
        tables = []
        for sensor in chosen:
            row = self.number(sensor)
            log_gain, sd = (np.where(place < 0, np.nan, part[row, place]) for part in (self.log_gain, self.sd))
            columns = {"time": stamps, "sensor": sensor, "parameter": "gain", **log_normal(log_gain, sd)}
            tables.append(pd.DataFrame(columns))
        if not tables:
            raise CalibdashError("There is no sensor to report on.", "Every sensor of the network is a reference.")
        return pd.concat(tables, ignore_index=True)

    def calibrate(self, measurements: pd.DataFrame) -> pd.DataFrame:
        """``time, sensor, value, calibrated, lower, upper, outcome``: true levels behind raw readings.

        The 95 % bounds hold the uncertainty of the path and the noise of the reading, both in proportion (a reference
        has neither). ``outcome`` is empty, or says that there is no path to a reference: an unknown sensor, one that
        no path reaches, or a time outside the windows of the data, for which the method has no gain.
        """
        for column in ("time", "sensor", "value"):
            if column not in measurements.columns:
                raise CalibdashError(
                    f"The measurements have no column {column!r}.", "They need time, sensor and value."
                )
        numbers = {sensor: row for row, sensor in enumerate(self.sensors)}
        row = measurements["sensor"].astype(str).map(numbers).fillna(-1).to_numpy(dtype=np.int64)
        place = self._places(measurements["time"])
        known = (row >= 0) & (place >= 0)
        log_gain = np.where(known, self.log_gain[row, place], np.nan)
        noise = np.where(self.reference[row], 0.0, self.noise)
        spread = np.exp(Z95 * np.hypot(self.sd[row, place], noise))
        calibrated = np.exp(log_gain) * measurements["value"].to_numpy(dtype=np.float64)
        bounds = np.sort([calibrated / spread, calibrated * spread], axis=0)  # readings below zero swap them
        return measurements[["time", "sensor", "value"]].assign(
            calibrated=calibrated,
            lower=bounds[0],
            upper=bounds[1],
            outcome=np.where(np.isnan(log_gain), NO_PATH, ""),
        )

    def paths(self) -> pd.DataFrame:
        """The path of every sensor (but references) and window, sensor by sensor.

        ``window_start, window_end, sensor, reference, hops, windows_crossed, weight, log_gain, sd, path``; the last is
        a JSON list of [sensor, start of its window] from the reference on, with windows left out that are only passed.
        Without a path, ``reference`` is empty, ``path`` is ``[]`` and the rest is missing.
        """
        W = self.windows.count
        nodes = (np.flatnonzero(~self.reference)[:, None] * W + np.arange(W)).ravel()
        found, names = self.found, np.array(self.sensors, dtype=object)
        root = found.root[nodes]
        starts, stamps = self.windows.starts(), self.clock.times(self.windows.starts())
        missing = root < 0
        return pd.DataFrame(
            {
                "window_start": stamps[nodes % W],
                "window_end": self.clock.times(starts + self.windows.hours)[nodes % W],
                "sensor": names[nodes // W],
                "reference": np.where(missing, "", names[root // W]),
                "hops": pd.Series(found.hops[nodes], dtype="Int64").mask(missing),
                "windows_crossed": pd.Series(found.crossed[nodes], dtype="Int64").mask(missing),
                "weight": found.weight[nodes],
                "log_gain": found.log_gain[nodes],
                "sd": np.sqrt(found.variance[nodes]),
                "path": path_texts(found, self.sensors, stamps)[nodes],
            }
        )

    def graph(self) -> nx.DiGraph:
        """The whole graph, nodes (sensor, window), for drawing."""
        return as_networkx(self.arcs, self.sensors, self.windows, self.settings.time_weight)

    def _node(self, node: int) -> Node:
        return Node(self.sensors[node // self.windows.count], self.windows.first + node % self.windows.count)

    def _drifting(self) -> list[str]:
        return [name for name, fixed in zip(self.sensors, self.reference, strict=True) if not fixed]

    def _places(self, times: Times) -> np.ndarray:
        return self.windows.place(self.clock.hours(_array(times)))


def _array(times: Times) -> np.ndarray | pd.Series | pd.DatetimeIndex:
    return times if isinstance(times, np.ndarray | pd.Series | pd.DatetimeIndex) else pd.Series(list(times))


def multihop(network: Network, settings: MultihopSettings | None = None) -> Multihop:
    """The multi-hop calibration of a network. Without a reference there is none."""
    settings = settings or MultihopSettings()
    if not network.references:
        raise CalibdashError("The network has no reference.", "Multi-hop starts from one: name it with --reference ID.")
    pairs = pair_data(network, positive=True)
    hours = network.clock.hours(network.colocations["time"])
    windows = windows_over(hours[np.isfinite(hours)], settings.window_hours, len(pairs.sensors))
    return solve(pairs, windows, settings)


def solve(pairs: PairData, windows: Windows, settings: MultihopSettings) -> Multihop:
    """Graph and paths of colocations that are arrays already."""
    graph, noise, drift = build(pairs, windows, settings)
    found = find_paths(graph, pairs, windows, settings.time_weight)
    return Multihop(
        settings, pairs.sensors, pairs.reference, pairs.clock, windows, graph, found, noise, drift, pairs.dropped
    )


def build(pairs: PairData, windows: Windows, settings: MultihopSettings) -> tuple[Arcs, float, float]:
    """The graph, the log sd of one reading, and that of drift over a day; the time weight plays no part."""
    edges = pool(pairs, windows)
    noise = reading_noise(edges)
    variance = edge_variance(edges, noise)
    drift = find_drift(edges, variance, windows.hours) if settings.drift is None else settings.drift
    enough = edges.count >= settings.min_observations
    time_variance = drift**2 * windows.hours / 24
    variance = variance + time_variance / 3  # drift within the window
    graph = make_arcs(edges.subset(enough), variance[enough], pairs.reference, windows.count, time_variance)
    return graph, noise, drift


def find_paths(graph: Arcs, pairs: PairData, windows: Windows, time_weight: float) -> Paths:
    """Each node's path from its nearest reference; sensors rank by id, so that no table's order matters."""
    rank = np.argsort(np.argsort(np.array(pairs.sensors)))
    sources = np.flatnonzero(np.repeat(pairs.reference, windows.count))
    return shortest_paths(graph, sources, time_weight, np.repeat(rank, windows.count))
