"""The paper's Algorithm 1: Monte-Carlo bound, Adam on a mean and a dense triangular factor, minibatches.

Colocations with a reference are drawn more often and weighted down in return, so the estimate stays unbiased.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from calibdash.errors import CalibdashError
from calibdash.models.elimination import plan
from calibdash.models.factor import factor, selected_inverse
from calibdash.models.floats import FLOAT
from calibdash.models.form import Form
from calibdash.models.likelihoods import log_density
from calibdash.models.model import Model
from calibdash.models.natural import divergence, likelihood_sites
from calibdash.models.outcome import conclude
from calibdash.models.posterior import Posterior
from calibdash.models.progress import Cancel, Progress, Report, check
from calibdash.models.sites import Gaussian, Solved, marginals

REPORTS = 50
FIRST_SPREAD = 0.1
LEAST_SPREAD = 1e-4
Batch = dict[str, tf.Tensor]


class Variational(tf.Module):
    """q(v) = N(m, RRᵀ) of all sensors together.   mean [T], lower [T, T] with T = S·n unknowns"""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.mean = tf.Variable(tf.zeros([size], FLOAT))
        # Narrow at first: samples of a wide prior can make likelihoods that no step recovers from.
        self.lower = tf.Variable(FIRST_SPREAD * tf.eye(size, dtype=FLOAT))

    def factor(self) -> tf.Tensor:
        """R, its diagonal kept positive.   → [T, T]"""
        strict = tf.linalg.band_part(self.lower, -1, 0)
        return tf.linalg.set_diag(strict, tf.abs(tf.linalg.diag_part(self.lower)) + LEAST_SPREAD)

    def divergence(self) -> tf.Tensor:
        """KL[N(m, RRᵀ) ‖ N(0, I)].   → []"""
        R = self.factor()
        half_logdet = tf.reduce_sum(tf.math.log(tf.linalg.diag_part(R)))
        size = tf.cast(tf.shape(R)[0], FLOAT)
        return 0.5 * (tf.reduce_sum(R**2) + tf.reduce_sum(self.mean**2) - size) - half_logdet

    def marginals(self, rows: tf.Tensor, residual: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """q(f) of K latents a colocation.   rows [B, K, T], residual [B, K] → [B, K], [B, K, K]"""
        mean = tf.linalg.matvec(rows, self.mean)  # [B, K]
        spread = tf.einsum("bkt,tu->bku", rows, self.factor())  # [B, K, T]
        cov = tf.einsum("bku,blu->bkl", spread, spread) + tf.linalg.diag(residual)  # [B, K, K]
        return mean, cov


def _log_likelihood(form: Form, q: Variational, batch: Batch, samples: int, seed: tf.Tensor) -> tf.Tensor:
    """Weighted Monte-Carlo estimate of Σ_i E_q log p(y_i | f_i) from one part of a minibatch.   → []"""
    J = tf.constant(form.matrix(), FLOAT)  # [D, K]
    mean, cov = q.marginals(batch["rows"], batch["residual"])
    x_mean = mean @ tf.transpose(J)  # [B, D]
    jitter = 1e-9 * tf.eye(tf.shape(J)[0], dtype=FLOAT)
    x_chol = tf.linalg.cholesky(J @ cov @ tf.transpose(J) + jitter)  # [B, D, D]
    shape = [samples, tf.shape(mean)[0], tf.shape(J)[0]]
    z = tf.random.stateless_normal(shape, seed, dtype=FLOAT)  # [P, B, D]
    x = x_mean + tf.einsum("bij,pbj->pbi", x_chol, z)  # [P, B, D]
    value = tf.reduce_mean(log_density(form, x, batch), axis=0)  # [B]
    return tf.reduce_sum(batch["weight"] * value)


def _stepper(
    forms: tuple[Form, ...], q: Variational, optimiser: tf.keras.optimizers.Optimizer, samples: int
) -> Callable[..., tf.Tensor]:
    """One compiled step of Adam on one minibatch."""

    @tf.function(reduce_retracing=True)
    def step(batches: list[Batch], seed: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            terms = [_log_likelihood(form, q, batch, samples, seed) for form, batch in zip(forms, batches, strict=True)]
            loss = q.divergence() - tf.add_n(terms)
        variables = [q.mean, q.lower]
        gradients = tape.gradient(loss, variables)
        optimiser.apply_gradients(zip(gradients, variables, strict=True))
        return -loss

    return step


def _batches(model: Model, rng: np.random.Generator) -> list[Batch]:
    """Rows drawn with replacement, those with a reference more often; weight = 1/(expected number of draws).

    The size of each part is fixed, so that the step is traced once.
    """
    parts, pairs = model.parts(), model.pairs
    boost = [model.settings.adam_reference if form.tied else 1.0 for form, _ in parts]
    shares = np.array([weight * len(rows) for weight, (_, rows) in zip(boost, parts, strict=True)])
    total = min(model.settings.adam_batch, len(pairs.hours))
    sizes = np.maximum(np.round(total * shares / shares.sum()), 1).astype(np.int64)
    batches = []
    for (form, rows), size in zip(parts, sizes, strict=True):
        picked = rows[rng.integers(0, len(rows), size)]
        width = form.latents * (1 if form.tied else 2)
        arrays = {
            **model.rows(picked),
            "rows": _wide_rows(model, picked, width),
            "residual": model.design.residual[picked][:, :width],
            "weight": np.full(size, len(rows) / size),
        }
        batches.append({name: tf.constant(array, FLOAT) for name, array in arrays.items()})
    return batches


def _wide_rows(model: Model, picked: np.ndarray, width: int) -> np.ndarray:
    """Design rows over all unknowns, zero outside a sensor's own.   picked [B] → [B, K, T]"""
    L, M = model.design.rows_a.shape[1:]
    wide = np.zeros((len(picked), width, len(model.design.basis.times), L, M))
    index = np.arange(len(picked))
    for side, (rows, who) in enumerate(((model.design.rows_a, model.pairs.a), (model.design.rows_b, model.pairs.b))):
        for latent in range(L if side * L < width else 0):
            wide[index, side * L + latent, model.pairs.latent[who[picked]], latent] = rows[picked, latent]
    return wide.reshape(len(picked), width, -1)


