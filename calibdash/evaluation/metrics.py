"""Figures that say how far an estimate lies from the truth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Z95 = 1.959963984540054


def nmse(estimate: np.ndarray, truth: np.ndarray) -> float:
    """Mean squared error over the variance of the truth: mean (x − h)² / var h.   [N], [N] → []"""
    return float(np.mean((estimate - truth) ** 2) / np.var(truth))


def mae(estimate: np.ndarray, truth: np.ndarray) -> float:
    """Mean absolute error.   [N], [N] → []"""
    return float(np.mean(np.abs(estimate - truth)))


def nlpd(truth: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> float:
    """Mean negative log density of each truth under its own normal prediction.   [N], [N], [N] → []"""
    return float(np.mean(0.5 * ((truth - mean) / sd) ** 2 + np.log(sd) + 0.5 * np.log(2 * np.pi)))


def coverage(truth: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> float:
    """Share of truths inside the central 95 % of their normal prediction.   [N], [N], [N] → []"""
    return float(np.mean(np.abs(truth - mean) <= Z95 * sd))


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error; values that are not finite are left out.   [R] → [], []"""
    finite = np.array([value for value in values if np.isfinite(value)])
    if not len(finite):
        return float("nan"), float("nan")
    error = float(np.std(finite, ddof=1) / np.sqrt(len(finite))) if len(finite) > 1 else float("nan")
    return float(np.mean(finite)), error
