"""Who was near whom, and when: the queries behind :mod:`calibdash.data.encounters`.

Positions become points in space (WGS84, Earth-centred, metres). On a city's scale the straight line between
two points says how far apart they are along the ground, without any trouble at the poles or at ±180° of
longitude. Space is cut into cubes as wide as the distance asked for, so that near points are in the same or in
neighbouring cubes, and time into buckets as long as the time asked for. Values are summed as whole numbers, so
that the result does not depend on the order in which threads meet the rows.
"""

# ruff: noqa: S608 - queries are made of this module's own names; whatever comes from outside is a parameter
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product

import duckdb
import pandas as pd

from calibdash.data.problems import PLACES_KEPT

COVARIATES = ("humidity", "temperature")
COVARIATE_LIMIT = 1e6  # what is beyond is a fault, and counts as missing
MEAN_RADIUS_M = 6_371_008.8
ROUNDING_M = 1e-6  # a distance that is exact but for rounding still counts
_SEMI_MAJOR_M = 6_378_137.0
_ECCENTRICITY2 = 0.0066943799901413165
_BITS = 62
_ROWS_PER_CHUNK = 250_000


@dataclass(frozen=True)
class Search:
    """What is searched for, in the units of the queries: metres, microseconds, and bounds of the value."""

    distance_m: float
    within: int
    average: int
    low: float
    high: float

    @property
    def chord_m(self) -> float:
        """The straight line under an arc of ``distance_m``."""
        return 2 * MEAN_RADIUS_M * math.sin(self.distance_m / (2 * MEAN_RADIUS_M)) + ROUNDING_M

    @property
    def value_scale(self) -> float:
        """The power of two that makes whole numbers of values, as fine as 64 bits allow."""
        return _scale(max(abs(self.low), abs(self.high)))


def place_readings(connection: duckdb.DuckDBPyConnection, search: Search, fixed: pd.DataFrame) -> None:
    """``cells, names, moments`` → view ``placed``: who was where when, and the ``reason`` why a row is of no use.

    fixed: ``name, latitude, longitude`` of sensors that stay where they are, whatever their rows say.
    """
    connection.register("fixed_positions", fixed)
    connection.execute(
        """
        CREATE TABLE ranked AS
        SELECT names.sensor AS cell_sensor, name, CAST(row_number() OVER (ORDER BY name) AS INTEGER) AS sensor,
               fixed_positions.latitude, fixed_positions.longitude
        FROM names
        LEFT JOIN fixed_positions USING (name)
        """
    )
    connection.unregister("fixed_positions")
    # a view cannot have parameters; these are numbers that were checked
    low, high = float(search.low), float(search.high)
    connection.execute(
        f"""
        CREATE VIEW placed AS
        SELECT
            cells.row, ranked.name, ranked.sensor, coalesce(cells.time, moments.time) AS moment,
            value, humidity, temperature,
            coalesce(ranked.latitude, cells.latitude) AS phi,
            coalesce(ranked.longitude, cells.longitude) AS theta,
            CASE
                WHEN name = '' THEN 'sensor'
                WHEN moment IS NULL THEN 'time'
                WHEN value IS NULL THEN 'value'
                WHEN isinf(value) THEN 'finite'
                WHEN value NOT BETWEEN {low!r} AND {high!r} THEN 'range'
                WHEN phi IS NULL OR theta IS NULL THEN 'position'
                WHEN phi = 0 AND theta = 0 THEN 'fix'
            END AS reason
        FROM cells
        JOIN ranked ON ranked.cell_sensor = cells.sensor
        LEFT JOIN moments ON moments.row = cells.row
        """
    )


def left_out(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, int, list[int], list[str]]]:
    """For each reason in ``placed``: its number of rows, the first of them, and the value or sensor there."""
    return connection.execute(
        f"""
        SELECT reason, count(*), min(row, {PLACES_KEPT}), arg_min(shown, row, {PLACES_KEPT})
        FROM (
            SELECT
                row, reason,
                CASE WHEN reason IN ('range', 'finite') THEN CAST(value AS VARCHAR) ELSE name END AS shown
            FROM placed
            WHERE reason IS NOT NULL
        )
        GROUP BY reason
        ORDER BY reason
        """
    ).fetchall()


