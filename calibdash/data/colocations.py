"""What must hold for colocations and sensors, beyond each cell on its own."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd

from calibdash.data.problems import Problem, did_you_mean, error, note, shorten, warning
from calibdash.data.schema import SENSORS, Kind
from calibdash.data.tables import Table, spread_note

EARLIEST = pd.Timestamp("1995-01-01", tz="UTC")
FARTHEST_HOURS = 1e6
PARTNERS_OF_A_MOBILE = 3


def check_times(table: Table) -> Table:
    """Leave out rows whose clock was wrong; say when rows are not in order."""
    times = table.frame["time"]
    if table.is_hours:
        absurd = (times.abs() > FARTHEST_HOURS).to_numpy()
        remedy = "Numbers are hours. If these are Unix seconds or milliseconds, convert them to ISO 8601."
    else:
        latest = pd.Timestamp.now(tz="UTC") + pd.Timedelta(days=1)
        absurd = ((times < EARLIEST) | (times > latest)).to_numpy()
        remedy = "Correct the stamp: the device's clock was probably not set."
    if absurd.any():
        message = "Rows with an absurd time (before 1995, or in the future) were left out."
        table = table.drop(absurd, warning("time-absurd", message, remedy, **table.places(absurd, "time")))
    if not table.frame["time"].is_monotonic_increasing:
        table = table.adding(spread_note(table))
    return table


def check_colocations(table: Table) -> Table:
    """Leave out rows of a sensor with itself and repeated rows; count readings that have no logarithm."""
    frame = table.frame
    itself = (frame["sensor_a"] == frame["sensor_b"]).to_numpy()
    if itself.any():
        table = table.drop(
            itself,
            warning(
                "self-colocation",
                "Rows of a sensor colocated with itself were left out.",
                "Write the id of the other sensor into `sensor_b`.",
                **table.places(itself, "sensor_b"),
            ),
        )
    repeated = _repeated(table.frame)
    if repeated.any():
        table = table.drop(
            repeated,
            warning(
                "duplicate-row",
                "Repeated rows (same time, sensors and readings, in either order) were counted once.",
                "Delete the copies, if they are copies.",
                **table.places(repeated, "time"),
            ),
        )
    for column in ("value_a", "value_b"):
        low = (table.frame[column] <= 0).to_numpy()
        if low.any():
            message = f"`{column}` is zero or negative; these rows are left out wherever logarithms are needed."
            problem = warning(
                "not-positive", message, "Correct the reading if it is a fault.", **table.places(low, column)
            )
            table = table.adding(problem)
    return table


def _repeated(frame: pd.DataFrame) -> np.ndarray:
    swap = (frame["sensor_a"] > frame["sensor_b"]).to_numpy()
    ordered = pd.DataFrame({"time": frame["time"]})
    for name in ("sensor", "value"):
        a, b = frame[f"{name}_a"], frame[f"{name}_b"]
        ordered[f"{name}_a"] = b.where(swap, a)
        ordered[f"{name}_b"] = a.where(swap, b)
    return ordered.duplicated().to_numpy()


def check_sensors(table: Table) -> Table:
    """One row a sensor; a position has both its coordinates."""
    ids = table.frame["sensor"]
    again = ids.duplicated().to_numpy()
    if again.any():
        message = "A sensor stands in the table more than once; only its first row would count."
        problem = error("sensor-twice", message, "Keep one row a sensor.", **table.places(again, "sensor"))
        table = table.drop(again, problem)
    for prefix in ("", "base_"):
        names = (f"{prefix}latitude", f"{prefix}longitude")
        cells = [table.frame[name] if name in table.frame else pd.Series(np.nan, table.frame.index) for name in names]
        half = (cells[0].isna() ^ cells[1].isna()).to_numpy()
        if half.any():
            problem = warning(
                "half-position",
                f"A position needs both `{names[0]}` and `{names[1]}`; these sensors count as having none.",
                "Fill in the other coordinate.",
                **table.places(half, "sensor"),
            )
            frame = table.frame.assign(**{name: cell.mask(half) for name, cell in zip(names, cells, strict=True)})
            table = replace(table, frame=frame).adding(problem)
    return table


def complete_sensors(frame: pd.DataFrame) -> pd.DataFrame:
    """All columns of the sensors table in their order; what is unknown is NaN or empty."""
    full = {}
    for column in SENSORS.columns:
        if column.name in frame:
            full[column.name] = frame[column.name]
        else:
            full[column.name] = pd.Series(np.nan if column.kind is Kind.NUMBER else "", index=frame.index)
    full["reference"] = full["reference"].astype(bool)
    return pd.DataFrame(full).reset_index(drop=True)


def infer_sensors(ids: Iterable[str], graph: nx.Graph) -> pd.DataFrame:
    """Sensors from their colocations: who met many others is mobile; none is a reference."""
    rest = graph.copy()
    mobile = set()
    while rest and (most := max(rest, key=lambda sensor: (rest.degree(sensor), sensor))):
        if rest.degree(most) < PARTNERS_OF_A_MOBILE:
            break
        mobile.add(most)
        rest.remove_node(most)
    names = list(ids)
    kinds = ["mobile" if sensor in mobile else "static" for sensor in names]
    return pd.DataFrame({"sensor": names, "kind": kinds, "reference": False})


def unknown_ids(table: Table, columns: Iterable[str], known: pd.Series, in_file: str) -> list[Problem]:
    """An error for each column with ids that the other table does not list."""
    problems = []
    for column in columns:
        bad = ~table.frame[column].isin(known).to_numpy()
        if bad.any():
            first = str(table.frame[column][bad].iloc[0])
            remedy = did_you_mean(first, known) or f"Add a row for `{shorten(first)}` to {in_file}."
            message = f"`{column}` names {table.frame[column][bad].nunique()} that {in_file} does not list."
            problems.append(error("unknown-id", message, remedy, **table.places(bad, column)))
    return problems


def two_spellings(ids: Iterable[str], file: str, column: str) -> list[Problem]:
    """A warning for ids that differ only in case, blanks, dashes or leading zeros."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in sorted(set(ids)):
        alike[_plain(name)].append(name)
    groups = [names for names in alike.values() if len(names) > 1]
    return [
        warning(
            "two-spellings",
            f"{' and '.join(f'`{shorten(name)}`' for name in names[:4])} look like one id, but count as "
            f"{len(names)} different ones.",
            "Use one spelling everywhere, if they are the same.",
            file=file,
            column=column,
            count=len(names),
        )
        for names in groups[:20]
    ]


