"""What could be wrong with a sensor, and how strongly its visits say so.

A hypothesis is a kind of fault of one sensor from one of its visits on. Its weight after n visits is
prior × p(visits | fault) / p(visits | no fault); sudden and slow faults add a signature g·δ, δ ~ N(0, size²), to the
visits, so with G = L⁻¹g and z = L⁻¹r the log ratio is ½(Gᵀz)²/(GᵀG + size⁻²) − ½ log(1 + size²·GᵀG).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibdash.evaluation.innovations import Innovations

SUDDEN, SLOW, NOISY, STUCK = KINDS = ("sudden", "slow", "noisy", "stuck")
# Faults a year of one low-cost sensor outdoors, moves and cleanings among the sudden ones; a reference has a tenth.
RATES = {SUDDEN: 1.2, SLOW: 0.4, NOISY: 0.2, STUCK: 0.2}
REFERENCE_SHARE = 0.1
HOURS_A_YEAR = 8766.0
STEP_SIZE = 0.4  # log units
SLOPE_SIZE = 0.4  # log units in 30 days
SLOPE_HOURS = 720.0
NOISE_FACTORS = (2.0, 4.0)  # on the sd of a reading
STILL = 0.01  # log sd of the readings of a stuck sensor
LEVELS = 3.0  # width of the range of log readings, where a sensor may get stuck anywhere
MOST_A_VISIT = 3.0  # nats that one visit can say for a noisy or stuck sensor: no visit decides alone
FEWEST = {SUDDEN: 2, SLOW: 3, NOISY: 3, STUCK: 3}  # visits of the sensor before a fault is spoken of


@dataclass(frozen=True)
class Weights:
    """Log weights of one sensor's hypotheses.

    rows [n]: its visits; by kind [R, n]: after each of R rows of the record, for a fault begun at each of its visits
    """

    sensor: int
    rows: np.ndarray
    by_kind: dict[str, np.ndarray]

    def total(self, row: int = -1) -> dict[str, float]:
        """Log of the summed weight by kind after a row."""
        return {kind: _log_sum(part[row]) for kind, part in self.by_kind.items()}

    def log_total(self) -> float:
        """Log of the summed weight of all hypotheses in the end."""
        return float(np.logaddexp.reduce([*self.total().values(), -np.inf]))

    def log_totals(self, count: int) -> np.ndarray:
        """The same after each of ``count`` rows.   → [count]"""
        if not self.by_kind:
            return np.full(count, -np.inf)
        every = np.concatenate(list(self.by_kind.values()), axis=1)  # [R, kinds·n]
        top = every.max(axis=1)
        at = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return at + np.log(np.sum(np.exp(every - at[:, None]), axis=1))

    def start(self, kind: str, row: int = -1) -> int:
        """The row at which a fault of this kind most likely began."""
        return int(self.rows[int(np.argmax(self.by_kind[kind][row]))])


def weigh(found: Innovations, sensor: int, *, every: bool = True) -> Weights:
    """Log weights of every hypothesis about one sensor after every visit of the network, or after the last alone."""
    visits = found.visits
    rows = visits.of(sensor)
    if len(rows) < 2:
        return Weights(sensor, rows, {})
    prior = _prior(visits.hours[rows], REFERENCE_SHARE if visits.reference[sensor] else 1.0)
    after = np.arange(len(visits)) if every else np.array([len(visits) - 1])
    last = np.searchsorted(rows, after, side="right") - 1  # own visits so far, less one
    own = {NOISY: _noisy(found, sensor, rows), STUCK: _stuck(found, sensor, rows)}
    parts = {**_shifts(found, sensor, rows, every), **{kind: part[np.maximum(last, 0)] for kind, part in own.items()}}
    since = last[:, None] - np.arange(len(rows))[None, :] + 1  # own visits since the fault began
    weights = {
        kind: np.where(since >= FEWEST[kind], np.log(RATES[kind]) + prior + part, -np.inf)
        for kind, part in parts.items()
    }
    return Weights(sensor, rows, weights)


def signature(found: Innovations, sensor: int, kind: str, start: int) -> np.ndarray:
    """What a sudden or slow fault of unit size adds to each visit.   → [V]"""
    hours = found.visits.hours
    shape = np.ones(len(hours)) if kind == SUDDEN else (hours - hours[start]) / SLOPE_HOURS
    return np.where(np.arange(len(hours)) >= start, found.visits.sign(sensor) * shape, 0.0)


def size(found: Innovations, sensor: int, kind: str, start: int) -> tuple[float, float]:
    """Posterior mean and sd of the size of a sudden (log units) or slow (log units in 30 days) fault."""
    G = found.inverse @ signature(found, sensor, kind, start)
    prior = STEP_SIZE if kind == SUDDEN else SLOPE_SIZE
    precision = float(G @ G) + prior**-2
    z = found.inverse @ found.visits.ratio  # not clipped: a large fault is to be seen at its size
    return float(G @ z) / precision, precision**-0.5


def _prior(hours: np.ndarray, share: float) -> np.ndarray:
    """Log of the years since the visit before, times ``share``; no fault before the first visit.   [n] → [n]"""
    gaps = np.append(0.0, np.maximum(np.diff(hours), 0.1))
    with np.errstate(divide="ignore"):
        return np.log(share * gaps / HOURS_A_YEAR)


def _shifts(found: Innovations, sensor: int, rows: np.ndarray, every: bool) -> dict[str, np.ndarray]:
    """Log ratios of sudden and slow faults begun at each own visit, after every visit or the last.   → [R, n] each"""
    visits = found.visits
    columns = found.inverse[:, rows] * visits.sign(sensor)[rows]  # [V, n]
    hours = visits.hours[rows]
    ones = np.cumsum(columns[:, ::-1], axis=1)[:, ::-1]  # whitened step begun at each visit
    times = np.cumsum((columns * hours)[:, ::-1], axis=1)[:, ::-1]
    result = {}
    for kind, G, width in (
        (SUDDEN, ones, STEP_SIZE),
        (SLOW, (times - hours * ones) / SLOPE_HOURS, SLOPE_SIZE),
    ):
        if every:
            power, match = np.cumsum(G**2, axis=0), np.cumsum(G * found.filtered[:, None], axis=0)
        else:
            power, match = np.sum(G**2, axis=0)[None], (found.filtered @ G)[None]
        result[kind] = 0.5 * match**2 / (power + width**-2) - 0.5 * np.log1p(width**2 * power)
    return result


def _noisy(found: Innovations, sensor: int, rows: np.ndarray) -> np.ndarray:
    """Log ratios of a larger noise begun at each own visit, after each own visit.   → [n, n]"""
    visits = found.visits
    side = np.where(visits.a[rows] == sensor, 0, 1)
    share = visits.share[rows, side]
    own = visits.variance[rows] * share * found.scale**2  # variance this sensor's noise adds to the visit
    freedom = visits.count[rows] - 1
    spread = _usual_scatter(visits.scatter, visits.count)
    result = []
    for factor in NOISE_FACTORS:
        ratio = 1 + (factor**2 - 1) * own / found.sd[rows] ** 2
        between = -0.5 * np.log(ratio) + 0.5 * np.minimum(found.z[rows] ** 2, 36.0) * (1 - 1 / ratio)
        inside = 1 + (factor**2 - 1) * share
        within = -0.5 * freedom * np.log(inside) + 0.5 * visits.scatter[rows] / spread * (1 - 1 / inside)
        result.append(_since(np.minimum(between + within, MOST_A_VISIT)))
    return np.logaddexp(*result) - np.log(2)


def _stuck(found: Innovations, sensor: int, rows: np.ndarray) -> np.ndarray:
    """Log ratios of a reading that no longer moves, begun at each own visit.   → [n, n]

    A stuck sensor reads c whatever the level is; a healthy one reads what its partner and both calibrations foretell.
    """
    visits = found.visits
    n = len(rows)
    side = np.where(visits.a[rows] == sensor, 0, 1)
    reading = visits.log_reading[rows, side]
    noise = visits.variance[rows] * visits.share[rows, side] * visits.count[rows]
    extra = visits.count[rows] - 1
    wobble = visits.wobble[rows, side]
    calm = np.maximum(noise, STILL**2)  # a sensor as quiet as a stuck one says nothing by being quiet
    inside = 0.5 * extra * np.log(calm / STILL**2) - 0.5 * wobble * (STILL**-2 - 1 / calm)
    inside = np.where(noise < 9 * STILL**2, np.minimum(inside, 0.0), inside)
    healthy = -0.5 * found.z[rows] ** 2 - np.log(found.sd[rows]) - 0.5 * np.log(2 * np.pi)
    total = np.full((n, n), -np.inf)
    sums = np.concatenate([[0.0], np.cumsum(reading)])
    for start in range(n):
        after = np.arange(start, n)
        seen = after - start
        centre = (sums[after] - sums[start]) / np.maximum(seen, 1)
        sd = STILL * np.sqrt(1 + 1 / np.maximum(seen, 1))
        density = -0.5 * ((reading[after] - centre) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)
        density[0] = -np.log(LEVELS)
        gain = np.minimum(density - healthy[after] + inside[after], MOST_A_VISIT)
        gain = np.where(visits.floor[rows, side][after], np.minimum(gain, 0.0), gain)  # low air, not a fault
        total[after, start] = np.cumsum(np.maximum(gain, -50.0))
    return total


def _since(steps: np.ndarray) -> np.ndarray:
    """Sums of steps from each visit j to each visit i ≥ j.   [n] → [n, n]"""
    sums = np.cumsum(steps)
    total = sums[:, None] - (sums - steps)[None, :]
    return np.where(np.tri(len(steps), dtype=bool), total, -np.inf)


def _usual_scatter(scatter: np.ndarray, count: np.ndarray) -> float:
    """By how much visits scatter more than the model says, judged by the middle visit; at least half.   → []"""
    several = count > 1
    if several.sum() < 10:
        return 1.0
    freedom = count[several] - 1
    middle = freedom * (1 - 2 / (9 * freedom)) ** 3  # median of χ²
    return max(float(np.median(scatter[several] / middle)), 0.5)


def _log_sum(values: np.ndarray) -> float:
    top = np.max(values, initial=-np.inf)
    return float(top + np.log(np.sum(np.exp(values - top)))) if np.isfinite(top) else -np.inf
