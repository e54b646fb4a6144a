"""Small sets of labels."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibdash.data.labels import LabelSet
from calibdash.models.labelling.settings import LabelSettings

QUICK = LabelSettings(steps=60, draws=128, samples=4)


def label_set(rows: list[tuple], references: tuple[str, ...] = (), when: str | None = None) -> LabelSet:
    """Rows of item, labeller, label (and time or order) as a set."""
    columns = ["item", "labeller", "label", *([when] if when else [])]
    frame = pd.DataFrame(rows, columns=columns)
    people = list(dict.fromkeys(frame["labeller"]))
    listed = pd.DataFrame({"labeller": people, "reference": [name in references for name in people]})
    return LabelSet("small", frame, listed)


def crowd(
    items: int = 60, skills: tuple[float, ...] = (0.95, 0.7, 0.4), expert: float = 0.5, classes: int = 3, seed: int = 0
) -> tuple[LabelSet, dict[str, str]]:
    """People who are right with given chances and else guess, an expert on some items; and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, items)
    rows = []
    for i in range(items):
        for j, skill in enumerate(skills):
            said = truth[i] if rng.uniform() < skill else rng.integers(0, classes)
            rows.append((f"item {i}", f"person {j}", f"class {said}", i))
        if rng.uniform() < expert:
            rows.append((f"item {i}", "expert", f"class {truth[i]}", i))
    return label_set(rows, ("expert",), "order"), {f"item {i}": f"class {truth[i]}" for i in range(items)}
