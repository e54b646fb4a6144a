"""A network of sensors as the rest of calibdash sees it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import networkx as nx
import numpy as np
import pandas as pd

from calibdash.data.problems import Problem


@dataclass(frozen=True)
class Clock:
    """Times of one network: UTC stamps counted in hours from ``origin``, or plain hours (no origin)."""

    origin: pd.Timestamp | None = None

    def hours(self, times: pd.Series | pd.DatetimeIndex | np.ndarray) -> np.ndarray:
        """Hours since the origin, float64.   times [N] → [N]"""
        if self.origin is None:
            return np.asarray(times, dtype=np.float64)
        stamps = pd.DatetimeIndex(times)
        stamps = stamps.tz_localize("UTC") if stamps.tz is None else stamps.tz_convert("UTC")
        return np.asarray((stamps - self.origin) / pd.Timedelta(hours=1), dtype=np.float64)

    def times(self, hours: np.ndarray) -> pd.DatetimeIndex | np.ndarray:
        """The inverse of :meth:`hours`, to the microsecond.   hours [N] → [N]"""
        if self.origin is None:
            return np.asarray(hours, dtype=np.float64)
        return self.origin + pd.to_timedelta(np.round(np.asarray(hours) * 3.6e9), unit="us")


@dataclass(frozen=True)
class Network:
    """Validated tables of one network; nobody changes them in place.

    colocations: ``time`` (UTC stamps, or float hours), ``sensor_a, sensor_b`` (text), ``value_a, value_b``
    (finite float64, may be ≤ 0), covariates ``NAME_a, NAME_b`` (float64, may be NaN); sorted by time.
    sensors: ``sensor`` (text), ``kind`` (static|mobile), ``reference`` (bool), ``latitude, longitude,
    weight, base_latitude, base_longitude`` (float64, may be NaN), ``type, label`` (text, may be empty).
    """

    name: str
    colocations: pd.DataFrame
    sensors: pd.DataFrame
    clock: Clock
    problems: tuple[Problem, ...] = field(default=(), repr=False)

    @property
    def references(self) -> tuple[str, ...]:
        """The ids of reference sensors."""
        return tuple(self.sensors.loc[self.sensors["reference"], "sensor"])

    @property
    def covariates(self) -> tuple[str, ...]:
        """Names of the covariates that both sides of a pair carry."""
        columns = set(self.colocations.columns)
        return tuple(
            sorted(
                name[:-2]
                for name in columns
                if name.endswith("_a") and name[:-2] not in ("sensor", "value") and f"{name[:-2]}_b" in columns
            )
        )

    def with_references(self, references: tuple[str, ...]) -> Network:
        """The same network with just these sensors marked as references."""
        sensors = self.sensors.assign(reference=self.sensors["sensor"].isin(references))
        return replace(self, sensors=sensors)

    def within(self, period: tuple[float, float] | None) -> Network:
        """The same network with only the colocations of a stretch of hours; None is all."""
        if period is None:
            return self
        hours = self.clock.hours(self.colocations["time"])
        inside = (hours >= period[0]) & (hours <= period[1])
        return replace(self, colocations=self.colocations[inside].reset_index(drop=True))


def meetings(colocations: pd.DataFrame, sensors: pd.DataFrame) -> nx.Graph:
    """Who met whom: a node a sensor, an edge a pair, ``colocations`` their number and ``last`` the latest time."""
    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from(sensors["sensor"])
    swap = (colocations["sensor_a"] > colocations["sensor_b"]).to_numpy()
    first = np.where(swap, colocations["sensor_b"], colocations["sensor_a"])
    second = np.where(swap, colocations["sensor_a"], colocations["sensor_b"])
    pairs = colocations["time"].groupby([first, second], sort=True).agg(["size", "max"])
    for (a, b), size, last in pairs.itertuples():
        graph.add_edge(a, b, colocations=int(size), last=last)
    return graph


def without_path(graph: nx.Graph, references: tuple[str, ...]) -> tuple[str, ...]:
    """Sensors that no chain of meetings ties to a reference, in the graph's order."""
    tied: set[str] = set()
    for reference in references:
        if reference in graph and reference not in tied:
            tied |= nx.node_connected_component(graph, reference)
    return tuple(sensor for sensor in graph if sensor not in tied)
