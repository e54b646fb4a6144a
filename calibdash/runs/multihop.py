"""From a network to a multi-hop run on disk: search if asked, calculate, and write what came out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from calibdash.data.network import Network
from calibdash.models.multihop import Multihop, multihop
from calibdash.models.multihop_graph import MultihopSettings
from calibdash.models.multihop_search import Search, search
from calibdash.runs.folder import check_target, write_run

PACKAGES = ("calibdash", "networkx", "numpy", "pandas", "scipy")


@dataclass(frozen=True)
class MultihopRun:
    """What was calculated, the search before it (if any), and how long both took."""

    result: Multihop
    searched: Search | None
    seconds: float


def multihop_to_folder(
    network: Network,
    settings: MultihopSettings,
    folder: Path,
    *,
    tune: bool = False,
    progress: Callable[[float], None] | None = None,
) -> MultihopRun:
    """Calculate and write ``run.json``, ``calibration.csv``, ``paths.csv`` and, after a search, ``search.csv``."""
    check_target(folder)
    started = time.perf_counter()
    found = search(network, settings, progress=progress) if tune else None
    result = multihop(network, found.settings if found else settings)
    tables = {"calibration": result.calibration(), "paths": result.paths()}
    if found:
        tables["search"] = found.table
    run = MultihopRun(result, found, time.perf_counter() - started)
    write_run(folder, record(network, settings, run), tables)
    return run


def record(network: Network, settings: MultihopSettings, run: MultihopRun) -> dict[str, object]:
    """What ``run.json`` says of a multi-hop calculation."""
    result, found = run.result, run.searched
    best = {name: float(found.table[name].iloc[0]) for name in ("error", "without_path", "score")} if found else {}
    return {
        "kind": "multihop",
        "status": "done",
        "network": network.name,
        "settings": settings.as_dict(),
        "searched": {**best, "raw": found.raw} if found else None,
        "settings_used": {**result.settings.as_dict(), "drift": result.drift},
        "noise": result.noise,
        "versions": {name: version(name) for name in PACKAGES},
        "colocations": len(network.colocations),
        "sensors": len(result.sensors),
        "windows": result.windows.count,
        "without_path": list(result.without_path),
        "seconds": run.seconds,
        "notes": list(result.dropped),
        "problems": [problem.as_dict() for problem in network.problems],
    }
