"""Block Cholesky factor of a sparse precision, and the blocks of its inverse that marginals need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotri

from calibdash.models.elimination import Elimination, Group


@dataclass(frozen=True)
class Factor:
    """P = LLᵀ in elimination order.

    lower: per group the inverse Cholesky factors [G, n, n]; across: per group L⁻¹·P[node, neighbours] [G, n, d·n];
    core [r·n, r·n]: the Cholesky factor of what was left; half_logdet: ½ log|P|.
    """

    plan: Elimination
    block: int
    lower: tuple[np.ndarray, ...]
    across: tuple[np.ndarray, ...]
    core: np.ndarray
    half_logdet: float


def factor(plan: Elimination, diagonal: np.ndarray, off: np.ndarray) -> Factor:
    """Eliminate group by group.   diagonal [S, n, n]; off [E_met, n, n], rows the first sensor of the edge"""
    n = diagonal.shape[-1]
    diagonal = diagonal.copy()
    fill = np.zeros((len(plan.edges) - plan.met, n, n))
    off = np.concatenate([off, fill])  # [E, n, n]
    lowers, across, half_logdet = [], [], 0.0
    for group in plan.groups:
        chol = np.linalg.cholesky(diagonal[group.nodes])  # [G, n, n]
        half_logdet += float(np.sum(np.log(np.diagonal(chol, axis1=-2, axis2=-1))))
        lower = np.linalg.inv(chol)  # [G, n, n]
        X = lower @ _row(group, off)  # [G, n, d·n]
        _subtract(group, X, diagonal, off)
        lowers.append(lower)
        across.append(X)
    core = np.linalg.cholesky(_dense(plan, diagonal, off))  # [r·n, r·n]
    half_logdet += float(np.sum(np.log(np.diag(core))))
    return Factor(plan, n, tuple(lowers), tuple(across), core, half_logdet)


def _row(group: Group, off: np.ndarray) -> np.ndarray:
    """P[node, neighbours].   off [E, n, n] → [G, n, d·n]"""
    blocks = off[group.edges]  # [G, d, n, n]
    blocks = np.where(group.after[..., None, None], blocks, blocks.swapaxes(-1, -2))  # rows are the node's
    G, d, n, _ = blocks.shape
    return blocks.swapaxes(1, 2).reshape(G, n, d * n)


def _subtract(group: Group, X: np.ndarray, diagonal: np.ndarray, off: np.ndarray) -> None:
    """Schur complement: P[N, N] −= Σ_node XᵀX, in place.   X [G, n, d·n]"""
    n, d = diagonal.shape[-1], len(group.neighbours)
    rows = X.reshape(X.shape[0] * n, d * n)  # [G·n, d·n]
    blocks = (rows.T @ rows).reshape(d, n, d, n).swapaxes(1, 2)  # [d, d, n, n]
    diagonal[group.neighbours] -= blocks[np.arange(d), np.arange(d)]
    first, second = np.triu_indices(d, k=1)
    off[group.inner[first, second]] -= blocks[first, second]


def _dense(plan: Elimination, diagonal: np.ndarray, off: np.ndarray) -> np.ndarray:
    """The dense matrix over the core.   → [r·n, r·n]"""
    r, n = len(plan.core), diagonal.shape[-1]
    dense = np.zeros((r, n, r, n))
    dense[np.arange(r), :, np.arange(r), :] = diagonal[plan.core]
    edges, first, second = plan.core_edges.T
    dense[first, :, second, :] = off[edges]
    dense[second, :, first, :] = off[edges].swapaxes(-1, -2)
    return dense.reshape(r * n, r * n)


def selected_inverse(factor: Factor) -> tuple[np.ndarray, np.ndarray]:
    """Blocks of Σ = P⁻¹ on the factor's pattern (Takahashi).   → diagonal [S, n, n], off [E, n, n]"""
    plan, n, r = factor.plan, factor.block, len(factor.plan.core)
    diagonal = np.empty((plan.count, n, n))
    off = np.empty((len(plan.edges), n, n))
    if r:
        half, _ = dpotri(factor.core, lower=1)  # [r·n, r·n], lower triangle of the inverse
        dense = (np.tril(half) + np.tril(half, -1).T).reshape(r, n, r, n)
        diagonal[plan.core] = dense[np.arange(r), :, np.arange(r), :]
        edges, first, second = plan.core_edges.T
        off[edges] = dense[first, :, second, :]
    for group, lower, X in zip(reversed(plan.groups), reversed(factor.lower), reversed(factor.across), strict=True):
        G = lower.swapaxes(-1, -2) @ X  # [G, n, d·n]: P[i, i]⁻¹ P[i, N]
        inner = _inner(group, diagonal, off)  # [d·n, d·n]: Σ[N, N]
        side = -(G @ inner)  # [G, n, d·n]: Σ[i, N]
        diagonal[group.nodes] = lower.swapaxes(-1, -2) @ lower - side @ G.swapaxes(-1, -2)
        blocks = side.reshape(len(group.nodes), n, len(group.neighbours), n).swapaxes(1, 2)  # [G, d, n, n]
        off[group.edges] = np.where(group.after[..., None, None], blocks, blocks.swapaxes(-1, -2))
    return diagonal, off


def _inner(group: Group, diagonal: np.ndarray, off: np.ndarray) -> np.ndarray:
    """Σ over the neighbours of a group.   → [d·n, d·n]"""
    d, n = len(group.neighbours), diagonal.shape[-1]
    dense = np.empty((d, n, d, n))
    dense[np.arange(d), :, np.arange(d), :] = diagonal[group.neighbours]
    first, second = np.triu_indices(d, k=1)
    blocks = off[group.inner[first, second]]  # [pairs, n, n]
    dense[first, :, second, :] = blocks
    dense[second, :, first, :] = blocks.swapaxes(-1, -2)
    return dense.reshape(d * n, d * n)


def solve(factor: Factor, right: np.ndarray) -> np.ndarray:
    """P⁻¹ right.   right [S, n, k] → [S, n, k]"""
    plan, right = factor.plan, right.copy()
    for group, lower, X in zip(plan.groups, factor.lower, factor.across, strict=True):
        right[group.nodes] = lower @ right[group.nodes]  # [G, n, k]
        rows = X.reshape(X.shape[0] * X.shape[1], X.shape[2])  # [G·n, d·n]
        down = rows.T @ right[group.nodes].reshape(-1, right.shape[-1])  # [d·n, k]
        right[group.neighbours] -= down.reshape(len(group.neighbours), factor.block, right.shape[-1])
    core = right[plan.core].reshape(-1, right.shape[-1])
    core = solve_triangular(factor.core, core, lower=True, check_finite=False)
    right[plan.core] = core.reshape(len(plan.core), factor.block, right.shape[-1])
    return backward(factor, right)


def backward(factor: Factor, right: np.ndarray) -> np.ndarray:
    """L⁻ᵀ right; of standard normal draws it makes draws with covariance P⁻¹.   right [S, n, k] → [S, n, k]"""
    plan, right = factor.plan, right.copy()
    core = right[plan.core].reshape(-1, right.shape[-1])
    core = solve_triangular(factor.core, core, lower=True, trans=1, check_finite=False)
    right[plan.core] = core.reshape(len(plan.core), factor.block, right.shape[-1])
    for group, lower, X in zip(reversed(plan.groups), reversed(factor.lower), reversed(factor.across), strict=True):
        near = right[group.neighbours].reshape(-1, right.shape[-1])  # [d·n, k]
        right[group.nodes] = lower.swapaxes(-1, -2) @ (right[group.nodes] - X @ near)  # [G, n, k]
    return right
