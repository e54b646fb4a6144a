"""The linearised log ratio: sites without iteration, exact for a scale, a good start for everything else."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calibdash.models.form import Form
from calibdash.models.hyper import Hyper
from calibdash.models.pairs import PairData
from calibdash.models.sites import Sites

SMALLEST = 1e-3


def noise_columns(pairs: PairData, hyper: Hyper) -> tuple[np.ndarray, np.ndarray]:
    """Additive and proportional noise variance of both readings.   → [N, 2], [N, 2]"""
    sensors = np.stack([pairs.a, pairs.b], axis=1)  # [N, 2]
    return hyper.noise(pairs.mobile[sensors], pairs.reference[sensors])


def log_ratio_noise(pairs: PairData, hyper: Hyper) -> tuple[np.ndarray, np.ndarray]:
    """Readings (raised to half their noise where that is larger) and τ² = σ_p² + (σ_a/y)².   → [N, 2], [N, 2]"""
    additive, proportional = noise_columns(pairs, hyper)
    readings = np.maximum(pairs.values, np.maximum(0.5 * np.sqrt(additive), SMALLEST))
    return readings, proportional + additive / readings**2


def linearised(
    pairs: PairData, hyper: Hyper, form: Form, mean: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """r(f) = log φ(y_a) − log φ(y_b) at f = mean, its slopes and noise variance.   mean [N, 2L] → [N], [N, 2L], [N]"""
    readings, noise = log_ratio_noise(pairs, hyper)
    L, C = form.latents, form.parameters
    at = np.zeros((len(readings), 2 * L)) if mean is None else mean
    residual, variance = np.zeros(len(readings)), np.zeros(len(readings))
    slopes = np.zeros((len(readings), 2 * L))
    for side, sign in ((0, 1.0), (1, -1.0)):
        known = pairs.reference[pairs.b] if side else np.zeros(len(readings), dtype=bool)
        latents = at[:, side * L : side * L + C]  # [N, C]
        covariates = {name: column[:, side] for name, column in pairs.covariates.items()}
        value, slope, elasticity = _log_calibrated(form, readings[:, side], latents, covariates)
        residual += sign * np.where(known, np.log(readings[:, side]), value)
        slopes[:, side * L : side * L + C] = sign * np.where(known[:, None], 0.0, slope)
        variance += noise[:, side] * np.where(known, 1.0, elasticity**2)
    return residual, slopes, variance


def linear_sites(pairs: PairData, hyper: Hyper, form: Form, mean: np.ndarray | None = None) -> Sites:
    """Sites of r(f) ~ N(0, τ_a² + τ_b²), linearised at f = mean.   mean [N, 2L]"""
    residual, slopes, variance = linearised(pairs, hyper, form, mean)
    precision = slopes[:, :, None] * slopes[:, None, :] / variance[:, None, None]  # [N, 2L, 2L]
    toward = (np.einsum("ni,ni->n", slopes, mean) if mean is not None else 0.0) - residual  # [N]
    return Sites(precision, slopes * (toward / variance)[:, None])


def _log_calibrated(
    form: Form, reading: np.ndarray, latents: np.ndarray, covariates: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log φ, its slopes in the latents, and d log φ/d log y, by central differences.   → [N], [N, C], [N]"""
    function = form.function

    def value(moved: np.ndarray, raw: np.ndarray) -> np.ndarray:
        parameters = function.values(np, list(moved.T))
        return np.log(np.maximum(function.calibrate(np, raw, parameters, covariates), SMALLEST))

    step = 1e-4
    slopes = np.stack(
        [
            (value(latents + step * unit, reading) - value(latents - step * unit, reading)) / (2 * step)
            for unit in np.eye(latents.shape[1])
        ],
        axis=1,
    )
    ends = value(latents, reading * (1 + step)) - value(latents, reading * (1 - step))
    return value(latents, reading), slopes, np.clip(ends / (2 * step), 0.1, 10.0)
