"""From the Gaussian q to draws of the exact posterior: many short chains of Hamiltonian Monte Carlo.

The chains begin at draws of q and move in its units. Unknowns are whitened, so the posterior is nearly round in them
and a few leapfrog steps take each chain to an almost independent place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from calibdash.models.labelling.joint import LogJoint
from calibdash.models.labelling.variational import Gaussian, Tell

WARM = 30  # moves before draws are kept
APART = 2  # moves between two kept draws of a chain
TARGET = 0.8  # share of moves that are accepted
TRAVEL = 1.6  # a quarter of the way round a standard normal
LONGEST = 24  # leapfrog steps of a move


@dataclass(frozen=True)
class Walk:
    """Draws [S, D], the share of accepted moves, and how far chains disagree (1: not at all)."""

    draws: np.ndarray
    accepted: float
    disagreement: float
    step: float


def moves_needed(draws: int, chains: int) -> int:
    """How many moves of each chain give so many draws."""
    return WARM + APART * -(-draws // chains)


def walk(
    density: LogJoint,
    q: Gaussian,
    watch: Callable[[tf.Tensor], tf.Tensor],
    *,
    chains: int,
    draws: int,
    seed: int,
    dtype: tf.DType,
    tell: Tell,
) -> Walk:
    """At least ``draws`` draws of p(θ | y); watch: θ [B, D] → numbers [B, W] that chains should agree about."""
    centre, axes = tf.constant(q.mean, dtype), tf.constant(q.factor, dtype)

    def log_p(local: tf.Tensor) -> tf.Tensor:
        return density(
            centre + (tf.matmul(local, axes, transpose_b=True) if len(q.factor.shape) == 2 else local * axes)
        )

    def slope(local: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(local)
            value = log_p(local)
        return value, tape.gradient(value, local)

    size = len(q.mean)

    @tf.function
    def move(local: tf.Tensor, value: tf.Tensor, grad: tf.Tensor, step: tf.Tensor, length: tf.Tensor, index: tf.Tensor):  # type: ignore[no-untyped-def]
        momentum = tf.random.stateless_normal([chains, size], tf.stack([seed + 7919, 2 * index]), dtype=dtype)
        energy = value - 0.5 * tf.reduce_sum(momentum**2, axis=1)
        where, there, rise = local, value, grad
        for _ in tf.range(length):
            momentum = momentum + 0.5 * step * rise
            where = where + step * momentum
            there, rise = slope(where)
            momentum = momentum + 0.5 * step * rise
        change = there - 0.5 * tf.reduce_sum(momentum**2, axis=1) - energy
        change = tf.where(tf.math.is_finite(change), change, tf.constant(-np.inf, dtype))
        dice = tf.random.stateless_uniform([chains], tf.stack([seed + 7919, 2 * index + 1]), dtype=dtype)
        taken = tf.math.log(dice) < change
        chance = tf.reduce_mean(tf.minimum(tf.exp(tf.minimum(change, 0.0)), 1.0))
        pick = taken[:, None]
        return tf.where(pick, where, local), tf.where(taken, there, value), tf.where(pick, rise, grad), chance

    local = tf.constant(np.random.default_rng([seed, 3]).standard_normal((chains, size)), dtype)
    value, grad = slope(local)
    step, kept, chances = min(0.6, 1.6 * size**-0.25), [], []
    moves = moves_needed(draws, chains)
    jitter = np.random.default_rng([seed, 4]).uniform(0.7, 1.3, moves)
    for index in range(moves):
        length = min(LONGEST, max(1, round(TRAVEL * jitter[index] / step)))
        local, value, grad, chance = move(
            local, value, grad, tf.constant(step, dtype), tf.constant(length), tf.constant(index)
        )
        if index < WARM:
            step = float(np.clip(step * np.exp(0.6 * (float(chance) - TARGET) / np.sqrt(1 + index / 4)), 1e-4, 1.5))
        else:
            chances.append(float(chance))
            if (index - WARM) % APART == APART - 1:
                kept.append(local.numpy())
        tell(1, float("nan"))
    flat = np.concatenate(kept).astype(np.float64)  # [n·C, D]
    theta = q.mean + (flat @ q.factor.T if q.factor.ndim == 2 else flat * q.factor)
    watched = np.concatenate([watch(tf.constant(part, dtype)).numpy() for part in np.array_split(theta, len(kept))])
    by_chain = watched.reshape(len(kept), chains, -1).swapaxes(0, 1)  # [C, n, W]
    return Walk(theta, float(np.mean(chances)), _disagreement(by_chain), step)


def _disagreement(chains: np.ndarray) -> float:
    """The 99th percentile of R̂ (Gelman and Rubin) over what is watched.   chains [C, n, W] → []"""
    count = chains.shape[1]
    if count < 3 or not chains.size:
        return 1.0
    within = chains.var(axis=1, ddof=1).mean(axis=0)
    between = chains.mean(axis=1).var(axis=0, ddof=1)
    return float(np.quantile(np.sqrt((within * (count - 1) / count + between) / np.maximum(within, 1e-12)), 0.99))
