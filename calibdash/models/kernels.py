"""Covariances over time, as NumPy arrays; :mod:`calibdash.models.tensors` has the same from TFP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

JITTER = 1e-8
SQRT3 = float(np.sqrt(3.0))


def _eq(distance: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * distance**2)


def _matern32(distance: np.ndarray) -> np.ndarray:
    return (1.0 + SQRT3 * distance) * np.exp(-SQRT3 * distance)


SHAPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {"eq": _eq, "matern32": _matern32}


@dataclass(frozen=True)
class Kernel:
    """k(t, t') = drift²·shape(|t − t'|/lengthscale) + bias²: a changing part plus a constant one."""

    shape: str
    lengthscale: float
    drift: float
    bias: float

    @property
    def variance(self) -> float:
        """k(t, t)."""
        return self.drift**2 + self.bias**2

    def matrix(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Covariances between two sets of times.   first [.., T], second [.., U] → [.., T, U]"""
        distance = np.abs(first[..., :, None] - second[..., None, :]) / self.lengthscale  # [.., T, U]
        return self.drift**2 * SHAPES[self.shape](distance) + self.bias**2
