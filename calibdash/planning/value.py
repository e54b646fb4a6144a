"""What a visit is worth: how much smaller the errors of the sensors that matter are expected to be after it.

With Σ the posterior covariance of errors, h = e_a − e_b and r the noise of the visit's mean log ratio:
k = Σ_{targets,visit}·hᵀ, gain = kᵀWk/(hΣhᵀ + r), and Σ ← Σ − kkᵀ/(hΣhᵀ + r) once the visit is made. W spreads the
sensors' weights over the horizon and sums to 1, so that a gain is a difference of weighted mean variances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.models.posterior import Posterior
from calibdash.models.predict import Z95
from calibdash.planning.covariance import Errors, Points, covariance, differences, errors, variance

FEWEST_TIMES, MOST_TIMES = 3, 12


@dataclass(frozen=True)
class Targets:
    """The errors that should become small: T = sensors × times, sensor by sensor.

    sensors: names; hours [H]; share [H]: of each time in the horizon, sums to 1; weight [sensors]; points [T];
    variance [T]: as it is without any visit; scale [T]: the diagonal of W.
    """

    sensors: tuple[str, ...]
    hours: np.ndarray
    share: np.ndarray
    weight: np.ndarray
    points: Points
    variance: np.ndarray
    scale: np.ndarray

    def by_sensor(self, values: np.ndarray) -> np.ndarray:
        """Means over the horizon.   [.., T] → [.., sensors]"""
        return values.reshape(*values.shape[:-1], len(self.sensors), len(self.hours)) @ self.share


def band(variance: np.ndarray | float) -> np.ndarray:
    """Half the width of the 95 % band of a calibrated reading, as a share of its median: sinh(1.96 sd)."""
    return np.sinh(Z95 * np.sqrt(np.maximum(variance, 0.0)))


def targets(
    posterior: Posterior, known: Errors, sensors: Sequence[str], weights: np.ndarray, start: float, horizon: float
) -> Targets:
    """Errors of these sensors at Gauss–Legendre times of the horizon.   weights [sensors], hours"""
    numbers = np.array([posterior.number(name) for name in sensors], dtype=np.int64)
    lengthscale = min(kernel.lengthscale for kernel in posterior.basis.hyper.kernels[0][:1])
    count = int(np.clip(np.ceil(2 * horizon / lengthscale) + 1, FEWEST_TIMES, MOST_TIMES))
    nodes, share = np.polynomial.legendre.leggauss(count)
    hours = start + horizon * (nodes + 1) / 2
    points = Points(np.repeat(numbers, count), np.tile(hours, len(numbers)))
    spread = [variance(posterior, known, int(number), hours) for number in numbers]
    total = max(float(np.sum(weights)), 1e-300)
    scale = np.repeat(np.asarray(weights, dtype=np.float64) / total, count) * np.tile(share / 2, len(numbers))
    return Targets(
        tuple(sensors),
        hours,
        share / 2,
        np.asarray(weights, dtype=np.float64),
        points,
        np.concatenate(spread) if spread else np.zeros(0),
        scale,
    )


def network_targets(
    posterior: Posterior,
    network: Network,
    start: float,
    horizon: float = 720.0,
    weights: Sequence[tuple[str, float]] = (),
) -> tuple[Errors, Targets]:
    """What counts in a network: all static sensors but references, by the weights of its table or those given."""
    table = network.sensors
    chosen = (table["kind"] == "static") & ~table["reference"].astype(bool)
    chosen &= table["sensor"].isin(
        [n for n, fixed in zip(posterior.sensors, posterior.reference, strict=True) if not fixed]
    )
    weight = table["weight"].fillna(1.0) if "weight" in table else pd.Series(1.0, table.index)
    rows = pd.DataFrame({"sensor": table["sensor"].astype(str), "weight": weight.astype(float)})[chosen]
    rows = rows.sort_values("sensor", ignore_index=True)
    given = dict(weights)
    unknown = next((name for name in given if name not in set(table["sensor"].astype(str))), None)
    if unknown is not None:
        raise CalibdashError(f"A weight is given for {unknown[:60]!r}, no sensor of the network.", "Check its name.")
    values = np.array([given.get(name, weight) for name, weight in rows.itertuples(index=False)], dtype=np.float64)
    known = errors(posterior, start)
    return known, targets(posterior, known, list(rows["sensor"]), values, start, horizon)


@dataclass(frozen=True)
class Visits:
    """V visits of sensors a and b.   a, b [V]: places in ``posterior.sensors``; hours [V]; noise [V]: r"""

    a: np.ndarray
    b: np.ndarray
    hours: np.ndarray
    noise: np.ndarray


def visits(posterior: Posterior, known: Errors, table: pd.DataFrame, correlation: float = 0.5) -> Visits:
    """Visits of a table ``sensor_a, sensor_b, time`` and, if given, ``readings`` (1): the noise is that of the run."""
    number = {name: index for index, name in enumerate(posterior.sensors)}
    sides = []
    for column in ("sensor_a", "sensor_b"):
        for name in pd.unique(table[column]):
            posterior.number(name)  # complains, with a hint, of a name the fit does not know
        sides.append(table[column].map(number).to_numpy(dtype=np.int64))
    readings = table["readings"].to_numpy(dtype=np.float64) if "readings" in table else np.ones(len(table))
    independent = readings / (1 + (readings - 1) * correlation)
    noise = (known.noise[sides[0]] + known.noise[sides[1]]) / independent
    return Visits(sides[0], sides[1], posterior.hours(table["time"]), noise)


def gains(posterior: Posterior, known: Errors, aims: Targets, candidates: Visits) -> np.ndarray:
    """The gain of each visit on its own, and never below 0.   → [V]"""
    keys = np.concatenate([_keys(candidates.a, candidates.hours), _keys(candidates.b, candidates.hours)])
    unique, place = np.unique(keys, return_inverse=True)
    points = Points(unique["sensor"].astype(np.int64), unique["hours"])
    first, second = np.split(place, 2)
    # as many solves as the smaller side has points
    if len(points) > len(aims.points):
        C = covariance(posterior, known, points, aims.points)  # [U, T]
    else:
        C = covariance(posterior, known, aims.points, points).T
    root = np.sqrt(aims.scale) * C  # [U, T]
    G = np.einsum("ut,ut->u", root, root)
    k = G[first] + G[second] - 2 * _paired(root, first, second)
    spread = differences(posterior, known, points, first, second)
    same = candidates.a == candidates.b
    return np.where(same, 0.0, np.maximum(k, 0.0) / (np.maximum(spread, 0.0) + candidates.noise))


def _keys(sensor: np.ndarray, hours: np.ndarray) -> np.ndarray:
    keys = np.empty(len(sensor), dtype=[("sensor", "i8"), ("hours", "f8")])
    keys["sensor"], keys["hours"] = sensor, hours
    return keys


def _paired(root: np.ndarray, first: np.ndarray, second: np.ndarray, chunk: int = 4096) -> np.ndarray:
    """Σ_t root_first,t·root_second,t for each pair, a chunk at a time.   root [U, T] → [V]"""
    out = np.empty(len(first))
    for start in range(0, len(first), chunk):
        part = slice(start, start + chunk)
        out[part] = np.einsum("vt,vt->v", root[first[part]], root[second[part]])
    return out


@dataclass(frozen=True)
class Together:
    """What some visits are worth together.

    gain: of all; variance [T]: of each target after them; without [V, T]: by how much it is larger without each one.
    """

    gain: float
    variance: np.ndarray
    without: np.ndarray


def together(posterior: Posterior, known: Errors, aims: Targets, made: Visits) -> Together:
    """The joint update of all visits at once, at their own times."""
    if not len(made.a):
        return Together(0.0, aims.variance, np.zeros((0, len(aims.variance))))
    both = Points(np.concatenate([made.a, made.b]), np.concatenate([made.hours, made.hours]))
    count = len(made.a)
    C = covariance(posterior, known, both, both)
    S = C[:count, :count] - C[:count, count:] - C[count:, :count] + C[count:, count:] + np.diag(made.noise)
    K = covariance(posterior, known, aims.points, both)
    K = K[:, :count] - K[:, count:]  # [T, V]
    return _update(aims, K, 0.5 * (S + S.T))


def _update(aims: Targets, K: np.ndarray, S: np.ndarray) -> Together:
    """Var − diag(K S⁻¹ Kᵀ), and how much of it each visit alone stands for: (K S⁻¹)²_j/(S⁻¹)_jj."""
    S = S + 1e-12 * np.trace(S) / len(S) * np.eye(len(S))
    inverse = np.linalg.inv(S)
    pull = K @ inverse  # [T, V]
    after = np.maximum(aims.variance - np.einsum("tv,tv->t", pull, K), 0.0)
    without = (pull**2 / np.diag(inverse)).T  # [V, T]
    return Together(float(aims.scale @ (aims.variance - after)), after, without)


def value_of_visits(
    posterior: Posterior,
    network: Network,
    table: pd.DataFrame,
    *,
    now: float | None = None,
    horizon_hours: float = 720.0,
    weights: Sequence[tuple[str, float]] = (),
    correlation: float = 0.5,
) -> np.ndarray:
    """Gains of candidate visits ``sensor_a, sensor_b, time[, readings]``, each on its own.   → [V]

    A gain is the expected reduction of the weighted mean variance of the log gain (for other functions: of the log of
    a calibrated reading) over the horizon after ``now`` (hours of the network's clock; None: the last colocation).
    """
    start = last_hour(network) if now is None else now
    known, aims = network_targets(posterior, network, start, horizon_hours, weights)
    return gains(posterior, known, aims, visits(posterior, known, table, correlation))


def last_hour(network: Network) -> float:
    """The time of the last colocation."""
    return float(network.clock.hours(network.colocations["time"]).max())
