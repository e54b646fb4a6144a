"""Alarms: which sensors have gone wrong, how, since when, how surely, and by what evidence.

One fault at a time is found, explained away, and the rest is looked at again, until nothing is left to explain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from calibdash.data.network import Network
from calibdash.evaluation.breaks import breaks
from calibdash.evaluation.cusum import cusum
from calibdash.evaluation.hypotheses import (
    KINDS,
    NOISE_FACTORS,
    NOISY,
    RATE,
    SLOPE_SIZE,
    SLOW,
    STEP_SIZE,
    SUDDEN,
    Weights,
    signature,
    size,
    weigh,
)
from calibdash.evaluation.innovations import Innovations, innovations, prior_covariance
from calibdash.evaluation.visits import Visits, find_visits
from calibdash.models.posterior import Posterior
from calibdash.models.threads import one_thread

WATCH, ALARM = 0.14, 0.5  # probabilities from which on a sensor is to be watched, and is called faulty
MOST_VISITS = 2500  # that are looked at together; longer records are cut, each piece with the one before it
MOST_ROUNDS = 10  # of explaining what was found and looking again
MOST_NEAR = 700
UNUSABLE = 100.0  # variance that takes a stuck sensor's visits out of the account
DOUBT = 0.05  # probability from which on another sensor is named too
BEFORE = 8  # visits shown before the fault
JUDGED = 5  # visits of a sensor below which nothing can be said of it
COLUMNS = ("sensor", "kind", "since", "noticed", "probability", "size", "visits", "rival", "evidence", "sentence")


@dataclass(frozen=True)
class Alarm:
    """One fault.

    rows: the sensor's visits [n]; start: place of its first faulty one among them; noticed: place at which the alarm
    would have been raised; size: log factor (sudden) or log factor in 30 days (slow), else NaN; rival: who
    else it might be; partner: the rival, or whom it met most; rest: mean z² of the partner's visits without this
    sensor, and of this sensor's without the partner.
    """

    found: Innovations
    sensor: int
    kind: str
    rows: np.ndarray
    start: int
    noticed: int
    probability: float
    size: float
    rival: int | None
    partner: int
    rest: tuple[float, float] | None

    @property
    def z(self) -> np.ndarray:
        """Errors of the sensor's visits, positive where it reads more than expected.   → [n]"""
        return self.found.z[self.rows] * self.found.visits.sign(self.sensor)[self.rows]


