"""In which order to eliminate sensors, so that the factor of the precision stays sparse.

Rounds of independent sensors of low degree: those of one round do not meet, so they are eliminated together, and
those of one round that met the same partners share one matrix product. What is left in the end is dense.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

DENSE = 300  # unknowns below which a dense factor is quicker than further rounds


@dataclass(frozen=True)
class Group:
    """Sensors eliminated together because they have the same neighbours left.

    nodes [G]; neighbours [d], ascending; edges [G, d]: edge of node and neighbour; after [G, d]: the neighbour comes
    after the node (the block is stored transposed); inner [d, d]: edge of two neighbours, −1 on the diagonal.
    """

    nodes: np.ndarray
    neighbours: np.ndarray
    edges: np.ndarray
    after: np.ndarray
    inner: np.ndarray


@dataclass(frozen=True)
class Elimination:
    """The plan for one graph: ``edges`` [E, 2] (first < second) are those that met, then the fill."""

    count: int
    edges: np.ndarray
    met: int
    groups: tuple[Group, ...]
    core: np.ndarray
    core_edges: np.ndarray


def plan(count: int, pairs: np.ndarray, block: int) -> Elimination:
    """Minimum-degree rounds.   pairs [E, 2] sensors that met, first < second, unique; block: unknowns a sensor"""
    number = {(int(i), int(j)): index for index, (i, j) in enumerate(pairs)}
    adjacent: dict[int, set[int]] = {node: set() for node in range(count)}
    for i, j in number:
        adjacent[i].add(j)
        adjacent[j].add(i)
    groups: list[Group] = []
    while len(adjacent) * block > DENSE:
        chosen = _independent(adjacent)
        if len(chosen) < max(1, len(adjacent) // 20):
            break
        shared: dict[tuple[int, ...], list[int]] = {}
        for node in chosen:
            neighbours = tuple(sorted(adjacent.pop(node)))
            shared.setdefault(neighbours, []).append(node)
            for first in neighbours:
                adjacent[first].discard(node)
                adjacent[first].update(other for other in neighbours if other != first)
        for neighbours, nodes in shared.items():
            for position, first in enumerate(neighbours):
                for second in neighbours[position + 1 :]:
                    number.setdefault((first, second), len(number))
            groups.append(_group(nodes, neighbours, number))
    core = sorted(adjacent)
    core_edges = [(index, i, j) for (i, j), index in number.items() if i in adjacent and j in adjacent]
    place = {node: index for index, node in enumerate(core)}
    return Elimination(
        count,
        np.array(list(number), dtype=np.int64).reshape(-1, 2),
        len(pairs),
        tuple(groups),
        np.array(core, dtype=np.int64),
        np.array([(e, place[i], place[j]) for e, i, j in core_edges], dtype=np.int64).reshape(-1, 3),
    )


def _independent(adjacent: dict[int, set[int]]) -> list[int]:
    """Sensors of low degree of which no two met, lowest degree first."""
    degrees = {node: len(others) for node, others in adjacent.items()}
    limit = 2 * min(degrees.values()) + 4
    chosen: list[int] = []
    blocked: set[int] = set()
    for node in sorted(degrees, key=lambda node: (degrees[node], node)):
        if degrees[node] > limit:
            break
        if node not in blocked:
            chosen.append(node)
            blocked |= adjacent[node]
    # Eliminating a sensor that met nearly everybody that is left gains nothing over the dense factor.
    return [] if len(chosen) == 1 and degrees[chosen[0]] > len(adjacent) // 2 else chosen


def _group(nodes: list[int], neighbours: tuple[int, ...], number: dict[tuple[int, int], int]) -> Group:
    edges = [[number[min(node, other), max(node, other)] for other in neighbours] for node in nodes]
    inner = [[-1 if i == j else number[min(i, j), max(i, j)] for j in neighbours] for i in neighbours]
    near = np.array(neighbours, dtype=np.int64)
    return Group(
        np.array(nodes, dtype=np.int64),
        near,
        np.array(edges, dtype=np.int64).reshape(len(nodes), len(near)),
        near[None, :] > np.array(nodes, dtype=np.int64)[:, None],
        np.array(inner, dtype=np.int64).reshape(len(near), len(near)),
    )
