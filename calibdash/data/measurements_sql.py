"""Measurements in DuckDB: text cells become numbers and UTC microseconds, and what cannot is reported by row."""

# ruff: noqa: S608 - queries are made of this module's own names; whatever comes from a file is a parameter or a table
from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from calibdash.data import parse
from calibdash.data.measurements_stream import COLUMNS, Batch, open_measurements
from calibdash.data.problems import PLACES_KEPT, VALUE_LENGTH, Place, Problem, error, shorten
from calibdash.data.schema import MEASUREMENTS

MICROSECONDS_PER_HOUR = 3_600_000_000
HOURS_LIMIT = 1e8  # 11,000 years: sums of two times still fit in 64 bits
NUMBERS = COLUMNS[2:]
CELL_LENGTH = 4 * VALUE_LENGTH  # of what is kept to be shown

_BATCHES_PER_INSERT = 8  # enough for every thread to have one
_ROWS_PER_FETCH = 500_000
_CREATE = f"""
    CREATE TABLE names (sensor INTEGER, name VARCHAR);
    CREATE TABLE cells (row BIGINT, sensor INTEGER, time BIGINT, {", ".join(f"{name} DOUBLE" for name in NUMBERS)});
    CREATE TABLE odd (
        row BIGINT,
        local_time BIGINT, -- microseconds on a clock whose zone the cell does not say
        text VARCHAR,      -- what SQL cannot read
        hours DOUBLE       -- the same, if it is a number
    );
    CREATE TABLE wrong (row BIGINT, name VARCHAR, text VARCHAR);
    CREATE TABLE moments (row BIGINT, time BIGINT);
"""
_APPEND = f"""
    INSERT INTO names
    SELECT (SELECT count(*) FROM names) + row_number() OVER (), name
    FROM (SELECT DISTINCT name FROM staged ANTI JOIN names USING (name));

    INSERT INTO cells
    SELECT row, sensor, time, {", ".join(NUMBERS)} FROM staged JOIN names USING (name);

    INSERT INTO odd
    SELECT row, local_time, odd_time, hours FROM staged WHERE local_time IS NOT NULL OR odd_time IS NOT NULL;

    {
    "".join(
        f"INSERT INTO wrong SELECT row, '{name}', wrong_{name} FROM staged WHERE wrong_{name} IS NOT NULL;"
        for name in NUMBERS
    )
}
"""
# What SQL reads; `parse.times` is slower and decides about everything else.
_DATE_TIME = r"\d{4}-\d\d-\d\d[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?"
_OFFSET = r"(?:Z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)"
_MISSING = "(?i)" + "|".join(map(re.escape, sorted(parse.MISSING)))
_DECIMAL_COMMA = r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?"


@dataclass(frozen=True)
class Loaded:
    """What :func:`load_measurements` found: the columns there were, whether times are hours, and what is wrong."""

    columns: tuple[str, ...]
    is_hours: bool
    problems: tuple[Problem, ...]


def load_measurements(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    zone: str | None,
    progress: Callable[[float], None],
) -> Loaded:
    """Fill ``cells``, ``names`` and ``moments``; ``connection`` must have its time zone set to UTC.

    cells: ``row, sensor`` (INTEGER), ``time`` (microseconds UTC), ``value, latitude, longitude, humidity,
    temperature`` (DOUBLE, NULL where missing), one row a measurement.
    names: ``sensor, name``. An empty name is a missing one.
    moments: ``row, time`` of the rows that have no time in ``cells``, as far as it could be understood.
    """
    if zone is not None:
        parse.check_zone(zone)
    connection.execute(_CREATE)
    with open_measurements(path) as stream:
        stage = _stage(stream.columns, decimal_comma=stream.decimal_comma)
        for group in _groups(stream.batches):
            connection.register("batch", pa.Table.from_batches([batch.cells for batch in group]))
            connection.execute(stage)
            connection.unregister("batch")
            connection.execute(_APPEND)
            progress(group[-1].done)
        columns, problems = stream.columns, list(stream.problems)
    connection.execute("DROP TABLE IF EXISTS staged")
    is_hours = _only_numbers(connection)
    problems += _hours(connection, path.name) if is_hours else _stamps(connection, path.name, zone)
    problems += _sensor_ids(connection, path.name) + _numbers(connection, path.name)
    connection.execute("DROP TABLE odd; DROP TABLE wrong")
    return Loaded(columns, is_hours, tuple(problems))


