"""Colocations as arrays, in the order the engine wants them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calibdash.data.network import Clock, Network
from calibdash.errors import CalibdashError

REFERENCE = -1


@dataclass(frozen=True)
class PairData:
    """N colocations sorted by pair, those with a reference first; a reference always stands on side b.

    hours [N]; a, b [N] index into the S sensors; values [N, 2] in units of ``level``; covariates name → [N, 2];
    latent [S]: the number of a sensor's latent process, −1 for a reference; starts [P + 1]: first row of each pair;
    rows [N]: the row in the network's table; swapped [N]: sides were exchanged; lowest: what sensors report when their
    reading is lower (−inf: they have no such floor), in units of ``level``.
    """

    hours: np.ndarray
    a: np.ndarray
    b: np.ndarray
    values: np.ndarray
    covariates: Mapping[str, np.ndarray]
    sensors: tuple[str, ...]
    mobile: np.ndarray
    reference: np.ndarray
    latent: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    swapped: np.ndarray
    level: float
    clock: Clock
    lowest: float = -np.inf
    dropped: tuple[str, ...] = ()

    @property
    def censored(self) -> np.ndarray:
        """Readings that say no more than "at or below the lowest".   → [N, 2]"""
        sensors = np.stack([self.a, self.b], axis=1)
        return (self.values <= self.lowest) & ~self.reference[sensors]

    @property
    def tied(self) -> int:
        """How many rows have a reference on side b: the first ones."""
        return int(np.sum(self.reference[self.b]))

    @property
    def latent_sensors(self) -> np.ndarray:
        """Indices of the sensors that have a latent process."""
        return np.flatnonzero(~self.reference)

    def pair_ids(self) -> tuple[np.ndarray, np.ndarray]:
        """Latent numbers of the two sensors of each pair, −1 for a reference.   → [P], [P]"""
        first = self.starts[:-1]
        return self.latent[self.a[first]], self.latent[self.b[first]]

    def subset(self, keep: np.ndarray) -> PairData:
        """The same sensors with only some of the rows.   keep [N] bool"""
        a, b = self.a[keep], self.b[keep]
        return PairData(
            self.hours[keep],
            a,
            b,
            self.values[keep],
            {name: column[keep] for name, column in self.covariates.items()},
            self.sensors,
            self.mobile,
            self.reference,
            self.latent,
            _starts(a, b),
            self.rows[keep],
            self.swapped[keep],
            self.level,
            self.clock,
            self.lowest,
            self.dropped,
        )


def pair_data(
    network: Network, *, positive: bool = False, covariates: tuple[str, ...] = (), lowest: float | None = None
) -> PairData:
    """Arrays of a network; what cannot be used is left out and reported in ``dropped``.

    positive: the likelihood takes logarithms of readings, so that both must be above zero.
    lowest: what a sensor reports when its reading is lower; None looks for it.
    """
    table, sensors = network.colocations, network.sensors
    names = tuple(str(name) for name in sensors["sensor"])
    number = {name: index for index, name in enumerate(names)}
    reference = sensors["reference"].to_numpy(dtype=bool)
    a = table["sensor_a"].map(number).to_numpy(dtype=np.float64)
    b = table["sensor_b"].map(number).to_numpy(dtype=np.float64)
    values = table[["value_a", "value_b"]].to_numpy(dtype=np.float64)
    hours = network.clock.hours(table["time"])
    keep, dropped = _usable(a, b, values, hours, reference, positive)
    if not keep.any():
        raise CalibdashError("There is no colocation that a fit can use.", " ".join(dropped) or "The table is empty.")
    a, b = np.where(keep, a, 0).astype(np.int64), np.where(keep, b, 0).astype(np.int64)

    # One order for the two sides of a pair: (a, b) and (b, a) rows pool, and a reference is always second.
    swapped = np.where(reference[a] != reference[b], reference[a], a > b)
    a, b = np.where(swapped, b, a), np.where(swapped, a, b)
    values = np.where(swapped[:, None], values[:, ::-1], values)
    order = np.lexsort((hours, b, a, ~reference[b]))
    order = order[keep[order]]
    level = float(np.median(np.abs(values[order])[values[order] != 0])) if np.any(values[order]) else 1.0
    sides, filled = _covariates(network, covariates, swapped, order)
    cheap = values[order][~reference[np.stack([a, b], axis=1)[order]]]
    floor = _floor(cheap) if lowest is None else lowest
    return PairData(
        hours[order],
        a[order],
        b[order],
        values[order] / level,
        sides,
        names,
        (sensors["kind"] == "mobile").to_numpy(dtype=bool),
        reference,
        np.where(reference, REFERENCE, np.cumsum(~reference) - 1),
        _starts(a[order], b[order]),
        order,
        swapped[order],
        level,
        network.clock,
        floor / level,
        (*dropped, *filled),
    )


def _floor(readings: np.ndarray) -> float:
    """The smallest reading where it recurs as no continuous reading would, else −inf.   readings [R]"""
    smallest = float(readings.min())
    recurs = int(np.sum(readings == smallest))
    values, counts = np.unique(readings, return_counts=True)
    usual = float(np.quantile(counts, 0.9)) if len(values) > 10 else np.inf
    return smallest if recurs >= max(5.0, 5 * usual) else -np.inf


def _usable(
    a: np.ndarray, b: np.ndarray, values: np.ndarray, hours: np.ndarray, reference: np.ndarray, positive: bool
) -> tuple[np.ndarray, tuple[str, ...]]:
    known = np.isfinite(a) & np.isfinite(b) & np.isfinite(hours)
    first, second = np.where(known, a, 0).astype(np.int64), np.where(known, b, 0).astype(np.int64)
    reasons = (
        (~known, "with an unknown sensor or time"),
        (~np.isfinite(values).all(axis=1), "with a reading that is not finite"),
        (known & (first == second), "of a sensor with itself"),
        (known & reference[first] & reference[second], "of two references (they say nothing about other sensors)"),
        ((values <= 0).any(axis=1) & positive, "with a reading at or below zero (this likelihood takes logarithms)"),
    )
    keep = np.ones(len(a), dtype=bool)
    dropped = []
    for bad, reason in reasons:
        count = int(np.sum(keep & bad))
        if count:
            dropped.append(f"Left out {count} colocation{'s' * (count != 1)} {reason}.")
        keep &= ~bad
    return keep, tuple(dropped)


def _covariates(
    network: Network, names: tuple[str, ...], swapped: np.ndarray, order: np.ndarray
) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """Covariates by side; a missing value becomes the median, so that it does not erase the colocation."""
    sides, filled = {}, []
    for name in names:
        if name not in network.covariates:
            raise CalibdashError(
                f"This calibration function needs the covariate {name!r}.",
                f"Add the columns {name}_a and {name}_b to the colocations.",
            )
        both = network.colocations[[f"{name}_a", f"{name}_b"]].to_numpy(dtype=np.float64)
        both = np.where(swapped[:, None], both[:, ::-1], both)[order]
        missing = ~np.isfinite(both)
        if missing.all():
            raise CalibdashError(f"The covariate {name!r} has no value at all.", "Fit without it, or fill it in.")
        if missing.any():
            filled.append(f"Used the median {name} for {int(missing.sum())} missing values.")
        sides[name] = np.where(missing, np.median(both[~missing]), both)
    return sides, tuple(filled)


def _starts(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    change = np.flatnonzero((np.diff(a) != 0) | (np.diff(b) != 0)) + 1
    return np.concatenate([[0], change, [len(a)]]).astype(np.int64)