def find_meetings(connection: duckdb.DuckDBPyConnection, search: Search) -> int:
    """``placed`` → ``readings`` (only where somebody else was near, at any time) and ``near``.

    ``near`` pairs sites, a site being a sensor in one cube. Of two, ``site`` is the one with fewer readings: what
    is searched for is then a mobile's partners, not every static's mobiles. Values are whole numbers of
    ``value_scale``, times microseconds since the start of a period, which is returned.
    """
    cube = search.chord_m + ROUNDING_M
    connection.execute(
        f"""
        CREATE VIEW points AS
        SELECT
            sensor, moment, value, humidity, temperature, x, y, z,
            CAST(floor(x / {cube!r}) AS INTEGER) AS i,
            CAST(floor(y / {cube!r}) AS INTEGER) AS j,
            CAST(floor(z / {cube!r}) AS INTEGER) AS k
        FROM (
            SELECT
                *, {_SEMI_MAJOR_M} / sqrt(1 - {_ECCENTRICITY2} * sin(radians(phi)) ** 2) AS radius,
                radius * cos(radians(phi)) * cos(radians(theta)) AS x,
                radius * cos(radians(phi)) * sin(radians(theta)) AS y,
                radius * {1 - _ECCENTRICITY2} * sin(radians(phi)) AS z
            FROM placed
            WHERE reason IS NULL
        )
        """
    )
    connection.execute(
        """
        CREATE TABLE sites AS
        SELECT
            CAST(row_number() OVER () AS INTEGER) AS site, sensor, i, j, k, count(*) AS readings,
            min(moment) AS first_moment,
            min(x) AS x_low, max(x) AS x_high, min(y) AS y_low, max(y) AS y_high, min(z) AS z_low, max(z) AS z_high
        FROM points
        GROUP BY sensor, i, j, k
        """
    )
    _pair_sites(connection, search)
    ((first,),) = connection.execute("SELECT coalesce(min(first_moment), 0) FROM sites").fetchall()
    origin = first - first % search.average  # times are not negative, for // rounds towards zero
    connection.execute(
        """
        CREATE TABLE readings AS
        SELECT
            site, sensor, moment - $origin AS time, time // $bucket AS bucket, x, y, z,
            CAST(round(value * $value_scale) AS BIGINT) AS value,
            CASE WHEN abs(humidity) <= $limit THEN CAST(round(humidity * $scale) AS BIGINT) END AS humidity,
            CASE WHEN abs(temperature) <= $limit THEN CAST(round(temperature * $scale) AS BIGINT) END AS temperature
        FROM points
        JOIN sites USING (sensor, i, j, k)
        WHERE site IN (SELECT site FROM near UNION SELECT other_site FROM near)
        """,
        {
            "origin": origin,
            "bucket": max(search.within, 1),
            "value_scale": search.value_scale,
            "limit": COVARIATE_LIMIT,
            "scale": _scale(COVARIATE_LIMIT),
        },
    )
    connection.execute("DROP VIEW points; DROP VIEW placed; DROP TABLE cells; DROP TABLE moments; DROP TABLE sites")
    return origin


def _pair_sites(connection: duckdb.DuckDBPyConnection, search: Search) -> None:
    steps = pd.DataFrame(list(product((-1, 0, 1), repeat=3)), columns=["i", "j", "k"], dtype="int32")
    connection.register("steps", steps)
    # a table, for in one query the planner may pair all sites with all others first
    connection.execute(
        """
        CREATE TABLE around AS
        SELECT sites.* REPLACE (sites.i + steps.i AS i, sites.j + steps.j AS j, sites.k + steps.k AS k)
        FROM sites
        CROSS JOIN steps
        """
    )
    connection.unregister("steps")
    # A gap is how far two sites' boxes are apart: for sites of one point each, the distance itself.
    gaps = [f"greatest(a.{axis}_low - b.{axis}_high, b.{axis}_low - a.{axis}_high, 0) ** 2" for axis in "xyz"]
    connection.execute(
        f"""
        CREATE TABLE near AS
        SELECT
            CASE WHEN a.readings <= b.readings THEN a.site ELSE b.site END AS site,
            CASE WHEN a.readings <= b.readings THEN b.site ELSE a.site END AS other_site
        FROM around AS a
        JOIN sites AS b USING (i, j, k)
        WHERE a.sensor < b.sensor AND {" + ".join(gaps)} <= $chord ** 2
        """,
        {"chord": search.chord_m},
    )
    connection.execute("DROP TABLE around")


