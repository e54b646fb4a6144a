"""Met One's BAM, a reference instrument: hourly means, a status, and local stamps without a zone."""

from __future__ import annotations

import pandas as pd

from calibdash.data import parse
from calibdash.data.files import RawTable
from calibdash.data.readers.measurements import assume, measurements, only_sensor
from calibdash.data.readers.options import ReadOptions
from calibdash.data.readers.sheet import Sheet
from calibdash.data.readers.source import Reading, Source, plain

HOURLY = ("conchr", "conc")
WEATHER = {"humidity": ("RH(%)",), "temperature": ("AT(C)", "AT(°C)")}


def read(raw: RawTable, options: ReadOptions) -> Reading:
    """Hours of status 0, in µg/m³; times are the starts of their hours."""
    sheet = Sheet(raw)
    value_column = next((name for name in sheet.names if _is_hourly(name)), None)
    needed = {"time": ("Time",), "status": ("Status",)}
    sheet.need(needed if value_column else needed | {"value": ("ConcHR(ug/m3)",)})
    status = parse.numbers(sheet.cells("Status"), decimal_comma=sheet.decimal_comma).values
    good = (status == 0).to_numpy()
    sheet.drop("status", ~good, "have a status other than 0, and were left out.", "Nothing to do.", "Status")
    sheet.keep(good)
    column = str(value_column)
    time = sheet.stamps("Time", options.zone)
    if options.hour_stamp == "end":
        time = time - pd.Timedelta(hours=1)
    else:
        message = "Stamps were taken as the starts of their hours."
        assume(sheet, "hour-stamp", message, "Say that they are ends if the instrument is set so.", "Time")
    sensor = only_sensor(sheet, options)
    value = sheet.quantity(column, "value", scale=_scale(sheet, column))
    return measurements(sheet, time, sensor, value, sheet.covariates(WEATHER))


def _is_hourly(name: str) -> bool:
    return len(name) < 40 and plain(name).replace(" ", "").split("(")[0] in HOURLY


def _scale(sheet: Sheet, column: str) -> float:
    unit = plain(column).replace(" ", "").partition("(")[2]
    if unit.startswith("mg"):
        assume(sheet, "units", f"`{column}` was multiplied by 1000 to give µg/m³.", "Nothing to do.", column)
        return 1000.0
    if not unit.startswith(("ug", "µg", "μg")):
        assume(
            sheet, "units", f"`{column}` does not state its unit; it was taken as µg/m³.", "Check that it is.", column
        )
    return 1.0


SOURCE = Source("bam", "Met One BAM", "measurements", ("time", "conchr*|conc(*|conc (*", "status"), read, below=True)