def _groups(batches: Iterable[Batch]) -> Iterator[list[Batch]]:
    group: list[Batch] = []
    for batch in batches:
        group.append(batch)
        if len(group) == _BATCHES_PER_INSERT:
            yield group
            group = []
    if group:
        yield group


def _stage(columns: tuple[str, ...], *, decimal_comma: bool) -> str:
    """SQL from the text of ``batch`` to ``staged``; names come from ``COLUMNS`` only, never from a file."""

    def number(name: str) -> str:
        # nobody but DuckDB takes 1_000 for a number; failing to cast '' would cost more than the test
        plain = f"CASE WHEN {name} = '' OR contains({name}, '_') THEN NULL ELSE TRY_CAST({name} AS DOUBLE) END"
        comma = f"""
            CASE WHEN regexp_full_match({name}, '{_DECIMAL_COMMA}')
                 THEN TRY_CAST(replace({name}, ',', '.') AS DOUBLE) END
        """
        return f"coalesce({plain}, {comma})" if decimal_comma else plain

    def left_over(name: str, read: str) -> str:
        # IN (...) would become a join over all rows, where CASE looks at the few that are left
        return f"""
            CASE WHEN {read} IS NOT NULL OR {name} = '' THEN NULL
                 WHEN NOT regexp_full_match({name}, '{_MISSING}') THEN left({name}, {CELL_LENGTH}) END
        """

    def stored(name: str) -> str:
        if name not in columns:
            return f"CAST(NULL AS DOUBLE) AS {name}, CAST(NULL AS VARCHAR) AS wrong_{name}"
        read = f"{name}_number"
        return f"CASE WHEN NOT isnan({read}) THEN {read} END AS {name}, {left_over(name, read)} AS wrong_{name}"

    numbers = ", ".join(f"{number(name)} AS {name}_number" for name in columns if name in NUMBERS)
    not_blank = " OR ".join(f"{name} <> ''" for name in columns)
    return f"""
        CREATE OR REPLACE TABLE staged AS
        SELECT
            row, coalesce(sensor, '') AS name,
            CASE WHEN has_offset THEN moment END AS time,
            CASE WHEN NOT has_offset THEN moment END AS local_time,
            {left_over("time", "moment")} AS odd_time,
            CASE WHEN odd_time IS NOT NULL THEN {number("time")} END AS hours,
            {", ".join(stored(name) for name in NUMBERS)}
        FROM (
            SELECT
                *, {numbers},
                regexp_full_match(time, '{_DATE_TIME}{_OFFSET}') AS has_offset,
                CASE WHEN has_offset OR regexp_full_match(time, '{_DATE_TIME}')
                     THEN epoch_us(TRY_CAST(time AS TIMESTAMPTZ)) END AS moment
            FROM batch
            WHERE {not_blank}
        )
    """


