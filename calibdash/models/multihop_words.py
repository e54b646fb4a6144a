"""Multi-hop calibration, its paths as words for people and as text for files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby

import numpy as np
import pandas as pd

from calibdash.models.multihop_paths import Paths

NO_PATH = "no path to a reference"


def path_words(path: Sequence[tuple[str, int]], window_hours: float) -> str:
    """``from R0 via M2, 3 days ago``: the reference, who passed it on, and when the reference was met."""
    if not path:
        return NO_PATH
    sensors = [sensor for sensor, _ in groupby(sensor for sensor, _ in path)]
    between = sensors[1:-1]
    via = f"via {_listed(between)}" if between else "directly"
    passed = path[-1][1] - path[0][1]
    if passed == 0:
        when = f"within the same {_length(window_hours).removeprefix('1 ')}"
    else:
        when = f"{_length(abs(passed) * window_hours)} {'ago' if passed > 0 else 'later'}"
    return f"from {sensors[0]} {via}, {when}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _length(hours: float) -> str:
    """A length of time in words: 24 → ``1 day``, 36 → ``36 hours``, 60 → ``2.5 days``."""
    units = ((24.0, "day"), (1.0, "hour"), (1 / 60, "minute"))
    size, unit = next(((s, u) for s, u in units if hours >= 2 * s or abs(hours - s) < 1e-9), units[-1])
    amount = f"{hours / size:.3g}"
    return f"{amount} {unit}{'s' * (amount != '1')}"


def path_texts(paths: Paths, sensors: tuple[str, ...], starts: pd.DatetimeIndex | np.ndarray) -> np.ndarray:
    """Every node's path as a JSON list of [sensor, start of its window], from the reference on.   → [nodes] text

    A sensor carried over several windows appears with the window it was met in and the one it was carried to.
    """
    W = len(starts)
    windows = [json.dumps(_stamp(start)) for start in starts]
    names = [json.dumps(sensor, ensure_ascii=False) for sensor in sensors]
    texts = np.full(len(paths.root), "[]", dtype=object)
    steps: dict[int, tuple[str, ...]] = {}
    previous, root = paths.previous.tolist(), paths.root.tolist()
    carried = (paths.previous // W == np.arange(len(root)) // W).tolist()  # references too, which have one node alone
    for node in np.argsort(paths.hops + paths.crossed, kind="stable").tolist():
        if root[node] < 0:
            continue
        before = previous[node]
        here = f"[{names[node // W]},{windows[node % W]}]"
        if before == node:
            steps[node] = (here,)
        else:
            steps[node] = (*(steps[before][:-1] if carried[node] and carried[before] else steps[before]), here)
        texts[node] = f"[{','.join(steps[node])}]"
    return texts


def _stamp(start: pd.Timestamp | float) -> str | float:
    return start.isoformat().replace("+00:00", "Z") if isinstance(start, pd.Timestamp) else float(start)
