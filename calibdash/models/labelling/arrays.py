"""From a table of labels to the arrays of the model.

Names are numbered by their first appearance in the table, so that other names for the same people, items or classes
change nothing at all, random numbers included.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibdash.data.labels import LabelSet
from calibdash.data.network import Clock
from calibdash.data.problems import did_you_mean
from calibdash.errors import CalibdashError

SHORTEST_SPAN = 0.1  # of everybody's span: somebody who came for one day is not asked to change within it
CONFLICT = 0.02  # chance of a wrong label of a reference, on items about which references disagree
CLASSES_MOST = 1000


@dataclass(frozen=True)
class LabelData:
    """Labels as numbers. I items, J labellers (references that fix the class are not among them), K classes.

    item, labeller, label [N]; when [N]: hours or order; progress [N]: the same in 0 … 1 of a labeller's own time;
    fixed_item, fixed_by, fixed_label [R]: labels of references; clamp [I, K]: log weight of each class by them;
    first, span [J]: a labeller's progress is (when − first) / span; fallible [J]: a reference that may err.
    """

    name: str
    items: tuple[str, ...]
    labellers: tuple[str, ...]
    references: tuple[str, ...]
    classes: tuple[str, ...]
    item: np.ndarray
    labeller: np.ndarray
    label: np.ndarray
    when: np.ndarray
    progress: np.ndarray
    fixed_item: np.ndarray
    fixed_by: np.ndarray
    fixed_label: np.ndarray
    clamp: np.ndarray
    first: np.ndarray
    span: np.ndarray
    fallible: np.ndarray
    time_name: str  # "time", "order" or "" (none)
    clock: Clock
    notes: tuple[str, ...]

    @property
    def known(self) -> np.ndarray:
        """Whether references have labelled an item.   → [I] bool"""
        known = np.zeros(len(self.items), dtype=bool)
        known[self.fixed_item] = True
        return known

    @property
    def moving(self) -> bool:
        """Whether labellers can change."""
        return bool(self.time_name)

    @property
    def hash(self) -> str:
        """Twelve hex digits of everything the fit reads."""
        digest = hashlib.sha256(repr((self.items, self.labellers, self.references, self.classes)).encode())
        for array in (self.item, self.labeller, self.label, self.when, self.clamp, self.fallible):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:12]


def label_data(
    labels: LabelSet,
    *,
    references: Iterable[str] | None = None,
    fallible: Iterable[str] = (),
    classes: Iterable[str] = (),
    over_time: bool = True,
) -> LabelData:
    """Arrays of a set of labels; ``references`` None: those that the labellers' table marks."""
    frame = labels.labels.reset_index(drop=True)
    if frame.empty:
        raise CalibdashError("There are no labels.", "Add rows of item, labeller, label.")
    people = list(dict.fromkeys([*frame["labeller"], *labels.labellers["labeller"]]))
    fallible = _known("fallible labeller", fallible, people)
    marked = list(labels.labellers.loc[labels.labellers["reference"].astype(bool), "labeller"])
    trusted = _known("reference", marked if references is None else references, people)
    fixed = [name for name in people if name in set(trusted) - set(fallible)]
    names = tuple(dict.fromkeys([*frame["label"], *classes]))
    if len(names) > CLASSES_MOST:
        raise CalibdashError(
            f"There are {len(names)} classes.", f"At most {CLASSES_MOST}: check that `label` is the right column."
        )
    others = [name for name in people if name not in set(fixed)]
    items = tuple(dict.fromkeys(frame["item"]))
    numbered = {
        "item": _numbers(frame["item"], items),
        "who": _numbers(frame["labeller"], others + fixed),
        "label": _numbers(frame["label"], names),
    }
    time_name, clock, when = _when(frame, over_time)
    free = numbered["who"] < len(others)
    first, span = _spans(numbered["who"][free], when[free], len(others))
    who = numbered["who"][free]
    clamp, notes = _clamp(numbered["item"][~free], numbered["label"][~free], len(items), len(names))
    if not fixed:
        notes.append(
            "No expert's labels: which class is which is known only through the prior that people are right more "
            "often than wrong."
        )
    return LabelData(
        labels.name,
        items,
        tuple(others),
        tuple(fixed),
        names,
        numbered["item"][free],
        who,
        numbered["label"][free],
        when[free],
        (when[free] - first[who]) / span[who],
        numbered["item"][~free],
        numbered["who"][~free] - len(others),
        numbered["label"][~free],
        clamp,
        first,
        span,
        np.isin(np.array(others, dtype=object), np.array(sorted(fallible), dtype=object)),
        time_name,
        clock,
        tuple(notes),
    )


def _known(what: str, names: Iterable[str], people: list[str]) -> list[str]:
    names = list(names)
    for name in names:
        if name not in people:
            hint = did_you_mean(name, people) or "Spell it as the column `labeller` does."
            raise CalibdashError(f"The {what} {name[:60]!r} is not among the labellers.", hint)
    return names


def _numbers(column: pd.Series, names: Iterable[str]) -> np.ndarray:
    return column.map({name: number for number, name in enumerate(names)}).to_numpy(dtype=np.int64)


def _when(frame: pd.DataFrame, over_time: bool) -> tuple[str, Clock, np.ndarray]:
    """Which clock the labels have, and their hours or order; none where all are at once.   → [N]"""
    for name in ("time", "order"):
        if name not in frame or not over_time:
            continue
        column = frame[name]
        stamped = not pd.api.types.is_numeric_dtype(column)
        clock = Clock(pd.Timestamp(column.min()) if stamped else None)
        when = clock.hours(column)
        if not np.isfinite(when).all():
            raise CalibdashError(
                f"Some labels have no {name}.", f"Complete the column `{name}`, or use --set over.time=false."
            )
        if np.ptp(when) > 0:
            return name, clock, when
    return "", Clock(), np.zeros(len(frame))


def _spans(who: np.ndarray, when: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """First moment and span of each labeller; everybody's for one without labels.   → [J], [J]"""
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, who, when)
    np.maximum.at(high, who, when)
    never = ~np.isfinite(low)
    low[never], high[never] = (when.min(), when.max()) if len(when) else (0.0, 0.0)
    whole = float(np.ptp(when)) if len(when) else 0.0
    span = np.maximum(high - low, SHORTEST_SPAN * whole)
    return low, np.where(span > 0, span, 1.0)


def _clamp(item: np.ndarray, label: np.ndarray, items: int, classes: int) -> tuple[np.ndarray, list[str]]:
    """Log weight of each class by the references' labels: certain, unless they disagree.   → [I, K]"""
    counts = np.zeros((items, classes))
    np.add.at(counts, (item, label), 1.0)
    total = counts.sum(axis=1)
    disputed = (counts > 0).sum(axis=1) > 1
    clamp = np.where((total[:, None] > 0) & (counts == 0), -np.inf, 0.0)
    wrong, right = np.log(CONFLICT / max(classes - 1, 1)), np.log1p(-CONFLICT)
    clamp[disputed] = counts[disputed] * right + (total[disputed, None] - counts[disputed]) * wrong
    if not disputed.any():
        return clamp, []
    return clamp, [
        f"References disagree about {int(disputed.sum())} items; there, each is taken to be wrong with chance "
        f"{CONFLICT:.0%}. Declare a reference fallible to learn how often it errs."
    ]
