"""Faults put into a healthy network at a known time, to see who notices."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibdash.data.network import Network
from calibdash.errors import CalibdashError

KINDS = ("step", "accelerating", "clogged", "stuck", "noisy")


@dataclass(frozen=True)
class Fault:
    """A fault of one sensor from ``hours`` on. size: step: log factor; accelerating: log factor after 30 days;
    clogged: share of the reading lost in the end (half of it in 10 days); noisy: log sd added; stuck: not used.
    """

    sensor: str
    kind: str
    hours: float
    size: float

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise CalibdashError(f"There is no fault {self.kind!r}.", f"The faults are {', '.join(KINDS)}.")


def with_fault(network: Network, fault: Fault, seed: int = 0) -> Network:
    """The network as it would have been recorded with this fault."""
    table = network.colocations.copy()
    hours = network.clock.hours(table["time"])
    rng = np.random.default_rng(seed)
    stuck_at: float | None = None
    for side in "ab":
        rows = np.flatnonzero((table[f"sensor_{side}"] == fault.sensor).to_numpy() & (hours >= fault.hours))
        if not len(rows):
            continue
        values = table[f"value_{side}"].to_numpy(dtype=np.float64).copy()
        days = (hours[rows] - fault.hours) / 24
        if fault.kind == "stuck":
            stuck_at = float(values[rows[0]]) if stuck_at is None else stuck_at
            values[rows] = stuck_at
        else:
            values[rows] *= np.exp(_log_factor(fault, days, rng))
        table[f"value_{side}"] = values
    return replace(network, colocations=table)


def _log_factor(fault: Fault, days: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if fault.kind == "step":
        return np.full(len(days), fault.size)
    if fault.kind == "accelerating":
        return fault.size * (days / 30) ** 2
    if fault.kind == "clogged":
        return np.log1p(-fault.size * (1 - 0.5 ** (days / 10)))
    return fault.size * rng.standard_normal(len(days))