def alarms(posterior: Posterior, network: Network, threshold: float = WATCH, rate: float = RATE) -> pd.DataFrame:
    """``sensor, kind, since, noticed, probability, size, visits, rival, evidence, sentence``, most certain first.

    rate: faults a sensor-year that are expected before any visit is looked at. kind: sudden, slow, noisy or stuck.
    evidence: a dict with ``visits`` (time, partner, z, after), ``cusum`` and ``break`` (times or None) and ``without``
    (what the others say when one of the two is left out).
    """
    from calibdash.evaluation.fault_words import as_row

    found = find_alarms(posterior, network, threshold, rate)
    rows = [as_row(alarm) for alarm in sorted(found, key=lambda alarm: -alarm.probability)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def find_alarms(posterior: Posterior, network: Network, threshold: float = WATCH, rate: float = RATE) -> list[Alarm]:
    """The same, with everything that a plot needs."""
    with one_thread():
        visits = find_visits(posterior, network)
        found: list[Alarm] = []
        for first, last, new in _pieces(len(visits)):
            piece = visits.where(np.arange(first, last))
            prior = prior_covariance(piece, posterior.basis.hyper)
            for alarm in search(piece, prior, threshold, rate):
                if alarm.rows[alarm.start] >= new - first and not _known(alarm, found):
                    found.append(alarm)
        return found


def unjudged(posterior: Posterior, network: Network) -> list[str]:
    """Low-cost sensors with too few visits for any fault to show, in the order of the posterior."""
    visits = find_visits(posterior, network)
    met = np.bincount(np.concatenate([visits.a, visits.b]), minlength=len(visits.sensors))
    few = (met < JUDGED) & ~visits.reference
    return [name for name, lonely in zip(visits.sensors, few, strict=True) if lonely]


def network_innovations(posterior: Posterior, network: Network) -> Innovations:
    """One-step-ahead errors of all visits of a network; of the last ones where there are very many."""
    with one_thread():
        visits = find_visits(posterior, network)
        visits = visits.where(np.arange(max(0, len(visits) - MOST_VISITS), len(visits)))
        return innovations(visits, prior_covariance(visits, posterior.basis.hyper))


def search(visits: Visits, prior: np.ndarray, threshold: float, rate: float = RATE) -> list[Alarm]:
    """Faults in one piece of the record, in the order in which they stand out.   prior [V, V]; rate a sensor-year

    Of two sensors that met, the likelier is called faulty first, and the other judged again with that explained.
    What is then left to be watched are faults begun in a sensor's last visits.
    """
    found: list[Alarm] = []
    first = now = innovations(visits, prior)
    met = meetings_matrix(visits) > 0
    for _ in range(MOST_ROUNDS if len(visits) else 0):
        weights = [weigh(now, sensor, rate, every=False) for sensor in range(len(visits.sensors))]
        chance = probabilities(np.array([weight.log_totals()[-1] for weight in weights]), visits)
        last = chance.max() < ALARM  # what is left is to be watched: too weak to explain anything else
        if last:
            weights = [weight.recent() for weight in weights]
            chance = probabilities(np.array([weight.log_totals()[-1] for weight in weights]), visits)
            chance[[alarm.sensor for alarm in found]] = 0.0  # called faulty already
        picked: list[int] = []
        for sensor in np.argsort(-chance, kind="stable").tolist():
            if chance[sensor] >= (threshold if last else max(ALARM, threshold)) and not met[sensor, picked].any():
                picked.append(sensor)
        fresh = [_alarm(first, now, weights[sensor], chance, (threshold, rate), prior) for sensor in picked]
        found += fresh
        if last or not fresh:
            break
        for alarm in fresh:
            visits, prior = _explained(visits, prior, now, alarm)
        now = innovations(visits, prior, first.scale)
    return found


def meetings_matrix(visits: Visits) -> np.ndarray:
    """1 where two sensors met.   → [S, S]"""
    met = np.zeros((len(visits.sensors), len(visits.sensors)))
    met[visits.a, visits.b] = met[visits.b, visits.a] = 1.0
    return met


def probabilities(logs: np.ndarray, visits: Visits) -> np.ndarray:
    """Probability that each sensor is faulty, from the log weights of its hypotheses.   logs [S] or [S, R] → the same

    Whoever met the sensor could be to blame in its place, and is counted against it; faults elsewhere are not.
    """
    blamed = meetings_matrix(visits) > 0
    np.fill_diagonal(blamed, True)
    chance = np.empty_like(logs)
    for sensor, suspects in enumerate(blamed):
        weights = logs[suspects]  # a sure fault far away must not drown what is known here: scaled for each sensor
        top = np.maximum(weights.max(axis=0), 0.0)
        chance[sensor] = np.exp(logs[sensor] - top) / (np.exp(-top) + np.exp(weights - top).sum(axis=0))
    return chance


def online(found: Innovations, rate: float = RATE) -> np.ndarray:
    """The probability of a fault of each sensor as it stood after each visit of the record.   → [S, V]

    That of a fault begun in its last visits, or of one at any time where that makes it faulty. A sensor's own evidence
    is that of its last visit; what is known of its partners moves on between.
    """
    visits = found.visits
    ever = np.full((len(visits.sensors), len(visits)), -np.inf)
    lately = ever.copy()
    for sensor in range(len(visits.sensors)):
        weights = weigh(found, sensor, rate)
        if weights.by_kind:
            last = np.searchsorted(weights.rows, np.arange(len(visits)), side="right")
            for logs, part in ((ever, weights), (lately, weights.recent())):
                logs[sensor] = np.append(-np.inf, part.log_totals())[last]
    sure = probabilities(ever, visits)
    return np.where(sure >= ALARM, sure, probabilities(lately, visits))


def _alarm(
    first: Innovations,
    now: Innovations,
    weights: Weights,
    chance: np.ndarray,
    limits: tuple[float, float],
    prior: np.ndarray,
) -> Alarm:
    sensor = weights.sensor
    totals = weights.total()
    kind = max(KINDS, key=lambda name: totals[name])
    start_row = weights.start(kind)
    start = int(np.searchsorted(weights.rows, start_row))
    amount = size(now, sensor, kind, start_row)[0] if kind in (SUDDEN, SLOW) else float("nan")
    met = {*now.visits.a[weights.rows].tolist(), *now.visits.b[weights.rows].tolist()} - {sensor}
    second = max(met, key=lambda other: chance[other])
    named = second if chance[second] >= DOUBT else None
    other = _partner(now.visits, sensor, weights.rows[start:]) if named is None else named
    return Alarm(
        first,
        sensor,
        kind,
        weights.rows,
        start,
        _noticed(now, sensor, start, *limits),
        float(chance[sensor]),
        amount,
        named,
        other,
        _without(now.visits, prior, first.scale, sensor, other, start_row),
    )


def _noticed(now: Innovations, sensor: int, start: int, threshold: float, rate: float) -> int:
    """The place, among the sensor's visits, at which its own evidence first reached the threshold."""
    logs = weigh(now, sensor, rate).log_totals()
    reached = np.flatnonzero(logs[start:] >= np.log(threshold / (1 - threshold)))
    return start + int(reached[0]) if len(reached) else len(logs) - 1


def _explained(visits: Visits, prior: np.ndarray, now: Innovations, alarm: Alarm) -> tuple[Visits, np.ndarray]:
    """The same record with one fault allowed for."""
    start = int(alarm.rows[alarm.start])
    if alarm.kind in (SUDDEN, SLOW):
        width = STEP_SIZE if alarm.kind == SUDDEN else SLOPE_SIZE
        shape = signature(now, alarm.sensor, alarm.kind, start)
        return visits, prior + (3 * width) ** 2 * np.outer(shape, shape)
    rows = alarm.rows[alarm.start :]
    variance = visits.variance.copy()
    if alarm.kind == NOISY:
        side = np.where(visits.a[rows] == alarm.sensor, 0, 1)
        variance[rows] *= 1 + (NOISE_FACTORS[-1] ** 2 - 1) * visits.share[rows, side]
        scatter = visits.scatter.copy()
        scatter[rows] = np.minimum(scatter[rows], visits.count[rows] - 1.0)
        visits = replace(visits, scatter=scatter)
    else:
        variance[rows] = UNUSABLE
    return replace(visits, variance=variance), prior


def _partner(visits: Visits, sensor: int, rows: np.ndarray) -> int:
    """Whom the sensor met most often."""
    others = np.where(visits.a[rows] == sensor, visits.b[rows], visits.a[rows])
    return int(np.bincount(others).argmax())


def _without(
    visits: Visits, prior: np.ndarray, scale: float, sensor: int, other: int, start: int
) -> tuple[float, float] | None:
    """Mean z² since the start of the other's visits without the sensor, and of the sensor's without the other."""
    figures = []
    near = _near(visits, sensor, other, start)
    for gone, judged in ((sensor, other), (other, sensor)):
        keep = near[(visits.a[near] != gone) & (visits.b[near] != gone)]
        part = visits.where(keep)
        rows = np.flatnonzero((keep >= start) & ((part.a == judged) | (part.b == judged)))
        if len(rows) < 2:
            return None
        z = innovations(part, prior[np.ix_(keep, keep)], scale, inverse=False).z[rows]
        figures.append(float(np.mean(np.minimum(z**2, 25.0))))
    return figures[0], figures[1]


def _near(visits: Visits, sensor: int, other: int, start: int) -> np.ndarray:
    """Rows of the two sensors, and of others around the start, no more than need be for a quick look."""
    theirs = np.isin(visits.a, (sensor, other)) | np.isin(visits.b, (sensor, other))
    distance = np.abs(visits.hours - visits.hours[start])
    order = np.lexsort((distance, ~theirs))
    return np.sort(order[:MOST_NEAR])


def _pieces(count: int) -> list[tuple[int, int, int]]:
    """First row, last row and first new row of each piece of a record."""
    half = MOST_VISITS // 2
    if count <= MOST_VISITS:
        return [(0, count, 0)]
    starts = range(0, count - half, half)
    return [(first, min(first + MOST_VISITS, count), first + half if first else 0) for first in starts]


def _known(alarm: Alarm, found: list[Alarm]) -> bool:
    since = alarm.found.visits.hours[alarm.rows[alarm.start]]
    gap = 24.0 * 14
    return any(
        other.sensor == alarm.sensor and abs(other.found.visits.hours[other.rows[other.start]] - since) < gap
        for other in found
    )


def cusum_place(alarm: Alarm) -> int | None:
    """The first place at or after the fault at which the sensor's CUSUM passed its limit."""
    return next((place for place in cusum(alarm.z).alarms if place >= alarm.start), None)


def break_place(alarm: Alarm) -> int | None:
    """The offline break nearest to the fault, if one lies within five visits of it."""
    near = [place for place in breaks(alarm.z) if abs(place - alarm.start) <= 5]
    return min(near, key=lambda place: abs(place - alarm.start), default=None)
