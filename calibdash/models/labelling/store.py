"""A posterior of labellers on disk: numbers in ``posterior.npz``, everything else in ``posterior.json``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pandas as pd

from calibdash.data.network import Clock
from calibdash.errors import CalibdashError
from calibdash.models.kept import read_kept, undamaged, write_kept
from calibdash.models.labelling.arrays import LabelData
from calibdash.models.labelling.posterior import LabelPosterior
from calibdash.models.labelling.record import LabelRecord
from calibdash.models.labelling.settings import LabelSettings

VERSION = 1
KIND = "labels"
NAMES = ("name", "items", "labellers", "references", "classes", "time_name", "notes")
ARRAYS = (
    "item", "labeller", "label", "when", "progress", "fixed_item", "fixed_by", "fixed_label", "clamp", "first", "span",
    "fallible",
)  # fmt: skip
OWN = ("probability", "draws", "mean", "spread")


def save(posterior: LabelPosterior, folder: Path | str) -> None:
    """Write both files, each of them wholly or not at all."""
    folder = Path(folder)
    data = posterior.data
    origin = data.clock.origin
    about = {
        "kind": KIND,
        "version": VERSION,
        "settings": posterior.settings.as_dict(),
        "record": asdict(posterior.record),
        "data": {name: getattr(data, name) for name in NAMES},
        "origin": None if origin is None else origin.isoformat(),
    }
    arrays = {f"data_{name}": getattr(data, name) for name in ARRAYS}
    arrays |= {name: getattr(posterior, name) for name in OWN}
    write_kept(folder, about, arrays)


def load(folder: Path | str) -> LabelPosterior:
    """The posterior that :func:`save` wrote."""
    folder = Path(folder)
    about, arrays = read_kept(folder)
    if about.get("kind") != KIND:
        raise CalibdashError(f"{folder} is not a run of labellers.", "Give a folder that calibdash labels wrote.")
    if about.get("version") != VERSION:
        raise CalibdashError(f"{folder} was written by another version of calibdash.", "Fit again.")
    with undamaged(folder):
        names = {key: tuple(value) if isinstance(value, list) else value for key, value in about["data"].items()}
        record = {key: tuple(value) if isinstance(value, list) else value for key, value in about["record"].items()}
        origin = about["origin"]
        return LabelPosterior(
            LabelSettings.from_dict(about["settings"]),
            LabelRecord(**record),  # type: ignore[arg-type]
            LabelData(
                **names,  # type: ignore[arg-type]
                **{name: arrays[f"data_{name}"] for name in ARRAYS},  # type: ignore[arg-type]
                clock=Clock(None if origin is None else pd.Timestamp(origin)),
            ),
            *(arrays[name] for name in OWN),
        )
