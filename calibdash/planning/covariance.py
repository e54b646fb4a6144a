"""Covariances of what visits would see and of what they are for, from a run's joint posterior.

A sensor's *error* at a time is that of the logarithm of a calibrated reading at the network's typical level: slopeᵀf
with f its latent processes. For a pure scale it is the log gain itself. A visit of a and b observes the difference of
their errors; a reference has none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibdash.models.factor import solve
from calibdash.models.posterior import Posterior

COLUMNS = 256  # right-hand sides solved at a time: memory stays at sensors × inducing values × this
STEP = 1e-4
SMALLEST = 1e-3
LEAST_NOISE = 1e-10  # a visit is never exact, even of instruments believed to be


@dataclass(frozen=True)
class Errors:
    """What readings of each sensor say, linearised at the posterior mean.

    slope [S_all, L]: of the log of a calibrated reading in the latent values, 0 at references; noise [S_all]:
    variance of the log of one calibrated reading.
    """

    slope: np.ndarray
    noise: np.ndarray


@dataclass(frozen=True)
class Points:
    """R pairs of a sensor (its place in ``posterior.sensors``) and a time.   sensor [R], hours [R]"""

    sensor: np.ndarray
    hours: np.ndarray

    def __len__(self) -> int:
        return len(self.sensor)


def errors(posterior: Posterior, hour: float) -> Errors:
    """Slopes and noise at the posterior mean of one time, for a typical level."""
    hyper, function = posterior.basis.hyper, posterior.function
    C, L, M = len(function.parameters), hyper.latents, posterior.basis.times.shape[1]
    count = len(posterior.sensors)
    mean = np.zeros((count, L))
    for number in np.flatnonzero(posterior.latent >= 0):
        s = int(posterior.latent[number])
        A = posterior.basis.design(s, np.array([hour]))[0]  # [L, M]
        mean[number] = np.einsum("lm,lm->l", A, posterior.mean[s].reshape(L, M))
    covariates = {name: np.full(count, posterior.fill[name]) for name in function.covariates}
    reading = _typical(posterior, mean[:, :C], covariates)

    def log_level(latents: np.ndarray, raw: np.ndarray) -> np.ndarray:
        parameters = function.values(np, list(latents.T))
        return np.log(np.maximum(function.calibrate(np, raw, parameters, covariates), SMALLEST))

    slope = np.zeros((count, L))
    for c, unit in enumerate(np.eye(C)):
        up, down = log_level(mean[:, :C] + STEP * unit, reading), log_level(mean[:, :C] - STEP * unit, reading)
        slope[:, c] = (up - down) / (2 * STEP)
    if function.contrast:
        slope[:, 0] = 1.0  # exactly: no rounding of differences
    ends = log_level(mean[:, :C], reading * (1 + STEP)) - log_level(mean[:, :C], reading * (1 - STEP))
    elasticity = np.ones(count) if function.contrast else np.clip(ends / (2 * STEP), 0.1, 10.0)
    additive, proportional = hyper.noise(posterior.mobile, posterior.reference)
    noise = (proportional + additive / reading**2) * elasticity**2
    if hyper.noise_model != "fixed":
        noise = noise * np.exp(mean[:, C])
    slope[posterior.reference] = 0.0
    noise[posterior.reference] = hyper.noise_reference**2
    return Errors(slope, np.maximum(noise, LEAST_NOISE))


def _typical(posterior: Posterior, mean: np.ndarray, covariates: dict[str, np.ndarray]) -> np.ndarray:
    """The raw reading of each sensor where the true level is the typical one.   mean [S_all, C] → [S_all]"""
    function = posterior.function
    if function.respond is None:
        return np.ones(len(mean))
    raw = function.respond(np, np.ones(len(mean)), function.values(np, list(mean.T)), covariates)
    return np.clip(np.where(np.isfinite(raw), raw, 1.0), 0.05, 20.0)


def covariance(posterior: Posterior, known: Errors, rows: Points, columns: Points) -> np.ndarray:
    """Covariance of errors between two sets of points: A P⁻¹ Aᵀ plus what inducing values leave open.   → [R, K]"""
    S, n = posterior.mean.shape
    left, left_of = _designs(posterior, known, rows)
    right, right_of = _designs(posterior, known, columns)
    result = np.zeros((len(rows), len(columns)))
    for start in range(0, len(columns), COLUMNS):
        chunk = slice(start, min(start + COLUMNS, len(columns)))
        block = np.zeros((S, n, chunk.stop - start))
        for s, mine in right_of.items():
            inside = mine[(mine >= start) & (mine < chunk.stop)]
            block[s][:, inside - start] = right[inside].T
        spread = solve(posterior.q.factor, block)  # [S, n, k]
        for s, mine in left_of.items():
            result[mine, chunk] = left[mine] @ spread[s]
    for s, mine in left_of.items():
        if s in right_of:
            others = right_of[s]
            result[np.ix_(mine, others)] += _left_open(posterior, known, s, rows, mine, columns, others, left, right)
    return result


def variance(posterior: Posterior, known: Errors, sensor: int, hours: np.ndarray) -> np.ndarray:
    """Variance of one sensor's error at some times.   hours [T] → [T]"""
    _, cov = posterior.latents(posterior.sensors[sensor], hours)
    return np.einsum("i,tij,j->t", known.slope[sensor], cov, known.slope[sensor])


