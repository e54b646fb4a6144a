"""Log ratios of pairs pooled over short periods: the data in a form that a hundred linear fits can afford."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibdash.models.hyper import Hyper
from calibdash.models.linear import log_ratio_noise
from calibdash.models.pairs import PairData
from calibdash.models.sites import Design, Sites, Solved

PERIODS = 80


@dataclass(frozen=True)
class Pooled:
    """Rows of a record pooled by pair and period.   bins: one row a bin; starts [B]: first row of each bin"""

    rows: PairData
    bins: PairData
    starts: np.ndarray


@dataclass(frozen=True)
class Ratios:
    """Pooled log ratios a/b.   ratio, variance [B]; within: what the scatter inside bins adds to the log density"""

    ratio: np.ndarray
    variance: np.ndarray
    within: float


def pooled(pairs: PairData, periods: int = PERIODS) -> Pooled:
    """Rows of one pair in one of so many equal periods go together."""
    span = max(float(np.ptp(pairs.hours)), 1e-9)
    period = np.floor((pairs.hours - pairs.hours.min()) / span * periods)
    change = (np.diff(pairs.a) != 0) | (np.diff(pairs.b) != 0) | (np.diff(period) != 0)
    starts = np.concatenate([[0], np.flatnonzero(change) + 1])
    first = np.zeros(len(pairs.hours), dtype=bool)
    first[starts] = True
    counts = np.diff(np.append(starts, len(pairs.hours)))
    bins = replace(pairs.subset(first), hours=np.add.reduceat(pairs.hours, starts) / counts)
    return Pooled(pairs, bins, starts)


def ratios(data: Pooled, hyper: Hyper) -> Ratios:
    """Precision-weighted mean log ratio of each bin under this noise."""
    readings, noise = log_ratio_noise(data.rows, hyper)
    ratio = np.log(readings[:, 0] / readings[:, 1])  # [N]
    variance = noise.sum(axis=1)  # [N]
    weight = np.add.reduceat(1 / variance, data.starts)  # [B]
    mean = np.add.reduceat(ratio / variance, data.starts) / weight  # [B]
    scatter = float(np.sum(ratio**2 / variance) - np.sum(weight * mean**2))
    within = -0.5 * (
        scatter + float(np.sum(np.log(2 * np.pi * variance))) + float(np.sum(np.log(weight / (2 * np.pi))))
    )
    return Ratios(mean, 1 / weight, within)


def with_open_variance(design: Design, data: Ratios) -> Ratios:
    """What inducing points leave open counted as noise of each bin (FITC): rough kernels are not punished."""
    left_open = design.residual[:, 0] + design.residual[:, design.rows_a.shape[1]]  # [B]
    return replace(data, variance=data.variance + left_open)


def ratio_sites(design: Design, data: Ratios) -> Sites:
    """Sites of ratio + f_a − f_b ~ N(0, variance)."""
    L = design.rows_a.shape[1]
    line = np.zeros((len(data.ratio), 2 * L))  # [B, 2L]
    line[:, 0] = 1.0
    line[:, L] = np.where(design.pairs.reference[design.pairs.b], 0.0, -1.0)
    precision = line[:, :, None] * line[:, None, :] / data.variance[:, None, None]
    return Sites(precision, -line * (data.ratio / data.variance)[:, None])


def ratio_evidence(data: Ratios, parts: Solved) -> float:
    """Log N(r; 0, AAᵀ + D) with D the noise, from rᵀ(AAᵀ + D)⁻¹r = rᵀD⁻¹r − mᵀAᵀD⁻¹r."""
    misfit = float(np.sum(data.ratio**2 / data.variance)) - parts.explained
    log_noise = float(np.sum(np.log(2 * np.pi * data.variance)))
    return data.within - 0.5 * (misfit + log_noise) - parts.factor.half_logdet


def ratio_bound(design: Design, data: Ratios, parts: Solved) -> float:
    """The bound of the `log-ratio` scale fit at its optimum: evidence less ½ Σ_i residual_i/D_i."""
    left_open = design.residual[:, 0] + design.residual[:, design.rows_a.shape[1]]  # [B]
    return ratio_evidence(data, parts) - 0.5 * float(np.sum(left_open / data.variance))