def _only_numbers(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether every time that is given is a number: then they are hours, else all are stamps."""
    query = """
        SELECT count(*) > 0 AND count(*) = count(hours) AND (SELECT count(time) FROM cells) = 0
        FROM odd
    """
    return connection.execute(query).fetchall() == [(True,)]


def _hours(connection: duckdb.DuckDBPyConnection, file: str) -> list[Problem]:
    connection.execute(
        """
        INSERT INTO moments
        SELECT row, CAST(round(hours * $scale) AS BIGINT) FROM odd WHERE abs(hours) <= $limit
        """,
        {"limit": HOURS_LIMIT, "scale": float(MICROSECONDS_PER_HOUR)},
    )
    absurd = error("not-time", "`time` is no sensible number of hours.", "Mend the number.", file=file, column="time")
    return _where(connection, absurd, f"SELECT row, text FROM odd WHERE NOT abs(hours) <= {HOURS_LIMIT}")


def _stamps(connection: duckdb.DuckDBPyConnection, file: str, zone: str | None) -> list[Problem]:
    if zone is not None:
        for rows, micros in _fetch(connection, "local_time"):
            local = pd.Series(pd.DatetimeIndex(micros.to_numpy(np.int64).view("datetime64[us]")))
            _add_moments(connection, rows, parse.localize(local, zone))
    naive = [np.empty(0, np.int64)]
    for rows, texts in _fetch(connection, "text"):
        # the last cell keeps a fetch of nothing but 20200131 from being taken for hours
        parsed = parse.times(pd.concat([texts, pd.Series(["stamps"])], ignore_index=True), zone)
        _add_moments(connection, rows, parsed.values[:-1])
        naive.append(rows[parsed.naive[:-1]])
    connection.register("naive", pa.table({"row": np.concatenate(naive)}))
    is_naive = "row IN (FROM naive)" + (" OR local_time IS NOT NULL" if zone is None else "")
    shown = "coalesce(text, strftime(make_timestamp(local_time), '%Y-%m-%dT%H:%M:%S')) AS text"
    lost = "row NOT IN (SELECT row FROM moments)"
    no_zone = error(
        "time-zone",
        "Times without an offset need a stated time zone.",
        "Add the offset to each time, or give --zone, for example --zone Africa/Kampala.",
        file=file,
        column="time",
    )
    no_time = error(
        "not-time",
        "`time` is not a time." if zone is None else f"`time` is not a time, or happens twice or never in {zone}.",
        "Write ISO 8601 with an offset, as 2024-05-01T14:00:00+03:00 (or a number of hours in every row).",
        file=file,
        column="time",
    )
    problems = _where(connection, no_zone, f"SELECT row, {shown} FROM odd WHERE {is_naive}")
    problems += _where(connection, no_time, f"SELECT row, {shown} FROM odd WHERE {lost} AND NOT ({is_naive})")
    connection.unregister("naive")
    return problems


def _fetch(connection: duckdb.DuckDBPyConnection, column: str) -> Iterator[tuple[np.ndarray, pd.Series]]:
    """``row`` and one column where it is not NULL, in the order of rows and in pieces that fit in memory."""
    after = 0
    query = f"""
        SELECT row, {column} AS cell
        FROM odd
        WHERE {column} IS NOT NULL AND row > $after
        ORDER BY row LIMIT $most
    """
    while True:
        piece = connection.execute(query, {"after": after, "most": _ROWS_PER_FETCH}).df()
        if piece.empty:
            return
        rows = piece["row"].to_numpy(np.int64)
        after = int(rows[-1])
        yield rows, piece["cell"]


def _add_moments(connection: duckdb.DuckDBPyConnection, rows: np.ndarray, stamps: pd.Series) -> None:
    known = stamps.notna().to_numpy()
    moments = stamps[known].dt.as_unit("us").astype("int64").to_numpy()
    connection.register("found", pa.table({"row": rows[known], "time": moments}))
    connection.execute("INSERT INTO moments SELECT row, time FROM found")
    connection.unregister("found")


def _numbers(connection: duckdb.DuckDBPyConnection, file: str) -> list[Problem]:
    """Cells that are no numbers, and positions that are not on Earth."""
    problems: list[Problem] = []
    for name in NUMBERS:
        column = MEASUREMENTS.column(name)
        assert column is not None  # noqa: S101 - NUMBERS are the schema's own names
        where = {"file": file, "column": name}
        remedy = "Write a plain number such as 35.2, without unit or thousands separators, or leave the cell empty."
        no_number = error("not-number", f"`{name}` is not a number.", remedy, **where)
        problems += _where(connection, no_number, f"SELECT row, text FROM wrong WHERE name = '{name}'")
        if math.isfinite(column.low):
            message = f"`{name}` must lie between {column.low:g} and {column.high:g}."
            outside = error("out-of-range", message, "Correct the value, or leave the cell empty.", **where)
            beyond = f"NOT {name} BETWEEN {column.low} AND {column.high}"
            found = f"SELECT row, CAST({name} AS VARCHAR) AS text FROM cells WHERE {beyond}"
            problems += _where(connection, outside, found)
    return problems


def _sensor_ids(connection: duckdb.DuckDBPyConnection, file: str) -> list[Problem]:
    what = f"`sensor` is longer than {parse.LONGEST_ID} characters."
    too_long = error("not-id", what, "Shorten it.", file=file, column="sensor")
    found = f"SELECT row, name AS text FROM cells JOIN names USING (sensor) WHERE length(name) > {parse.LONGEST_ID}"
    return _where(connection, too_long, found)


def _where(connection: duckdb.DuckDBPyConnection, problem: Problem, found: str) -> list[Problem]:
    """The problem with its count and first places, or nothing if the query ``found`` has no ``row, text``."""
    ((count, rows, values),) = connection.execute(
        f"""
        SELECT count(*), min(row, {PLACES_KEPT}), arg_min(left(text, {CELL_LENGTH}), row, {PLACES_KEPT})
        FROM ({found})
        """
    ).fetchall()
    if not count:
        return []
    places = tuple(Place(row, shorten(value)) for row, value in zip(rows, values, strict=True))
    return [replace(problem, count=count, places=places)]
