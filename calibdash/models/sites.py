"""Between colocations and the network: a Gaussian site on each colocation's latents, and their joint posterior.

Latents of a colocation are ordered (a's L processes, b's L processes); those of a reference stay zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibdash.models.elimination import Elimination, plan
from calibdash.models.factor import Factor, factor, selected_inverse, solve
from calibdash.models.inducing import Basis
from calibdash.models.pairs import PairData


@dataclass(frozen=True)
class Sites:
    """Natural parameters of each colocation's site.   precision [N, 2L, 2L], shift [N, 2L]"""

    precision: np.ndarray
    shift: np.ndarray


@dataclass(frozen=True)
class Design:
    """What ties colocations to whitened values v.

    rows_a, rows_b [N, L, M]: f_a = rows_a·v_a; residual [N, 2L]: variance of f that v leaves open.
    """

    pairs: PairData
    basis: Basis
    rows_a: np.ndarray
    rows_b: np.ndarray
    residual: np.ndarray
    plan: Elimination


@dataclass(frozen=True)
class Solved:
    """P = I + Σ_i A_iᵀ W_i A_i factored, and m = P⁻¹ Σ_i A_iᵀ b_i.

    mean [S, n]; diagonal [S, n, n], off [E_met, n, n]: blocks of P; explained: mᵀ Σ_i A_iᵀ b_i
    """

    mean: np.ndarray
    factor: Factor
    diagonal: np.ndarray
    off: np.ndarray
    explained: float


@dataclass(frozen=True)
class Gaussian:
    """q(v) = N(mean, P⁻¹).   mean [S, n]; diagonal [S, n, n] and off [E, n, n]: blocks of the covariance"""

    mean: np.ndarray
    factor: Factor
    diagonal: np.ndarray
    off: np.ndarray
    solved: Solved

    def kl(self) -> float:
        """KL[q(v) ‖ N(0, I)] = ½(tr Σ + mᵀm − n + log|P|)."""
        trace = float(np.einsum("sii->", self.diagonal))
        return 0.5 * (trace + float(np.sum(self.mean**2)) - self.mean.size) + self.factor.half_logdet


def design(pairs: PairData, basis: Basis, elimination: Elimination | None = None) -> Design:
    """Rows of both sides of every colocation, and the elimination plan of its graph."""
    rows_a, residual_a = _side(pairs, basis, pairs.a)
    rows_b, residual_b = _side(pairs, basis, pairs.b)
    if elimination is None:
        first, second = pairs.pair_ids()
        met = np.stack([first, second], axis=1)[second >= 0]
        elimination = plan(len(basis.times), met, basis.size)
    return Design(pairs, basis, rows_a, rows_b, np.concatenate([residual_a, residual_b], axis=1), elimination)


