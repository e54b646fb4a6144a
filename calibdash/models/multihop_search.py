"""Multi-hop calibration, its tuning: window and time weight that best foretell visits to references held out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.models.multihop import build, find_paths
from calibdash.models.multihop_graph import MultihopSettings, windows_over
from calibdash.models.pairs import PairData, pair_data

WINDOW_HOURS = (6.0, 12.0, 24.0, 48.0, 96.0, 168.0, 336.0, 672.0, 1344.0)
TIME_WEIGHTS = (0.05, 0.1, 0.21, 0.5, 1.0, 3.0)
MOST_NODES = 2_000_000
VISIT_GAP_HOURS = 3.0
VISIT_MOST_HOURS = 24.0
ERROR_WITHOUT_PATH = math.log(2)  # no answer counts as a factor of two, or as the raw reading's error if that is larger
ERROR_MOST = math.log(4)  # and no answer at all is worse than a factor of four


@dataclass(frozen=True)
class Visits:
    """V meetings of a sensor with references, each without a pause: row → visit, and what each visit says.

    visit [N]: number of each row's visit, −1 for rows without a reference; sensor, hours (mean time), log_gain (mean
    log ratio) and fold [V].
    """

    visit: np.ndarray
    sensor: np.ndarray
    hours: np.ndarray
    log_gain: np.ndarray
    fold: np.ndarray


@dataclass(frozen=True)
class Search:
    """``settings``: the best found; ``raw``: the error of leaving readings as they are.

    table: ``window_hours, time_weight, error, without_path, score``, best first: ``error`` (mean over sensors of the
    mean absolute error of held-out log gains) and share of visits without a path; ``score`` counts both.
    """

    settings: MultihopSettings
    table: pd.DataFrame
    raw: float


def search(
    network: Network,
    settings: MultihopSettings | None = None,
    window_hours: Sequence[float] = WINDOW_HOURS,
    time_weights: Sequence[float] = TIME_WEIGHTS,
    folds: int = 5,
    progress: Callable[[float], None] | None = None,
) -> Search:
    """Try windows and time weights, and those of ``settings``; no truth is used, and no randomness.

    Whole visits to references are held out, one in ``folds`` of each sensor's at a time, and foretold from all other
    colocations. Every sensor that visits references has one vote. Of equals, the shorter window and smaller weight.
    """
    settings = settings or MultihopSettings()
    pairs = pair_data(network, positive=True)
    visits = find_visits(pairs, folds)
    if len(visits.fold) < 2:
        raise CalibdashError(
            "There are too few colocations with a reference to hold some out.", "Set the window and weight by hand."
        )
    hours = network.clock.hours(network.colocations["time"])
    hours = hours[np.isfinite(hours)]
    candidates = _candidates(window_hours, settings.window_hours, float(np.ptp(hours)), len(pairs.sensors))
    weights = sorted({*time_weights, settings.time_weight})
    rows = []
    for done, width in enumerate(candidates):
        windows = windows_over(hours, width, len(pairs.sensors))
        place = windows.place(visits.hours)
        foretold = np.full((len(weights), len(visits.fold)), np.nan)
        for fold in np.unique(visits.fold):
            out = visits.fold == fold
            keep = (visits.visit < 0) | ~out[visits.visit]
            graph, _, _ = build(pairs.subset(keep), windows, replace(settings, window_hours=width))
            for index, weight in enumerate(weights):
                paths = find_paths(graph, pairs, windows, weight)
                foretold[index, out] = paths.log_gain[visits.sensor[out] * windows.count + place[out]]
        rows += [(width, weight, *_score(visits, foretold[index])) for index, weight in enumerate(weights)]
        if progress is not None:
            progress((done + 1) / len(candidates))
    columns = ["window_hours", "time_weight", "error", "without_path", "score"]
    table = pd.DataFrame(rows, columns=columns)
    table = table.sort_values(["score", "window_hours", "time_weight"], ignore_index=True)
    best = table.iloc[0]
    chosen = replace(settings, window_hours=float(best["window_hours"]), time_weight=float(best["time_weight"]))
    return Search(chosen, table, _by_sensor(visits, np.minimum(np.abs(visits.log_gain), ERROR_MOST)))


def _candidates(widths: Sequence[float], own: float, span: float, sensors: int) -> list[float]:
    """Windows that are shorter than the record and not too many, and the one asked for."""
    return sorted({own, *(width for width in widths if width < span and sensors * span / width < MOST_NODES)})


def find_visits(pairs: PairData, folds: int) -> Visits:
    """A sensor's rows with any reference, cut at pauses of 3 h and after each 24 h; dealt to folds in turn."""
    tied = np.flatnonzero(pairs.reference[pairs.b])
    log_ratio = np.log(pairs.values[tied, 1]) - np.log(pairs.values[tied, 0])
    order = np.lexsort((log_ratio, pairs.hours[tied], pairs.a[tied]))
    rows, log_ratio = tied[order], log_ratio[order]
    sensor, hours = pairs.a[rows], pairs.hours[rows]
    pause = np.append(True, (np.diff(sensor) != 0) | (np.diff(hours) > VISIT_GAP_HOURS))[: len(rows)]
    begun = hours[np.flatnonzero(pause)][np.cumsum(pause) - 1]
    piece = np.floor((hours - begun) / VISIT_MOST_HOURS)
    first = pause | np.append(True, np.diff(piece) != 0)[: len(rows)]
    number = np.cumsum(first) - 1
    visit = np.full(len(pairs.hours), -1)
    visit[rows] = number
    count = np.bincount(number)
    whose = sensor[first]
    in_turn = np.arange(len(whose)) - np.searchsorted(whose, whose)
    return Visits(
        visit,
        whose,
        np.bincount(number, hours) / count,
        np.bincount(number, log_ratio) / count,
        in_turn % folds,
    )


def _score(visits: Visits, foretold: np.ndarray) -> tuple[float, float, float]:
    """Error where there is a path, share without one, and the error with a price on those.   foretold [V]"""
    missing = np.isnan(foretold)
    error = np.minimum(np.abs(np.where(missing, 0.0, foretold) - visits.log_gain), ERROR_MOST)
    priced = np.where(missing, np.maximum(error, ERROR_WITHOUT_PATH), error)
    known = math.nan if missing.all() else _by_sensor(visits, error, ~missing)
    return known, float(missing.mean()), _by_sensor(visits, priced)


def _by_sensor(visits: Visits, error: np.ndarray, keep: np.ndarray | None = None) -> float:
    """Mean over sensors of each sensor's mean.   error [V]"""
    keep = np.ones(len(error), dtype=bool) if keep is None else keep
    count = np.bincount(visits.sensor[keep])
    total = np.bincount(visits.sensor[keep], error[keep])
    return float(np.mean(total[count > 0] / count[count > 0]))
