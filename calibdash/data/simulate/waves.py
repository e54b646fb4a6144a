"""Random functions of time as sums of cosines: a sinusoid has one, a Gaussian process many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FEATURES = 32


@dataclass(frozen=True)
class Waves:
    """f_s(t) = mean_s + trend_s·t + Σ_r amplitude_sr · cos(frequency_sr · t + phase_sr), t in hours.

    mean [S], trend [S] (per hour), amplitude, frequency, phase [S, R]. Being an explicit function it can be
    evaluated at any time, by anyone, and always agrees with itself.
    """

    mean: np.ndarray
    trend: np.ndarray
    amplitude: np.ndarray
    frequency: np.ndarray
    phase: np.ndarray

    def at(self, which: np.ndarray, hours: np.ndarray) -> np.ndarray:
        """Values of function ``which`` at ``hours``.   which [N], hours [N] → [N]"""
        value = self.mean[which] + self.trend[which] * hours
        if not self.amplitude.any():
            return value
        # a loop over R keeps memory at N, not N·R; [R, S] makes each gather one contiguous row
        features = zip(
            *(np.ascontiguousarray(part.T) for part in (self.amplitude, self.frequency, self.phase)), strict=True
        )
        for amplitude, frequency, phase in features:
            value += amplitude[which] * np.cos(frequency[which] * hours + phase[which])
        return value

    def on_grid(self, hours: np.ndarray) -> np.ndarray:
        """Every function on one grid.   hours [T] → [S, T]"""
        value = self.mean[:, None] + self.trend[:, None] * hours
        for r in range(self.amplitude.shape[1]):
            angle = self.frequency[:, r, None] * hours + self.phase[:, r, None]
            value += self.amplitude[:, r, None] * np.cos(angle)
        return value


def sinusoids(rng: np.random.Generator, amplitude: np.ndarray, period_hours: np.ndarray) -> Waves:
    """One cosine each, with a random phase.   amplitude [S], period_hours [S]"""
    count = len(amplitude)
    return Waves(
        mean=np.zeros(count),
        trend=np.zeros(count),
        amplitude=np.asarray(amplitude, dtype=np.float64)[:, None],
        frequency=2 * np.pi / np.asarray(period_hours, dtype=np.float64)[:, None],
        phase=rng.uniform(0, 2 * np.pi, (count, 1)),
    )


def gp_draws(rng: np.random.Generator, kernel: str, sd: np.ndarray, lengthscale_hours: np.ndarray) -> Waves:
    """Draws of a GP by random Fourier features: frequencies from the kernel's spectral density.

    kernel ``eq`` or ``matern32``; sd [S], lengthscale_hours [S]. An EQ's spectral density is normal, a
    Matérn-3/2's Student-t with 3 degrees of freedom.
    """
    shape = (len(sd), FEATURES)
    unit = rng.standard_normal(shape) if kernel == "eq" else rng.standard_t(3, shape)
    return Waves(
        mean=np.zeros(len(sd)),
        trend=np.zeros(len(sd)),
        amplitude=np.repeat(np.asarray(sd)[:, None] * np.sqrt(2 / FEATURES), FEATURES, axis=1),
        frequency=unit / np.asarray(lengthscale_hours)[:, None],
        phase=rng.uniform(0, 2 * np.pi, shape),
    )


def drifts(
    rng: np.random.Generator, kind: str, size: np.ndarray, bias: np.ndarray, scale_hours: np.ndarray, spread: float
) -> Waves:
    """How one calibration parameter moves, a function a sensor.   size, bias, scale_hours [S]

    ``size`` is the amplitude or sd, ``bias`` the sd of the constant part, ``scale_hours`` the median period
    or lengthscale, ``spread`` the sd of its log over sensors. Sensors of size and bias 0 do not move.
    """
    scale = scale_hours * np.exp(spread * rng.standard_normal(len(size)))
    waves = sinusoids(rng, size, scale) if kind == "sinusoid" else gp_draws(rng, kind, size, scale)
    mean = bias * rng.standard_normal(len(size))
    return Waves(mean, waves.trend, waves.amplitude, waves.frequency, waves.phase)
