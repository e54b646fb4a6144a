"""What a dropped file is: told from its columns, or else from its name."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from calibdash.data.files import SUFFIXES
from calibdash.data.folder import ABOUT_FILE
from calibdash.data.readers import SOURCES
from calibdash.data.readers.importing import first_lines
from calibdash.data.readers.registry import match
from calibdash.data.schema import COLOCATIONS, LABELLERS, SENSORS

ARCHIVE, ABOUT, UNKNOWN, LEAVE_OUT = "archive", "about", "unknown", "leave-out"
OWN = "calibdash"  # a measurements table of ours: the one kind that is read as a stream
ONE_SENSOR = ("bam", "thingspeak")  # kinds whose files hold one sensor without naming it
TABLES = MappingProxyType({schema.name: schema for schema in (COLOCATIONS, SENSORS, LABELLERS)})
TITLES = MappingProxyType(
    {"colocations": "Colocations", "sensors": "Sensors table", "labellers": "Labellers table", OWN: "Measurements"}
    | {name: source.title[:1].upper() + source.title[1:] for name, source in SOURCES.items() if name != OWN}
    | {ARCHIVE: "Zip archive", ABOUT: "About the network", UNKNOWN: "Not recognised", LEAVE_OUT: "Leave it out"}
)
CHOICES = tuple(name for name in TITLES if name not in (ARCHIVE, ABOUT, UNKNOWN))
_BY_NAME = {**{name: name for name in TABLES}, "measurements": OWN, "labels": "labels-long"}
_TELLING = {"colocations": {"sensor_a", "sensor_b"}, "sensors": {"sensor", "kind"}}


def is_measurements(kind: str) -> bool:
    """Whether files of this kind hold raw readings."""
    return kind in SOURCES and SOURCES[kind].table == "measurements"


def is_labels(kind: str) -> bool:
    """Whether files of this kind hold labels."""
    return kind in SOURCES and SOURCES[kind].table == "labels"


def has_pollutants(kind: str) -> bool:
    """Whether files of this kind may hold more than one pollutant."""
    return is_measurements(kind) and kind not in (OWN, "bam")


def recognise(path: Path) -> str:
    """The kind of a file; ``unknown`` where nothing fits."""
    if path.name.lower() == ABOUT_FILE:
        return ABOUT
    if magic(path) in (b"PK\x03\x04", b"PK\x05\x06"):
        return ARCHIVE
    lines = header_lines(path)
    if not lines:
        return _named(path.name)
    names = {name.strip().lower().replace(" ", "_") for name in lines[0]}
    for schema in TABLES.values():
        if {column.name for column in schema.columns if column.required} <= names:
            return schema.name
    below = (source for line in lines[1:] if (source := match(line)) is not None and source.below)
    source = match(lines[0]) or next(below, None)
    if source is not None:
        return source.name
    found = next((kind for kind, telling in _TELLING.items() if telling <= names), UNKNOWN)
    return found if found != UNKNOWN else _named(path.name)


def header_lines(path: Path) -> list[list[str]]:
    """The first lines that are not empty, split into cells; of Parquet the names of its columns."""
    if magic(path) == b"PAR1":
        try:
            return [pa_parquet.read_schema(path).names]
        except (pa.ArrowException, OSError, ValueError):
            return []
    return [line for line in first_lines(path) if any(cell.strip() for cell in line)]


def magic(path: Path) -> bytes:
    """The first four bytes."""
    try:
        with path.open("rb") as file:
            return file.read(4)
    except OSError:
        return b""


def stem(name: str) -> str:
    """A file's name without what says its format."""
    lower = name.lower()
    endings = [ending for ending in (*SUFFIXES, ".zip") if lower.endswith(ending)]
    return name[: len(name) - max(map(len, endings), default=0)]


def _named(name: str) -> str:
    return _BY_NAME.get(stem(name).lower(), UNKNOWN)
