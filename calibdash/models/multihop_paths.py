"""Multi-hop calibration, the paths: from every node to its nearest reference, ties settled by rule."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from calibdash.models.multihop_graph import Arcs

# Weights and variances are compared in whole units, whose sums are exact, so that a tie is a tie on every machine.
WEIGHT_UNIT = 1e-6
VARIANCE_UNIT = 1e-12
Z95 = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Paths:
    """For each node the path from its reference: [nodes] arrays, NaN or −1 where there is none.

    previous: the node before, itself at a reference; root: the reference's node; hops: colocations; crossed: steps
    in time; weight = hops + crossed·time_weight.
    """

    previous: np.ndarray
    root: np.ndarray
    hops: np.ndarray
    crossed: np.ndarray
    weight: np.ndarray
    log_gain: np.ndarray
    variance: np.ndarray


def shortest_paths(arcs: Arcs, sources: np.ndarray, time_weight: float, rank: np.ndarray) -> Paths:
    """Dijkstra from all references at once.   sources: nodes, rank [nodes]: order of the nodes' sensors

    The path of least weight; of several, the one of least variance; of several, the one whose last step comes from
    the sensor of lowest rank, then from the earliest window. Least variance is a second Dijkstra over the arcs that
    lie on paths of least weight.
    """
    weight = np.round(np.where(arcs.colocation, 1.0, time_weight) / WEIGHT_UNIT)
    nearest = np.ones(len(weight), dtype=bool)
    for cost in (weight, np.maximum(np.round(arcs.variance / VARIANCE_UNIT), 1.0)):
        distance = _distances(arcs, cost, sources, nearest)
        nearest &= np.isfinite(distance[arcs.tail]) & (distance[arcs.tail] + cost == distance[arcs.head])
    chosen = np.flatnonzero(nearest)
    order = np.lexsort((arcs.tail[chosen], rank[arcs.tail[chosen]], arcs.head[chosen]))
    chosen = chosen[order]
    chosen = chosen[np.append(True, np.diff(arcs.head[chosen]) != 0)] if len(chosen) else chosen
    return _along(arcs, chosen, sources, time_weight)


def _distances(arcs: Arcs, cost: np.ndarray, sources: np.ndarray, keep: np.ndarray) -> np.ndarray:
    matrix = csr_array((cost[keep], (arcs.tail[keep], arcs.head[keep])), shape=(arcs.nodes, arcs.nodes))
    return dijkstra(matrix, indices=sources, min_only=True)


def _along(arcs: Arcs, chosen: np.ndarray, sources: np.ndarray, time_weight: float) -> Paths:
    """Sums along the paths that the chosen arcs (one for each node reached) make; each pass doubles their reach."""
    previous = np.full(arcs.nodes, -1)
    previous[sources] = sources
    previous[arcs.head[chosen]] = arcs.tail[chosen]
    sums = np.zeros((4, arcs.nodes))  # hops, crossed, log gain, variance
    step = (arcs.colocation[chosen], ~arcs.colocation[chosen], arcs.gain[chosen], arcs.variance[chosen])
    sums[:, arcs.head[chosen]] = step
    reached = previous >= 0
    ahead = np.where(reached, previous, np.arange(arcs.nodes))
    while np.any(ahead != ahead[ahead]):
        sums = sums + sums[:, ahead]
        ahead = ahead[ahead]
    hops, crossed = np.where(reached, sums[:2], -1).astype(np.int64)
    log_gain, variance = np.where(reached, sums[2:], np.nan)
    weight = np.where(reached, hops + crossed * time_weight, np.nan)
    return Paths(previous, np.where(reached, ahead, -1), hops, crossed, weight, log_gain, variance)


def log_normal(mean: np.ndarray, sd: np.ndarray) -> dict[str, np.ndarray]:
    """Mean, sd, median and 95 % bounds of e^x, x ~ N(mean, sd²).   mean, sd [T] → [T] each"""
    average = np.exp(mean + sd**2 / 2)
    return {
        "mean": average,
        "sd": average * np.sqrt(np.expm1(sd**2)),
        "median": np.exp(mean),
        "lower": np.exp(mean - Z95 * sd),
        "upper": np.exp(mean + Z95 * sd),
    }
