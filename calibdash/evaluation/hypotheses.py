"""What could be wrong with a sensor, and how strongly its visits say so.

A hypothesis is a kind of fault of one sensor from one of its visits on. Its weight after n visits is
prior × p(visits | fault) / p(visits | no fault); sudden and slow faults add a signature g·δ, δ ~ N(0, size²), to the
visits, so with G = L⁻¹g and z = L⁻¹r the log ratio is ½(Gᵀz)²/(GᵀG + size⁻²) − ½ log(1 + size²·GᵀG).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibdash.evaluation.innovations import Innovations

SUDDEN, SLOW, NOISY, STUCK = KINDS = ("sudden", "slow", "noisy", "stuck")
RATE = 2.0  # faults a year of one low-cost sensor outdoors, moves and cleanings among them; a reference has a tenth
SHARES = {SUDDEN: 0.6, SLOW: 0.2, NOISY: 0.1, STUCK: 0.1}
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
RECENT = 7  # visits within which a suspicion must harden, or is dropped


@dataclass(frozen=True)
class Weights:
    """Log weights of one sensor's hypotheses.

    rows [n]: its visits; by kind [R, n]: after each of its visits, or at the end of the record alone (R = 1), for a
    fault begun at each of its visits; since [R, n]: its visits since then
    """

    sensor: int
    rows: np.ndarray
    since: np.ndarray
    by_kind: dict[str, np.ndarray]

    def recent(self) -> Weights:
        """Faults begun in the last few visits alone.

        Small changes long ago can never be ruled out: summed over a long record they would look like a suspicion.
        """
        fresh = self.since <= RECENT
        return replace(self, by_kind={kind: np.where(fresh, part, -np.inf) for kind, part in self.by_kind.items()})

    def total(self) -> dict[str, float]:
        """Log of the summed weight by kind in the end."""
        return {kind: float(log_sum(part[-1:])[0]) for kind, part in self.by_kind.items()}

    def log_totals(self) -> np.ndarray:
        """Log of the summed weight of all hypotheses.   → [R]"""
        return log_sum(np.concatenate(list(self.by_kind.values()), axis=1)) if self.by_kind else np.full(1, -np.inf)

    def start(self, kind: str) -> int:
        """The row at which a fault of this kind most likely began."""
        return int(self.rows[int(np.argmax(self.by_kind[kind][-1]))])


def weigh(found: Innovations, sensor: int, rate: float = RATE, *, every: bool = True) -> Weights:
    """Log weights of every hypothesis about one sensor after each of its visits, or at the end of the record.

    rate: faults a sensor-year
    """
    visits = found.visits
    rows = visits.of(sensor)
    if len(rows) < 2:
        return Weights(sensor, rows, np.zeros((0, len(rows))), {})
    prior = _prior(visits.hours[rows], rate * (REFERENCE_SHARE if visits.reference[sensor] else 1.0))
    last = np.arange(len(rows)) if every else np.array([len(rows) - 1])  # own visits so far, less one
    own = {NOISY: _noisy(found, sensor, rows), STUCK: _stuck(found, sensor, rows)}
    parts = {**_shifts(found, sensor, rows, every), **{kind: part[last] for kind, part in own.items()}}
    since = last[:, None] - np.arange(len(rows))[None, :] + 1  # own visits since the fault began
    weights = {
        kind: np.where(since >= FEWEST[kind], np.log(SHARES[kind]) + prior + part, -np.inf)
        for kind, part in parts.items()
    }
    return Weights(sensor, rows, since, weights)


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


def _prior(hours: np.ndarray, rate: float) -> np.ndarray:
    """Log of the faults expected since the visit before; none before the first visit.   [n] → [n]"""
    gaps = np.append(0.0, np.maximum(np.diff(hours), 0.1))
    with np.errstate(divide="ignore"):
        return np.log(rate * gaps / HOURS_A_YEAR)


def _shifts(found: Innovations, sensor: int, rows: np.ndarray, every: bool) -> dict[str, np.ndarray]:
    """Log ratios of sudden and slow faults begun at each own visit, after each own visit or the record.   → [R, n]"""
    visits = found.visits
    columns = found.inverse[:, rows] * visits.sign(sensor)[rows]  # [V, n]
    hours = visits.hours[rows]
    ones = np.cumsum(columns[:, ::-1], axis=1)[:, ::-1]  # whitened step begun at each visit
    times = np.cumsum((columns * hours)[:, ::-1], axis=1)[:, ::-1]
    seen = slice(0, int(rows[-1]) + 1 if every else None)
    edges = np.append(0, rows[:-1] + 1) if every else np.zeros(1, dtype=np.int64)  # first row after each own visit
    z = found.filtered[seen, None]
    result = {}
    for kind, whitened, width in (
        (SUDDEN, ones, STEP_SIZE),
        (SLOW, (times - hours * ones) / SLOPE_HOURS, SLOPE_SIZE),
    ):
        G = whitened[seen]
        power = np.cumsum(np.add.reduceat(G**2, edges, axis=0), axis=0)
        match = np.cumsum(np.add.reduceat(G * z, edges, axis=0), axis=0)
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
    """Log ratios of a reading that no longer moves, begun at each own visit, after each own visit.   → [n, n]

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
    sums = np.append(0.0, np.cumsum(reading))[:n]
    seen = np.arange(n)[:, None] - np.arange(n)[None, :]  # own visits since the start, [after, start]
    many = np.maximum(seen, 1)
    sd = STILL * np.sqrt(1 + 1 / many)
    centre = (sums[:, None] - sums[None, :]) / many  # mean of the readings from the start on, without this one
    density = -0.5 * ((reading[:, None] - centre) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)
    np.fill_diagonal(density, -np.log(LEVELS))
    gain = np.clip(density + (inside - healthy)[:, None], -50.0, MOST_A_VISIT)
    low = visits.floor[rows, side][:, None]  # low air, not a fault
    gain = np.where(seen >= 0, np.where(low, np.minimum(gain, 0.0), gain), 0.0)
    return np.where(seen >= 0, np.cumsum(gain, axis=0), -np.inf)


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


def log_sum(values: np.ndarray) -> np.ndarray:
    """Log of the sum of exponentials of each row.   [R, n] → [R]"""
    top = values.max(axis=1)
    at = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return at + np.log(np.sum(np.exp(values - at[:, None]), axis=1))
