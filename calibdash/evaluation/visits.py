"""Colocations gathered into visits: readings of two sensors without a pause are one piece of evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibdash.data.network import Clock, Network
from calibdash.models.form import Form
from calibdash.models.linear import linearised, log_ratio_noise
from calibdash.models.pairs import PairData, pair_data
from calibdash.models.posterior import Posterior

GAP_HOURS = 3.0
LONGEST_HOURS = 24.0  # a permanent pair makes one visit a day


@dataclass(frozen=True)
class Visits:
    """V visits in the order of time, each as one linear observation of the latents of its two sensors.

    ratio + slopes·f ~ N(0, variance), f = (a's L processes, b's L processes); a reference stands on side b, slopes 0.
    hours, ratio, variance, count (readings) [V]; a, b [V]: numbers into ``sensors``; slopes [V, 2L];
    scatter [V]: Σ of squared standardised departures within the visit, χ² with count − 1 degrees of freedom;
    share, log_reading, wobble [V, 2]: each side's part of the noise variance, the mean log of its raw readings, and
    the sum of squares around it; floor [V, 2]: that side mostly read the lowest it can report.
    """

    clock: Clock
    sensors: tuple[str, ...]
    mobile: np.ndarray
    reference: np.ndarray
    hours: np.ndarray
    a: np.ndarray
    b: np.ndarray
    ratio: np.ndarray
    variance: np.ndarray
    slopes: np.ndarray
    count: np.ndarray
    scatter: np.ndarray
    share: np.ndarray
    log_reading: np.ndarray
    wobble: np.ndarray
    floor: np.ndarray

    def __len__(self) -> int:
        return len(self.hours)

    def where(self, keep: np.ndarray) -> Visits:
        """Some of them.   keep [V] bool, or row numbers"""
        columns = ("hours", "a", "b", "ratio", "variance", "slopes", "count", "scatter")
        more = ("share", "log_reading", "wobble", "floor")
        return replace(self, **{name: getattr(self, name)[keep] for name in (*columns, *more)})

    def of(self, sensor: int) -> np.ndarray:
        """Rows a sensor takes part in, in the order of time."""
        return np.flatnonzero((self.a == sensor) | (self.b == sensor))

    def sign(self, sensor: int) -> np.ndarray:
        """+1 where the sensor stands on side a, −1 on side b, 0 elsewhere.   → [V]"""
        return (self.a == sensor).astype(np.float64) - (self.b == sensor)


def find_visits(posterior: Posterior, network: Network) -> Visits:
    """The visits of a network, linearised where the posterior is."""
    known = tuple(np.array(posterior.sensors, dtype=object)[posterior.reference])
    pairs = pair_data(network.with_references(known), positive=True, covariates=posterior.function.covariates)
    pairs = replace(pairs, values=pairs.values * pairs.level / posterior.level, level=posterior.level)
    hyper = posterior.basis.hyper
    form = Form(posterior.settings.likelihood, posterior.function, posterior.settings.noise_model, tied=False)
    mean = None if posterior.function.contrast else _means(posterior, pairs)
    residual, slopes, variance = linearised(pairs, hyper, form, mean)
    if mean is not None:
        residual = residual - np.einsum("ni,ni->n", slopes, mean)
    noise = log_ratio_noise(pairs, hyper)[1]  # [N, 2]
    starts = _starts(pairs)
    return _pooled(pairs, starts, residual, slopes, variance, noise)


def _means(posterior: Posterior, pairs: PairData) -> np.ndarray:
    """Posterior means of both sensors' latents at each colocation.   → [N, 2L]"""
    L = posterior.basis.hyper.latents
    means = np.zeros((len(pairs.hours), 2 * L))
    for side, who in enumerate((pairs.a, pairs.b)):
        for number in np.unique(who[~pairs.reference[who]]):
            rows = np.flatnonzero(who == number)
            found, _ = posterior.latents(pairs.sensors[number], pairs.hours[rows])
            means[rows, side * L : (side + 1) * L] = found
    return means


def _starts(pairs: PairData) -> np.ndarray:
    """First rows of visits: a new pair, a pause, or a day since the visit began.   → [V]"""
    change = np.zeros(len(pairs.hours), dtype=bool)
    change[pairs.starts[:-1]] = True
    pause = change | np.append(True, np.diff(pairs.hours) > GAP_HOURS)
    begun = pairs.hours[np.flatnonzero(pause)][np.cumsum(pause) - 1]
    piece = np.floor((pairs.hours - begun) / LONGEST_HOURS)
    return np.flatnonzero(pause | np.append(True, np.diff(piece) != 0))


def _pooled(
    pairs: PairData,
    starts: np.ndarray,
    residual: np.ndarray,
    slopes: np.ndarray,
    variance: np.ndarray,
    noise: np.ndarray,
) -> Visits:
    count = np.diff(np.append(starts, len(pairs.hours)))
    visit = np.repeat(np.arange(len(starts)), count)
    weight = 1 / variance
    total = np.add.reduceat(weight, starts)

    def weighted(column: np.ndarray) -> np.ndarray:
        shape = (-1,) + (1,) * (column.ndim - 1)
        return np.add.reduceat(column * weight.reshape(shape), starts) / total.reshape(shape)

    ratio = weighted(residual)
    logs = np.log(pairs.values)
    log_reading = np.add.reduceat(logs, starts) / count[:, None]
    sensors = np.stack([pairs.a, pairs.b], axis=1)
    low = (pairs.values <= 1.01 * pairs.lowest) & ~pairs.reference[sensors]
    order = np.argsort(np.add.reduceat(pairs.hours, starts) / count, kind="stable")
    found = Visits(
        pairs.clock,
        pairs.sensors,
        pairs.mobile,
        pairs.reference,
        np.add.reduceat(pairs.hours, starts) / count,
        pairs.a[starts],
        pairs.b[starts],
        ratio,
        1 / total,
        weighted(slopes),
        count,
        np.add.reduceat((residual - ratio[visit]) ** 2 * weight, starts),
        weighted(noise / noise.sum(axis=1, keepdims=True)),
        log_reading,
        np.add.reduceat((logs - log_reading[visit]) ** 2, starts),
        np.add.reduceat(low, starts) > 0.5 * count[:, None],
    )
    return found.where(order)
