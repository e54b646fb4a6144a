"""From labels to a run on disk: learn if asked, fit, and write what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from calibdash.data.folder import load_labels, open_folder
from calibdash.data.labels import LabelSet
from calibdash.data.problems import DataError, error
from calibdash.data.readers import ReadOptions, import_files
from calibdash.models.labelling.posterior import LabelPosterior
from calibdash.models.labelling.settings import LabelSettings
from calibdash.models.progress import Cancel, Report
from calibdash.runs.folder import check_target, now, write_run

NEXT_MOST = 1000
TIMES_MOST = 25
ROWS_MOST = 500_000  # of confusion.csv: beyond, fewer times


def read_labels(path: Path | str, zone: str | None = None, references: Sequence[str] | None = None) -> LabelSet:
    """The labels of a folder, or of any file that ``calibdash import`` can read: long, wide or Zooniverse.

    A folder's table that is not long is read as such a file.
    """
    path = Path(path)
    if path.is_file():
        return _imported(path, path.stem, zone, references)
    try:
        return load_labels(path, zone)
    except DataError as reason:
        table = open_folder(path).tables.get("labels")
        if table is None or not any(problem.code == "column-missing" for problem in reason.problems):
            raise
        try:
            return _imported(table, path.name, zone, references)
        except DataError:
            raise reason from None


def _imported(file: Path, name: str, zone: str | None, references: Sequence[str] | None) -> LabelSet:
    wanted = references[0] if references else None
    options = ReadOptions(zone=zone, reference=wanted)
    try:
        found = import_files([file], None, options)
    except DataError:
        if wanted is None:
            raise
        found = import_files([file], "labels-wide", options)  # whose column of the truth can have any name
    if found.labellers is None:
        remedy = "Give a table of labels: item, labeller, label."
        raise DataError([error("no-labels", "This file holds measurements, not labels.", remedy, file=file.name)])
    labellers = found.labellers.assign(reference=found.labellers["reference"].astype(bool))
    return LabelSet(name, found.frame, labellers, found.problems)


def labels_to_folder(
    labels: LabelSet,
    settings: LabelSettings,
    folder: Path,
    *,
    references: Sequence[str] | None = None,
    learn: bool = False,
    seed: int = 0,
    progress: Report | None = None,
    cancel: Cancel | None = None,
    about: Mapping[str, object] | None = None,
) -> LabelPosterior:
    """Fit labellers and write the run; nothing is written unless all of it can be.

    references: whose labels are right; None: as the labellers' table has them. about: more for ``run.json``.
    """
    from calibdash.models.labelling.fitting import fit_labels  # TensorFlow is loaded here, where the fit runs
    from calibdash.models.labelling.learning import learn_labels

    check_target(folder)
    started = now()
    used = settings
    if learn:
        used = learn_labels(labels, settings, references=references, seed=seed, progress=progress, cancel=cancel)
    posterior = fit_labels(labels, used, references=references, seed=seed, progress=progress, cancel=cancel)
    whole = {
        "created": started,
        "started": started,
        **record(labels, settings, posterior, learn),
        **(about or {}),
    }
    write_run(folder, whole, tables(posterior), posterior.save)
    return posterior


def tables(posterior: LabelPosterior) -> dict[str, pd.DataFrame]:
    """What a run holds as CSV, by name."""
    people, classes = len(posterior.people), len(posterior.classes)
    times = max(2, min(TIMES_MOST, ROWS_MOST // max(people * classes**2, 1)))
    parts = [posterior.confusion(posterior.times(name, times), [name]) for name in posterior.people]
    return {
        "items": posterior.items(),
        "confusion": pd.concat(parts, ignore_index=True) if parts else posterior.confusion(),
        "labellers": posterior.labellers(),
        "next": posterior.next_labels(NEXT_MOST),
        "agreement": posterior.agreement(),
        "prevalence": posterior.prevalence(),
    }


def record(labels: LabelSet, settings: LabelSettings, posterior: LabelPosterior, learned: bool) -> dict[str, object]:
    """What ``run.json`` says of a fit of labellers."""
    about, data = posterior.record, posterior.data
    alpha = posterior.krippendorff_alpha
    return {
        "kind": "labels",
        "status": "done",
        "network": labels.name,
        "references": list(data.references),
        "fallible": list(posterior.settings.fallible),
        "classes": list(posterior.classes),
        "settings": settings.as_dict(),
        "learned": learned,
        "settings_used": posterior.settings.as_dict(),
        "settings_hash": posterior.settings.hash,
        "seed": about.seed,
        "data_hash": about.data_hash,
        "versions": about.versions,
        "items": len(data.items),
        "labels": about.labels,
        "labellers": len(data.labellers),
        "family": about.family,
        "disagreement": about.disagreement,
        "elbo": list(about.elbo),
        "seconds": about.seconds,
        "krippendorff_alpha": None if alpha != alpha else round(alpha, 4),
        "notes": list(about.notes),
        "problems": [problem.as_dict() for problem in labels.problems],
    }
