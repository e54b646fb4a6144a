"""How well a posterior predicts colocations: log ∫ p(y_i | f_i) q(f_i) df_i."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from scipy.special import logsumexp

from calibdash.models.expectation import contracted, positive_rule
from calibdash.models.floats import FLOAT
from calibdash.models.likelihoods import log_density
from calibdash.models.model import Model

CHUNK = 2000


def log_predictive(model: Model, mean: np.ndarray, cov: np.ndarray, seed: int) -> np.ndarray:
    """Log predictive density of every colocation.   mean [N, 2L], cov [N, 2L, 2L] → [N]"""
    result = np.empty(len(mean))
    for form, rows in model.parts():
        x_mean, x_cov = contracted(form, mean[rows], cov[rows])
        points, weights = positive_rule(x_mean.shape[1], 20, model.settings.samples, seed)
        chol = np.linalg.cholesky(x_cov)  # [n, D, D]
        for first in range(0, len(rows), CHUNK):
            part = slice(first, first + CHUNK)
            x = x_mean[part] + np.einsum("nij,qj->qni", chol[part], points)  # [Q, n, D]
            data = {name: tf.constant(column, FLOAT) for name, column in model.rows(rows[part]).items()}
            density = log_density(form, tf.constant(x), data).numpy()  # [Q, n]
            result[rows[part]] = logsumexp(density, axis=0, b=weights[:, None])
    return result
