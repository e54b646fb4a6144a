"""A run is a folder: ``run.json``, its tables, and whatever else it needs to be opened again."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from calibdash.data.files import write_table
from calibdash.errors import CalibdashError

RECORD = "run.json"


def check_target(folder: Path) -> None:
    """Refuse early to write over something that is not a run."""
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / RECORD).is_file())):
        raise CalibdashError(
            f"{folder} exists and is not a run.", "Choose a new folder with --out: only runs are replaced."
        )


def write_run(
    folder: Path,
    record: Mapping[str, object],
    tables: Mapping[str, pd.DataFrame],
    more: Callable[[Path], None] | None = None,
) -> None:
    """Put a whole run in place at once: ``run.json``, ``NAME.csv`` for each table, and what ``more`` writes.

    A run that stood there before is replaced only when the new one is complete.
    """
    check_target(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name[:40]}.", dir=folder.parent) as scratch:
            new, old = Path(scratch) / "new", Path(scratch) / "old"
            new.mkdir()
            for name, table in tables.items():
                write_table(table, new / f"{name}.csv")
            if more is not None:
                more(new)
            text = json.dumps(record, indent=2, ensure_ascii=False, default=str)
            (new / RECORD).write_text(text + "\n", encoding="utf-8")
            if folder.exists():
                folder.rename(old)
            new.rename(folder)
            shutil.rmtree(old, ignore_errors=True)
    except OSError as reason:
        hint = "Check the path, its rights and the free space."
        raise CalibdashError(f"Cannot write the run {folder}: {reason.strerror or reason}.", hint) from reason


def read_record(folder: Path) -> dict[str, object]:
    """What ``run.json`` says."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError) as reason:
        raise CalibdashError(
            f"{folder} is not a run that can be read.", "Give a folder that calibdash fit or multihop wrote."
        ) from reason
    if not isinstance(record, dict):
        raise CalibdashError(f"{folder / RECORD} is damaged.", "Run the calculation again.")
    return record
