"""Inducing points and the whitened design.

f(t) = A(t)·v + residual with v ~ N(0, I): A = K_tz L⁻ᵀ, K_zz = LLᵀ. Whitening keeps the precision of q(v) near the
identity however close the inducing points stand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibdash.models.hyper import Hyper
from calibdash.models.kernels import JITTER, Kernel
from calibdash.models.pairs import PairData

FEWEST = 4
ROUGH_DENSITY = 2.5  # a rough process keeps its detail between points that would do for a smooth one


@dataclass(frozen=True)
class Basis:
    """Inducing times of every latent sensor.   times [S, M] (hours), mobile [S] bool, whiten [S, L, M, M] = L⁻¹"""

    times: np.ndarray
    mobile: np.ndarray
    whiten: np.ndarray
    hyper: Hyper

    @property
    def size(self) -> int:
        """Whitened values a sensor, L·M."""
        return int(self.whiten.shape[1] * self.whiten.shape[2])

    def kernel(self, sensor: int, latent: int) -> Kernel:
        """The kernel of one latent process."""
        return self.hyper.kernels[int(self.mobile[sensor])][latent]

    def design(self, sensor: int, hours: np.ndarray) -> np.ndarray:
        """A(t) of every latent process of one sensor.   hours [T] → [T, L, M]"""
        rows = []
        for latent in range(self.hyper.latents):
            cross = self.kernel(sensor, latent).matrix(hours, self.times[sensor])  # [T, M]
            rows.append(cross @ self.whiten[sensor, latent].T)  # [T, M]
        return np.stack(rows, axis=1)

    def prior_variance(self, sensor: int) -> np.ndarray:
        """k(t, t) of each latent process.   → [L]"""
        return np.array([self.kernel(sensor, latent).variance for latent in range(self.hyper.latents)])


def basis(times: np.ndarray, mobile: np.ndarray, hyper: Hyper) -> Basis:
    """The basis on given inducing times.   times [S, M], mobile [S]"""
    count = times.shape[1]
    whiten = np.empty((len(times), hyper.latents, count, count))
    for kind in (0, 1):
        chosen = np.flatnonzero(mobile == bool(kind))
        for latent, kernel in enumerate(hyper.kernels[kind]):
            Kzz = kernel.matrix(times[chosen], times[chosen])  # [G, M, M]
            Kzz += JITTER * kernel.variance * np.eye(count)
            whiten[chosen, latent] = np.linalg.inv(np.linalg.cholesky(Kzz))  # [G, M, M]
    return Basis(times, mobile, whiten, hyper)


def inducing_times(pairs: PairData, hyper: Hyper, density: float, most: int) -> np.ndarray:
    """Even times over each sensor's own span, one number M for all sensors.   → [S, M]

    M follows the sensor that has most lengthscales in its span: equal blocks can be factored together, and spare
    points cost accuracy nothing.
    """
    chosen = pairs.latent_sensors
    low, high = _spans(pairs)
    shortest = np.array([min(kernel.lengthscale for kernel in row) for row in hyper.kernels])
    lengthscale = shortest[pairs.mobile[chosen].astype(np.int64)]  # [S]
    rough = any(kernel.shape != "eq" for row in hyper.kernels for kernel in row)
    wanted = density * (ROUGH_DENSITY if rough else 1.0) * np.max((high - low) / lengthscale, initial=0.0) + FEWEST
    count = int(np.clip(np.ceil(wanted), FEWEST, most))
    # Points closer than an eighth of a lengthscale add nothing but rounding: widen what is narrower.
    half = np.maximum(high - low, lengthscale * (count - 1) / 8) / 2  # [S]
    steps = np.linspace(-1.0, 1.0, count)  # [M]
    return ((low + high) / 2)[:, None] + half[:, None] * steps


def _spans(pairs: PairData) -> tuple[np.ndarray, np.ndarray]:
    """First and last colocation of each latent sensor; the network's span for one never visited.   → [S], [S]"""
    count = len(pairs.latent_sensors)
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    for side in (pairs.a, pairs.b):
        number = pairs.latent[side]
        seen = number >= 0
        np.minimum.at(low, number[seen], pairs.hours[seen])
        np.maximum.at(high, number[seen], pairs.hours[seen])
    never = ~np.isfinite(low)
    low[never], high[never] = pairs.hours.min(), pairs.hours.max()
    return low, high
