"""From checked files to a network folder: put together aside, checked as a whole, then set in its place at once."""

from __future__ import annotations

import json
import os
import re
import shutil
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pa_parquet

from calibdash.data.colocations import check_sensors, complete_sensors
from calibdash.data.encounters import EncounterOptions, find_encounters
from calibdash.data.files import write_atomically, write_table
from calibdash.data.folder import ABOUT_FILE, check_folder
from calibdash.data.problems import DataError, Problem, did_you_mean, error, note, raise_errors, shorten, warning
from calibdash.data.schema import SENSORS
from calibdash.data.tables import read_table
from calibdash.errors import CalibdashError
from calibdash.state.upload import kinds
from calibdash.state.upload.check import Common, Upload, in_our_words
from calibdash.state.upload.readings import in_hours, join, sensors_of

LONGEST_NAME = 60
QUANTITIES = {"pm2_5": "PM2.5", "pm10": "PM10"}
RAW = "raw"  # raw readings stay out of the tables that are read whenever the folder is opened
_JOINING_SHARE = 0.15  # of the time, for the progress bar


def gaps(uploads: Sequence[Upload]) -> list[Problem]:
    """What the files lack to become a network together, and what is assumed in its place."""
    if needs_search(uploads):
        return [] if _of(uploads, lambda kind: kind == "sensors") else _without_sensors(uploads)
    if any(_of(uploads, test) for test in (_is_colocations, kinds.is_labels)):
        return []
    if not _of(uploads, lambda kind: kind in kinds.TABLES or kind == kinds.ABOUT):
        return []
    message = "These files alone are no network yet."
    return [error("table-missing", message, "Drop colocations, raw measurements or labels too.")]


def _without_sensors(uploads: Sequence[Upload]) -> list[Problem]:
    message = "There is no sensors table: who stays in one place is taken as static, who does not as mobile"
    message += ", and a Met One BAM as a reference." if _of(uploads, lambda kind: kind == "bam") else "."
    problems = [note("sensors-assumed", message, "Drop a sensors table (sensor, kind, reference) to say it yourself.")]
    for upload in _of(uploads, kinds.is_measurements):
        if upload.found is not None and not upload.found.placed and upload.position is None:
            message = "The file does not say where its sensors stand, so they can meet nobody."
            remedy = "Drop a sensors table with their latitude and longitude."
            if upload.kind in kinds.ONE_SENSOR:
                remedy = "Pick the file in the list and give latitude and longitude."
            problems.append(warning("position-missing", message, remedy, file=upload.name))
    return problems


def needs_search(uploads: Sequence[Upload]) -> bool:
    """Whether colocations must be found in raw measurements first."""
    return bool(_of(uploads, kinds.is_measurements)) and not _of(uploads, _is_colocations)


def assemble(
    uploads: Sequence[Upload],
    common: Common,
    name: str,
    folder: Path,
    options: EncounterOptions,
    progress: Callable[[float], None],
) -> tuple[Problem, ...]:
    """Write a network folder, the encounters of raw measurements included, and check it as a whole.

    Nothing but ``folder``, which must not exist, is touched. An exception of ``progress`` ends the work.
    """
    folder.mkdir(parents=True)
    write_about(folder, name, common, uploads)
    for table in kinds.TABLES:
        _write_table(table, _of(uploads, lambda kind, table=table: kind == table), common, folder)  # type: ignore[misc]
    _write_labels(_of(uploads, kinds.is_labels), folder)
    problems: list[Problem] = []
    readings = _of(uploads, kinds.is_measurements)
    if readings:
        raw = _join(readings, folder)
        progress(_JOINING_SHARE)
        if needs_search(uploads):
            report = _from(_JOINING_SHARE, progress)
            problems += _search(readings, raw, folder, options, report)
    return in_our_words((*problems, *_named(check_folder(folder).problems, uploads)))


