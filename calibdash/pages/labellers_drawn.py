"""What is drawn of a labeller's confusion matrix, as plain columns: one moment of it, and every entry over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calibdash.data.network import Clock
from calibdash.state.label_run import History

RIGHT, WRONG = "#1e88e5", "#e65100"
EMPTY, ON_STRONG, ON_WEAK = "#e3e8ec", "#ffffff", "#263238"  # read alike on light and dark pages
MATRIX_MOST = 6  # classes up to which every entry has a small plot
WORDS_MOST = 12  # classes up to which numbers stand in the cells
EXTRA_MOST = 12  # confusions beside the right answers, where there are more classes
COLUMNS = 4
SHORTEST = 3  # of a name that has lost the words that all begin with
WIDTH, HEIGHT = 1.1, 1.36  # from one small plot to the next, in sizes of a plot


@dataclass(frozen=True)
class Panel:
    """A small plot: its entry (numbers of true class and label), its place, its title ('' where headings say it)."""

    true: int
    label: int
    column: int
    row: int
    title: str = ""


@dataclass(frozen=True)
class Sheet:
    """Small plots on one sheet: panels, headings over columns and beside rows ('' without), extent in plots."""

    panels: tuple[Panel, ...]
    over: tuple[str, ...]
    beside: tuple[str, ...]
    columns: int
    rows: int


def shortened(name: str, longest: int) -> str:
    """A name that leaves room for others, on one line."""
    line = " ".join(name.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def short_names(names: tuple[str, ...], longest: int) -> tuple[str, ...]:
    """Names without the words that all of them begin with, where there is little room."""
    words = [name.split() for name in names]
    same = 0
    while len(names) > 1 and all(len(each) > same + 1 for each in words) and len({each[same] for each in words}) == 1:
        same += 1
    rest = [" ".join(each[same:]) for each in words]
    kept = rest if min(map(len, rest), default=0) >= SHORTEST else names  # "class 1" is not to be "1"
    return tuple(shortened(name, longest) for name in kept)


def matrix_columns(history: History, moment: int) -> dict[str, Any]:
    """The cells of the matrix at one of its times; rows are true classes, the first at the top.   → [K²] each"""
    K = len(history.classes)
    true, label = np.divmod(np.arange(K * K), K)
    mean = history.mean[moment].ravel()
    names = np.array(history.classes, dtype=object)
    full = np.where(true == label, RIGHT, WRONG)
    return {
        "x": label.astype(float),
        "y": (K - 1 - true).astype(float),
        "true": names[true],
        "label": names[label],
        "colour": np.array([mixed(colour, share) for colour, share in zip(full, mean, strict=True)], dtype=object),
        "words": np.array([_percent(value) if K <= WORDS_MOST else "" for value in mean], dtype=object),
        "ink": np.where(mean > 0.6, ON_STRONG, ON_WEAK),
        "mean": 100 * mean,
        "lower": 100 * history.lower[moment].ravel(),
        "upper": 100 * history.upper[moment].ravel(),
    }


def mixed(colour: str, share: float) -> str:
    """A colour between that of an empty cell (0) and the full one (1)."""
    ends = [np.array([int(text[place : place + 2], 16) for place in (1, 3, 5)]) for text in (EMPTY, colour)]
    red, green, blue = np.round(ends[0] + np.clip(share, 0.0, 1.0) * (ends[1] - ends[0])).astype(int)
    return f"#{red:02x}{green:02x}{blue:02x}"


def _percent(value: float) -> str:
    return "·" if value < 0.005 else f"{100 * value:.0f}"


def sheet(history: History) -> Sheet:
    """Which entries have a small plot and where: all, or the right answers and the commonest confusions."""
    K, names = len(history.classes), history.classes
    if K <= MATRIX_MOST:
        panels = tuple(Panel(true, label, label, true) for true in range(K) for label in range(K))
        return Sheet(panels, short_names(names, 13 if K > 4 else 20), short_names(names, 40), K, K)
    short = short_names(names, 22)
    confused = history.mean.mean(axis=0) * (1 - np.eye(K))
    places = np.argsort(-confused, axis=None, kind="stable")[: EXTRA_MOST - K % COLUMNS]  # whole lines
    entries = [(k, k) for k in range(K)] + [(int(place) // K, int(place) % K) for place in places]
    panels = tuple(
        Panel(true, label, number % COLUMNS, number // COLUMNS, _title(short, true, label))
        for number, (true, label) in enumerate(entries)
    )
    return Sheet(panels, (), (), COLUMNS, -(-len(entries) // COLUMNS))


def _title(names: tuple[str, ...], true: int, label: int) -> str:
    if true == label:
        return names[true]
    return f"{shortened(names[true], 10)} → {shortened(names[label], 10)}"


def entry_layers(history: History, plan: Sheet, truth: pd.DataFrame | None) -> dict[str, dict[str, Any]]:
    """Bands, means and truth of the panels of a sheet, in its coordinates.

    truth: ``share`` (of the labeller's time), ``class, label, probability``, or None.
    """
    share = _share(history)
    names = history.classes
    frames, bands, lines, truths = _frame_columns(), _lists("colour"), _lists("colour"), _lists()
    points: dict[str, list[Any]] = {name: [] for name in POINTS}
    known = {} if truth is None else dict(list(truth.groupby(["class", "label"])))
    for panel in plan.panels:
        left, bottom = panel.column * WIDTH, -panel.row * HEIGHT
        colour = RIGHT if panel.true == panel.label else WRONG
        mean, low, high = (part[:, panel.true, panel.label] for part in (history.mean, history.lower, history.upper))
        for name, value in (("left", left), ("right", left + 1), ("bottom", bottom), ("top", bottom + 1)):
            frames[name].append(value)
        frames["title"].append(panel.title)
        x = left + share
        bands["xs"].append(np.concatenate([x, x[::-1]]))
        bands["ys"].append(bottom + np.concatenate([low, high[::-1]]))
        bands["colour"].append(colour)
        lines["xs"].append(x)
        lines["ys"].append(bottom + mean)
        lines["colour"].append(colour)
        told = known.get((names[panel.true], names[panel.label]))
        if told is not None:
            truths["xs"].append(left + told["share"].to_numpy())
            truths["ys"].append(bottom + told["probability"].to_numpy())
        for name, values in zip(POINTS, (x, bottom + mean, 100 * mean, 100 * low, 100 * high), strict=False):
            points[name].extend(values)
        points["when"].extend(history.words)
        points["true"].extend([names[panel.true]] * len(x))
        points["label"].extend([names[panel.label]] * len(x))
    return {"frames": frames, "bands": bands, "lines": lines, "truths": truths, "points": points}


POINTS = ("x", "y", "mean", "lower", "upper", "when", "true", "label")


def _lists(*more: str) -> dict[str, list[Any]]:
    return {name: [] for name in ("xs", "ys", *more)}


def _frame_columns() -> dict[str, list[Any]]:
    return {name: [] for name in ("left", "right", "bottom", "top", "title")}


def _share(history: History) -> np.ndarray:
    """Times in 0 … 1 of the span on show.   → [T]"""
    span = np.ptp(history.hours)
    return (history.hours - history.hours[0]) / span if span > 0 else np.zeros(len(history.hours))


def true_entries(truth: pd.DataFrame | None, history: History, clock: Clock) -> pd.DataFrame | None:
    """The truth of one labeller over the span on show: ``share, class, label, probability``; None: not known."""
    if truth is None or not history.moving:
        return None
    mine = truth[truth["labeller"] == history.labeller]
    if mine.empty or (clock.origin is None) == isinstance(mine["when"].dtype, pd.DatetimeTZDtype):
        return None
    hours = clock.hours(mine["when"])
    span = float(np.ptp(history.hours))
    if not span > 0:
        return None
    mine = mine.assign(share=(hours - history.hours[0]) / span)
    return mine[mine["share"].between(-1e-9, 1 + 1e-9)].sort_values("share", kind="stable")
