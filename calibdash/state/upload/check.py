"""One dropped file: what the user says about it, and what is found in it."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from calibdash.data.colocations import check_colocations, check_sensors, check_times
from calibdash.data.files import read_raw, write_table
from calibdash.data.folder import ABOUT_KEYS
from calibdash.data.parse import check_zone
from calibdash.data.problems import DataError, Problem, error, has_errors, shorten
from calibdash.data.readers import ReadOptions, import_files
from calibdash.data.tables import Table, read_table
from calibdash.errors import CalibdashError
from calibdash.state.upload import kinds
from calibdash.state.upload.archive import unpack
from calibdash.state.upload.readings import has_positions, store_frame, store_own

Progress = Callable[[float], None]
_CHECKS: dict[str, Callable[[Table], Table]] = {
    "colocations": lambda table: check_colocations(check_times(table)),
    "sensors": check_sensors,
    "labellers": lambda table: table,
}
_REMEDIES = {  # what can be done about it here, rather than on a command line
    "time-zone": "Choose the time zone on this page, or add the offset to each time in the file.",
    "zone-missing": "Choose the time zone on this page.",
    "sensor": "Pick the file in the list and give the sensor's id to change it.",
    "no-reference": "Drop a sensors table that says who is a reference, or mark them on the network page afterwards.",
    "hour-stamp": "Pick the file in the list and say so if they are ends.",
}


@dataclass(frozen=True)
class Common:
    """What holds for all files of a network: the zone of stamps that have none, and the pollutant."""

    zone: str | None = None
    pollutant: str = "pm2_5"


@dataclass(frozen=True)
class Found:
    """What is in a file: rows, problems, the table made of it (``part``), or the files of an archive.

    placed: whether a file of readings says where its sensors were.
    about: what a ``network.toml`` says. labellers: beside labels, who gave them and who is an expert.
    """

    rows: int = 0
    problems: tuple[Problem, ...] = ()
    part: Path | None = None
    placed: bool = True
    labellers: Path | None = None
    inside: tuple[Path, ...] = ()
    about: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Upload:
    """A dropped file and what the user says about it; ``found`` is None until it has been read.

    origin: its name as the browser gave it, with the folders it was dropped in; a file of the same origin replaces it.
    sensor, hour_stamp, position (latitude, longitude): of files that hold one sensor and do not say who or where it is.
    """

    path: Path
    kind: str
    size: int = 0
    origin: str = ""
    sensor: str = ""
    hour_stamp: str = "start"
    position: tuple[float, float] | None = None
    found: Found | None = None

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    @property
    def usable(self) -> bool:
        """Whether it has been read without an error."""
        return self.found is not None and not has_errors(self.found.problems)


def check(upload: Upload, common: Common, progress: Progress) -> Found:
    """Read a file as what it is said to be; problems are collected, never raised."""
    try:
        found = _check(upload, common, progress)
    except DataError as reason:
        found = Found(problems=reason.problems)
    except CalibdashError as reason:
        found = Found(problems=(error("refused", reason.message, reason.hint, file=upload.name),))
    return replace(found, problems=in_our_words(found.problems, upload.name))


def _check(upload: Upload, common: Common, progress: Progress) -> Found:
    path, kind = upload.path, upload.kind
    part = path.with_name(".part.parquet")
    if kind == kinds.LEAVE_OUT:
        return Found()
    if kind == kinds.ARCHIVE:
        inside, problems = unpack(path, path.parent / ".inside")
        return Found(len(inside), tuple(problems), inside=tuple(inside))
    if kind == kinds.ABOUT:
        return Found(about=_about(path))
    if kind in kinds.TABLES:
        table = _CHECKS[kind](read_table(path, kinds.TABLES[kind], common.zone))
        return Found(len(table.frame), table.problems)
    if kind == kinds.OWN:
        rows, problems = store_own(path, common.zone, part, progress)
        return Found(rows, tuple(problems), part, placed=has_errors(problems) or has_positions(part))
    if kind not in kinds.CHOICES:
        raise _unknown(path)
    options = ReadOptions(
        zone=common.zone, pollutant=common.pollutant, sensor=upload.sensor or None, hour_stamp=upload.hour_stamp
    )
    imported = import_files([path], kind, options)
    if imported.table == "measurements":
        store_frame(imported.frame, part)
        return Found(len(imported.frame), imported.problems, part, placed=has_positions(part))
    write_table(imported.frame, part)
    labellers = path.with_name(".labellers.parquet")
    if imported.labellers is not None:
        write_table(imported.labellers, labellers)
    return Found(len(imported.frame), imported.problems, part, labellers=labellers)


def read_position(text: str) -> tuple[float, float] | None:
    """``latitude, longitude`` in degrees; None where nothing is said."""
    if not text.strip():
        return None
    try:
        latitude, longitude = (float(part) for part in text.replace(";", ",").split(","))
    except ValueError:
        latitude = longitude = math.nan
    if not (abs(latitude) <= 90 and abs(longitude) <= 180):
        raise CalibdashError("This is no position.", "Write degrees north and east, such as 0.3136, 32.5811.")
    return latitude, longitude


def _about(path: Path) -> dict[str, str]:
    remedy = 'Write lines such as timezone = "UTC", or leave the file out.'
    if path.stat().st_size > 1 << 16:
        raise DataError([error("about-file", "The file is too long.", remedy, file=path.name)])
    try:
        about = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError, RecursionError) as reason:
        message = f"The file cannot be read: {shorten(reason)}."
        raise DataError([error("about-file", message, remedy, file=path.name)]) from reason
    stated = {key: str(about[key]) for key in ABOUT_KEYS if isinstance(about.get(key), str | int | float)}
    if stated.get("timezone"):
        check_zone(stated["timezone"])
    return stated


def _unknown(path: Path) -> DataError:
    lines = kinds.header_lines(path)
    if not lines or "\0" in lines[0][0]:
        read_raw(path)  # says what is wrong with a file that is empty or no table
    header = lines[0] if lines else []
    seen = ", ".join(f"`{shorten(name)}`" for name in header[:8]) + (" …" if len(header) > 8 else "")
    message = f"It is not clear what this file is. Its columns are {seen}."
    return DataError(
        [error("source-unknown", message, "Pick the file in the list and say what it is.", file=path.name)]
    )


def in_our_words(problems: Iterable[Problem], file: str = "") -> tuple[Problem, ...]:
    """Problems with the remedies that this page offers."""
    return tuple(
        replace(problem, file=problem.file or file, remedy=_REMEDIES.get(problem.code, problem.remedy))
        for problem in problems
    )
