"""Small files that stand for huge tables are refused before they fill the memory."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from calibdash.data import files, measurements_stream
from calibdash.data.files import read_raw
from calibdash.data.measurements_stream import open_measurements
from calibdash.data.problems import DataError


@pytest.fixture
def bomb(tmp_path: Path) -> Path:
    """Twenty million rows in two hundred thousand bytes."""
    path = tmp_path / "measurements.parquet"
    rows = pa.table({name: pa.repeat(text, 2_000_000) for name, text in
                     (("time", "2024-01-01T00:00:00Z"), ("sensor", "a"), ("value", "1"))})  # fmt: skip
    with pa_parquet.ParquetWriter(path, rows.schema) as writer:
        for _ in range(10):
            writer.write_table(rows)
    assert path.stat().st_size < 300_000
    return path


def test_rows_out_of_nothing(bomb: Path) -> None:
    with pytest.raises(DataError, match="20,000,000 rows"):
        read_raw(bomb)
    with pytest.raises(DataError, match="20,000,000 rows"), open_measurements(bomb):
        pass


def test_letters_out_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 10_000_000)
    path = tmp_path / "x.parquet"
    pa_parquet.write_table(pa.table({"sensor": pa.repeat("x" * 10_000, 20_000)}), path)
    assert path.stat().st_size < 100_000
    with pytest.raises(DataError, match="larger than"):
        read_raw(path)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"0" * 20_000_000))
    with pytest.raises(DataError, match="larger than"):
        read_raw(tmp_path / "x.csv.gz")


def test_readings_out_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "measurements.csv.gz"
    path.write_bytes(gzip.compress(b"time,sensor,value\n" + b"0,a,1\n" * 5_000_000))
    monkeypatch.setattr(measurements_stream, "MAX_BYTES", 1_000_000)
    with pytest.raises(DataError, match="unpacks to far more"), open_measurements(path) as stream:
        list(stream.batches)


@pytest.mark.parametrize("count", [0, 1, files.BATCH_ROWS, 3 * files.BATCH_ROWS + 1])
def test_honest_tables_come_whole(tmp_path: Path, count: int) -> None:
    frame = pd.DataFrame({"sensor": [f"s{i % 7}" for i in range(count)], "value": [i / 3 for i in range(count)]})
    frame["kind"] = pd.Categorical([("static", "mobile")[i % 2] for i in range(count)])
    frame.index = frame.index + 5  # pandas writes it as a column of its own
    frame.to_parquet(tmp_path / "x.parquet")
    found = read_raw(tmp_path / "x.parquet").frame
    assert list(found.columns) == ["sensor", "value", "kind"]
    pd.testing.assert_frame_equal(found.astype(str), frame.reset_index(drop=True).astype(str), check_column_type=False)
