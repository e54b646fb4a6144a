"""Zooniverse's classifications: answers hidden in JSON, perhaps of several workflows and tasks.

A labeller is a reference if any of its classifications is marked ``gold_standard`` true, or ``expert``
as ``expert`` or true (``owner`` only says whose project it is). Visitors keep their ``not-logged-in-…`` names.
"""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pandas as pd

from calibdash.data import parse
from calibdash.data.files import RawTable
from calibdash.data.problems import shorten
from calibdash.data.readers.annotations import NoAnswerError, answer, tasks
from calibdash.data.readers.labels import labels, too_long
from calibdash.data.readers.measurements import assume
from calibdash.data.readers.options import ReadOptions
from calibdash.data.readers.sheet import Sheet
from calibdash.data.readers.source import Reading, Source

COLUMNS = {name: (name,) for name in ("user_name", "created_at", "annotations", "subject_ids")}


def read(raw: RawTable, options: ReadOptions) -> Reading:
    """One task of one workflow: the subject is the item, the user the labeller."""
    sheet = Sheet(raw)
    sheet.need(COLUMNS)
    _keep_workflow(sheet, options.workflow)
    found = _annotations(sheet)
    task = _task(sheet, found, options.task)
    label, several = _labels(sheet, found, task)
    if several.any():
        message = f"{int(several.sum())} classifications chose several answers; they were joined with ` + `."
        assume(
            sheet, "several-answers", message, "Nothing to do if combinations are classes of their own.", "annotations"
        )
    frame = pd.DataFrame(
        {
            "item": sheet.ids("subject_ids"),
            "labeller": sheet.ids("user_name"),
            "label": label,
            "time": sheet.stamps("created_at", options.zone),
            "reference": _references(sheet),
        }
    )
    return labels(sheet, frame, sheet.rows), sheet.problems


def _keep_workflow(sheet: Sheet, workflow: str | None) -> None:
    column = sheet.find("workflow_id", "workflow_name")
    if column is None:
        return
    ids = sheet.text(column)
    names = sheet.text("workflow_name") if sheet.find("workflow_name") else ids
    known = (ids + " (" + names + ")").where(ids != names, ids)
    listed = ", ".join(shorten(name) for name in known.unique()[:20])
    if workflow is None:
        if len(ids.unique()) > 1:
            message = f"The file holds several workflows: {listed}."
            raise sheet.stop("workflow", message, "Choose one by its id or name.", column=column)
        return
    wanted = ((ids == workflow.strip()) | (names == workflow.strip())).to_numpy()
    if not wanted.any():
        message = f"There is no workflow {shorten(workflow)!r}; the file holds {listed}."
        raise sheet.stop("workflow", message, "Choose one by its id or name.", column=column)
    sheet.keep(wanted)


def _annotations(sheet: Sheet) -> list[dict[str, object]]:
    """Each classification's answers by task; empty where the cell is bad, which is reported."""
    found: list[dict[str, object]] = []
    bad = np.zeros(len(sheet), bool)
    for i, cell in enumerate(sheet.text("annotations")):
        try:
            found.append(tasks(json.loads(cell)))
        except (ValueError, RecursionError):
            bad[i] = True
            found.append({})
    sheet.reject(
        "json", "annotations", bad, "is not a list of annotations in JSON", "Export the classifications again."
    )
    return found


def _task(sheet: Sheet, found: list[dict[str, object]], task: str | None) -> str:
    counts = Counter(name for row in found for name in row)
    listed = ", ".join(f"{shorten(name)} ({count})" for name, count in counts.most_common(20))
    if task is not None and task not in counts:
        message = f"There is no task {shorten(task)!r}; the file holds {listed or 'none'}."
        raise sheet.stop("task", message, "Choose one of them.", column="annotations")
    if task is None and len(counts) > 1:
        message = f"The annotations hold several tasks: {listed}."
        raise sheet.stop("task", message, "Choose one of them.", column="annotations")
    if not counts:
        raise sheet.stop("task", "The annotations hold no task.", "Check that these are classifications.")
    return task if task is not None else next(iter(counts))


def _labels(sheet: Sheet, found: list[dict[str, object]], task: str) -> tuple[pd.Series, np.ndarray]:
    labels_found: list[str] = []
    bad, several = np.zeros(len(found), bool), np.zeros(len(found), bool)
    for i, row in enumerate(found):
        try:
            chosen = answer(row.get(task))
        except NoAnswerError:
            chosen, bad[i] = [], True
        text = " + ".join(chosen)
        bad[i] |= too_long(text)
        several[i] = len(chosen) > 1
        labels_found.append("" if bad[i] else text)
    what = f"holds no answer of task {shorten(task)} that can be a label"
    sheet.reject("answer", "annotations", bad, what, "Choose a task that asks a question (not drawings or texts).")
    return pd.Series(labels_found, dtype=object), several


def _references(sheet: Sheet) -> pd.Series:
    flagged = np.zeros(len(sheet), bool)
    for column in ("gold_standard", "expert"):
        if sheet.find(column):
            cells = sheet.text(column).str.lower().replace({"expert": "true", "owner": "false"})
            flags = parse.flags(cells)
            sheet.reject("flag", column, flags.bad, "is neither true nor false", "Write true, false or nothing.")
            flagged |= flags.values.to_numpy(bool)
    users = sheet.text("user_name")
    return users.isin(set(users[flagged])) & (users != "")


SOURCE = Source(
    "zooniverse",
    "Zooniverse classifications",
    "labels",
    ("user_name", "workflow_id|workflow_name", "annotations", "subject_ids"),
    read,
)
