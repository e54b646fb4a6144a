"""A Gaussian q over the unknowns by ascent of the bound, the class of each item summed out exactly.

First a diagonal q by Adam from the prior's centre. Where there are few enough unknowns to keep their correlations,
natural-gradient steps then make it a full one: precision = −E_q ∇² log p. The few scales are held here: a Gaussian
over a scale and over what it scales at once is drawn to zero scales, and so are point estimates by the bound. The
walk of :mod:`calibdash.models.labelling.refine` frees them. Random numbers depend on the seed and the step alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from calibdash.errors import CalibdashError
from calibdash.models.labelling.joint import LogJoint

CHUNK = 20  # steps between two reports
FIRST_SPREAD = 0.3
HELD_SPREAD = 0.3  # of a scale, where nothing better is known
LEAST_CURVATURE = 0.8  # of the posterior along any axis, in units of the prior's
LAST_RATE = 0.03  # of the first one
WIDTH = 1e-3  # of the differences that give the curvature
BATCH = 256
NATURAL_STEPS = 10  # ordinary steps that a natural one counts as
PLACES = 6  # draws of q over which the curvature is averaged
Tell = Callable[[int, float], None]  # steps done, bound


@dataclass(frozen=True)
class Gaussian:
    """q(θ) = N(mean, FFᵀ).   mean [D], factor [D, D], or [D] for a diagonal one"""

    mean: np.ndarray
    factor: np.ndarray

    def draws(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Antithetic draws.   → [count, D]"""
        half = rng.standard_normal(((count + 1) // 2, len(self.mean)))
        noise = np.concatenate([half, -half])[:count]
        return self.mean + (noise @ self.factor.T if self.factor.ndim == 2 else noise * self.factor)


@dataclass(frozen=True)
class Ascent:
    """How a bound is climbed; held: the places of unknowns that stay where they are."""

    density: LogJoint
    held: slice
    dtype: tf.DType
    seed: int
    tell: Tell


def diagonal(how: Ascent, start: np.ndarray, *, steps: int, rate: float, samples: int) -> Gaussian:
    """The best diagonal Gaussian."""
    size, dtype = len(start), how.dtype
    mean = tf.Variable(start, dtype=dtype)
    spread = tf.Variable(np.full(size, np.log(FIRST_SPREAD)), dtype=dtype)
    free = np.ones(size)
    free[how.held] = 0.0
    mask = tf.constant(free, dtype)

    def bound(step: tf.Tensor) -> tf.Tensor:
        half = tf.random.stateless_normal([(samples + 1) // 2, size], tf.stack([how.seed, step]), dtype=dtype)
        noise = tf.concat([half, -half], axis=0)
        place = mask * mean + (1.0 - mask) * start
        theta = place + mask * tf.exp(spread) * noise
        return tf.reduce_mean(how.density(theta)) + tf.reduce_sum(mask * spread)

    averages = _ascend(bound, [mean, spread], steps, rate, _entropy(int(free.sum())), how.tell)
    factor = np.where(free > 0, np.exp(averages[1]), HELD_SPREAD)
    return Gaussian(np.where(free > 0, averages[0], start), factor)


def dense(how: Ascent, q: Gaussian, *, iterations: int) -> Gaussian:
    """The Gaussian with all correlations, by natural gradients from a diagonal one.

    P ← −E_q ∇² log p (curvatures kept positive), m ← m + P⁻¹ E_q ∇ log p, what is held stays.
    """
    gradient = _gradient(how.density)
    size = len(q.mean)
    free = np.ones(size, dtype=bool)
    free[how.held] = False
    for iteration in range(iterations):
        held = Gaussian(q.mean, q.factor * (free[:, None] if q.factor.ndim == 2 else free))
        places = held.draws(PLACES, np.random.default_rng([how.seed, 1, iteration]))
        slope = gradient(tf.constant(places, how.dtype)).numpy().mean(axis=0)  # [D]
        precision = _curvature(gradient, places, how.dtype)
        mine = precision[np.ix_(free, free)]
        step, factor = np.zeros(size), np.eye(size) * HELD_SPREAD
        step[free] = np.linalg.solve(mine, slope[free])
        step *= min(1.0, 0.5 * np.sqrt(size) / max(float(np.linalg.norm(step)), 1e-9))  # trust no step that is wild
        factor[np.ix_(free, free)] = np.linalg.inv(np.linalg.cholesky(mine)).T  # F = L⁻ᵀ: FFᵀ = (LLᵀ)⁻¹
        q = Gaussian(q.mean + step, factor)
        how.tell(NATURAL_STEPS, bound_of(how, q))
    return q


def bound_of(how: Ascent, q: Gaussian, count: int = 64) -> float:
    """The bound of q with the scales held.   → []"""
    free = np.ones(len(q.mean), dtype=bool)
    free[how.held] = False
    wide = q.factor.ndim == 2
    held = Gaussian(q.mean, q.factor * (free[:, None] if wide else free))
    draws = held.draws(count, np.random.default_rng([how.seed, 2]))
    value = float(tf.reduce_mean(how.density(tf.constant(draws, how.dtype))))
    mine = q.factor[free]
    half_logdet = 0.5 * float(np.linalg.slogdet(mine @ mine.T)[1]) if wide else float(np.log(mine).sum())
    return value + half_logdet + _entropy(int(free.sum()))


def _curvature(gradient: Callable[[tf.Tensor], tf.Tensor], places: np.ndarray, dtype: tf.DType) -> np.ndarray:
    """−∇² log p averaged over places, by differences of gradients, kept positive.   places [P, D] → [D, D]"""
    size = places.shape[1]
    hessian = np.zeros((size, size))
    for place in places:
        for begin in range(0, size, BATCH):
            axes = np.eye(min(BATCH, size - begin), size, begin) * WIDTH  # [C, D]
            ahead, behind = (gradient(tf.constant(place + side * axes, dtype)).numpy() for side in (1.0, -1.0))
            hessian[begin : begin + BATCH] += (ahead - behind) / (2 * WIDTH * len(places))
    values, vectors = np.linalg.eigh(-(hessian + hessian.T) / 2)
    return (vectors * np.maximum(values, LEAST_CURVATURE)) @ vectors.T


def _ascend(
    bound: Callable[[tf.Tensor], tf.Tensor],
    variables: list[tf.Variable],
    steps: int,
    rate: float,
    constant: float,
    tell: Tell,
) -> list[np.ndarray]:
    """Adam with a falling rate; returns the averages of the last quarter of the steps, which smooth its noise."""
    first = [tf.Variable(tf.zeros_like(variable)) for variable in variables]
    second = [tf.Variable(tf.zeros_like(variable)) for variable in variables]
    sums = [tf.Variable(tf.zeros_like(variable)) for variable in variables]
    dtype = variables[0].dtype
    tail = max(1, steps // 4)

    @tf.function
    def chunk(begin: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
        total = tf.zeros([], dtype)
        for k in tf.range(count):
            step = begin + k
            with tf.GradientTape() as tape:
                value = bound(step)
            gradients = tape.gradient(value, variables)
            total += value
            now = tf.cast(step + 1, dtype)
            slope = rate * LAST_RATE ** (tf.cast(step, dtype) / steps)
            for variable, m, v, s, g in zip(variables, first, second, sums, gradients, strict=True):
                m.assign(0.9 * m + 0.1 * g)
                v.assign(0.99 * v + 0.01 * g * g)
                rise = (m / (1.0 - 0.9**now)) / (tf.sqrt(v / (1.0 - 0.99**now)) + 1e-8)
                variable.assign_add(slope * rise)
                if step >= steps - tail:
                    s.assign_add(variable / tail)
        return total / tf.cast(count, dtype)

    for begin in range(0, steps, CHUNK):
        count = min(CHUNK, steps - begin)
        value = float(chunk(tf.constant(begin), tf.constant(count))) + constant
        if not np.isfinite(value):
            raise CalibdashError("The fit of the labellers lost its way.", "Use a smaller rate, e.g. --set rate=0.01.")
        tell(count, value)
    return [s.numpy().astype(np.float64) for s in sums]


def _entropy(size: int) -> float:
    """Of a standard normal."""
    return 0.5 * size * (1.0 + float(np.log(2 * np.pi)))


def _gradient(density: LogJoint) -> Callable[[tf.Tensor], tf.Tensor]:
    @tf.function(reduce_retracing=True)
    def gradient(theta: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(theta)
            value = tf.reduce_sum(density(theta))
        return tape.gradient(value, theta)

    return gradient
