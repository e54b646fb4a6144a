"""Multi-hop calibration: seconds for the graph and all paths, beside networkx's own Dijkstra on the same graph.

The city preset (51 sensors, 40,000 colocations, 203 windows) and a network of 1,000 sensors over 200 windows. The
search alone is compared: networkx finds least weights, calibdash also settles ties by variance.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import networkx as nx
import numpy as np
from rich.console import Console
from rich.table import Table

from calibdash.data.network import Network
from calibdash.data.simulate import PRESETS, NetworkRecipe, simulate_network
from calibdash.models.multihop import find_paths, multihop
from calibdash.models.multihop_search import search
from calibdash.models.pairs import pair_data

REPEATS = 3
BIG = replace(PRESETS["city"], days=200, statics=950, references=10, mobiles=50, pairs=20)
SMALL = replace(PRESETS["city"], days=20)


def main(quick: bool = False) -> None:
    recipes = {"small": SMALL} if quick else {"city": PRESETS["city"], "1,000 × 200": BIG}
    table = Table(title="Multi-hop calibration, best of 3 (networkx, tables and search once)")
    table.add_column("")
    measured = {name: measure(recipe) for name, recipe in recipes.items()}
    for name in measured:
        table.add_column(name, justify="right")
    for row in zip(*(result.items() for result in measured.values()), strict=True):
        table.add_row(row[0][0], *(value for _, value in row))
    Console().print(table)


def measure(recipe: NetworkRecipe) -> dict[str, str]:
    simulated = simulate_network(recipe)
    network = Network(recipe.name, simulated.colocations, simulated.sensors, simulated.scene.clock)
    whole, result = timed(lambda: multihop(network), REPEATS)
    table, _ = timed(result.paths, 1)
    pairs = pair_data(network, positive=True)
    ours, _ = timed(lambda: find_paths(result.arcs, pairs, result.windows, result.settings.time_weight), REPEATS)
    built, graph = timed(result.graph, 1)
    references = set(network.references)
    sources = {node for node in graph if node[0] in references}
    theirs, weights = timed(lambda: nx.multi_source_dijkstra_path_length(graph, sources), 1)
    reached = np.isfinite(result.found.weight)
    assert np.isclose(sum(weights.values()), result.found.weight[reached].sum())
    tuned, _ = timed(lambda: search(network), 1)
    hours = result.windows.starts() + result.windows.hours / 2
    kept = np.flatnonzero(~result.reference)
    truth = np.array([np.log(simulated.scene.calibration(np.full(len(hours), row), hours)[0]) for row in kept])
    error = np.abs(result.log_gain[kept] - truth)
    known = np.isfinite(error)
    covered = np.mean((error < 1.96 * result.sd[kept])[known])
    return {
        "sensors": f"{len(result.sensors):,}",
        "windows": f"{result.windows.count:,}",
        "colocations": f"{len(network.colocations):,}",
        "graph and paths, s": f"{whole:.3f}",
        "of which paths, s": f"{ours:.3f}",
        "table of paths, s": f"{table:.3f}",
        "search over 54 settings, 5 folds, s": f"{tuned:.1f}",
        "networkx: graph, s": f"{built:.2f}",
        "networkx: Dijkstra, s": f"{theirs:.2f}",
        "networkx Dijkstra ÷ our paths": f"{theirs / ours:.1f}",
        "MAE of the log gain": f"{np.mean(error[known]):.3f}",
        "coverage of its 95 % band": f"{covered:.3f}",
    }


def timed(work: Callable, repeats: int) -> tuple[float, object]:
    """Seconds of the fastest of so many runs, and what the last returned."""
    best = np.inf
    for _ in range(repeats):
        started = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - started)
    return best, result
