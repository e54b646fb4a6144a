"""Every way to calibrate a network in one shape: log gains with their sd at given sensors and times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.evaluation.metrics import coverage, mae, nlpd, nmse
from calibdash.models.multihop import Multihop, MultihopSettings, multihop
from calibdash.models.posterior import Posterior

GRID_WINDOWS = (24.0, 72.0, 168.0, 336.0, 720.0, 1440.0, 2880.0, 4800.0)
GRID_WEIGHTS = (0.05, 0.21, 1.0, 4.0)


@dataclass(frozen=True)
class Points:
    """Readings whose truth is known: sensor [N], hours [N], value [N], level [N] and, where known, log gain [N]."""

    sensor: np.ndarray
    hours: np.ndarray
    value: np.ndarray
    level: np.ndarray
    log_gain: np.ndarray

    def where(self, keep: np.ndarray) -> Points:
        """Some of them."""
        return Points(*(getattr(self, name)[keep] for name in ("sensor", "hours", "value", "level", "log_gain")))


@dataclass(frozen=True)
class Gains:
    """Estimated log gains and their sd at points; NaN where a method has no answer.   [N], [N]"""

    log_gain: np.ndarray
    sd: np.ndarray

    def calibrated(self, points: Points) -> np.ndarray:
        """Gain × reading; the raw reading where there is no gain.   → [N]"""
        return np.exp(np.nan_to_num(self.log_gain)) * points.value


def posterior_gains(posterior: Posterior, points: Points) -> Gains:
    """Log gains of a scale fit at points."""
    mean, sd = np.empty(len(points.hours)), np.empty(len(points.hours))
    for sensor in pd.unique(points.sensor):
        rows = np.flatnonzero(points.sensor == sensor)
        latent_mean, latent_cov = posterior.latents(str(sensor), points.hours[rows])
        mean[rows], sd[rows] = latent_mean[:, 0], np.sqrt(latent_cov[:, 0, 0])
    return Gains(mean, sd)


def multihop_gains(result: Multihop, points: Points) -> Gains:
    """Log gains of the multi-hop method at points."""
    row = np.array([result.number(str(sensor)) for sensor in points.sensor])
    place = result.windows.place(points.hours)
    inside = place >= 0
    return Gains(np.where(inside, result.log_gain[row, place], np.nan), np.where(inside, result.sd[row, place], np.nan))


def multihop_best_on_truth(
    network: Network, points: Points, windows: Iterable[float] = GRID_WINDOWS, weights: Iterable[float] = GRID_WEIGHTS
) -> tuple[MultihopSettings, Gains]:
    """Window and weight with the least squared error on the very points of the test, as the paper chose them."""
    best: tuple[float, MultihopSettings, Gains] | None = None
    for window in windows:
        for weight in weights:
            settings = replace(MultihopSettings(), window_hours=window, time_weight=weight)
            try:
                gains = multihop_gains(multihop(network, settings), points)
            except CalibdashError:  # too many windows for this record
                continue
            loss = float(np.mean((gains.calibrated(points) - points.level) ** 2))
            if best is None or loss < best[0]:
                best = (loss, settings, gains)
    if best is None:
        raise CalibdashError("No multi-hop setting fits this network.", "Check that it has references.")
    return best[1], best[2]


def scores(gains: Gains, points: Points) -> dict[str, float]:
    """NMSE and MAE of calibrated readings; NLPD and coverage of the log gain where there is an sd."""
    calibrated = gains.calibrated(points)
    figures = {
        "nmse": nmse(calibrated, points.level),
        "mae": mae(calibrated, points.level),
        "without_path": float(np.mean(np.isnan(gains.log_gain))),
    }
    known = np.isfinite(gains.sd) & np.isfinite(gains.log_gain)
    if known.any():
        where = (points.log_gain[known], gains.log_gain[known], gains.sd[known])
        figures |= {"nlpd": nlpd(*where), "coverage": coverage(*where)}
    return figures
