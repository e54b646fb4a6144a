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


class Chains:
    """Chains in the units of q. They go on from where they are when the density changes (call ``look`` then)."""

    def __init__(self, density: LogJoint, q: Gaussian, *, chains: int, seed: int, dtype: tf.DType) -> None:
        self.q, self.dtype, self._seed, self._index = q, dtype, seed, 0
        self._density, self._shape = density, (chains, len(q.mean))
        self._centre, self._axes = tf.constant(q.mean, dtype), tf.constant(q.factor, dtype)
        self._move, self._look = tf.function(self._moved), tf.function(self._slope)
        self._jitter = np.random.default_rng([seed, 4])
        self.step = min(0.6, 1.6 * len(q.mean) ** -0.25)
        self._local = tf.constant(np.random.default_rng([seed, 3]).standard_normal(self._shape), dtype)
        self.look()

    def look(self) -> None:
        """Find density and slope where the chains are."""
        self._value, self._grad = self._look(self._local)

    def advance(self, *, adapting: int | None = None) -> float:
        """One move of every chain, the share of them that was accepted; adapting: how often the step was changed."""
        length = min(LONGEST, max(1, round(TRAVEL * self._jitter.uniform(0.7, 1.3) / self.step)))
        self._local, self._value, self._grad, chance = self._move(
            self._local,
            self._value,
            self._grad,
            tf.constant(self.step, self.dtype),
            tf.constant(length),
            tf.constant(self._index),
        )
        self._index += 1
        if adapting is not None:
            change = 0.6 * (float(chance) - TARGET) / np.sqrt(1 + adapting / 4)
            self.step = float(np.clip(self.step * np.exp(change), 1e-4, 1.5))
        return float(chance)

    def theta(self) -> np.ndarray:
        """Where the chains are.   → [C, D]"""
        local, factor = self._local.numpy().astype(np.float64), self.q.factor
        return self.q.mean + (local @ factor.T if factor.ndim == 2 else local * factor)

    def _slope(self, local: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(local)
            wide = self.q.factor.ndim == 2
            value = self._density(
                self._centre + (tf.matmul(local, self._axes, transpose_b=True) if wide else local * self._axes)
            )
        return value, tape.gradient(value, local)

    def _moved(
        self, local: tf.Tensor, value: tf.Tensor, grad: tf.Tensor, step: tf.Tensor, length: tf.Tensor, index: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        seed, dtype = self._seed + 7919, self.dtype
        momentum = tf.random.stateless_normal(self._shape, tf.stack([seed, 2 * index]), dtype=dtype)
        energy = value - 0.5 * tf.reduce_sum(momentum**2, axis=1)
        where, there, rise = local, value, grad
        for _ in tf.range(length):
            momentum = momentum + 0.5 * step * rise
            where = where + step * momentum
            there, rise = self._slope(where)
            momentum = momentum + 0.5 * step * rise
        change = there - 0.5 * tf.reduce_sum(momentum**2, axis=1) - energy
        change = tf.where(tf.math.is_finite(change), change, tf.constant(-np.inf, dtype))
        dice = tf.random.stateless_uniform([self._shape[0]], tf.stack([seed, 2 * index + 1]), dtype=dtype)
        taken = tf.math.log(dice) < change
        chance = tf.reduce_mean(tf.minimum(tf.exp(tf.minimum(change, 0.0)), 1.0))
        pick = taken[:, None]
        return tf.where(pick, where, local), tf.where(taken, there, value), tf.where(pick, rise, grad), chance


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
    walkers = Chains(density, q, chains=chains, seed=seed, dtype=dtype)
    kept, chances = [], []
    for index in range(moves_needed(draws, chains)):
        chance = walkers.advance(adapting=index if index < WARM else None)
        if index >= WARM:
            chances.append(chance)
            if (index - WARM) % APART == APART - 1:
                kept.append(walkers.theta())
        tell(1, float("nan"))
    watched = np.concatenate([watch(tf.constant(part, dtype)).numpy() for part in kept])
    by_chain = watched.reshape(len(kept), chains, -1).swapaxes(0, 1)  # [C, n, W]
    return Walk(np.concatenate(kept), float(np.mean(chances)), _disagreement(by_chain), walkers.step)


def _disagreement(chains: np.ndarray) -> float:
    """The 99th percentile of R̂ (Gelman and Rubin) over what is watched.   chains [C, n, W] → []"""
    count = chains.shape[1]
    if count < 3 or not chains.size:
        return 1.0
    within = chains.var(axis=1, ddof=1).mean(axis=0)
    between = chains.mean(axis=1).var(axis=0, ddof=1)
    return float(np.quantile(np.sqrt((within * (count - 1) / count + between) / np.maximum(within, 1e-12)), 0.99))
