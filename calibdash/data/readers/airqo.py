"""AirQo's raw data of fixed monitors (API or CSV) and of mobile ones."""

from __future__ import annotations

from calibdash.data.files import RawTable
from calibdash.data.readers.measurements import POSITION, WEATHER, assume, mean_of_channels, measurements, with_position
from calibdash.data.readers.options import ReadOptions
from calibdash.data.readers.sheet import Sheet
from calibdash.data.readers.source import Reading, Source

TIME = ("datetime", "timestamp")
SENSOR = ("device_name", "device_id", "device_number")
MOBILE_SENSOR = ("device_id", "device_number", "device_name")


def read_fixed(raw: RawTable, options: ReadOptions) -> Reading:
    """The mean of channels ``s1_`` and ``s2_``; the sensor is ``device_name``."""
    sheet = Sheet(raw)
    channels = _channels(sheet, options.pollutant)
    columns = sheet.need({"time": TIME, "sensor": SENSOR, **channels})
    return _read(sheet, options, columns, [columns[name] for name in channels])


def read_mobile(raw: RawTable, options: ReadOptions) -> Reading:
    """The raw value, never the calibrated one, else the channels' mean; the sensor is ``device_id``."""
    sheet = Sheet(raw)
    raw_value = sheet.find(f"{options.pollutant}_raw_value")
    channels = {"raw": (raw_value,)} if raw_value else _channels(sheet, options.pollutant)
    columns = sheet.need({"time": TIME, "sensor": MOBILE_SENSOR, **channels})
    calibrated = sheet.find(f"{options.pollutant}_calibrated_value")
    if calibrated:
        message = f"`{calibrated}` was not used: calibration starts from raw values."
        assume(sheet, "raw-value", message, "Nothing to do.", calibrated)
    return _read(sheet, options, columns, [columns[name] for name in channels])


def _channels(sheet: Sheet, pollutant: str) -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {channel: (f"{channel}_{pollutant}",) for channel in ("s1", "s2")}
    present = {channel: choices for channel, choices in names.items() if sheet.find(*choices)}
    return present or names


def _read(sheet: Sheet, options: ReadOptions, columns: dict[str, str], values: list[str]) -> Reading:
    time = sheet.stamps(columns["time"], options.zone)
    sensor = sheet.ids(columns["sensor"])
    value = mean_of_channels(sheet, values)
    covariates = with_position(sheet, sheet.covariates(POSITION | WEATHER))
    return measurements(sheet, time, sensor, value, covariates)


FIXED = Source(
    "airqo",
    "AirQo monitors, raw",
    "measurements",
    ("device_name|device_id", "datetime|timestamp", "s1_pm2_5|s1_pm10"),
    read_fixed,
)
MOBILE = Source(
    "airqo-mobile",
    "AirQo mobile monitors",
    "measurements",
    ("timestamp|datetime", "device_id|device_number", "pm2_5_raw_value|pm10_raw_value", "latitude"),
    read_mobile,
)
