"""Zip archives of a network folder, opened so that they can do no harm."""

from __future__ import annotations

import re
import shutil
import stat
import zipfile
import zlib
from collections import Counter
from pathlib import Path, PurePosixPath

from calibdash.data.problems import DataError, Problem, error, note, shorten

MOST_ENTRIES = 2000
MOST_BYTES = 1 << 30  # of all entries together, unpacked
_ENTRY_BYTES = 1024  # of an entry in the archive's table of contents, at most
_END, _END64 = b"PK\x05\x06", b"PK\x06\x07"
_END_LENGTH, _COMMENT_LENGTH, _LOCATOR_LENGTH = 22, 0xFFFF, 20


def unpack(path: Path, folder: Path) -> tuple[list[Path], list[Problem]]:
    """Write the files of an archive into numbered folders below ``folder``; what deeper folders hold stays out.

    Raises :class:`DataError` before anything is written if the archive is damaged, locked or too large, or names
    a place outside itself.
    """
    _check_contents(path)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
            _check_entries(path.name, entries)
            chosen, problems = _choose(path.name, entries)
            return _extract(archive, chosen, folder, path.name), problems
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as reason:
        message = f"The archive cannot be opened ({shorten(reason)})."
        raise _refused(path.name, message, "Pack the folder again as a plain zip.") from reason


def safe_name(name: str) -> str:
    """The last part of a path as a file's name here: no folder, no control characters, not too long."""
    last = re.split(r"[/\\]", name.encode("utf-8", "replace").decode())[-1]
    tidy = "".join(letter for letter in last if letter.isprintable()).strip().lstrip(".")
    while len(tidy.encode()) > 120:
        tidy = tidy[1:]  # the end says the format
    return tidy or "file"


def _check_contents(path: Path) -> None:
    """Look at the size of the table of contents before it is read: it alone could fill the memory."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _END_LENGTH - _COMMENT_LENGTH - _LOCATOR_LENGTH))
        tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_LENGTH:
        raise _refused(path.name, "The archive is damaged: it has no end.", "Pack or fetch it again.")
    length = int.from_bytes(tail[at + 12 : at + 16], "little")
    if tail[max(0, at - _LOCATOR_LENGTH) :].startswith(_END64) or length > MOST_ENTRIES * _ENTRY_BYTES:
        raise _too_many(path.name)


def _check_entries(name: str, entries: list[zipfile.ZipInfo]) -> None:
    if any(entry.filename == "xl/workbook.xml" for entry in entries):
        remedy = "Save each sheet as CSV (UTF-8), and drop that."
        raise _refused(name, "The file is an Excel workbook.", remedy)
    if len(entries) > MOST_ENTRIES:
        raise _too_many(name)
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        message = f"The archive unpacks to more than {MOST_BYTES >> 30} GiB."
        raise _refused(name, message, "Pack only the tables, or drop them as Parquet.")
    for entry in entries:
        where = entry.filename.replace("\\", "/")
        if not where or entry.header_offset < 0:
            raise _refused(name, "The archive is damaged: it lists a file it cannot hold.", "Pack or fetch it again.")
        if entry.flag_bits & 1:
            raise _refused(name, "The archive is locked with a password.", "Pack it without one.")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise _refused(name, f"`{shorten(where)}` is a link.", "Pack the file itself.")
        if where.startswith("/") or re.match(r"[A-Za-z]:", where) or ".." in PurePosixPath(where).parts:
            message = f"`{shorten(where)}` points outside the archive."
            raise _refused(name, message, "Pack the folder itself, with plain names.")


def _choose(name: str, entries: list[zipfile.ZipInfo]) -> tuple[list[zipfile.ZipInfo], list[Problem]]:
    """The files of the topmost folder (or folders) that holds any."""
    places = [(entry, PurePosixPath(entry.filename.replace("\\", "/"))) for entry in entries]
    places = [(entry, place) for entry, place in places if not _is_litter(place)]
    if not places:
        raise _refused(name, "The archive holds no file.", "Pack the tables of the network.")
    depth = min(len(place.parts) for _, place in places)
    chosen = [(entry, place) for entry, place in places if len(place.parts) == depth]
    twice = [last for last, count in Counter(place.name.lower() for _, place in chosen).items() if count > 1]
    if twice:
        message = f"The archive holds several files called `{shorten(twice[0])}`."
        raise _refused(name, message, "Pack and drop one network at a time.")
    deeper = len(places) - len(chosen)
    problems = []
    if deeper:
        message = f"{deeper} files in deeper folders were left out."
        problems.append(note("archive-deeper", message, "Drop them too if they are needed.", file=name, count=deeper))
    return [entry for entry, _ in chosen], problems


def _is_litter(place: PurePosixPath) -> bool:
    return place.parts[0] == "__MACOSX" or place.name.startswith(".")


def _extract(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], folder: Path, name: str) -> list[Path]:
    paths = []
    left = MOST_BYTES
    for number, entry in enumerate(entries):
        target = folder / str(number) / safe_name(entry.filename)
        target.parent.mkdir(parents=True)
        with archive.open(entry) as source, target.open("wb") as sink:
            shutil.copyfileobj(source, sink, 1 << 20)
        left -= target.stat().st_size
        if left < 0:
            raise _refused(name, "The archive unpacks to more than it says.", "Pack it again.")
        paths.append(target)
    return paths


def _too_many(name: str) -> DataError:
    return _refused(name, f"The archive holds more than {MOST_ENTRIES} files.", "Pack only the tables of one network.")


def _refused(name: str, message: str, remedy: str) -> DataError:
    return DataError([error("archive", message, remedy, file=name)])
