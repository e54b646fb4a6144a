"""What each visit says beyond what was known before it: standardised one-step-ahead errors of the whole network.

Visits r ~ N(0, C) in the order of time, C = LLᵀ: the i-th entry of L⁻¹r is the error of the prediction of visit i from
all visits before it, over its standard deviation. No sensor's fate is decided by what came later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dtrtri

from calibdash.evaluation.visits import Visits
from calibdash.models.hyper import Hyper

CLIP = 3.0  # one odd visit moves what is expected of the next no more than a 3-sd error would
FEW = 20  # visits below which their spread is not judged
SCALES = (0.7, 5.0)
JITTER = 1e-9
USUAL_Z = 0.6745  # median of |z|


@dataclass(frozen=True)
class Innovations:
    """One-step-ahead predictions of V visits.

    expected, sd, z [V]: predicted ratio, its sd, and (observed − expected)/sd; filtered [V]: z as clipped, which is
    what later predictions saw; inverse [V, V]: L⁻¹; scale: by how much the model's errors were too small.
    """

    visits: Visits
    expected: np.ndarray
    sd: np.ndarray
    z: np.ndarray
    filtered: np.ndarray
    inverse: np.ndarray
    scale: float

    def table(self) -> pd.DataFrame:
        """``time, sensor_a, sensor_b, readings, observed, expected, sd, z``: log ratios a/b of each visit."""
        visits = self.visits
        ids = np.array(visits.sensors, dtype=object)
        return pd.DataFrame(
            {
                "time": visits.clock.times(visits.hours),
                "sensor_a": ids[visits.a],
                "sensor_b": ids[visits.b],
                "readings": visits.count,
                "observed": visits.ratio,
                "expected": self.expected,
                "sd": self.sd,
                "z": self.z,
            }
        )


def prior_covariance(visits: Visits, hyper: Hyper) -> np.ndarray:
    """Covariance of slopes·f over visits: sensors that two visits share tie them together.   → [V, V]"""
    L = hyper.latents
    C = np.zeros((len(visits), len(visits)))
    for sensor in np.flatnonzero(~visits.reference):
        rows = visits.of(int(sensor))
        if not len(rows):
            continue
        on_a = (visits.a[rows] == sensor)[:, None]
        slopes = np.where(on_a, visits.slopes[rows, :L], visits.slopes[rows, L:])  # [n, L]
        for latent, kernel in enumerate(hyper.kernels[int(visits.mobile[sensor])]):
            if np.any(slopes[:, latent]):
                part = kernel.matrix(visits.hours[rows], visits.hours[rows])
                C[np.ix_(rows, rows)] += slopes[:, latent, None] * slopes[None, :, latent] * part
    return C


def innovations(visits: Visits, prior: np.ndarray, scale: float | None = None, *, inverse: bool = True) -> Innovations:
    """Predict every visit from those before it.   prior [V, V]: covariance of visits but for their own noise

    ``scale`` multiplies all standard deviations; None finds it from the middle half of the errors, so that visits
    whose readings err together, or a model that is too sure of itself, do not raise alarms everywhere. L⁻¹ is left out
    (empty) where only the errors are wanted.
    """
    if not len(visits):
        empty = np.zeros(0)
        return Innovations(visits, empty, empty, empty, empty, np.zeros((0, 0)), 1.0)
    C = prior.copy()
    C.flat[:: len(C) + 1] += visits.variance + JITTER * (np.trace(C) / len(C))
    L = cholesky(C, lower=True, overwrite_a=True, check_finite=False)
    if scale is None:
        plain = solve_triangular(L, visits.ratio, lower=True)
        spread = float(np.median(np.abs(plain))) / USUAL_Z
        scale = float(np.clip(spread, *SCALES)) if len(plain) >= FEW else 1.0
    L = L * scale
    sd = np.diag(L).copy()
    expected, filtered = np.zeros(len(C)), np.zeros(len(C))
    for row in range(len(C)):
        expected[row] = L[row, :row] @ filtered[:row]
        filtered[row] = np.clip((visits.ratio[row] - expected[row]) / sd[row], -CLIP, CLIP)
    whiten = dtrtri(L, lower=1)[0] if inverse else np.zeros((0, 0))
    return Innovations(visits, expected, sd, (visits.ratio - expected) / sd, filtered, whiten, scale)
