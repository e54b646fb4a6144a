"""The log joint density of labels and unknowns, the class of each item summed out. TensorFlow.

    log p(y, θ) = log p(θ) + Σ_i log Σ_ψ π_ψ c_iψ Π_{n of item i} p_{j(n)}(y_n | ψ, t_n)

c is 1, or 0 for classes that a reference's label rules out. In the pairwise form every pair of an item's labels
stands for an item of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from calibdash.models.labelling.arrays import LabelData
from calibdash.models.labelling.design import D0_MEAN, D0_SD, DRIFT_LOG_SD, Design

LOWEST = -1e9  # log weight of an impossible class: finite, so that gradients are too
CELLS_A_LENGTHSCALE = 8
COARSE_CELLS = 5  # where there are very many labellers and classes
MANY_CELLS = 400_000
LogJoint = Callable[[tf.Tensor], tf.Tensor]


@dataclass(frozen=True)
class Evidence:
    """Which labels belong together.   segment [N] (sorted, 0 … G−1), row [N] into (cell, label), clamp [G, K]"""

    segment: np.ndarray
    row: np.ndarray
    clamp: np.ndarray


@dataclass(frozen=True)
class Cells:
    """Progress cut into cells, the same for every labeller: progress [T] at their centres, cell [N] of each label."""

    progress: np.ndarray
    cell: np.ndarray


def cells(data: LabelData, model: Design) -> Cells:
    """Cells so narrow that nobody changes within one; a single one where nobody changes at all."""
    if not model.basis.size:
        return Cells(np.zeros(1), np.zeros(len(data.progress), dtype=np.int64))
    fine = int(np.clip(np.ceil(CELLS_A_LENGTHSCALE / model.basis.lengthscale), 9, 800)) + 1
    if fine * model.labellers * model.classes**2 > MANY_CELLS:
        fine = int(np.clip(np.ceil(COARSE_CELLS / model.basis.lengthscale), 9, 300)) + 1
    return Cells(np.linspace(0.0, 1.0, fine), np.rint(data.progress * (fine - 1)).astype(np.int64))


def joint_evidence(data: LabelData, grid: Cells, classes: int) -> Evidence:
    """One group an item."""
    order = np.argsort(data.item, kind="stable")
    return Evidence(data.item[order], _rows(data, grid, classes)[order], np.maximum(data.clamp, LOWEST))


def pairwise_evidence(data: LabelData, grid: Cells, classes: int) -> Evidence:
    """One group a pair of labels of an item, references' labels among them."""
    rows = _rows(data, grid, classes)
    free: list[list[int]] = [[] for _ in data.items]
    fixed: list[list[int]] = [[] for _ in data.items]
    for n, item in enumerate(data.item):
        free[item].append(n)
    for label, item in zip(data.fixed_label, data.fixed_item, strict=True):
        fixed[item].append(label)
    segment: list[int] = []
    row: list[int] = []
    clamp: list[np.ndarray] = []
    anything, sure = np.zeros(classes), np.where(np.eye(classes) > 0, 0.0, LOWEST)
    for mine, known in zip(free, fixed, strict=True):
        for k, first in enumerate(mine):
            for second in mine[k + 1 :]:
                segment += [len(clamp)] * 2
                row += [rows[first], rows[second]]
                clamp.append(anything)
            for label in known:
                segment.append(len(clamp))
                row.append(rows[first])
                clamp.append(sure[label])
    shaped = np.array(clamp).reshape(-1, classes)
    return Evidence(np.array(segment, dtype=np.int64), np.array(row, dtype=np.int64), shaped)


def _rows(data: LabelData, grid: Cells, classes: int) -> np.ndarray:
    """Where p(y | ·) of a label stands in the table (labeller, cell, label).   → [N]"""
    return (data.labeller * len(grid.progress) + grid.cell) * classes + data.label