def _plain(name: str) -> str:
    text = re.sub(r"[\s_.\-]+", "-", unicodedata.normalize("NFKC", name).casefold())
    return re.sub(r"(?<!\d)0+(?=\d)", "", text)


def lonely(sensors: tuple[str, ...], references: tuple[str, ...], graph: nx.Graph, file: str) -> list[Problem]:
    """What cannot be tied to a reference, and who never met anybody."""
    problems = []
    if not references:
        problems.append(
            warning(
                "no-reference",
                "No sensor is marked as a reference: only relative calibrations can be known.",
                "Set `reference` to true for the reference instruments in the sensors table (or give --reference ID).",
                file=file,
            )
        )
    elif sensors:
        alone = [sensor for sensor in sensors if graph.degree(sensor) == 0]
        listed = ", ".join(f"`{shorten(name)}`" for name in sensors[:10]) + (" …" if len(sensors) > 10 else "")
        problems.append(
            warning(
                "no-path",
                f"No chain of colocations ties these sensors to a reference: {listed}"
                + (f" ({len(alone)} of them met nobody)." if alone else "."),
                "Send a mobile sensor that also meets a reference to them.",
                file=file,
                column="sensor",
                count=len(sensors),
            )
        )
    return problems


def assumed_sensors(sensors: pd.DataFrame) -> Problem:
    """What was assumed when there is no sensors table."""
    mobile = list(sensors.loc[sensors["kind"] == "mobile", "sensor"])
    listed = ", ".join(f"`{shorten(name)}`" for name in mobile[:8]) + (" …" if len(mobile) > 8 else "")
    return note(
        "sensors-assumed",
        f"There is no sensors table: {len(sensors)} sensors were taken from the colocations; "
        + (f"mobile, because they met many others: {listed}; the rest static." if mobile else "all taken as static."),
        "Add sensors.csv with the columns sensor, kind, reference.",
        file="sensors.csv",
    )
