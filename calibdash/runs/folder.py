"""A run is a folder: ``run.json``, its tables, and whatever else it needs to be opened again."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from calibdash.data.files import write_atomically, write_table
from calibdash.errors import CalibdashError
from calibdash.runs.lock import locked

RECORD = "run.json"
RECORD_MOST = 64 << 20  # bytes; nothing that calibdash wrote is near it
PART = ".part"  # ends the names of what is not complete yet


def now() -> str:
    """The time in records: UTC to the microsecond, which sorts as text."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


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
    with told(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        prefix = f".{folder.name[:40]}."
        with tempfile.TemporaryDirectory(prefix=prefix, suffix=PART, dir=folder.parent) as scratch:
            new = Path(scratch) / "new"
            new.mkdir()
            for name, table in tables.items():
                write_table(table, new / f"{name}.csv")
            if more is not None:
                more(new)
            stamp = now()
            _write_record(new, {"id": folder.name, "created": stamp, "ended": stamp, **record})
            if folder.exists():
                _swap(new, folder)
            else:
                new.rename(folder)


def adopt(finished: Path, folder: Path) -> dict[str, object]:
    """Move the files of a finished run into the folder of one that is under way; returns the finished one's record.

    The folder's own ``run.json`` stays: it is for the caller to rewrite, last of all.
    """
    record = read_record(finished)
    with told(folder):
        for file in sorted(finished.iterdir()):
            if file.name != RECORD:
                file.replace(folder / file.name)
        shutil.rmtree(finished)
    return record


def read_record(folder: Path) -> dict[str, object]:
    """What ``run.json`` says."""
    try:
        with (folder / RECORD).open("rb") as file:
            data = file.read(RECORD_MOST + 1)
        record = json.loads(data) if len(data) <= RECORD_MOST else None
    except (OSError, ValueError, RecursionError) as reason:
        raise CalibdashError(
            f"{folder} is not a run that can be read.", "Give a folder that calibdash fit or multihop wrote."
        ) from reason
    if not isinstance(record, dict):
        raise CalibdashError(f"{folder / RECORD} is damaged.", "Run the calculation again.")
    return record


def update_record(
    folder: Path, changes: Mapping[str, object], when: Callable[[Mapping[str, object]], bool]
) -> dict[str, object] | None:
    """Change some of ``run.json`` at once if the record is as ``when`` wants it; else no change, and None."""
    with told(folder), locked(folder.parent):
        record = read_record(folder)
        if not when(record):
            return None
        record |= changes
        _write_record(folder, record)
        return record


def status_in(*statuses: str) -> Callable[[Mapping[str, object]], bool]:
    """A condition for :func:`update_record`."""
    return lambda record: record.get("status") in statuses


def holds(facts: Mapping[str, object]) -> Callable[[Mapping[str, object]], bool]:
    """A condition for :func:`update_record`: the record says all of this."""
    return lambda record: facts.items() <= record.items()


def _write_record(folder: Path, record: Mapping[str, object]) -> None:
    text = json.dumps(record, indent=2, ensure_ascii=False, default=str) + "\n"
    write_atomically(folder / RECORD, lambda file: file.write(text.encode("utf-8", "replace")))


def _swap(new: Path, folder: Path) -> None:
    """Exchange two folders, at once where the system can; elsewhere there is a moment without the run."""
    libc = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if hasattr(libc, "renameat2") and libc.renameat2(here, bytes(new), here, bytes(folder), exchange) == 0:  # type: ignore[union-attr]
        return
    folder.rename(new.with_name("old"))
    new.rename(folder)


@contextlib.contextmanager
def told(folder: Path) -> Iterator[None]:
    """Say what could not be written, and what to do."""
    try:
        yield
    except OSError as reason:
        hint = "Check the path, its rights and the free space."
        raise CalibdashError(f"Cannot write the run {folder}: {reason.strerror or reason}.", hint) from reason
