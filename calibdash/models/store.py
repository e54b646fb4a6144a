"""A posterior on disk: plain numbers in ``posterior.npz``, everything else in ``posterior.json``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pandas as pd

from calibdash.data.network import Clock
from calibdash.errors import CalibdashError
from calibdash.models.elimination import plan
from calibdash.models.hyper import Hyper
from calibdash.models.inducing import basis
from calibdash.models.kept import read_kept, undamaged, write_kept
from calibdash.models.posterior import Posterior, Record
from calibdash.models.settings import Settings

VERSION = 1
ARRAYS = ("mobile", "reference", "latent", "mean", "diagonal", "off")
FITTED = "fitted_"


def save(posterior: Posterior, folder: Path | str) -> None:
    """Write both files, each of them wholly or not at all."""
    folder = Path(folder)
    origin = posterior.clock.origin
    about = {
        "version": VERSION,
        "settings": posterior.settings.as_dict(),
        "hyper": posterior.basis.hyper.as_dict(),
        "record": asdict(posterior.record),
        "origin": None if origin is None else origin.isoformat(),
        "sensors": posterior.sensors,
        "level": posterior.level,
        "fill": posterior.fill,
    }
    arrays = {name: getattr(posterior, name) for name in ARRAYS}
    arrays |= {"times": posterior.basis.times, "edges": posterior.plan.edges[: posterior.plan.met]}
    arrays |= {FITTED + name: column for name, column in posterior.fitted.items()}
    write_kept(folder, about, arrays)


def load(folder: Path | str) -> Posterior:
    """The posterior that :func:`save` wrote."""
    folder = Path(folder)
    about, arrays = read_kept(folder)
    if about.get("version") != VERSION:
        raise CalibdashError(f"{folder} was written by another version of calibdash.", "Fit again.")
    with undamaged(folder):
        hyper = Hyper.from_dict(about["hyper"])
        mobile = arrays["mobile"][arrays["latent"] >= 0]
        size = arrays["mean"].shape[1]
        record = {key: tuple(value) if isinstance(value, list) else value for key, value in about["record"].items()}
        return Posterior(
            Settings.from_dict(about["settings"]),
            Record(**record),  # type: ignore[arg-type]
            Clock(None if about["origin"] is None else pd.Timestamp(about["origin"])),
            tuple(about["sensors"]),
            arrays["mobile"],
            arrays["reference"],
            arrays["latent"],
            about["level"],
            about["fill"],
            basis(arrays["times"], mobile, hyper),
            plan(len(arrays["mean"]), arrays["edges"], size),
            arrays["mean"],
            arrays["diagonal"],
            arrays["off"],
            {name.removeprefix(FITTED): column for name, column in arrays.items() if name.startswith(FITTED)},
        )
