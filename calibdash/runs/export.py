"""A run as a zip archive that can be given away: no path of this machine, no link, nothing half-written."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import BinaryIO

from calibdash.runs.checkpoint import CHECKPOINT
from calibdash.runs.folder import RECORD, read_record
from calibdash.runs.snapshot import PROGRESS
from calibdash.runs.stop import STOP

PRIVATE = frozenset({PROGRESS, STOP, CHECKPOINT})


def write_zip(folder: Path, file: BinaryIO) -> None:
    """Write the run's files below a folder of its name."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        text = json.dumps(public_record(folder), indent=2, ensure_ascii=False) + "\n"
        archive.writestr(f"{folder.name}/{RECORD}", text.encode("utf-8", "replace"))
        for path in _files(folder):
            place = path.relative_to(folder)
            if str(place) not in PRIVATE and str(place) != RECORD:
                archive.write(path, f"{folder.name}/{place.as_posix()}")


def public_record(folder: Path) -> dict[str, object]:
    """The record without the process that made it, and with names in place of paths."""
    record = read_record(folder)
    record.pop("process", None)
    paths = [record.get("network_path"), str(folder), str(folder.parent)]
    for path in paths:
        if isinstance(path, str) and PurePath(path).is_absolute():
            record = {key: _without(value, path) for key, value in record.items()}
    return record


def _without(value: object, path: str) -> object:
    return value.replace(path, PurePath(path).name) if isinstance(value, str) else value


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.is_file():
            yield path
