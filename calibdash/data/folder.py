"""A network folder: find its tables, check them together, and load them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from calibdash.data import colocations as rules
from calibdash.data import labels as label_rules
from calibdash.data import parse
from calibdash.data.files import SUFFIXES
from calibdash.data.labels import LabelSet
from calibdash.data.measurements import check_measurements
from calibdash.data.network import Clock, Network, meetings, without_path
from calibdash.data.problems import DataError, Problem, did_you_mean, error, has_errors, raise_errors, shorten, warning
from calibdash.data.schema import COLOCATIONS, LABELLERS, LABELS, SCHEMAS, SENSORS, Schema
from calibdash.data.tables import Table, read_table
from calibdash.errors import CalibdashError

ABOUT_FILE = "network.toml"
ABOUT_KEYS = ("name", "timezone", "quantity", "unit", "fault_rate")


@dataclass(frozen=True)
class Folder:
    """Where a network's tables are, and what its ``network.toml`` says."""

    path: Path
    tables: dict[str, Path]
    about: dict[str, str]
    problems: tuple[Problem, ...]

    @property
    def name(self) -> str:
        """The network's name for people."""
        return self.about.get("name") or self.path.resolve().name


@dataclass(frozen=True)
class Checked:
    """All that was found in a folder; a network or labels with errors are None."""

    folder: Folder
    network: Network | None
    labels: LabelSet | None
    problems: tuple[Problem, ...]


def open_folder(path: Path) -> Folder:
    """Find the tables of a folder; nothing is read but ``network.toml``."""
    if not path.is_dir():
        hint = "Give the folder the table is in." if path.exists() else "Check the name."
        raise CalibdashError(f"{path} is not a folder.", hint)
    try:
        files = sorted(entry for entry in path.iterdir() if entry.is_file() and not entry.name.startswith("."))
    except OSError as reason:
        raise CalibdashError(f"Cannot read the folder {path}: {reason.strerror}.", "Check its rights.") from reason
    tables: dict[str, Path] = {}
    problems: list[Problem] = []
    for file in files:
        name = file.name.lower()
        stem = next(
            (name.removesuffix(suffix) for suffix in sorted(SUFFIXES, key=len)[::-1] if name.endswith(suffix)), ""
        )
        if stem in tables:
            message = f"{tables[stem].name} and {file.name} are the same table twice."
            problems.append(error("table-twice", message, "Keep one of them.", file=file.name))
        elif stem in SCHEMAS:
            tables[stem] = file
    if not tables.keys() & {"colocations", "labels"}:
        problems.append(_no_table(files))
    about, about_problems = _read_about(path / ABOUT_FILE)
    return Folder(path, tables, about, (*problems, *about_problems))


def check_folder(path: Path, zone: str | None = None, references: Sequence[str] | None = None) -> Checked:
    """Read and check everything in the folder; problems are collected, not raised."""
    folder = open_folder(path)
    zone = _zone(folder, zone)
    problems = list(folder.problems)
    network = labels = None
    if "colocations" in folder.tables:
        found_network, found = _check_network(folder, zone, references)
        network = None if has_errors(found) else found_network
        problems.extend(found)
    if "labels" in folder.tables:
        found_labels, found = _check_labels(folder, zone)
        labels = None if has_errors(found) else found_labels
        problems.extend(found)
    if "measurements" in folder.tables:
        sensors = None if network is None else network.sensors
        problems.extend(check_measurements(folder.tables["measurements"], sensors, zone)[1])
    return Checked(folder, network, labels, tuple(problems))


def load_network(path: Path | str, zone: str | None = None, references: Sequence[str] | None = None) -> Network:
    """The network in a folder, or :class:`DataError` with all that is wrong.

    ``zone`` is for times without an offset; ``references`` replace the flags of the sensors table.
    """
    folder = open_folder(Path(path))
    network, problems = _check_network(folder, _zone(folder, zone), references)
    raise_errors((*folder.problems, *problems))
    if network is None:
        raise DataError(problems)
    return network


def load_labels(path: Path | str, zone: str | None = None) -> LabelSet:
    """The labels in a folder, or :class:`DataError` with all that is wrong."""
    folder = open_folder(Path(path))
    labels, problems = _check_labels(folder, _zone(folder, zone))
    raise_errors((*folder.problems, *problems))
    if labels is None:
        raise DataError(problems)
    return labels


def _zone(folder: Folder, zone: str | None) -> str | None:
    zone = zone or folder.about.get("timezone") or None
    if zone:
        parse.check_zone(zone)
    return zone


