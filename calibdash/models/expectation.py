"""E_q[log p(y_i | x_i)] of every colocation with its gradients, by quadrature, cubature or fixed samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import combinations

import numpy as np
import tensorflow as tf
from scipy.stats import norm, qmc

from calibdash.models.floats import FLOAT
from calibdash.models.form import POINT_VARIANCE, Form
from calibdash.models.level import NODES
from calibdash.models.likelihoods import log_density

NODES_A_LINE = {1: 40, 2: 9, 3: 5, 4: 4}  # the most that a grid over so many dimensions gets
CUBATURE = range(4, 9)  # dimensions
WORK = 1_200_000  # values of the log density held at a time


@lru_cache(maxsize=32)
def rule(dimension: int, nodes: int, samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of E over N(0, I) for functions that are nearly quadratic, as log densities are.

    → points [Q, D], weights [Q]
    """
    return cubature(dimension) if dimension in CUBATURE else positive_rule(dimension, nodes, samples, seed)


@lru_cache(maxsize=32)
def positive_rule(dimension: int, nodes: int, samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and positive weights for any function: a grid, or fixed samples where D is large.   → [Q, D], [Q]"""
    if dimension in NODES_A_LINE:
        return grid(dimension, min(nodes, NODES_A_LINE[dimension]))
    return sobol(dimension, samples, seed)


def grid(dimension: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss–Hermite along every axis.   → points [nodes^D, D], weights [nodes^D]"""
    line, weight = np.polynomial.hermite_e.hermegauss(nodes)
    points = np.stack(np.meshgrid(*[line] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    weights = np.prod(np.stack(np.meshgrid(*[weight] * dimension, indexing="ij"), axis=-1), axis=-1).ravel()
    return points, weights / weights.sum()


def cubature(dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Exact for polynomials of degree 5 (McNamee and Stenger): the centre, ±√3 on every axis and on every two at once.

    On real marginals its error was a thousandth of that of 256 Sobol points for gain, offset and humidity, a tenth with
    noise over time. Weights on the axes are negative beyond four dimensions; up to seven, convex functions that are
    nowhere negative still keep an expectation that is not.
    → points [2D² + 1, D], weights [2D² + 1]
    """
    D, unit = dimension, np.sqrt(3.0) * np.eye(dimension)
    pairs = [
        (one * unit[i] + two * unit[j]) for i, j in combinations(range(D), 2) for one in (1, -1) for two in (1, -1)
    ]
    points = np.concatenate([np.zeros((1, D)), unit, -unit, np.array(pairs).reshape(-1, D)])
    weights = np.concatenate([[1 + D * (D - 7) / 18], np.full(2 * D, (4 - D) / 18), np.full(len(pairs), 1 / 36)])
    return points, weights


def sobol(dimension: int, samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scrambled Sobol points and their mirror images, which make odd moments exact.   → points [Q, D], weights [Q]"""
    uniform = qmc.Sobol(dimension, seed=seed).random_base2(int(np.ceil(np.log2(samples))))
    half = norm.ppf(np.clip(uniform, 1e-9, 1 - 1e-9))
    points = np.concatenate([half, -half])
    return points, np.full(len(points), 1 / len(points))


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