def differences(
    posterior: Posterior, known: Errors, points: Points, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Variance of the difference of two errors of different sensors.   first, second [V]: of the points → [V]"""
    rows, groups = _designs(posterior, known, points)
    own = np.zeros(len(points))
    for mine in groups.values():
        own[mine] = variance(posterior, known, int(points.sensor[mine[0]]), points.hours[mine])
    number = posterior.latent[points.sensor]
    a, b = number[first], number[second]
    if len(np.unique(a)) > len(np.unique(b)):  # one solve for each sensor of the side that has fewer
        first, second, a, b = second, first, b, a
    S, n = posterior.mean.shape
    cross = np.zeros(len(first))
    for s in np.unique(a[(a >= 0) & (b >= 0)]):
        block = np.zeros((S, n, n))
        block[s] = np.eye(n)
        spread = solve(posterior.q.factor, block)  # [S, n, n]: covariances of all sensors with this one
        with_it = np.flatnonzero((a == s) & (b >= 0))
        for other in np.unique(b[with_it]):
            mine = with_it[b[with_it] == other]
            cross[mine] = np.einsum("vn,vn->v", rows[second[mine]] @ spread[other], rows[first[mine]])
    return own[first] + own[second] - 2 * cross


def _designs(posterior: Posterior, known: Errors, points: Points) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Rows over whitened values of every point, and the points of each latent sensor.   → [R, n], {s: indices}"""
    L, M = posterior.basis.hyper.latents, posterior.basis.times.shape[1]
    rows = np.zeros((len(points), L * M))
    number = posterior.latent[points.sensor]
    order = np.argsort(number, kind="stable")
    bounds = np.flatnonzero(np.diff(number[order])) + 1
    groups = {}
    for mine in np.split(order, bounds) if len(order) else []:
        s = int(number[mine[0]])
        if s < 0:
            continue
        A = posterior.basis.design(s, points.hours[mine])  # [r, L, M]
        rows[mine] = (A * known.slope[points.sensor[mine[0]]][:, None]).reshape(len(mine), L * M)
        groups[s] = mine
    return rows, groups


def _left_open(
    posterior: Posterior,
    known: Errors,
    s: int,
    rows: Points,
    mine: np.ndarray,
    columns: Points,
    others: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
) -> np.ndarray:
    """Σ_c slope_c²·(k_c(t, t') − A_c(t)·A_c(t')ᵀ) within one sensor.   → [mine, others]"""
    slope = known.slope[rows.sensor[mine[0]]]
    prior = sum(
        slope[c] ** 2 * posterior.basis.kernel(s, c).matrix(rows.hours[mine], columns.hours[others])
        for c in range(len(slope))
        if slope[c]
    )
    return prior - left[mine] @ right[others].T
