"""Exports: nothing changes on the way out and back, nothing can be run by a spreadsheet, and CF is kept."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pa_parquet
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from calibdash.data.exports import Version, read_export, safe_text, safe_texts, write_calibrated, write_plain
from calibdash.errors import CalibdashError

VERSION = Version("run-1", "0123456789ab", "ba9876543210", "0.1.0")
NAMES = ["=cmd|' /C calc'!A0", "+1+1", "-24516", "-2+3", "@SUM(A1)", "\tx", "'quoted", "aq-01", 'Σ,"x"', "01", "NA"]
DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n")


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    count = len(NAMES) * 3
    time = pd.date_range("2024-05-01T00:00:00.000001", periods=count, freq="10min", tz="UTC").as_unit("us")
    numbers = rng.lognormal(3, 1, (5, count))
    numbers[1, 3] = np.nan
    numbers[2, 4] = -numbers[2, 4]
    return pd.DataFrame(
        {
            "time": time,
            "sensor": NAMES * 3,
            "value": numbers[0],
            "calibrated": numbers[1],
            "lower": numbers[2],
            "upper": numbers[3],
            "calibration_share": numbers[4],
        }
    )


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".nc"])
def test_what_is_read_back_is_what_was_written(frame: pd.DataFrame, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"calibrated{suffix}"
    write_calibrated(frame, VERSION, path, {"quantity": "PM2.5", "unit": "µg/m³"})
    back = read_export(path)
    assert back["calibration"].astype(str).unique().tolist() == [VERSION.text()]
    back = back.drop(columns="calibration").astype({"sensor": object})
    pd.testing.assert_frame_equal(back, frame.astype({"sensor": object}), check_exact=True)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_no_cell_of_text_can_be_run(frame: pd.DataFrame, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"calibrated{suffix}"
    write_calibrated(frame.rename(columns={"calibration_share": "=share"}), VERSION, path)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.reader(file, delimiter="\t" if suffix == ".tsv" else ","):
            for cell in row:
                harmless = not cell.startswith(DANGEROUS) or _is_number(cell)
                assert harmless, cell


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@given(st.text(max_size=20))
def test_texts_come_back(text: str) -> None:
    safe = str(safe_text(text))
    assert not safe.startswith(DANGEROUS) or _is_number(safe)
    assert (safe[1:] if safe.startswith("'") else safe) == text


def test_numbers_and_missing_cells_are_left_alone() -> None:
    frame = pd.DataFrame({"n": [-1.5, 2.0], "t": ["-x", None], "c": pd.Categorical(["=a", "b"])})
    safe = safe_texts(frame)
    assert safe["n"].tolist() == [-1.5, 2.0]
    assert safe["t"].tolist()[0] == "'-x"
    assert safe["t"].isna().tolist() == [False, True]
    assert safe["c"].tolist() == ["'=a", "b"]
    assert frame["t"].iloc[0] == "-x"


def test_hours_without_a_calendar(frame: pd.DataFrame, tmp_path: Path) -> None:
    hours = frame.assign(time=np.arange(len(frame)) / 3)
    for suffix in (".csv", ".parquet", ".nc"):
        path = tmp_path / f"hours{suffix}"
        write_calibrated(hours, VERSION, path)
        np.testing.assert_array_equal(read_export(path)["time"], hours["time"])


def test_parquet_says_which_calibration(frame: pd.DataFrame, tmp_path: Path) -> None:
    write_calibrated(frame, VERSION, tmp_path / "c.parquet")
    facts = pa_parquet.read_schema(tmp_path / "c.parquet").metadata
    assert facts[b"calibdash.run"] == b"run-1"
    assert facts[b"calibdash.data_hash"] == b"ba9876543210"
    plain = pd.read_parquet(tmp_path / "c.parquet")
    assert plain["sensor"].tolist() == frame["sensor"].tolist()


def test_netcdf_keeps_the_conventions(frame: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "c.nc"
    write_calibrated(frame, VERSION, path, {"quantity": "PM2.5", "unit": "µg/m³"})
    with xr.open_dataset(path, engine="h5netcdf", decode_times=False) as data:
        assert data.attrs["Conventions"] == "CF-1.11"
        assert data.attrs["calibration_run"] == "run-1"
        assert data.attrs["calibration_settings_hash"] == "0123456789ab"
        for name in ("title", "history", "source"):
            assert data.attrs[name]
        assert data["time"].attrs["standard_name"] == "time"
        assert data["time"].attrs["units"].startswith("microseconds since 1970-01-01")
        assert data["time"].attrs["calendar"] == "standard"
        for name, variable in data.variables.items():
            assert variable.attrs["long_name"], name
            if variable.dtype.kind in "fi":
                assert variable.attrs["units"], name
            assert all(size not in data.variables for size in variable.dims), "no text as a coordinate variable"
        calibrated = data["calibrated"].attrs
        assert calibrated["standard_name"] == "mass_concentration_of_pm2p5_ambient_aerosol_particles_in_air"
        assert calibrated["units"] == "ug m-3"
        assert set(calibrated["ancillary_variables"].split()) == {"lower", "upper", "calibration_share"}
        assert "standard_name" not in data["value"].attrs  # a raw reading is not the quantity
    with xr.open_dataset(path, engine="h5netcdf") as data:
        stamps = pd.DatetimeIndex(data["time"].to_numpy()).tz_localize("UTC").as_unit("us")
        assert (stamps == pd.DatetimeIndex(frame["time"])).all()


def test_unknown_units_are_not_invented(frame: pd.DataFrame, tmp_path: Path) -> None:
    write_calibrated(frame, VERSION, tmp_path / "c.nc", {"quantity": "smell", "unit": "sniffs"})
    with xr.open_dataset(tmp_path / "c.nc", engine="h5netcdf") as data:
        assert "units" not in data["calibrated"].attrs
        assert "standard_name" not in data["calibrated"].attrs


def test_other_endings_are_refused(frame: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(CalibdashError, match="format"):
        write_calibrated(frame, VERSION, tmp_path / "c.xlsx")
    write_plain(frame, tmp_path / "plain.csv")
    assert not (tmp_path / "c.xlsx").exists()
