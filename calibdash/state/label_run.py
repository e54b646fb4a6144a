"""A finished fit of labellers as a page needs it: read from its run folder, nothing calculated twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from calibdash.data.files import read_raw
from calibdash.data.parse import as_text, numbers, times
from calibdash.data.problems import DataError
from calibdash.errors import CalibdashError
from calibdash.models.labelling import LabelPosterior
from calibdash.models.labelling.agreement import everybody

TEXT = frozenset({"labeller", "trend", "since", "item"})
FLAGS = frozenset({"fallible", "expert"})
TIMES_MOST, TIMES_LEAST, NUMBERS_MOST = 25, 5, 3_000_000
DRAWS = 400


@dataclass(frozen=True)
class LabelRun:
    """What a fit of labellers found. people: a row a labeller; next: what to ask whom, best first."""

    id: str
    folder: Path
    posterior: LabelPosterior
    people: pd.DataFrame
    next: pd.DataFrame

    @cached_property
    def probability(self) -> np.ndarray:
        """Of each class of each item, classes by name.   → [I, K]"""
        return self.posterior.probability[:, _order(self.posterior)]

    @cached_property
    def votes(self) -> np.ndarray:
        """How often each class was said of each item, by experts too; classes by name.   → [I, K]"""
        data = self.posterior.data
        item, _, label = everybody(data)
        counts = np.zeros((len(data.items), len(data.classes)), dtype=np.int64)
        np.add.at(counts, (item, label), 1)
        return counts[:, _order(self.posterior)]

    def history(self, labeller: str) -> History:
        """How a labeller's confusion matrix went."""
        posterior = self.posterior
        K = len(posterior.classes)
        count = int(np.clip(NUMBERS_MOST // (DRAWS * K * K), TIMES_LEAST, TIMES_MOST))
        moments = posterior.times(labeller, count)
        table = posterior.confusion(moments, [labeller])
        parts = (table[name].to_numpy().reshape(-1, K, K) for name in ("mean", "lower", "upper"))
        data = posterior.data
        hours = data.clock.hours(moments) if data.moving else np.zeros(1)
        return History(labeller, posterior.classes, hours, moment_words(posterior, moments), *parts)


@dataclass(frozen=True)
class History:
    """One labeller's p(label | class) over time.

    hours [T]; words: each time for people; mean, lower, upper [T, K(true), K(label)]
    """

    labeller: str
    classes: tuple[str, ...]
    hours: np.ndarray
    words: tuple[str, ...]
    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def moving(self) -> bool:
        """Whether there is more than one time."""
        return len(self.hours) > 1


def _order(posterior: LabelPosterior) -> list[int]:
    place = {name: number for number, name in enumerate(posterior.data.classes)}
    return [place[name] for name in posterior.classes]


def moment_words(
    posterior: LabelPosterior, moments: Sequence[object] | np.ndarray | pd.DatetimeIndex
) -> tuple[str, ...]:
    """Times as people say them: ``14 Jun 2024``, ``no. 120`` or ``hour 7``; '' where nobody changes."""
    data = posterior.data
    if not data.moving:
        return ("",)
    if isinstance(moments, pd.DatetimeIndex):
        short = len(moments) > 1 and (moments[-1] - moments[0]) < pd.Timedelta(days=4)
        return tuple(f"{stamp:%-d %b %Y, %H:%M}" if short else f"{stamp:%-d %b %Y}" for stamp in moments)
    word = "no." if data.time_name == "order" else "hour"
    return tuple(f"{word} {float(moment):.0f}" for moment in moments)  # type: ignore[arg-type]


def read_label_run(run_id: str, folder: Path) -> LabelRun:
    """The run in a folder."""
    posterior = LabelPosterior.load(folder)
    try:
        people, following = (_read_table(folder / f"{name}.csv") for name in ("labellers", "next"))
        return LabelRun(run_id, folder, posterior, people, following)
    except (OSError, ValueError) as reason:
        raise CalibdashError("The tables of this fit cannot be read.", "Fit again.") from reason


def _read_table(file: Path) -> pd.DataFrame:
    """A table that a run wrote; names are text whatever they look like."""
    frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    columns: dict[str, np.ndarray] = {}
    for name in frame.columns:
        if name in TEXT:
            columns[name] = frame[name].to_numpy(dtype=object)
        elif name in FLAGS:
            columns[name] = (frame[name] == "True").to_numpy()
        else:
            columns[name] = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64)
    return pd.DataFrame(columns)


def read_confusions(folder: Path | None) -> pd.DataFrame | None:
    """``labeller, when, class, label, probability`` of ``truth/confusion.csv``; None where there is none.

    when: UTC stamps, hours or order.
    """
    file = None if folder is None else folder / "truth" / "confusion.csv"
    return _read_confusions(file, file.stat().st_mtime_ns) if file is not None and file.is_file() else None


@lru_cache(maxsize=8)
def _read_confusions(file: Path, stamp: int) -> pd.DataFrame | None:  # noqa: ARG001 (a changed file is another key)
    try:
        frame = read_raw(file).frame
        when = times(frame["time"]).values if "time" in frame else numbers(frame["order"]).values
        texts = {name: as_text(frame[name]) for name in ("labeller", "class", "label")}
        return pd.DataFrame({**texts, "when": when, "probability": numbers(frame["probability"]).values})
    except (DataError, KeyError):
        return None
