"""Posteriors on disk: plain numbers in ``posterior.npz``, everything else in ``posterior.json``. Never pickle."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from calibdash.data.files import write_atomically
from calibdash.errors import CalibdashError


def write_kept(folder: Path, about: Mapping[str, object], arrays: Mapping[str, np.ndarray]) -> None:
    """Write both files, each of them wholly or not at all."""
    write_atomically(folder / "posterior.npz", lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]
    text = json.dumps(about, indent=1)
    write_atomically(folder / "posterior.json", lambda file: file.write(text.encode()))


def read_kept(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What :func:`write_kept` wrote."""
    try:
        about = json.loads((folder / "posterior.json").read_text(encoding="utf-8"))
        with np.load(folder / "posterior.npz", allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, zipfile.BadZipFile) as problem:
        raise CalibdashError(f"{folder} holds no posterior that can be read.", f"{problem}"[:200]) from problem
    if not isinstance(about, dict):
        raise CalibdashError(f"{folder / 'posterior.json'} is damaged.", "Fit again.")
    return about, arrays
