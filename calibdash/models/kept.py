"""Posteriors on disk: plain numbers in ``posterior.npz``, everything else in ``posterior.json``. Never pickle."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from calibdash.data.files import write_atomically
from calibdash.errors import CalibdashError

MOST_BYTES = 8 << 30  # of all arrays together, unpacked: an archive can say more than its file holds

# What reading a damaged archive or JSON raises, beside OSError.
UNREADABLE = (
    ValueError, KeyError, EOFError, RecursionError, MemoryError, NotImplementedError, RuntimeError, SyntaxError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def write_kept(folder: Path, about: Mapping[str, object], arrays: Mapping[str, np.ndarray]) -> None:
    """Write both files, each of them wholly or not at all."""
    write_atomically(folder / "posterior.npz", lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]
    text = json.dumps(about, indent=1)
    write_atomically(folder / "posterior.json", lambda file: file.write(text.encode()))


def read_kept(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What :func:`write_kept` wrote."""
    try:
        about = json.loads((folder / "posterior.json").read_text(encoding="utf-8"))
        arrays = read_arrays(folder / "posterior.npz")
    except (OSError, *UNREADABLE) as problem:
        raise CalibdashError(f"{folder} holds no posterior that can be read.", f"{problem}"[:200]) from problem
    if not isinstance(about, dict):
        raise CalibdashError(f"{folder / 'posterior.json'} is damaged.", "Fit again.")
    return about, arrays


def read_arrays(file: Path) -> dict[str, np.ndarray]:
    """All arrays of an ``.npz``; raises OSError or one of ``UNREADABLE`` where it is damaged or too large."""
    with zipfile.ZipFile(file) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
            raise ValueError(f"{file.name} unpacks to more than {MOST_BYTES >> 30} GiB")
    with np.load(file, allow_pickle=False) as arrays:
        return {name: np.asarray(arrays[name]) for name in arrays.files}


@contextmanager
def undamaged(folder: Path) -> Iterator[None]:
    """What does not fit together in the files of a posterior is said in a sentence."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, MemoryError) as problem:
        raise CalibdashError(f"The posterior in {folder} is damaged.", "Fit again.") from problem
