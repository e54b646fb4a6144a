"""The shortest round through some stops: exactly for a few, by PyVRP for more."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

EXACT = 8
ITERATIONS = 150
SCALE = 1000  # PyVRP counts in whole numbers: thousandths of a minute


def shortest(minutes: np.ndarray, tour: tuple[int, ...], base: int, seed: int = 0) -> tuple[int, ...]:
    """The stops of a tour in the order that takes least time from the base and back.   minutes [P, P]"""
    if len(tour) < 2:
        return tour
    places = np.array([base, *sorted(tour)])
    ways = minutes[np.ix_(places, places)]  # [n + 1, n + 1]
    order = _exact(ways) if len(tour) <= EXACT else _routed(ways, seed)
    new = tuple(int(places[stop]) for stop in order)
    old_length, new_length = length(minutes, tour, base), length(minutes, new, base)
    return new if new_length < old_length - 1e-9 else tour


def length(minutes: np.ndarray, tour: tuple[int, ...], base: int) -> float:
    """Time of the way from the base through all stops and back."""
    path = np.array([base, *tour, base])
    return float(minutes[path[:-1], path[1:]].sum())


@lru_cache(maxsize=16)
def _subsets(count: int) -> tuple[np.ndarray, ...]:
    """Subsets of so many stops as bits, by size."""
    every = np.arange(1, 1 << count)
    sizes = np.array([int(subset).bit_count() for subset in every])
    return tuple(every[sizes == size] for size in range(1, count + 1))


def _exact(ways: np.ndarray) -> list[int]:
    """Held–Karp: the best way through each subset that ends at each of its stops.   ways [n + 1, n + 1]"""
    count = len(ways) - 1
    best = np.full((1 << count, count), np.inf)
    before = np.zeros((1 << count, count), dtype=np.int64)
    best[1 << np.arange(count), np.arange(count)] = ways[0, 1:]
    for subsets in _subsets(count)[1:]:
        for last in range(count):
            mine = subsets[(subsets >> last) & 1 == 1]
            options = best[mine ^ (1 << last)] + ways[1:, last + 1]  # [subsets, n]
            choice = np.argmin(options, axis=1)
            best[mine, last], before[mine, last] = options[np.arange(len(mine)), choice], choice
    subset = (1 << count) - 1
    last = int(np.argmin(best[subset] + ways[1:, 0]))
    order = []
    while True:
        order.append(last + 1)
        subset, last = subset ^ (1 << last), int(before[subset, last])
        if not subset:
            return order[::-1]


def _routed(ways: np.ndarray, seed: int) -> list[int]:
    from pyvrp import Model
    from pyvrp.stop import MaxIterations

    model = Model()
    whole = np.round(ways * SCALE).astype(np.int64)
    places = [model.add_location(0, 0) for _ in ways]
    model.add_depot(places[0])
    for place in places[1:]:
        model.add_client(place)
    model.add_vehicle_type()
    for i, first in enumerate(places):
        for j, second in enumerate(places):
            if i != j:
                model.add_edge(first, second, distance=int(whole[i, j]), duration=int(whole[i, j]))
    found = model.solve(MaxIterations(ITERATIONS), seed=seed, collect_stats=False, display=False)
    (route,) = found.best.routes()
    return [activity.idx + 1 for activity in route if activity.is_client()]