def sum_encounters(connection: duckdb.DuckDBPyConnection, search: Search, progress: Callable[[float], None]) -> None:
    """``readings`` and ``near`` → ``sums`` by pair and period, a stretch of time after the other."""
    connection.execute(_create_sums())
    edges = _chunk_edges(connection)
    insert = _insert_sums()
    for done, (start, end) in enumerate(pairwise(edges), start=1):
        connection.execute(
            insert,
            {
                "start": start,
                "end": end,
                "start_other": start - search.within,
                "end_other": end + search.within,
                "within": search.within,
                "chord": search.chord_m,
                "two_periods": 2 * search.average,
            },
        )
        progress(done / (len(edges) - 1))


def read_means(
    connection: duckdb.DuckDBPyConnection, search: Search, origin: int, covariates: tuple[str, ...]
) -> pd.DataFrame:
    """Means by pair and period, ``time`` in microseconds, sorted by time, sensor_a, sensor_b."""
    means = ", ".join(
        f"CAST(sum({name}_{side}) AS DOUBLE) / nullif(sum({name}_{side}_count), 0) / $scale AS {name}_{side}"
        for name in covariates
        for side in "ab"
    )
    return connection.execute(
        f"""
        SELECT
            period * $average + $origin AS time, a.name AS sensor_a, b.name AS sensor_b,
            CAST(sum(value_a) AS DOUBLE) / sum(pairs) / $value_scale AS value_a,
            CAST(sum(value_b) AS DOUBLE) / sum(pairs) / $value_scale AS value_b
            {"," if means else ""} {means}
        FROM sums
        JOIN ranked AS a ON a.sensor = sums.sensor_a
        JOIN ranked AS b ON b.sensor = sums.sensor_b
        GROUP BY ALL
        ORDER BY ALL
        """,
        {"average": search.average, "origin": origin, "value_scale": search.value_scale}
        | ({"scale": _scale(COVARIATE_LIMIT)} if means else {}),
    ).df()


def _chunk_edges(connection: duckdb.DuckDBPyConnection) -> list[int]:
    count, last = connection.execute("SELECT count(*), coalesce(max(time), 0) FROM readings").fetchall()[0]
    chunks = count // _ROWS_PER_CHUNK
    inner: list[int] = []
    if chunks > 1:
        shares = [step / chunks for step in range(1, chunks)]
        query = "SELECT approx_quantile(time, CAST($shares AS FLOAT[])) FROM readings"
        inner = connection.execute(query, {"shares": shares}).fetchall()[0][0]
    return sorted({0, *(min(max(edge, 0), last) for edge in inner), last + 1})


def _create_sums() -> str:
    covariates = "".join(f", {name}_{side} HUGEINT, {name}_{side}_count BIGINT" for name in COVARIATES for side in "ab")
    return f"""
        CREATE TABLE sums (
            sensor_a INTEGER, sensor_b INTEGER, period BIGINT,
            pairs BIGINT, value_a HUGEINT, value_b HUGEINT {covariates}
        )
    """


def _insert_sums() -> str:
    def side(name: str, which: str) -> str:
        first, second = ("one", "other") if which == "a" else ("other", "one")
        return f"CASE WHEN one.sensor < other.sensor THEN {first}.{name} ELSE {second}.{name} END"

    picked = ", ".join(f"{side(name, s)} AS {name}_{s}" for name in ("sensor", "value", *COVARIATES) for s in "ab")
    covariates = ", ".join(f"sum({name}_{s}), count({name}_{s})" for name in COVARIATES for s in "ab")
    return f"""
        INSERT INTO sums
        WITH ones AS (
            SELECT
                readings.* EXCLUDE (bucket), near.other_site,
                unnest([readings.bucket - 1, readings.bucket, readings.bucket + 1]) AS other_bucket
            FROM readings
            JOIN near ON near.site = readings.site
            WHERE readings.time >= $start AND readings.time < $end
        ), others AS (
            SELECT * FROM readings WHERE time >= $start_other AND time < $end_other
        ), met AS (
            SELECT (one.time + other.time) // $two_periods AS period, {picked}
            FROM ones AS one
            JOIN others AS other ON other.site = one.other_site AND other.bucket = one.other_bucket
            WHERE abs(one.time - other.time) <= $within
              AND (one.x - other.x) ** 2 + (one.y - other.y) ** 2 + (one.z - other.z) ** 2 <= $chord ** 2
        )
        SELECT sensor_a, sensor_b, period, count(*), sum(value_a), sum(value_b), {covariates}
        FROM met
        GROUP BY sensor_a, sensor_b, period
    """


def _scale(largest: float) -> float:
    """The largest power of two that keeps whole numbers up to ``largest`` below 2⁶²."""
    return 2.0 ** (_BITS - max(math.ceil(math.log2(max(largest, 1.0))), 0))
