"""From columns to a measurements table: what the readers of sensors share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath

import numpy as np
import pandas as pd

from calibdash.data.problems import note, places, warning
from calibdash.data.readers.options import ReadOptions
from calibdash.data.readers.sheet import Sheet
from calibdash.data.readers.source import Reading

POSITION: dict[str, tuple[str, ...]] = {"latitude": ("latitude", "lat"), "longitude": ("longitude", "lon", "lng")}
WEATHER: dict[str, tuple[str, ...]] = {"humidity": ("humidity",), "temperature": ("temperature",)}
APART_ABSOLUTE = 5.0  # µg/m³
APART_RELATIVE = 0.5


def measurements(
    sheet: Sheet, time: pd.Series, sensor: pd.Series, value: pd.Series, covariates: Mapping[str, pd.Series]
) -> Reading:
    """The table of rows that have a time, a sensor and a value.   each [N] → [≤ N]"""
    incomplete = (time.isna() | (sensor == "") | value.isna()).to_numpy()
    sheet.drop(
        "missing",
        incomplete & ~sheet.reported,
        "lack a time, a sensor or a value, and were left out.",
        "Nothing to do if they are gaps.",
    )
    frame = pd.DataFrame({"time": time, "sensor": sensor.astype(object), "value": value, **covariates})
    return frame.loc[~incomplete].reset_index(drop=True), sheet.problems


def mean_of_channels(sheet: Sheet, columns: Sequence[str]) -> pd.Series:
    """The mean of two channels, or the one that is there.   → [N]

    Channels disagree where |a − b| > max(5 µg/m³, 50 % of their mean): counted in a warning, and kept.
    """
    channels = [sheet.quantity(column, "value") for column in columns]
    if len(channels) == 1:
        return channels[0]
    a, b = channels
    both = a.notna() & b.notna()
    mean = a / 2 + b / 2
    single = (a.notna() ^ b.notna()).to_numpy()
    apart = (both & ((a - b).abs() > (mean.abs() * APART_RELATIVE).clip(lower=APART_ABSOLUTE))).to_numpy()
    _warn_of_pairs(
        sheet,
        "one-channel",
        single,
        columns,
        "have only one of {pair}; that one was used.",
        "Nothing to do, but the sensor may have a broken channel.",
    )
    _warn_of_pairs(
        sheet,
        "channels-apart",
        apart,
        columns,
        "have {pair} further apart than 5 µg/m³ and half their mean; their mean was kept.",
        "Look at these sensors: a channel may be dirty or blocked.",
    )
    return mean.where(both, a.fillna(b))


def _warn_of_pairs(
    sheet: Sheet, code: str, found: np.ndarray, columns: Sequence[str], message: str, remedy: str
) -> None:
    if found.any():
        texts = sheet.text(columns[0]) + " | " + sheet.text(columns[1])
        where = places(found, sheet.rows, texts)
        said = message.format(pair=" and ".join(f"`{column}`" for column in columns))
        sheet.problems.append(
            warning(code, f"{where['count']} rows {said}", remedy, file=sheet.file, column=columns[0], **where)
        )


def with_position(sheet: Sheet, covariates: dict[str, pd.Series]) -> dict[str, pd.Series]:
    """Covariates without the 0°, 0° that receivers write before they know where they are."""
    if not {"latitude", "longitude"} <= set(covariates):
        return covariates
    nowhere = (covariates["latitude"] == 0) & (covariates["longitude"] == 0)
    if nowhere.any():
        where = places(nowhere.to_numpy(), sheet.rows, ["0, 0"] * len(sheet))
        message = f"{where['count']} rows stand at 0°, 0°, where there is no land; their position counts as missing."
        remedy = "Nothing to do if the receiver had no fix yet."
        sheet.problems.append(warning("no-fix", message, remedy, file=sheet.file, column="latitude", **where))
    return {
        name: series.mask(nowhere) if name in ("latitude", "longitude") else series
        for name, series in covariates.items()
    }


def only_sensor(sheet: Sheet, options: ReadOptions) -> pd.Series:
    """The id of a file that holds one sensor and does not name it.   → [N]"""
    name = options.sensor.strip() if options.sensor else file_stem(sheet.file)
    if options.sensor is None:
        assume(
            sheet, "sensor", f"The file holds no sensor id; it was called {name!r}.", "Name the sensor to change it."
        )
    return pd.Series([name] * len(sheet), dtype=object)


def file_stem(file: str) -> str:
    """A file's name without what says its format: ``bam7.csv.gz`` → ``bam7``."""
    stem = PurePath(file)
    while stem.suffix.lower() in (".csv", ".tsv", ".txt", ".gz", ".parquet"):
        stem = stem.with_suffix("")
    return stem.name


def assume(sheet: Sheet, code: str, message: str, remedy: str, column: str = "") -> None:
    """Note what was assumed."""
    sheet.problems.append(note(code, message, remedy, file=sheet.file, column=column))
