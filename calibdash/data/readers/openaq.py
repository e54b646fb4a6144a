"""OpenAQ's archive: one row a measurement of one parameter; the sensor is ``sensors_id``."""

from __future__ import annotations

import pandas as pd

from calibdash.data.files import RawTable
from calibdash.data.problems import places, shorten
from calibdash.data.readers.measurements import POSITION, assume, measurements, with_position
from calibdash.data.readers.options import ReadOptions
from calibdash.data.readers.sheet import Sheet
from calibdash.data.readers.source import Reading, Source

COLUMNS = {name: (name,) for name in ("sensors_id", "datetime", "parameter", "units", "value")}
PARAMETERS = {"pm2_5": "pm25", "pm10": "pm10"}
UNIT = "ug/m3"


def read(raw: RawTable, options: ReadOptions) -> Reading:
    """Rows of the pollutant; units must all be µg/m³."""
    sheet = Sheet(raw)
    sheet.need(COLUMNS)
    _keep_pollutant(sheet, options.pollutant)
    _check_units(sheet)
    time = sheet.stamps("datetime", options.zone)
    sensor = sheet.ids("sensors_id")
    value = sheet.quantity("value", "value")
    return measurements(sheet, time, sensor, value, with_position(sheet, sheet.covariates(POSITION)))


def _keep_pollutant(sheet: Sheet, pollutant: str) -> None:
    parameter = sheet.text("parameter").str.lower().str.replace(r"[._ ]", "", regex=True)
    wanted = (parameter == PARAMETERS[pollutant]).to_numpy()
    others = [shorten(name) for name in parameter[~wanted].unique()[:10]]
    if len(sheet) and not wanted.any():
        message = f"There is no row of {pollutant}; `parameter` holds {', '.join(others)}."
        raise sheet.stop("no-rows", message, "Choose another pollutant, or another file.", column="parameter")
    if others:
        left_out = int((~wanted).sum())
        message = f"{left_out} rows of other parameters ({', '.join(others)}) were passed over."
        assume(sheet, "parameter", message, "Nothing to do.", "parameter")
    sheet.keep(wanted)


def _check_units(sheet: Sheet) -> None:
    units = sheet.text("units")
    other = (_plain_unit(units) != UNIT).to_numpy()
    if other.any():
        found = ", ".join(shorten(unit) or "nothing" for unit in units.unique()[:10])
        message = f"`units` must be µg/m³ in every row, and holds {found}."
        remedy = "Convert the values to µg/m³, or delete the rows in other units."
        raise sheet.stop("units", message, remedy, column="units", **places(other, sheet.rows, units))


def _plain_unit(units: pd.Series) -> pd.Series:
    return units.str.lower().str.replace(r"[µμ]", "u", regex=True).str.replace(r"³|\^3", "3", regex=True)


SOURCE = Source(
    "openaq", "OpenAQ archive", "measurements", ("sensors_id", "datetime", "parameter", "units", "value"), read
)
