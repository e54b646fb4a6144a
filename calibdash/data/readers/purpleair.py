"""PurpleAir's history: ``cf_1`` (as the laser counts) and ``atm`` (bent by the maker) are different quantities."""

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
from calibdash.data.readers.options import VARIANTS, ReadOptions
from calibdash.data.readers.sheet import Sheet
from calibdash.data.readers.source import Reading, Source

PREFIX = {"pm2_5": "pm2.5", "pm10": "pm10.0"}


def read(raw: RawTable, options: ReadOptions) -> Reading:
    """The chosen variant, channels averaged if only they exist; °F become °C."""
    sheet = Sheet(raw)
    variant = options.variant or next((name for name in VARIANTS if _values(sheet, options, name)), VARIANTS[0])
    values = _values(sheet, options, variant)
    needed = {"time": ("time_stamp",)}
    columns = sheet.need(needed if values else needed | {"value": (f"{PREFIX[options.pollutant]}_{variant}",)})
    used = " and ".join(f"`{name}`" for name in values)
    assume(sheet, "variant", f"The value is {used}.", "Choose the variant cf_1 or atm to change it.", values[0])
    time = sheet.stamps(columns["time"], options.zone, unix=True)
    sensor = sheet.ids("sensor_index") if sheet.find("sensor_index") else only_sensor(sheet, options)
    value = mean_of_channels(sheet, values)
    covariates = with_position(sheet, sheet.covariates(POSITION | {"humidity": ("humidity",)}))
    if sheet.find("temperature"):
        covariates["temperature"] = sheet.quantity("temperature", "temperature", scale=5 / 9, offset=32.0)
    return measurements(sheet, time, sensor, value, covariates)


def _values(sheet: Sheet, options: ReadOptions, variant: str) -> list[str]:
    name = f"{PREFIX[options.pollutant]}_{variant}"
    if sheet.find(name):
        return [name]
    return [channel for channel in (f"{name}_a", f"{name}_b") if sheet.find(channel)]


SOURCE = Source("purpleair", "PurpleAir history", "measurements", ("time_stamp", "pm2.5_*|pm10.0_*"), read)
