"""sensor.community's archive: ``P1`` is PM10, ``P2`` is PM2.5, and stamps are UTC without saying so."""

from __future__ import annotations

from calibdash.data.files import RawTable
from calibdash.data.readers.measurements import POSITION, WEATHER, measurements, with_position
from calibdash.data.readers.options import ReadOptions
from calibdash.data.readers.sheet import Sheet
from calibdash.data.readers.source import Reading, Source

VALUE = {"pm2_5": "P2", "pm10": "P1"}


def read(raw: RawTable, options: ReadOptions) -> Reading:
    """One of the two fractions; the sensor is ``sensor_id``."""
    sheet = Sheet(raw)
    column = VALUE[options.pollutant]
    sheet.need({"time": ("timestamp",), "sensor": ("sensor_id",), "value": (column,)})
    time = sheet.stamps("timestamp", "UTC")
    sensor = sheet.ids("sensor_id")
    value = sheet.quantity(column, "value")
    return measurements(sheet, time, sensor, value, with_position(sheet, sheet.covariates(POSITION | WEATHER)))


SOURCE = Source(
    "sensor-community",
    "sensor.community archive",
    "measurements",
    ("sensor_id", "sensor_type", "timestamp", "lat"),
    read,
)
