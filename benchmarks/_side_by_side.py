"""One set of labels under several sets of expert labels at once: the chains of all of them walk side by side.

Folds of a cross-validation, or ways to choose what the expert is asked, differ only in which items are known. The
model's density is compiled once, and when more becomes known the chains go on from where they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import tensorflow as tf

from calibdash.models.labelling.arrays import LabelData
from calibdash.models.labelling.fitting import assemble
from calibdash.models.labelling.joint import LOWEST, item_log_weights, log_prior
from calibdash.models.labelling.posterior import LabelPosterior
from calibdash.models.labelling.record import LabelRecord
from calibdash.models.labelling.refine import APART, Chains
from calibdash.models.labelling.settings import LabelSettings
from calibdash.models.labelling.variational import Ascent, diagonal

STEPS, SAMPLES = 100, 4


class SideBySide:
    """data: without any label of references; truth [I]: the classes they would give; known [G, I] bool: which."""

    def __init__(self, data: LabelData, truth: np.ndarray, known: np.ndarray, *, chains: int, seed: int) -> None:
        self.data, self.truth, self.groups, self.count = data, truth, len(known), chains
        self.settings = LabelSettings(over_time=data.moving)
        self._problem = assemble(data, self.settings)
        self._clamp = tf.Variable(tf.zeros([len(data.items), self.groups, len(data.classes)]))
        self.learn(known)
        self._shares = tf.function(lambda theta: tf.nn.softmax(self._weights(theta, self._mine()), axis=-1))
        model = self._problem.model
        wrong = np.eye(len(data.classes))[truth] == 0
        # known to all groups: other classes are ruled out; to some: in part
        middle = tf.constant(-30.0 * wrong * known.mean(axis=0)[:, None], tf.float32)  # [I, K]

        def density(theta: tf.Tensor) -> tf.Tensor:
            return self._density(theta, middle[:, None, :])

        q = diagonal(
            Ascent(density, model.places["scales"], tf.float32, seed, lambda *_: None),
            model.start(),
            steps=STEPS,
            rate=self.settings.rate,
            samples=SAMPLES,
        )
        self._chains = Chains(
            lambda theta: self._density(theta, self._mine()),
            q,
            chains=self.groups * chains,
            seed=seed,
            dtype=tf.float32,
        )

    def learn(self, known: np.ndarray) -> None:
        """Other items are known now.   known [G, I] bool"""
        self.known = known.copy()
        ruled_out = (np.eye(len(self.data.classes))[self.truth] == 0)[None] & known[:, :, None]  # [G, I, K]
        self._clamp.assign(np.where(ruled_out, LOWEST, 0.0).swapaxes(0, 1).astype(np.float32))

    def walk(self, warm: int, kept: int) -> np.ndarray:
        """Walk on; the probability of each class of each item in each group.   → [G, I, K]"""
        self._chains.look()
        draws, total = [], np.zeros((len(self.data.items), self.groups, len(self.data.classes)))
        for index in range(warm + kept * APART):
            self._chains.advance(adapting=index if index < warm else None)
            if index >= warm and (index - warm) % APART == APART - 1:
                draws.append(self._chains.theta())
                share = self._shares(tf.constant(draws[-1], tf.float32)).numpy()  # [I, G·C, K]
                total += share.reshape(len(total), self.groups, self.count, -1).sum(axis=2)
        self._draws = np.stack(draws).reshape(kept, self.groups, self.count, -1)
        self.probability = (total / total.sum(axis=-1, keepdims=True)).swapaxes(0, 1)
        return self.probability

    def posterior(self, group: int) -> LabelPosterior:
        """What one group knows, as a fit would give it."""
        items = np.flatnonzero(self.known[group])
        clamp = np.zeros((len(self.data.items), len(self.data.classes)))
        clamp[items] = np.where(np.eye(clamp.shape[1])[self.truth[items]] > 0, 0.0, -np.inf)
        data = replace(
            self.data,
            clamp=clamp,
            fixed_item=items,
            fixed_by=np.zeros(len(items), dtype=np.int64),
            fixed_label=self.truth[items],
        )
        draws = self._draws[:, group].reshape(-1, self._draws.shape[-1]).astype(np.float32)
        record = LabelRecord(0, "", {}, 0.0, (), "exact", draws.shape[1], 0, None, None, ())
        mean, spread = draws.mean(axis=0), draws.std(axis=0)
        return LabelPosterior(self.settings, record, data, self.probability[group], draws, mean, spread)

    def _mine(self) -> tf.Tensor:
        return tf.repeat(self._clamp, self.count, axis=1)  # [I, G·C, K]

    def _weights(self, theta: tf.Tensor, clamp: tf.Tensor) -> tf.Tensor:
        problem = self._problem
        return item_log_weights(problem.model, problem.grid, problem.evidence, theta) + clamp

    def _density(self, theta: tf.Tensor, clamp: tf.Tensor) -> tf.Tensor:
        weights = tf.reduce_logsumexp(self._weights(theta, clamp), axis=-1)
        return log_prior(self._problem.model, theta) + tf.reduce_sum(weights, axis=0)
