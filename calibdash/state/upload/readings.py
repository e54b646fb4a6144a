"""Raw readings of any number of files as one Parquet table, never all in memory."""

# ruff: noqa: S608 - queries are made of this module's own names; files come in as Arrow datasets
from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pa_parquet

from calibdash.data.database import scratch_database
from calibdash.data.files import write_atomically
from calibdash.data.measurements_sql import MICROSECONDS_PER_HOUR, load_measurements
from calibdash.data.problems import DataError, Place, Problem, error, has_errors, warning
from calibdash.data.schema import MEASUREMENTS

COLUMNS = MEASUREMENTS.names
STANDS_WITHIN_M = 150.0  # receivers err by tens of metres; who stays in here does not move
_METRES_PER_DEGREE = 111_195.0
_COMPLETE = "moment IS NOT NULL AND name <> '' AND value IS NOT NULL"


def store_own(path: Path, zone: str | None, part: Path, progress: Callable[[float], None]) -> tuple[int, list[Problem]]:
    """A measurements table of ours as Parquet in ``part``; the number of rows and what is wrong with them."""
    with scratch_database() as connection:
        try:
            loaded = load_measurements(connection, path, zone, lambda done: progress(0.8 * done))
        except DataError as reason:
            return 0, list(reason.problems)
        problems = list(loaded.problems)
        rows = _scalar(connection, "SELECT count(*) FROM cells")
        if has_errors(problems):
            return rows, problems
        time = f"moment / {float(MICROSECONDS_PER_HOUR)}" if loaded.is_hours else "make_timestamptz(moment)"
        connection.execute(
            f"""
            CREATE VIEW readings AS
            SELECT row, name, coalesce(cells.time, moments.time) AS moment, {", ".join(COLUMNS[2:])}
            FROM cells JOIN names USING (sensor) LEFT JOIN moments USING (row)
            """
        )
        problems += _incomplete(connection, path.name)
        complete = f"SELECT {time} AS time, name AS sensor, {', '.join(COLUMNS[2:])} FROM readings WHERE {_COMPLETE}"
        kept = _write(connection, complete, part)
    if not kept:
        problems.append(error("no-rows", "No usable row is left.", "Give a table with rows.", file=path.name))
    return rows, problems


def store_frame(frame: pd.DataFrame, part: Path) -> None:
    """A measurements table that a reader made, as Parquet with every column."""
    full = frame.reindex(columns=list(COLUMNS)).astype(dict.fromkeys(COLUMNS[2:], "float64"))
    schema = _schema(is_hours=pd.api.types.is_float_dtype(full["time"]))
    table = pa.Table.from_pandas(full, schema, preserve_index=False)
    write_atomically(part, lambda file: pa_parquet.write_table(table, file))


def in_hours(part: Path) -> bool:
    """Whether times are hours rather than stamps."""
    return pa.types.is_floating(pa_parquet.read_schema(part).field("time").type)


def has_positions(part: Path) -> bool:
    """Whether any row says where it was measured."""
    return any(
        batch.column(0).null_count < batch.num_rows
        for batch in pa_parquet.ParquetFile(part).iter_batches(columns=["latitude"])
    )


def join(parts: Sequence[Path], target: Path) -> int:
    """All parts as one table in the order of time, without rows that repeat another one; the number of rows."""
    with scratch_database() as connection:
        connection.register("parts", pa_dataset.dataset([str(part) for part in parts]))
        counts = ", ".join(f"count({name})" for name in COLUMNS)
        have = connection.execute(f"SELECT {counts} FROM parts").fetchall()[0]
        names = ", ".join(name for name, count in zip(COLUMNS, have, strict=True) if count)
        return _write(connection, f"SELECT DISTINCT {names} FROM parts ORDER BY time, sensor, value", target)


def sensors_of(measurements: Path, references: Sequence[str], places: dict[str, tuple[float, float]]) -> pd.DataFrame:
    """A sensors table from readings: who stays within 150 m of one place stands there, all others are mobile.

    places: latitude and longitude of sensors that the user has stated.
    """
    has_position = {"latitude", "longitude"} <= set(pa_parquet.read_schema(measurements).names)
    shares = "[0.005, 0.5, 0.995]"  # a bicycle stands most of its time; a wrong fix is rare
    spread = f"quantile_cont(latitude, {shares}) AS lat, quantile_cont(longitude, {shares}) AS lon"
    chosen = spread if has_position else "NULL AS lat, NULL AS lon"
    with scratch_database() as connection:
        connection.register("readings", pa_dataset.dataset(str(measurements)))
        query = f"SELECT sensor, {chosen} FROM readings GROUP BY sensor ORDER BY sensor"
        found = connection.execute(query).fetchall()
    rows = []
    for sensor, lat, lon in found:
        latitude, longitude, moves = _stands(lat, lon)
        if sensor in places:
            (latitude, longitude), moves = places[sensor], False
        kind = "mobile" if moves else "static"
        rows.append((sensor, kind, "true" if sensor in references else "false", latitude, longitude))
    return pd.DataFrame(rows, columns=["sensor", "kind", "reference", "latitude", "longitude"])


def _stands(lat: list[float] | None, lon: list[float] | None) -> tuple[float, float, bool]:
    """Latitude and longitude of a sensor and whether it moves; NaN where it does or nothing is known."""
    if lat is None or lon is None:
        return np.nan, np.nan, False
    north = (lat[2] - lat[0]) * _METRES_PER_DEGREE
    east = (lon[2] - lon[0]) * _METRES_PER_DEGREE * np.cos(np.radians(lat[1]))
    if np.hypot(north, east) > STANDS_WITHIN_M:
        return np.nan, np.nan, True
    return round(lat[1], 6), round(lon[1], 6), False


def _incomplete(connection: duckdb.DuckDBPyConnection, file: str) -> list[Problem]:
    count = _scalar(connection, f"SELECT count(*) FROM readings WHERE NOT ({_COMPLETE})")
    if not count:
        return []
    first = connection.execute(f"SELECT row FROM readings WHERE NOT ({_COMPLETE}) ORDER BY row LIMIT 20").fetchall()
    message = "Rows that lack a time, a sensor or a value were left out."
    places = tuple(Place(row, "") for (row,) in first)
    return [warning("missing", message, "Nothing to do if they are gaps.", file=file, count=count, places=places)]


def _write(connection: duckdb.DuckDBPyConnection, query: str, target: Path) -> int:
    """Write a query's rows as Parquet; how many there were."""
    quoted = str(target).replace("'", "''")
    return _scalar(connection, f"COPY ({query}) TO '{quoted}' (FORMAT parquet)")


def _schema(*, is_hours: bool) -> pa.Schema:
    time = pa.float64() if is_hours else pa.timestamp("us", "UTC")
    numbers = [pa.field(name, pa.float64()) for name in COLUMNS[2:]]
    return pa.schema([pa.field("time", time), pa.field("sensor", pa.large_string()), *numbers])


def _scalar(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    return int(connection.execute(query).fetchall()[0][0])