def _check_network(
    folder: Folder, zone: str | None, references: Sequence[str] | None
) -> tuple[Network | None, list[Problem]]:
    table, problems = _read(folder, COLOCATIONS, zone, lambda table: rules.check_colocations(rules.check_times(table)))
    listed, listed_problems = _read(folder, SENSORS, zone, rules.check_sensors)
    if "sensors" in folder.tables:
        problems += listed_problems
    if table is None:
        return None, problems
    frame = table.frame
    used = pd.unique(pd.concat([frame["sensor_a"], frame["sensor_b"]], ignore_index=True))
    if listed is not None:
        sensors, file = rules.complete_sensors(listed.frame), listed.file
        problems += rules.unknown_ids(table, ("sensor_a", "sensor_b"), sensors["sensor"], file)
        problems += rules.two_spellings([*used, *sensors["sensor"]], file, "sensor")
        known = frame["sensor_a"].isin(sensors["sensor"]) & frame["sensor_b"].isin(sensors["sensor"])
        frame = frame[known]
    else:
        names = sorted(used)
        graph = meetings(frame, pd.DataFrame({"sensor": names}))
        sensors, file = rules.complete_sensors(rules.infer_sensors(names, graph)), "sensors.csv"
        if "sensors" not in folder.tables:
            problems.append(rules.assumed_sensors(sensors))
        problems += rules.two_spellings(used, table.file, "sensor_a")
    frame = frame.sort_values("time", kind="stable").reset_index(drop=True)
    network = Network(folder.name, frame, sensors, _clock(frame, table))
    if references is not None:
        problems += _unknown_references(references, sensors)
        network = network.with_references(tuple(references))
    graph = meetings(network.colocations, network.sensors)
    problems += rules.lonely(without_path(graph, network.references), network.references, graph, file)
    return replace(network, problems=(*folder.problems, *problems)), problems


def _check_labels(folder: Folder, zone: str | None) -> tuple[LabelSet | None, list[Problem]]:
    table, problems = _read(folder, LABELS, zone, label_rules.check_labels)
    listed, listed_problems = _read(folder, LABELLERS, zone, lambda table: table)
    if table is None:
        return None, problems + listed_problems * ("labellers" in folder.tables)
    if listed is not None:
        labellers = listed.frame[["labeller", "reference"]].astype({"reference": bool})
        problems += listed_problems
        problems += rules.unknown_ids(table, ("labeller",), labellers["labeller"], listed.file)
    else:
        labellers, assumed = label_rules.assumed_labellers(table.frame)
        problems.append(assumed)
    problems += rules.two_spellings(table.frame["labeller"], table.file, "labeller")
    problems += rules.two_spellings(table.frame["label"], table.file, "label")
    return LabelSet(folder.name, table.frame, labellers, (*folder.problems, *problems)), problems


def _read(
    folder: Folder, schema: Schema, zone: str | None, check: Callable[[Table], Table]
) -> tuple[Table | None, list[Problem]]:
    path = folder.tables.get(schema.name)
    if path is None:
        message = f"{folder.path} has no table `{schema.name}`."
        return None, [error("table-missing", message, f"Add {schema.name}.csv.", file=f"{schema.name}.csv")]
    try:
        table = read_table(path, schema, zone)
    except DataError as reason:
        return None, list(reason.problems)
    if any(problem.code == "column-missing" for problem in table.problems):
        return None, list(table.problems)
    table = check(table)
    problems = list(table.problems)
    if table.frame.empty:
        message = "No usable row is left."
        problems.append(error("no-rows", message, "Mend the problems above, or add rows.", file=path.name))
        return None, problems
    return table, problems


def _clock(frame: pd.DataFrame, table: Table) -> Clock:
    if table.is_hours or frame.empty:
        return Clock()
    return Clock(frame["time"].iloc[0].floor("D"))


def _unknown_references(references: Sequence[str], sensors: pd.DataFrame) -> list[Problem]:
    return [
        error(
            "unknown-id",
            f"There is no sensor `{shorten(name)}` to mark as a reference.",
            did_you_mean(name, sensors["sensor"]) or "Give an id of the sensors table.",
            column="sensor",
        )
        for name in references
        if name not in set(sensors["sensor"])
    ]


def _no_table(files: list[Path]) -> Problem:
    names = [file.name for file in files]
    close = next(filter(None, (did_you_mean(name, ("colocations.csv", "labels.csv")) for name in names)), "")
    there = ", ".join(f"`{shorten(name)}`" for name in names[:8]) or "nothing"
    return error(
        "table-missing",
        f"The folder has neither a `colocations` nor a `labels` table; it holds {there}.",
        close
        or "Add colocations.csv (time, sensor_a, sensor_b, value_a, value_b), or labels.csv (item, labeller, label). "
        "`calibdash encounters` makes colocations from measurements.",
    )


def _read_about(path: Path) -> tuple[dict[str, str], list[Problem]]:
    if not path.is_file():
        return {}, []
    try:
        about = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as reason:
        message = f"The file cannot be read: {shorten(reason)}."
        return {}, [error("about-file", message, 'Write lines such as timezone = "UTC".', file=ABOUT_FILE)]
    problems = [
        warning("about-key", f"`{shorten(key)}` is not used.", did_you_mean(key, ABOUT_KEYS), file=ABOUT_FILE)
        for key in about
        if key not in ABOUT_KEYS
    ]
    return {key: str(about[key]) for key in ABOUT_KEYS if key in about}, problems
