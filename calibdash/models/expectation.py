"""E_q[log p(y_i | x_i)] of every colocation with its gradients, by quadrature or fixed samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np
import tensorflow as tf
from scipy.stats import norm, qmc

from calibdash.models.floats import FLOAT
from calibdash.models.form import POINT_VARIANCE, Form
from calibdash.models.level import NODES
from calibdash.models.likelihoods import log_density

LARGEST_GRID = 4
FEWER_NODES = {1: 40, 2: 9, 3: 5, 4: 4}
WORK = 1_200_000  # values of the log density held at a time


@lru_cache(maxsize=32)
def rule(dimension: int, nodes: int, samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of E over N(0, I): Gauss–Hermite, or scrambled Sobol points where D is large.

    → points [Q, D], weights [Q]
    """
    if dimension > LARGEST_GRID:
        uniform = qmc.Sobol(dimension, seed=seed).random_base2(int(np.ceil(np.log2(samples))))
        half = norm.ppf(np.clip(uniform, 1e-9, 1 - 1e-9))
        points = np.concatenate([half, -half])  # antithetic: odd moments are exact
        return points, np.full(len(points), 1 / len(points))
    line, weight = np.polynomial.hermite_e.hermegauss(min(nodes, FEWER_NODES[dimension]))
    grid = np.stack(np.meshgrid(*[line] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    weights = np.prod(np.stack(np.meshgrid(*[weight] * dimension, indexing="ij"), axis=-1), axis=-1).ravel()
    return grid, weights / weights.sum()


def expected(
    form: Form, mean: tf.Tensor, cov: tf.Tensor, points: tf.Tensor, weights: tf.Tensor, data: Mapping[str, tf.Tensor]
) -> tf.Tensor:
    """Σ_q w_q log p(y_i | μ_i + L_i z_q).   mean [N, D], cov [N, D, D], points [Q, D], weights [Q] → [N]"""
    if mean.shape[-1] == 1:
        spread = tf.sqrt(cov[:, 0, 0])  # [N]
        x = (mean[:, 0] + points * spread)[..., None]  # [Q, N, 1]
    else:
        chol = tf.linalg.cholesky(cov)  # [N, D, D]
        x = mean + tf.einsum("nij,qj->qni", chol, points)  # [Q, N, D]
    return tf.einsum("q,qn->n", weights, log_density(form, x, data))


@lru_cache(maxsize=64)
def _compiled(form: Form) -> Callable[..., tuple[tf.Tensor, tf.Tensor, tf.Tensor]]:
    """The expectation and its gradients, traced once a form: sizes may vary."""
    D = len(form.matrix())
    names = ("values", "additive", "proportional", "censored", *form.function.covariates)
    signature = [
        tf.TensorSpec([None, D], FLOAT),
        tf.TensorSpec([None, D, D], FLOAT),
        tf.TensorSpec([None, D], FLOAT),
        tf.TensorSpec([None], FLOAT),
        {name: tf.TensorSpec([None, 2], FLOAT) for name in names} | {"constants": tf.TensorSpec([2], FLOAT)},
    ]

    @tf.function(input_signature=signature)
    def step(
        mean: tf.Tensor, cov: tf.Tensor, points: tf.Tensor, weights: tf.Tensor, data: dict[str, tf.Tensor]
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch([mean, cov])
            value = expected(form, mean, cov, points, weights, data)  # [N]
        gradient, curvature = tape.gradient(value, [mean, cov])  # rows are independent: each gets its own
        return value, gradient, curvature

    return step


@lru_cache(maxsize=64)
def _compiled_noise(form: Form) -> Callable[..., tuple[tf.Tensor, tf.Tensor]]:
    """Gradients of the expectation in the noise variances."""

    @tf.function(reduce_retracing=True)
    def step(
        mean: tf.Tensor, cov: tf.Tensor, points: tf.Tensor, weights: tf.Tensor, data: dict[str, tf.Tensor]
    ) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch([data["additive"], data["proportional"]])
            value = expected(form, mean, cov, points, weights, data)  # [N]
        return tape.gradient(value, [data["additive"], data["proportional"]])

    return step


def noise_gradients(
    form: Form,
    mean: np.ndarray,
    cov: np.ndarray,
    data: Mapping[str, np.ndarray],
    quadrature: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """dE/d additive and dE/d proportional variance of each reading.   mean [N, D], cov [N, D, D] → [N, 2], [N, 2]"""
    parts = _in_chunks(form, _compiled_noise(form), mean, cov, data, quadrature)
    additive, proportional = (np.concatenate([part[k].numpy() for part in parts]) for k in range(2))
    return additive, proportional


def expectation(
    form: Form,
    mean: np.ndarray,
    cov: np.ndarray,
    data: Mapping[str, np.ndarray],
    quadrature: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E, dE/dμ and dE/dΣ, in chunks that fit the cache.   mean [N, D], cov [N, D, D] → [N], [N, D], [N, D, D]"""
    parts = _in_chunks(form, _compiled(form), mean, cov, data, quadrature)
    value, gradient, curvature = (np.concatenate([part[k].numpy() for part in parts]) for k in range(3))
    return value, gradient, curvature


def _in_chunks(
    form: Form,
    step: Callable[..., tuple[tf.Tensor, ...]],
    mean: np.ndarray,
    cov: np.ndarray,
    data: Mapping[str, np.ndarray],
    quadrature: tuple[np.ndarray, np.ndarray],
) -> list[tuple[tf.Tensor, ...]]:
    points, weights = (tf.constant(array, FLOAT) for array in quadrature)
    inner = NODES if form.likelihood == "reading" else 1
    chunk = max(64, WORK // (len(quadrature[1]) * inner))
    parts = []
    for start in range(0, len(mean), chunk):
        rows = slice(start, start + chunk)
        piece = {name: (column if name == "constants" else column[rows]) for name, column in data.items()}
        tensors = {name: tf.constant(column, FLOAT) for name, column in piece.items()}
        parts.append(step(tf.constant(mean[rows]), tf.constant(cov[rows]), points, weights, tensors))
    return parts


def contracted(form: Form, mean: np.ndarray, cov: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of x = J f; a point-estimated noise gets a token variance.   [N, ·] → [N, D], [N, D, D]"""
    J = form.matrix()
    width = J.shape[1]
    x_mean = mean[:, :width] @ J.T
    x_cov = J @ cov[:, :width, :width] @ J.T
    D = len(J)
    if form.noise_model == "dirac":
        places = form.noise_places()
        x_cov[:, places, :] = 0.0
        x_cov[:, :, places] = 0.0
        x_cov[:, places, places] = POINT_VARIANCE
    scale = np.trace(x_cov, axis1=1, axis2=2)[:, None] * 1e-10 + 1e-14  # rounding must not make it singular
    x_cov[:, np.arange(D), np.arange(D)] += scale
    return x_mean, x_cov