def log_prior(model: Design, theta: tf.Tensor) -> tf.Tensor:
    """Log p(θ).   theta [B, D] → [B]

    Standard normal, but that exp of the prevalence's unknowns is Gamma(1), so that their shares are Dirichlet(1).
    """
    place = model.places["prevalence"]
    share = theta[:, place]  # [B, K]
    normal = tf.reduce_sum(theta[:, : place.start] ** 2, axis=1) + tf.reduce_sum(theta[:, place.stop :] ** 2, axis=1)
    constant = 0.5 * (model.size - model.classes) * np.log(2 * np.pi)
    return tf.reduce_sum(share - tf.exp(share), axis=1) - 0.5 * normal - constant


def confusion_table(model: Design, grid: Cells, theta: tf.Tensor) -> tf.Tensor:
    """Log p(y | ψ) in every cell.   theta [B, D] → [B, J, T, K(ψ), K(y)]"""
    dtype, batch = theta.dtype, tf.shape(theta)[0]
    block = {name: tf.reshape(theta[:, place], [batch, *model.shapes[name]]) for name, place in model.places.items()}
    scale = dict(zip(model.scales, tf.unstack(block["scales"], axis=1), strict=True))  # [B] each
    eye = tf.eye(model.classes, dtype=dtype)
    boost = tf.constant(model.boost, dtype)
    right = D0_MEAN + D0_SD * block["d0"] + boost + scale["skill"][:, None] * block["skill"]  # [B, J]
    everybody = scale["population"][:, None, None] * block["population"]  # [B, K, K]
    habit = scale["habit"][:, None, None] * block["habit"]  # [B, J, K]
    base = right[:, :, None, None] * eye + everybody[:, None] + habit[:, :, None, :]  # [B, J, K, K]
    own = block["own"]  # [B, J, 1 + M, K, K] or [B, J, 1 + M, 2, K]
    if not model.full:
        own = own[:, :, :, 0, :, None] * eye + own[:, :, :, 1, None, :]  # [B, J, 1 + M, K, K]
    base = (base + scale["own"][:, None, None, None] * own[:, :, 0])[:, :, None]  # [B, J, 1, K, K]
    if model.basis.size:
        design = tf.constant(model.basis.at(grid.progress), dtype)  # [T, M]
        move = tf.einsum("tm,bjmxy->bjtxy", design, own[:, :, 1:])  # [B, J, T, K, K]
        drift = model.drift * tf.exp(DRIFT_LOG_SD * scale["drift"])  # [B]
        base = base + drift[:, None, None, None, None] * move
    return tf.nn.log_softmax(base, axis=-1)


def item_log_weights(model: Design, grid: Cells, evidence: Evidence, theta: tf.Tensor) -> tf.Tensor:
    """Log π_ψ c_gψ Π p(y_n | ψ) of every group and class.   theta [B, D] → [G, B, K]"""
    K, dtype = model.classes, theta.dtype
    batch = tf.shape(theta)[0]
    prevalence = tf.nn.log_softmax(theta[:, model.places["prevalence"]], axis=1)  # [B, K]
    weights = prevalence[None] + tf.constant(evidence.clamp, dtype)[:, None, :]  # [G, B, K]
    if not len(evidence.row):
        return weights
    table = confusion_table(model, grid, theta)  # [B, J, T, K(ψ), K(y)]
    rows = tf.reshape(tf.transpose(table, [1, 2, 4, 0, 3]), [-1, batch * K])  # [J·T·K(y), B·K(ψ)]
    said = tf.gather(rows, evidence.row)  # [N, B·K]
    total = tf.math.unsorted_segment_sum(said, evidence.segment, len(evidence.clamp))  # [G, B·K]
    return weights + tf.reshape(total, [-1, batch, K])


def log_joint(model: Design, grid: Cells, evidence: Evidence) -> LogJoint:
    """The function θ [B, D] → log p(y, θ) [B]."""

    def density(theta: tf.Tensor) -> tf.Tensor:
        prior = log_prior(model, theta)
        if not len(evidence.clamp):
            return prior
        weights = item_log_weights(model, grid, evidence, theta)  # [G, B, K]
        return prior + tf.reduce_sum(tf.reduce_logsumexp(weights, axis=-1), axis=0)

    return density
