"""A file that already is a measurements table of calibdash."""

from __future__ import annotations

import pandas as pd

from calibdash.data import parse
from calibdash.data.files import RawTable
from calibdash.data.readers.measurements import assume, measurements
from calibdash.data.readers.options import ReadOptions
from calibdash.data.readers.sheet import Sheet
from calibdash.data.readers.source import Reading, Source

COVARIATES = {name: (name,) for name in ("latitude", "longitude", "humidity", "temperature")}


def read(raw: RawTable, options: ReadOptions) -> Reading:
    """``time, sensor, value`` in any unit; times may be hours, and stay so."""
    sheet = Sheet(raw)
    sheet.need({name: (name,) for name in ("time", "sensor", "value")})
    time = stamps_or_hours(sheet, "time", options.zone)
    sensor = sheet.ids("sensor")
    value = sheet.finite("value")
    return measurements(sheet, time, sensor, value, sheet.covariates(COVARIATES))


def stamps_or_hours(sheet: Sheet, column: str, zone: str | None) -> pd.Series:
    """UTC stamps, or float hours where every cell is a number.   → [N]"""
    if not parse.times(sheet.cells(column), zone).is_hours:
        return sheet.stamps(column, zone)
    assume(sheet, "hours", f"`{column}` holds numbers; they are hours.", "Write stamps if they are not.", column)
    return sheet.finite(column)


SOURCE = Source("calibdash", "a measurements table of calibdash", "measurements", ("time", "sensor", "value"), read)
