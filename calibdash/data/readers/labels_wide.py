"""Wide label tables: a row an item, a column a person, one of them perhaps the truth."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibdash.data.files import RawTable
from calibdash.data.problems import error, shorten
from calibdash.data.readers.labels import (
    ORDER,
    TIME,
    TRUTH,
    answers,
    labels,
    no_such_reference,
    too_long,
    true_name,
    when,
)
from calibdash.data.readers.options import ReadOptions
from calibdash.data.readers.sheet import Sheet
from calibdash.data.readers.source import Reading, Source, plain

ITEM = (
    "item",
    "task",
    "question",
    "subject",
    "image",
    "id",
    "item_id",
    "task_id",
    "question_id",
    "subject_id",
    "image_id",
)


def read(raw: RawTable, options: ReadOptions) -> Reading:
    """Each person's cells as labels; empty cells are none."""
    sheet = Sheet(raw)
    item = sheet.need({"item": (options.item,)})["item"] if options.item else sheet.names[0]
    time = sheet.find(*TIME) or sheet.find(*ORDER)
    people = _people(sheet, item, time)
    truth = true_name(sheet, options, people)
    if truth is None and options.reference is not None:
        no_such_reference(sheet, options)
    items, times = sheet.ids(item), when(sheet, options)
    parts = [
        pd.DataFrame(
            {"item": items, "labeller": person, "label": answers(sheet, person), **times, "reference": person == truth}
        )
        for person in people
    ]
    frame = pd.concat(parts, ignore_index=True)
    return labels(sheet, frame, np.tile(sheet.rows, len(people))), sheet.problems


def _people(sheet: Sheet, item: str, time: str | None) -> list[str]:
    taken = {plain(item), plain(time or "")}
    people = [name for name in sheet.names if name and plain(name) not in taken]
    sheet.problems += [
        error(
            "bad-id",
            f"The column {shorten(name)!r} has too long a name for a person.",
            "Shorten it, or mend the quotes around it.",
            file=sheet.file,
            column=shorten(name),
        )
        for name in people
        if too_long(name)
    ]
    people = [name for name in people if not too_long(name)]
    if not people:
        raise sheet.stop(
            "column-missing", "There is no column of labels beside the item's.", "Add a column per person."
        )
    return people


SOURCE = Source("labels-wide", "labels, a column a person", "labels", ("|".join(ITEM), "|".join(TRUTH)), read)
