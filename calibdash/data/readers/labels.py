"""From columns to a labels table: what the readers of labels share."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from calibdash.data.parse import LONGEST_ID, MISSING
from calibdash.data.problems import error, places, shorten
from calibdash.data.readers.measurements import assume
from calibdash.data.readers.options import ReadOptions
from calibdash.data.readers.own import stamps_or_hours
from calibdash.data.readers.sheet import Sheet
from calibdash.data.readers.source import plain

TIME = ("time", "timestamp", "created_at", "datetime", "date")
ORDER = ("order", "sequence")
TRUTH = (
    "ground_truth", "groundtruth", "ground truth", "truth", "true_label", "gold", "gold_label", "gold_standard",
    "expert", "reference",
)  # fmt: skip


def when(sheet: Sheet, options: ReadOptions) -> dict[str, pd.Series]:
    """``time`` or else ``order``, if the table has it.   → {name: [N]}"""
    time, order = sheet.find(*TIME), sheet.find(*ORDER)
    if time:
        return {"time": stamps_or_hours(sheet, time, options.zone)}
    return {"order": sheet.finite(order)} if order else {}


def answers(sheet: Sheet, column: str) -> pd.Series:
    """Labels as text, empty where there is none (``NA`` and the like included).   → [N]"""
    text = sheet.ids(column)
    return text.mask(text.str.lower().isin(MISSING), "")


def true_name(sheet: Sheet, options: ReadOptions, names: Iterable[str]) -> str | None:
    """Which of these names is the truth: the stated one, or one that is called so."""
    by_plain = {plain(name): name for name in names}
    if options.reference is not None:
        return by_plain.get(plain(options.reference))
    guess = next((by_plain[name] for name in TRUTH if name in by_plain), None)
    if guess is not None:
        message = f"`{guess}` was taken as the truth because of its name."
        assume(sheet, "reference", message, "Name the reference to change it.", guess)
    return guess


def no_such_reference(sheet: Sheet, options: ReadOptions) -> None:
    """Report a reference that was asked for and is not there."""
    name = shorten(options.reference)
    message = f"No column or labeller is called `{name}`."
    sheet.problems.append(
        error("reference-missing", message, "Name the reference as the file spells it.", file=sheet.file, column=name)
    )


def labels(sheet: Sheet, frame: pd.DataFrame, rows: np.ndarray) -> pd.DataFrame:
    """Rows that have an item, a labeller and a label.   frame [N], rows [N] → [≤ N]"""
    empty = ((frame["item"] == "") | (frame["labeller"] == "")).to_numpy()
    unlabelled = (frame["label"] == "").to_numpy() & ~empty
    if empty.any():
        where = places(empty, rows, frame["item"] + " | " + frame["labeller"])
        message = f"{where['count']} rows lack an item or a labeller."
        sheet.problems.append(error("missing", message, "Complete or delete these rows.", file=sheet.file, **where))
    if unlabelled.any():
        left_out = int(unlabelled.sum())
        message = f"{left_out} empty cells are no label, and were left out."
        assume(sheet, "no-label", message, "Nothing to do.")
    return frame.loc[~empty & ~unlabelled].reset_index(drop=True)


def too_long(name: str) -> bool:
    """Whether a name is longer than an id can be."""
    return len(name) > LONGEST_ID
