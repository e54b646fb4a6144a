"""Files people bring, of whatever source, into one table."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from calibdash.data.files import RawTable, read_raw, sniff
from calibdash.data.problems import DataError, Problem, error, raise_errors, shorten, warning
from calibdash.data.readers.options import ReadOptions
from calibdash.data.readers.registry import SOURCES, detect, match, source_named
from calibdash.data.readers.source import Source

HEAD_BYTES = 1 << 16
LINES_LOOKED_AT = 15
OPTIONAL = ("latitude", "longitude", "humidity", "temperature")


@dataclass(frozen=True)
class Imported:
    """One table made of files: ``measurements``, or ``labels`` with its ``labellers``."""

    table: str
    frame: pd.DataFrame
    labellers: pd.DataFrame | None = None
    problems: tuple[Problem, ...] = field(default=(), repr=False)


def import_files(
    paths: Sequence[str | Path], source: str | None = None, options: ReadOptions | None = None
) -> Imported:
    """Read files into one table, the source of each detected unless named.

    Raises :class:`DataError` with the problems of all files if any of them has an error.
    """
    options = options or ReadOptions()
    named = None if source is None else source_named(source)
    problems: list[Problem] = []
    frames: dict[str, list[pd.DataFrame]] = {}
    for path in map(Path, paths):
        try:
            found, raw = open_raw(path, named)
            frame, wrong = found.read(raw, options)
        except DataError as reason:
            problems += reason.problems
            continue
        problems += wrong
        frames.setdefault(found.table, []).append(frame)
    files = ", ".join(shorten(Path(path).name) for path in paths[:5])
    if len(frames) > 1:
        problems.append(
            error("mixed", "Some files hold measurements, others labels.", "Import them apart.", file=files)
        )
    raise_errors(problems)
    parts = next(iter(frames.values()), [])
    if not any(len(part) for part in parts):
        problems.append(error("no-rows", "There is no row that can be used.", _why(problems), file=files))
        raise_errors(problems)
    table = next(iter(frames))
    frame = _joined(parts, files, problems)
    return _labels(frame, problems) if table == "labels" else _measurements(frame, problems)


def open_raw(path: Path, named: Source | None = None) -> tuple[Source, RawTable]:
    """A file's source and raw table; the header may stand below lines that its source lets one skip."""
    skip = _skip(path, named)
    raw = read_raw(path, skip)
    header = [str(name) for name in raw.frame.columns]
    if named is None:
        return detect(header, raw.file), raw
    if named.name == "calibdash" and not named.fits(header) and SOURCES["labels-long"].fits(header):
        return SOURCES["labels-long"], raw
    return named, raw


def _skip(path: Path, named: Source | None) -> int:
    """How many lines stand above the header."""
    below = [source for source in ([named] if named else SOURCES.values()) if source.below]
    lines = first_lines(path) if below else []
    if not lines or (named is None and match(lines[0])):
        return 0
    return next((i for i, line in enumerate(lines) if any(source.fits(line) for source in below)), 0)


def first_lines(path: Path) -> list[list[str]]:
    """The first lines, split; none where they cannot be (reading says why)."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            if head[:2] == b"\x1f\x8b":
                file.seek(0)
                head = gzip.GzipFile(fileobj=file).read(HEAD_BYTES)
    except (OSError, EOFError, ValueError, zlib.error):
        return []
    if head[:4] == b"PAR1":
        return []
    text = head.decode(sniff(head).encoding, errors="replace").removeprefix("\ufeff")
    end = "\n" if "\n" in text else "\r"
    return [_split(line) for line in text.split(end)[:LINES_LOOKED_AT]]


def _split(line: str) -> list[str]:
    line = line.strip("\r")
    try:
        return next(csv.reader(io.StringIO(line), delimiter=sniff(line.encode("utf-8", "replace")).delimiter), [])
    except csv.Error:
        return []


def _joined(parts: list[pd.DataFrame], files: str, problems: list[Problem]) -> pd.DataFrame:
    """Files one after another, without rows that are exactly alike."""
    filled = [part for part in parts if len(part)]
    for name in ("time", "order"):
        have = [part[name].dtype.kind for part in filled if name in part]
        if len(set(have)) > 1:
            message = f"Some files have `{name}` in hours, others as stamps."
            raise DataError([*problems, error("mixed", message, "Import them apart.", file=files, column=name)])
    frame = pd.concat(filled, ignore_index=True)
    twice = frame.duplicated()
    if twice.any():
        count = int(twice.sum())
        message = f"{count} rows repeat another one exactly, and were left out."
        problems.append(warning("duplicate", message, "Nothing to do.", file=files, count=count))
    return frame.loc[~twice].reset_index(drop=True)


def _measurements(frame: pd.DataFrame, problems: list[Problem]) -> Imported:
    present = [name for name in OPTIONAL if name in frame and frame[name].notna().any()]
    frame = frame[["time", "sensor", "value", *present]].sort_values(["time", "sensor"], kind="stable")
    return Imported("measurements", frame.reset_index(drop=True), None, tuple(problems))


def _labels(frame: pd.DataFrame, problems: list[Problem]) -> Imported:
    when = [name for name in ("time", "order") if name in frame and frame[name].notna().any()][:1]
    labellers = frame.groupby("labeller", sort=False)["reference"].any().reset_index()
    frame = frame[["item", "labeller", "label", *when]]
    if when:
        frame = frame.sort_values(when, kind="stable").reset_index(drop=True)
    return Imported("labels", frame, labellers, tuple(problems))


def _why(problems: Sequence[Problem]) -> str:
    dropped = [
        problem.message for problem in problems if problem.code in ("missing", "status", "impossible", "no-label")
    ]
    return f"Mend the file: {dropped[0]}" if dropped else "Give a file with rows below its header."
