"""The form of a pair's likelihood: which combinations of its latent values it looks at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibdash.models.functions import CalibrationFunction

POINT_VARIANCE = 1e-4  # a point estimate's stand-in variance: wide enough for quadrature to feel the curvature


@dataclass(frozen=True)
class Form:
    """Likelihood, calibration function and noise model of a fit; side b is a reference when ``tied``;
    some readings are only known to lie at or below the lowest when ``censored``.

    The likelihood depends on D values x = J·(latents of a, latents of b): the difference of log gains alone for a
    pure scale whose level is integrated out with a prior flat in its logarithm, otherwise the latents themselves.
    """

    likelihood: str
    function: CalibrationFunction
    noise_model: str
    tied: bool
    censored: bool = False

    @property
    def contrast(self) -> bool:
        """Only the difference of the two log gains matters."""
        return self.function.contrast and self.likelihood != "paper"

    @property
    def parameters(self) -> int:
        """Calibration parameters, C."""
        return len(self.function.parameters)

    @property
    def noisy(self) -> int:
        """Latent noise processes a sensor: 0 or 1."""
        return int(self.noise_model != "fixed")

    @property
    def latents(self) -> int:
        """Latent processes a sensor, L."""
        return self.parameters + self.noisy

    def matrix(self) -> np.ndarray:
        """J.   → [D, L] when tied, else [D, 2L]"""
        sides = 1 if self.tied else 2
        identity = np.eye(sides * self.latents)
        if not self.contrast or self.tied:
            return identity
        keep = [0, *range(1, self.latents), *range(self.latents + 1, 2 * self.latents)]
        J = identity[keep]
        J[0, self.latents] = -1.0
        return J

    def noise_places(self) -> np.ndarray:
        """Which of the D values are log noise variances.   → indices"""
        if not self.noisy:
            return np.array([], dtype=np.int64)
        columns = [self.latents - 1] if self.tied else [self.latents - 1, 2 * self.latents - 1]
        return np.flatnonzero(np.any(self.matrix()[:, columns] != 0, axis=1))
