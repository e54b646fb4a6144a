"""Raw measurements: checked as a whole, however many there are, without being held in memory."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from calibdash.data.database import scratch_database
from calibdash.data.measurements_sql import load_measurements
from calibdash.data.problems import DataError, Problem, shorten, warning


def check_measurements(path: Path, sensors: pd.DataFrame | None, zone: str | None) -> tuple[int, list[Problem]]:
    """Number of rows, and what is wrong with them; sensors that ``sensors`` does not list are a warning."""
    with scratch_database() as connection:
        try:
            problems = list(load_measurements(connection, path, zone, lambda _: None).problems)
        except DataError as reason:
            return 0, list(reason.problems)
        rows = connection.execute("SELECT count(*) FROM cells").fetchall()[0][0]
        names = [name for (name,) in connection.execute("SELECT name FROM names ORDER BY name").fetchall() if name]
    strangers = [] if sensors is None else sorted(set(names) - set(sensors["sensor"]))
    if strangers:
        listed = ", ".join(f"`{shorten(name)}`" for name in strangers[:8]) + (" …" if len(strangers) > 8 else "")
        message = f"These sensors are measured but in no other table: {listed}."
        remedy = "Add them to the sensors table, if they belong to this network."
        problems.append(warning("unknown-id", message, remedy, file=path.name, column="sensor", count=len(strangers)))
    return rows, problems