def _side(pairs: PairData, basis: Basis, side: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A(t) of the sensors of one side.   side [N] → [N, L, M], residual variance [N, L]"""
    latents, points = basis.hyper.latents, basis.times.shape[1]
    rows = np.zeros((len(side), latents, points))
    residual = np.zeros((len(side), latents))
    number = pairs.latent[side]
    order = np.argsort(number, kind="stable")
    bounds = np.searchsorted(number[order], np.arange(len(basis.times) + 1))
    for sensor in range(len(basis.times)):
        mine = order[bounds[sensor] : bounds[sensor + 1]]
        if len(mine):
            rows[mine] = basis.design(sensor, pairs.hours[mine])
            left = basis.prior_variance(sensor) - np.sum(rows[mine] ** 2, axis=-1)  # [n, L]
            residual[mine] = np.maximum(left, 0.0)
    return rows, residual


def posterior(design: Design, sites: Sites) -> Gaussian:
    """The posterior with the covariance blocks that marginals need."""
    parts = solved(design, sites)
    return Gaussian(parts.mean, parts.factor, *selected_inverse(parts.factor), parts)


def solved(design: Design, sites: Sites) -> Solved:
    """The posterior mean and the factor of its precision, without any covariance."""
    diagonal, off, right = precision(design, sites)
    parts = factor(design.plan, diagonal, off)
    mean = solve(parts, right[..., None])[..., 0]  # [S, n]
    return Solved(mean, parts, diagonal, off, float(np.sum(mean * right)))


def precision(design: Design, sites: Sites) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Blocks of P and the right-hand side.   → diagonal [S, n, n], off [E_met, n, n], right [S, n]"""
    latents, points = design.rows_a.shape[1:]
    count = design.plan.count
    diagonal = np.zeros((count, latents, points, latents, points))
    off = np.zeros((design.plan.met, latents, points, latents, points))
    right = np.zeros((count, latents, points))
    edge = 0
    for rows, a, b in _pair_slices(design.pairs):
        Xa, Xb = design.rows_a[rows], design.rows_b[rows]  # [n, L, M]
        W, shift = sites.precision[rows], sites.shift[rows]
        for i in range(latents):
            right[a, i] += shift[:, i] @ Xa[:, i]
            for j in range(latents):
                diagonal[a, i, :, j, :] += Xa[:, i].T @ (W[:, i, j, None] * Xa[:, j])
                if b >= 0:
                    diagonal[b, i, :, j, :] += Xb[:, i].T @ (W[:, latents + i, latents + j, None] * Xb[:, j])
                    off[edge, i, :, j, :] = Xa[:, i].T @ (W[:, i, latents + j, None] * Xb[:, j])
            if b >= 0:
                right[b, i] += shift[:, latents + i] @ Xb[:, i]
        edge += b >= 0
    n = latents * points
    square = diagonal.reshape(count, n, n)
    square[:, np.arange(n), np.arange(n)] += 1.0
    return square, off.reshape(design.plan.met, n, n), right.reshape(count, n)


def marginals(design: Design, q: Gaussian) -> tuple[np.ndarray, np.ndarray]:
    """q(f_i) of every colocation.   → mean [N, 2L], covariance [N, 2L, 2L]"""
    latents, points = design.rows_a.shape[1:]
    total = len(design.pairs.hours)
    mean = np.zeros((total, 2 * latents))
    cov = np.zeros((total, 2 * latents, 2 * latents))
    blocks = (latents, points, latents, points)
    m = q.mean.reshape(-1, latents, points)
    edge = 0
    for rows, a, b in _pair_slices(design.pairs):
        Xa, Xb = design.rows_a[rows], design.rows_b[rows]  # [n, L, M]
        Saa = q.diagonal[a].reshape(blocks)
        Sbb = q.diagonal[b].reshape(blocks)
        Sab = q.off[edge].reshape(blocks) if b >= 0 else Saa
        for i in range(latents):
            mean[rows, i] = Xa[:, i] @ m[a, i]
            if b >= 0:
                mean[rows, latents + i] = Xb[:, i] @ m[b, i]
            for j in range(latents):
                cov[rows, i, j] = _bilinear(Xa[:, i], Saa[i, :, j], Xa[:, j])
                if b >= 0:
                    cov[rows, latents + i, latents + j] = _bilinear(Xb[:, i], Sbb[i, :, j], Xb[:, j])
                    cross = _bilinear(Xa[:, i], Sab[i, :, j], Xb[:, j])
                    cov[rows, i, latents + j] = cross
                    cov[rows, latents + j, i] = cross
        edge += b >= 0
    index = np.arange(2 * latents)
    cov[:, index, index] += design.residual
    return mean, cov


def _bilinear(left: np.ndarray, middle: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Row by row leftᵀ·middle·right.   left, right [n, M], middle [M, M] → [n]"""
    return np.einsum("nm,nm->n", left @ middle, right)


def _pair_slices(pairs: PairData) -> list[tuple[slice, int, int]]:
    """Rows, latent number of a and of b (−1: reference) of each pair, in the order of the plan's edges."""
    first, second = pairs.pair_ids()
    ends = zip(pairs.starts[:-1].tolist(), pairs.starts[1:].tolist(), strict=True)
    return [(slice(*end), a, b) for end, a, b in zip(ends, first.tolist(), second.tolist(), strict=True)]
