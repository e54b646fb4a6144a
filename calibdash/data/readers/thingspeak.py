"""A ThingSpeak channel as CSV: the file names neither its sensor nor what its fields mean."""

from __future__ import annotations

from calibdash.data.files import RawTable
from calibdash.data.readers.measurements import (
    POSITION,
    assume,
    mean_of_channels,
    measurements,
    only_sensor,
    with_position,
)
from calibdash.data.readers.options import ReadOptions
from calibdash.data.readers.sheet import Sheet
from calibdash.data.readers.source import Reading, Source

AIRQO_FIELDS = {"pm2_5": ("field1", "field3"), "pm10": ("field2", "field4")}


def read(raw: RawTable, options: ReadOptions) -> Reading:
    """The mean of the chosen fields, AirQo's two channels unless others are named."""
    sheet = Sheet(raw)
    fields = options.fields or tuple(name for name in AIRQO_FIELDS[options.pollutant] if sheet.find(name))
    fields = fields or AIRQO_FIELDS[options.pollutant]
    sheet.need({"time": ("created_at",), **{name: (name,) for name in fields}})
    if not options.fields:
        used = " and ".join(f"`{name}`" for name in fields)
        assume(
            sheet, "fields", f"The value is {used}, as in AirQo's channels.", "Name the fields to change it.", fields[0]
        )
    time = sheet.stamps("created_at", options.zone)
    sensor = only_sensor(sheet, options)
    value = mean_of_channels(sheet, fields)
    return measurements(sheet, time, sensor, value, with_position(sheet, sheet.covariates(POSITION)))


SOURCE = Source("thingspeak", "ThingSpeak channel", "measurements", ("created_at", "entry_id", "field*"), read)
