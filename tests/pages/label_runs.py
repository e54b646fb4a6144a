"""Fits of labellers made up without fitting, and sessions that look at them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from calibdash.data.labels import LabelSet
from calibdash.models.labelling import LabelPosterior, LabelRecord, LabelSettings
from calibdash.models.labelling.arrays import label_data
from calibdash.models.labelling.design import design
from calibdash.runs.folder import write_run
from calibdash.runs.labels import record, tables
from calibdash.runs.queue import JobQueue
from calibdash.runs.store import RunStore
from calibdash.state.folders import find_folders
from calibdash.state.label_run import LabelRun, read_label_run
from calibdash.state.labelling import Labelling
from calibdash.state.session import Session

HOSTILE = "<img src=x onerror=document.title='hacked'>"
RUN = "20260101-000000-made"


def made_up(labels: LabelSet, settings: LabelSettings | None = None, **options: object) -> LabelPosterior:
    """A posterior as a fit would leave it, its unknowns drawn at random: pages need no better one."""
    settings = settings or LabelSettings()
    data = label_data(labels, fallible=settings.fallible, **options)
    start = design(data, settings).start()
    mean = start + 0.5 * np.random.default_rng(0).standard_normal(len(start))
    votes = np.full((len(data.items), len(data.classes)), 0.2)
    np.add.at(votes, (data.item, data.label), 1.0)
    np.add.at(votes, (data.fixed_item, data.fixed_label), 50.0)
    about = LabelRecord(
        0, data.hash, {}, 1.0, (-2.0, -1.0), "diagonal", len(mean), len(data.item), None, None, data.notes
    )
    chances = votes / votes.sum(axis=1, keepdims=True)
    spread = np.full(len(mean), 0.2)
    return LabelPosterior(settings, about, data, chances, np.zeros((0, len(mean))), mean, spread)


def made_run(labels: LabelSet, folder: Path, **about: object) -> LabelRun:
    posterior = made_up(labels)
    write_run(
        folder, {**record(labels, posterior.settings, posterior, False), **about}, tables(posterior), posterior.save
    )
    return read_label_run(folder.name, folder)


def crowd(people: int = 5, classes: int = 3, *, order: bool = True) -> LabelSet:
    """A crowd without an expert but the first."""
    rng = np.random.default_rng(4)
    count = 40 * people
    frame = pd.DataFrame(
        {
            "item": [f"item-{item:03d}" for item in rng.integers(30, size=count)],
            "labeller": [f"person {who:02d}" for who in np.arange(count) % people],
            "label": [f"kind {kind:02d}" for kind in rng.integers(classes, size=count)],
        }
    ).drop_duplicates(["item", "labeller"])
    if order:
        frame["order"] = np.arange(len(frame), dtype=float)
    names = sorted(frame["labeller"].unique())
    return LabelSet(
        "crowd", frame, pd.DataFrame({"labeller": names, "reference": [name == names[0] for name in names]})
    )


def opened(examples: Path, runs: Path, run_job: Callable[..., dict] | None = None) -> Labelling:
    """The state of a session that looks at the bees."""
    queue = JobQueue(RunStore(runs), **({"run_job": run_job} if run_job else {}))
    return Labelling(Session(find_folders([examples / "bees"])), queue, lambda call: call())


def hostile_labels() -> LabelSet:
    """Names that are markup, formulas, missing values, separators."""
    rng = np.random.default_rng(1)
    kinds = [HOSTILE, "<b>bold</b>", "NA", "$$x$$", 'a,"b";c']
    people = [HOSTILE, "=1+1", "null", "<script>document.title='hacked'</script>"]
    count = 120
    frame = pd.DataFrame(
        {
            "item": [f"{HOSTILE}{item}" for item in rng.integers(30, size=count)],
            "labeller": rng.choice(np.array(people, dtype=object), count),
            "label": rng.choice(np.array(kinds, dtype=object), count),
            "order": np.arange(count, dtype=float),
        }
    ).drop_duplicates(["item", "labeller"])
    return LabelSet("evil", frame, pd.DataFrame({"labeller": people, "reference": [name == "null" for name in people]}))
