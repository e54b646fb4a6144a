"""Tables for other people's programs: CSV that a spreadsheet cannot run, Parquet, and NetCDF by the CF conventions.

In CSV a text that starts with = + - @ a tab or a line end would be a formula to a spreadsheet, so it gets a leading
apostrophe, as does a text that starts with one; :func:`read_export` takes it off again. Plain numbers stay as they are.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from calibdash.data.files import write_atomically, write_table
from calibdash.errors import CalibdashError

FORMATS = (".csv", ".tsv", ".parquet", ".nc")
VERSION_COLUMN = "calibration"
_RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "＝", "＋", "－", "＠")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?", re.ASCII)
_MASS = "mass_concentration_of_{}_ambient_aerosol_particles_in_air"
STANDARD_NAMES = {
    "PM2.5": _MASS.format("pm2p5"),
    "PM10": _MASS.format("pm10"),
    "PM1": _MASS.format("pm1"),
    "O3": "mole_fraction_of_ozone_in_air",
    "NO2": "mole_fraction_of_nitrogen_dioxide_in_air",
    "SO2": "mole_fraction_of_sulfur_dioxide_in_air",
    "CO": "mole_fraction_of_carbon_monoxide_in_air",
}
CF_UNITS = {"µg/m³": "ug m-3", "μg/m³": "ug m-3", "ug/m3": "ug m-3", "mg/m³": "mg m-3", "ppb": "1e-9", "ppm": "1e-6"}
LONG_NAMES = {
    "value": "raw reading",
    "calibrated": "calibrated reading (median)",
    "lower": "lower bound of the 95 % interval of the true level",
    "upper": "upper bound of the 95 % interval of the true level",
    "calibration_share": "share of the predictive variance that comes from the calibration",
}


@dataclass(frozen=True)
class Version:
    """Which calibration made the values of a file."""

    run: str
    settings_hash: str
    data_hash: str
    calibdash: str

    def text(self) -> str:
        """All of it in one cell."""
        return f"{self.run} settings {self.settings_hash} data {self.data_hash} calibdash {self.calibdash}"


def write_plain(frame: pd.DataFrame, path: Path) -> None:
    """A table whose texts no spreadsheet can run (CSV), or as it is (Parquet)."""
    write_table(frame if path.name.lower().endswith(".parquet") else safe_texts(frame), path)


def write_calibrated(frame: pd.DataFrame, version: Version, path: Path, about: Mapping[str, str] | None = None) -> None:
    """Calibrated readings with the version of their calibration, in the format of the name's ending.

    about: ``quantity`` and ``unit`` of the network. CSV and Parquet carry the version in a column, Parquet and NetCDF
    in their metadata too.
    """
    name = path.name.lower()
    if name.endswith(".nc"):
        write_netcdf(frame, version, path, about or {})
    elif name.endswith(".parquet"):
        _write_parquet(frame.assign(**{VERSION_COLUMN: pd.Categorical([version.text()] * len(frame))}), version, path)
    elif name.endswith(FORMATS):
        write_plain(frame.assign(**{VERSION_COLUMN: version.text()}), path)
    else:
        raise CalibdashError(f"{path.name} does not say which format to write.", "End it in .csv, .parquet or .nc.")


def read_export(path: Path) -> pd.DataFrame:
    """A table that this module wrote, as it was before."""
    name = path.name.lower()
    if name.endswith(".nc"):
        return read_netcdf(path)
    if name.endswith(".parquet"):
        return pd.read_parquet(path)
    texts = {"sensor": str, VERSION_COLUMN: str}
    frame = pd.read_csv(
        path, sep="\t" if name.endswith(".tsv") else ",", dtype=texts, na_values=[""], keep_default_na=False
    )
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            frame[column] = frame[column].map(lambda cell: cell[1:] if str(cell).startswith("'") else cell)
    if "time" in frame and not pd.api.types.is_numeric_dtype(frame["time"]):
        frame["time"] = pd.to_datetime(frame["time"], utc=True, format="ISO8601")
    return frame


def safe_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """The same table with an apostrophe before texts, and names of columns, that a spreadsheet would run."""
    changed = {}
    for name in frame.columns:
        column = frame[name]
        if column.dtype == object or isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype):
            changed[name] = column.astype(object).map(safe_text)
    return frame.assign(**changed).rename(columns=safe_text)


def safe_text(cell: object) -> object:
    """A text that is only ever text; anything else as it is."""
    if isinstance(cell, str) and cell.startswith(_RISKY) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def _write_parquet(frame: pd.DataFrame, version: Version, path: Path) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    extra = {f"calibdash.{key}": value for key, value in asdict(version).items()}
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **extra})
    write_atomically(path, lambda file: pa_parquet.write_table(table, file))


def write_netcdf(frame: pd.DataFrame, version: Version, path: Path, about: Mapping[str, str]) -> None:
    """Observations along one dimension, names of sensors along another, attributes by CF-1.11."""
    import xarray as xr

    names, index = np.unique(frame["sensor"].astype(str).to_numpy(dtype=object), return_inverse=True)
    quantity = about.get("quantity", "").strip()
    unit = CF_UNITS.get(about.get("unit", "").strip(), "")
    data = {}
    for name in frame.columns:
        if name in ("time", "sensor") or not pd.api.types.is_numeric_dtype(frame[name]):
            continue
        attributes = {"long_name": LONG_NAMES.get(name, name), "coordinates": "time sensor_index"}
        if name in ("value", "calibrated", "lower", "upper"):
            attributes |= {"units": unit} if unit else {"comment": "unit not stated"}
            attributes |= {"standard_name": STANDARD_NAMES[quantity]} if _nameable(quantity, unit, name) else {}
        else:
            attributes["units"] = "1"
        data[name] = ("obs", frame[name].to_numpy(dtype=np.float64), attributes)
    if "calibrated" in data:
        bounds = [name for name in ("lower", "upper", "calibration_share") if name in data]
        data["calibrated"][2]["ancillary_variables"] = " ".join(bounds)
    words = {"long_name": "number of the sensor in the dimension sensor, from 0", "units": "1"}
    data["sensor_index"] = ("obs", index.astype(np.int32), words)
    time, time_words = _time(frame["time"])
    data["time"] = ("obs", time, time_words)
    data["sensor_id"] = ("sensor", names.astype(str), {"long_name": "id of the sensor"})
    facts = {
        "Conventions": "CF-1.11",
        "title": f"Calibrated readings{f' of {quantity}' if quantity else ''}",
        "source": f"calibdash {version.calibdash}, run {version.run}",
        "history": f"calibrated by calibdash {version.calibdash}",
        "comment": "95 % intervals include the noise of the reading",
        **{f"calibration_{key}": value for key, value in asdict(version).items()},
    }
    dataset = xr.Dataset(data, attrs=facts)
    packed: dict[str, dict[str, object]] = {
        name: {"zlib": True, "complevel": 4} for name in data if name != "sensor_id"
    }
    for name in packed:
        packed[name]["_FillValue"] = np.nan if dataset[name].dtype.kind == "f" and name != "time" else None
    with tempfile.TemporaryDirectory(prefix="calibdash-nc-") as scratch:
        made = Path(scratch) / "made.nc"
        dataset.to_netcdf(made, engine="h5netcdf", encoding=packed)
        content = made.read_bytes()
    write_atomically(path, lambda file: file.write(content))


def read_netcdf(path: Path) -> pd.DataFrame:
    """What :func:`write_netcdf` wrote, with the version of the calibration in a column."""
    import xarray as xr

    with xr.open_dataset(path, engine="h5netcdf") as dataset:
        dataset = dataset.load()
    index = dataset["sensor_index"].to_numpy()
    time = dataset["time"].to_numpy()
    stamped = np.issubdtype(time.dtype, np.datetime64)
    columns: dict[str, object] = {
        "time": pd.DatetimeIndex(time).as_unit("us").tz_localize("UTC") if stamped else time,
        "sensor": dataset["sensor_id"].to_numpy().astype(object)[index],
    }
    numbers = [str(name) for name in dataset.data_vars if name not in ("sensor_index", "sensor_id", "time")]
    columns |= {name: dataset[name].to_numpy() for name in numbers}
    facts = [str(dataset.attrs[f"calibration_{key}"]) for key in ("run", "settings_hash", "data_hash", "calibdash")]
    return pd.DataFrame({**columns, VERSION_COLUMN: Version(*facts).text()})


def _nameable(quantity: str, unit: str, name: str) -> bool:
    """Whether CF has a name for this; a raw reading is not the quantity itself."""
    return quantity in STANDARD_NAMES and bool(unit) and name in ("calibrated", "lower", "upper")


def _time(times: pd.Series) -> tuple[np.ndarray, dict[str, str]]:
    """Whole microseconds since 1970, or hours on a clock without a calendar."""
    words = {"long_name": "start of the averaging interval"}
    if not isinstance(times.dtype, pd.DatetimeTZDtype):
        return times.to_numpy(dtype=np.float64), {**words, "units": "hours"}
    stamps = pd.DatetimeIndex(times).tz_convert("UTC").as_unit("us")
    more = {"standard_name": "time", "units": "microseconds since 1970-01-01 00:00:00", "calendar": "standard"}
    more["units_metadata"] = "leap_seconds: none"
    return stamps.asi8, {**words, **more}