def write_about(folder: Path, name: str, common: Common, uploads: Sequence[Upload]) -> None:
    """``network.toml``: the name, and what is known of zone, quantity and unit."""
    about: dict[str, str] = {}
    for upload in uploads:
        about |= upload.found.about if upload.found else {}
    if any(kinds.has_pollutants(upload.kind) for upload in uploads):
        about |= {"quantity": QUANTITIES[common.pollutant], "unit": "µg/m³"}
    about["name"] = tidy(name)
    if common.zone:
        about["timezone"] = common.zone
    lines = "".join(f"{key} = {json.dumps(tidy(value), ensure_ascii=False)}\n" for key, value in about.items())
    write_atomically(folder / ABOUT_FILE, lambda file: file.write(lines.encode()))


def publish(folder: Path, networks: Path, name: str) -> Path:
    """Set a finished folder in its place below ``networks``; a number is added to a name that is taken."""
    try:
        networks.mkdir(parents=True, exist_ok=True)
        for number in range(1, 10_000):
            target = networks / (slug(name) + (f"-{number}" if number > 1 else ""))
            try:
                target.mkdir()  # claims the name: of two who ask at once, one gets the next number
            except FileExistsError:
                continue
            try:
                _settle(folder)
                return folder.replace(target)
            except OSError:
                target.rmdir()
                raise
    except OSError as reason:
        raise CalibdashError(
            f"The network cannot be saved: {reason.strerror}.", "Check the data directory."
        ) from reason
    raise CalibdashError(f"There are too many networks called {name}.", "Choose another name.")


