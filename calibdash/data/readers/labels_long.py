"""Long label tables: a row an answer."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibdash.data.files import RawTable
from calibdash.data.readers.labels import answers, labels, no_such_reference, true_name, when
from calibdash.data.readers.options import ReadOptions
from calibdash.data.readers.sheet import Sheet
from calibdash.data.readers.source import Reading, Source, plain

ITEM = ("item", "task", "question", "subject", "item_id", "task_id", "question_id", "subject_id")
LABELLER = (
    "labeller", "labeler", "worker", "annotator", "user", "rater", "coder",
    "labeller_id", "worker_id", "annotator_id", "user_id", "user_name",
)  # fmt: skip
LABEL = ("label", "answer", "class", "response", "annotation")


def read(raw: RawTable, options: ReadOptions) -> Reading:
    """Answers as they stand; the truth is a labeller, or a column that repeats it with each answer."""
    sheet = Sheet(raw)
    item_names = (options.item,) if options.item else ITEM
    columns = sheet.need({"item": item_names, "labeller": LABELLER, "label": LABEL})
    frame = pd.DataFrame(
        {
            "item": sheet.ids(columns["item"]),
            "labeller": sheet.ids(columns["labeller"]),
            "label": answers(sheet, columns["label"]),
            **when(sheet, options),
            "reference": False,
        }
    )
    rows = sheet.rows
    spoken_for = {plain(name) for name in columns.values()}
    free = [name for name in sheet.names if name and plain(name) not in spoken_for]
    truth = true_name(sheet, options, [*frame["labeller"].unique(), *free])
    if truth is not None and (frame["labeller"] == truth).any():
        frame["reference"] = frame["labeller"] == truth
    elif truth is not None:
        repeated = frame.assign(labeller=truth, label=answers(sheet, truth), reference=True)
        first = ~repeated.duplicated(["item", "label"]).to_numpy()
        frame = pd.concat([frame, repeated.loc[first]], ignore_index=True)
        rows = np.concatenate([rows, rows[first]])
    elif options.reference is not None:
        no_such_reference(sheet, options)
    return labels(sheet, frame, rows), sheet.problems


SOURCE = Source(
    "labels-long", "labels, a row an answer", "labels", ("|".join(ITEM), "|".join(LABELLER), "|".join(LABEL)), read
)
