"""Encounters: when two sensors were near each other, found in raw measurements and averaged into colocations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from calibdash.data.database import scratch_database
from calibdash.data.encounters_sql import (
    COVARIATES,
    Search,
    find_meetings,
    left_out,
    place_readings,
    read_means,
    sum_encounters,
)
from calibdash.data.measurements_sql import MICROSECONDS_PER_HOUR, load_measurements
from calibdash.data.problems import Place, Problem, raise_errors, shorten, warning
from calibdash.errors import CalibdashError

SHORTEST_DISTANCE_M = 0.1
LONGEST_DISTANCE_M = 100_000.0  # up to here chord and geodesic agree to 1e-6
LONGEST_HOURS = 8766.0
LARGEST_VALUE = 1e9
_READING_SHARE = 0.6  # of the time, for the progress bar


@dataclass(frozen=True)
class EncounterOptions:
    """What counts as an encounter, and over how long encounters are averaged; the defaults are the paper's.

    Two measurements of different sensors meet if they are at most ``distance_m`` metres and ``within_hours``
    apart, and both values lie in [``low``, ``high``]. Every bound is inclusive.
    """

    distance_m: float = 40.0
    within_hours: float = 0.5
    average_hours: float = 1 / 6
    low: float = 10.0
    high: float = 300.0

    def __post_init__(self) -> None:
        if not SHORTEST_DISTANCE_M <= self.distance_m <= LONGEST_DISTANCE_M:
            raise CalibdashError(
                f"A distance of {self.distance_m:g} m cannot be searched.",
                "Give 0.1 to 100000 metres: positions are never better known than that.",
            )
        if not 0 <= self.within_hours <= LONGEST_HOURS:
            raise CalibdashError(
                f"Measurements within {self.within_hours:g} h cannot be searched.", "Give 0 to 365 days, such as 30min."
            )
        if not 1 / MICROSECONDS_PER_HOUR <= self.average_hours <= LONGEST_HOURS:
            raise CalibdashError(
                f"Means over {self.average_hours:g} h cannot be taken.", "Give more than 0 and at most 365 days."
            )
        if not (-LARGEST_VALUE <= self.low < self.high <= LARGEST_VALUE):
            raise CalibdashError(
                f"{self.low:g} to {self.high:g} is not a range of values.",
                "Give the smaller first, and none beyond ±1e9.",
            )

    @property
    def search(self) -> Search:
        """The same in metres and whole microseconds."""
        return Search(
            distance_m=self.distance_m,
            within=round(self.within_hours * MICROSECONDS_PER_HOUR),
            average=round(self.average_hours * MICROSECONDS_PER_HOUR),
            low=self.low,
            high=self.high,
        )


@dataclass(frozen=True)
class Encounters:
    """Colocations as the table of that name has them, and what was left out of the measurements."""

    colocations: pd.DataFrame
    problems: tuple[Problem, ...]


def find_encounters(
    measurements: Path,
    sensors: pd.DataFrame | None,
    options: EncounterOptions,
    *,
    zone: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Encounters:
    """Every pair of measurements of two sensors that are near in space and time, averaged by pair and period.

    An encounter's time is the midpoint of its two stamps, its period ``floor(midpoint / average)`` counted from
    1970-01-01 UTC (or from hour 0), and a colocation's ``time`` is the start of the period. ``sensor_a`` comes
    before ``sensor_b`` by code points; rows are sorted by time, sensor_a, sensor_b. Means of ``humidity`` and
    ``temperature`` by side are given if the file has them, without missing ones.

    sensors: ``sensor, latitude, longitude`` and optional ``kind``. A sensor that has a position there and is not
    mobile stands there, whatever its rows say; all others need a position in each row.
    progress: called with the share done, from 0 to 1; an exception it raises ends the search.

    The file is read once, in pieces; what does not fit in memory waits in a temporary folder.
    """
    report = progress or (lambda _: None)
    search = options.search
    with scratch_database() as connection:
        report(0.0)
        loaded = load_measurements(connection, measurements, zone, lambda done: report(_READING_SHARE * done))
        raise_errors(loaded.problems)
        place_readings(connection, search, _fixed_positions(sensors))
        problems = loaded.problems + _left_out(connection, measurements.name, options)
        origin = find_meetings(connection, search)
        sum_encounters(connection, search, lambda done: report(_READING_SHARE + (1 - _READING_SHARE) * done))
        covariates = tuple(name for name in COVARIATES if name in loaded.columns)
        means = read_means(connection, search, origin, covariates)
    return Encounters(_with_times(means, is_hours=loaded.is_hours), problems)


def _fixed_positions(sensors: pd.DataFrame | None) -> pd.DataFrame:
    """``name, latitude, longitude`` of sensors that do not move and whose position is known."""
    names = ["sensor", "latitude", "longitude"]
    empty = {"name": "str", "latitude": "float64", "longitude": "float64"}
    if sensors is None or not set(names) <= set(sensors.columns):
        return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in empty.items()})
    fixed = sensors[names].rename(columns={"sensor": "name"}).astype(empty)
    known = np.isfinite(fixed["latitude"]) & np.isfinite(fixed["longitude"])
    if "kind" in sensors:
        known &= (sensors["kind"] != "mobile").to_numpy()
    return fixed[known].drop_duplicates("name").reset_index(drop=True)


def _left_out(connection: duckdb.DuckDBPyConnection, file: str, options: EncounterOptions) -> tuple[Problem, ...]:
    """A warning for each reason why rows of ``placed`` were left out, with their number and the first of them."""
    problems = []
    for reason, count, rows, values in left_out(connection):
        code, column, message, remedy = _reason(reason, options)
        places = tuple(Place(row, shorten(value)) for row, value in zip(rows, values, strict=True))
        problems.append(warning(code, message, remedy, file=file, column=column, count=count, places=places))
    return tuple(problems)


def _reason(reason: str, options: EncounterOptions) -> tuple[str, str, str, str]:
    """Code, column, message and remedy."""
    if reason == "finite":
        remedy = "Leave the cell empty where there is no reading."
        return "not-finite", "value", "`value` is infinite; the row was left out.", remedy
    if reason == "range":
        message = f"Values outside {options.low:g} to {options.high:g} were left out."
        return "value-range", "value", message, "Nothing to do if these are faults; else widen the range."
    if reason == "position":
        message = "Rows without a position were left out."
        return "position-missing", "latitude", message, "Give static sensors a position in sensors.csv."
    if reason == "fix":
        message = "Rows at latitude 0, longitude 0 were left out: a receiver without a fix reports that."
        return "position-zero", "latitude", message, "Leave the position empty where there is none."
    message = f"Rows without `{reason}` were left out."
    return "missing-value", reason, message, "Fill the cell in if the value is known."


def _with_times(means: pd.DataFrame, *, is_hours: bool) -> pd.DataFrame:
    micros = means["time"].to_numpy(np.int64)
    if is_hours:
        return means.assign(time=micros / MICROSECONDS_PER_HOUR)
    return means.assign(time=pd.DatetimeIndex(micros.view("datetime64[us]")).tz_localize("UTC"))