def _settle(folder: Path) -> None:
    """Have the disk hold what the files hold: a name must not outlive its content when the power goes."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def slug(name: str) -> str:
    """A name as that of a folder: letters, digits and dashes."""
    plain = re.sub(r"[\W_]+", "-", unicodedata.normalize("NFKC", tidy(name)).lower()).strip("-")
    while len(plain.encode()) > LONGEST_NAME:
        plain = plain[:-1]
    return plain.strip("-") or "network"


def tidy(name: str) -> str:
    """A name on one line, without anything invisible in it, and not too long."""
    visible = "".join(" " if unicodedata.category(letter)[0] in "CZ" else letter for letter in name)
    return " ".join(visible.split())[:LONGEST_NAME].strip() or "New network"


def _is_colocations(kind: str) -> bool:
    return kind == "colocations"


def _of(uploads: Sequence[Upload], test: Callable[[str], bool]) -> list[Upload]:
    return [upload for upload in uploads if test(upload.kind)]


def _write_table(table: str, uploads: list[Upload], common: Common, folder: Path) -> None:
    """One file is kept as it came, to the byte; several become one table."""
    if len(uploads) == 1:
        ending = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz"}
        magic = kinds.magic(uploads[0].path)
        shutil.copyfile(uploads[0].path, folder / f"{table}{ending.get(magic, ending.get(magic[:2], '.csv'))}")
        return
    tables = [read_table(upload.path, kinds.TABLES[table], common.zone) for upload in uploads]
    if len({part.is_hours for part in tables}) > 1:
        raise _mixed(table)
    if tables:
        frame = pd.concat([part.frame for part in tables], ignore_index=True)
        write_table(frame, folder / f"{table}.csv")


def _write_labels(uploads: list[Upload], folder: Path) -> None:
    found = [upload.found for upload in uploads if upload.found is not None and upload.found.part is not None]
    if not found:
        return
    frames = [pd.read_parquet(part.part) for part in found if part.part is not None]
    for column in ("time", "order"):
        if len({frame[column].dtype.kind for frame in frames if column in frame}) > 1:
            raise _mixed("labels")
    write_table(pd.concat(frames, ignore_index=True).drop_duplicates(), folder / "labels.csv")
    people = [pd.read_parquet(part.labellers) for part in found if part.labellers is not None]
    if people and not [file for file in folder.iterdir() if file.name.startswith("labellers.")]:
        experts = pd.concat(people).groupby("labeller", sort=False)["reference"].any().reset_index()
        if experts["reference"].any():
            write_table(experts, folder / "labellers.csv")


def _join(readings: list[Upload], folder: Path) -> Path:
    parts = [upload.found.part for upload in readings if upload.found is not None and upload.found.part is not None]
    if len({in_hours(part) for part in parts}) > 1:
        raise _mixed("measurements")
    raw = folder / RAW / "measurements.parquet"
    raw.parent.mkdir()
    if len(parts) == 1:
        shutil.copyfile(parts[0], raw)
    else:
        join(parts, raw)
    return raw


def _search(
    readings: list[Upload], raw: Path, folder: Path, options: EncounterOptions, progress: Callable[[float], None]
) -> list[Problem]:
    """Colocations (and, unless there is one, a sensors table) from raw measurements."""
    listed = next((file for file in folder.iterdir() if file.name.startswith("sensors.")), None)
    if listed is None:
        places = {
            name: upload.position for upload in readings if upload.position is not None for name in _names(upload)
        }
        references = [name for upload in readings if upload.kind == "bam" for name in _names(upload)]
        listed = folder / "sensors.csv"
        write_table(sensors_of(raw, references, places), listed)
    table = check_sensors(read_table(listed, SENSORS))
    raise_errors((*table.problems, *_strangers(readings, table.frame["sensor"], table.file)))
    found = find_encounters(raw, complete_sensors(table.frame), options, progress=progress)
    # rows are those of all files together, which nobody has seen
    problems = [replace(problem, file="", places=()) for problem in found.problems]
    if found.colocations.empty:
        message = (
            f"No two sensors came within {options.distance_m:g} m and {options.within_hours * 60:g} minutes of each "
            f"other with readings from {options.low:g} to {options.high:g}."
        )
        remedy = "Check the positions (a sensors table gives those of static sensors), or search farther."
        raise DataError([error("no-encounter", message, remedy), *problems])
    write_table(found.colocations, folder / "colocations.csv")
    return problems


def _strangers(readings: list[Upload], known: pd.Series, file: str) -> list[Problem]:
    """An error for files with sensors that the sensors table does not list; said before the long search."""
    problems = []
    for upload in readings:
        unknown = [name for name in _names(upload) if name not in set(known)]
        if unknown:
            listed = ", ".join(f"`{shorten(name)}`" for name in unknown[:6]) + (" …" if len(unknown) > 6 else "")
            message = f"The sensors table does not list {listed}."
            remedy = did_you_mean(unknown[0], known) or f"Add rows for them to {file}, and drop that again."
            problems.append(error("unknown-id", message, remedy, file=upload.name, column="sensor", count=len(unknown)))
    return problems


def _names(upload: Upload) -> list[str]:
    part = upload.found.part if upload.found else None
    return (
        []
        if part is None
        else sorted(set(pa_parquet.read_table(part, columns=["sensor"])["sensor"].unique().to_pylist()))
    )


def _from(start: float, progress: Callable[[float], None]) -> Callable[[float], None]:
    return lambda done: progress(start + (1 - start) * done)


def _mixed(table: str) -> DataError:
    message = f"Some files of {table} have times in hours, others as stamps."
    return DataError([error("mixed", message, "Drop them apart, as two networks.")])


def _named(problems: Sequence[Problem], uploads: Sequence[Upload]) -> tuple[Problem, ...]:
    """Problems of the folder under the names that the files were dropped with."""
    names = {}
    for kind in (*kinds.TABLES, "labels"):
        test = kinds.is_labels if kind == "labels" else lambda found, kind=kind: found == kind  # type: ignore[misc]
        of_kind = _of(uploads, test)
        if len(of_kind) == 1:
            names[kind] = of_kind[0].name
    return tuple(replace(problem, file=names.get(kinds.stem(problem.file), problem.file)) for problem in problems)