def ascend(
    model: Model, *, seed: int, progress: Report | None = None, cancel: Cancel | None = None
) -> tuple[Variational, list[float]]:
    """Steps of Adam from the prior, the rate falling along a cosine.   → q, estimates of the bound"""
    settings = model.settings
    size = model.design.basis.times.shape[0] * model.design.basis.size
    q = Variational(size)
    steps = settings.adam_iterations
    rate = tf.keras.optimizers.schedules.CosineDecay(settings.adam_rate, steps, alpha=0.01)
    optimiser = tf.keras.optimizers.Adam(rate)
    optimiser.build([q.mean, q.lower])
    step = _stepper(tuple(form for form, _ in model.parts()), q, optimiser, settings.adam_samples)
    rng = np.random.default_rng(seed)
    began = time.perf_counter()
    trace: list[float] = []
    for iteration in range(1, steps + 1):
        check(cancel)
        bound = step(_batches(model, rng), tf.constant([seed, iteration], tf.int32))
        if iteration % max(1, steps // REPORTS) == 0 or iteration == steps:
            trace.append(float(bound))
            if progress is not None:
                seconds = time.perf_counter() - began
                left = seconds / iteration * (steps - iteration)
                progress(Progress("fit", iteration, steps, trace[-1], seconds, left))
    return q, trace


def adam(
    model: Model,
    *,
    seed: int,
    progress: Report | None = None,
    cancel: Cancel | None = None,
    began: float | None = None,
) -> Posterior:
    """Fit by Adam; the last entry of the trace is the bound by quadrature, comparable with natural gradients'."""
    began = time.perf_counter() if began is None else began
    q, trace = ascend(model, seed=seed, progress=progress, cancel=cancel)
    try:
        gaussian = as_gaussian(model, q)
    except np.linalg.LinAlgError as reason:
        raise CalibdashError("Adam lost its way.", "Lower adam.rate, or use optimiser=natural.") from reason
    mean, cov = marginals(model.design, gaussian)
    total, sites, _ = likelihood_sites(model, mean, cov, seed)
    trace = [*trace, total - divergence(model, gaussian)]
    seconds = time.perf_counter() - began
    return conclude(model, sites, gaussian, seed=seed, seconds=seconds, elbo=trace, converged=True)


def as_gaussian(model: Model, q: Variational) -> Gaussian:
    """The dense posterior as blocks over all pairs of sensors, those that met first."""
    S, n = model.design.basis.times.shape[0], model.design.basis.size
    R = q.factor().numpy()
    inverse = np.linalg.inv(R)
    P = (inverse.T @ inverse).reshape(S, n, S, n)
    met = model.design.plan.edges[: model.design.plan.met]
    known = {(int(i), int(j)) for i, j in met}
    others = [(i, j) for i in range(S) for j in range(i + 1, S) if (i, j) not in known]
    edges = np.concatenate([met, np.array(others, dtype=np.int64).reshape(-1, 2)])
    diagonal = np.stack([P[s, :, s, :] for s in range(S)])
    off = np.stack([P[i, :, j, :] for i, j in edges]) if len(edges) else np.zeros((0, n, n))
    parts = factor(plan(S, edges, n), diagonal, off)
    mean = q.mean.numpy().reshape(S, n)
    solved = Solved(mean, parts, diagonal, off, 0.0)
    return Gaussian(mean, parts, *selected_inverse(parts), solved)
