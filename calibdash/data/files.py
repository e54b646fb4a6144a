"""Tables on disk: delimited text in whatever dress people bring it, Parquet, and safe writing of both."""

from __future__ import annotations

import csv
import gzip
import io
import os
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from calibdash.data.problems import DataError, Place, Problem, error, note, shorten, warning

SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".parquet")
MAX_BYTES = 2 << 30
BATCH_ROWS = 4096  # of Parquet at a time
ROWS_ANYHOW, ROWS_PER_BYTE = 1_000_000, 50
MAX_COLUMNS = 1000
_DELIMITERS = ",;\t|"
_NOT_TEXT = {
    b"PK\x03\x04": ("a zip archive or an Excel workbook", "Save the sheet as CSV (UTF-8), or unpack the archive."),
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook", "Save the sheet as CSV (UTF-8)."),
    b"%PDF": ("a PDF", "Ask for the numbers as CSV."),
    b"\x89PNG": ("a picture", "Give the table itself, as CSV."),
}


@dataclass(frozen=True)
class Dialect:
    """How a text file is written."""

    encoding: str
    delimiter: str


@dataclass(frozen=True)
class RawTable:
    """A table as it stands in its file: every cell text (Parquet keeps its own types).

    ``rows`` are row numbers as a spreadsheet shows them (header = 1), one for each row of ``frame``.
    """

    file: str
    frame: pd.DataFrame
    rows: np.ndarray
    dialect: Dialect | None = None
    problems: tuple[Problem, ...] = field(default=())


def read_raw(path: Path, skip: int = 0) -> RawTable:
    """Read a table without interpreting it; ``skip`` lines before the header are passed over."""
    data = _read_bytes(path)
    if data[:4] == b"PAR1":
        return _read_parquet(path, data)
    return _read_text(path.name, data, skip)


def sniff(head: bytes) -> Dialect:
    """The dialect of a text file from its first bytes (at least its whole header line)."""
    encoding = _encoding(head, whole=False)
    text = head.decode(encoding, errors="replace").lstrip("\ufeff\r\n")
    return Dialect(encoding, _delimiter(text))


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write CSV or Parquet by the name's ending: all of it or nothing."""
    name = path.name.lower()
    if name.endswith(".parquet"):
        write_atomically(path, lambda file: frame.to_parquet(file, index=False))
    elif name.endswith((".csv", ".tsv", ".txt")):
        separator = "\t" if name.endswith(".tsv") else ","
        text = _with_text_stamps(frame).to_csv(index=False, sep=separator, lineterminator="\n")
        write_atomically(path, lambda file: file.write(text.encode()))
    else:
        raise DataError(
            [
                error(
                    "file-ending",
                    f"{path.name} does not say which format to write.",
                    "End the name in .csv or .parquet.",
                )
            ]
        )


def write_atomically(path: Path, write: Callable[[io.BufferedWriter], object]) -> None:
    """Call ``write`` on a temporary file beside ``path``, then put it in place at once."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".part", dir=path.parent)
    except OSError as reason:
        raise _cannot("write", path, reason) from reason
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException as reason:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(reason, OSError):
            raise _cannot("write", path, reason) from reason
        raise


def _with_text_stamps(frame: pd.DataFrame) -> pd.DataFrame:
    """UTC stamps as ISO 8601 text ending in Z, with fractions only in columns that need them."""
    stamps = {}
    for name in frame.select_dtypes("datetimetz").columns:
        utc = frame[name].dt.tz_convert("UTC")
        fraction = ".%f" if (utc.dt.microsecond.fillna(0) != 0).any() else ""
        stamps[name] = utc.dt.strftime(f"%Y-%m-%dT%H:%M:%S{fraction}Z")
    return frame.assign(**stamps)


def _cannot(verb: str, path: Path, reason: OSError) -> DataError:
    why = reason.strerror or str(reason)
    return DataError(
        [
            error(
                "file-access",
                f"Cannot {verb} {path.name}: {why}.",
                "Check the path, its rights and the free space.",
                file=path.name,
            )
        ]
    )


def _read_bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            remedy = "Give a CSV or Parquet file." if path.is_dir() else "Check the name and the folder."
            raise DataError([error("file-missing", "There is no such file.", remedy, file=path.name)])
        data = path.read_bytes()
    except OSError as reason:
        raise _cannot("read", path, reason) from reason
    if data[:2] == b"\x1f\x8b":
        data = _unzip(path.name, data)
    if len(data) > MAX_BYTES:
        raise _too_large(path.name)
    for magic, (what, remedy) in _NOT_TEXT.items():
        if data.startswith(magic):
            raise DataError([error("file-format", f"The file is {what}, not a table.", remedy, file=path.name)])
    return data


def _unzip(name: str, data: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as reason:
        raise DataError(
            [
                error(
                    "file-format",
                    f"The gzip file is damaged ({shorten(reason)}).",
                    "Fetch or pack it again.",
                    file=name,
                )
            ]
        ) from reason


def _too_large(name: str) -> DataError:
    limit = f"{MAX_BYTES >> 30} GiB"
    return DataError(
        [error("file-size", f"The file is larger than {limit}.", "Split it, or turn it into Parquet first.", file=name)]
    )


def _read_parquet(path: Path, data: bytes) -> RawTable:
    try:
        frame = _parquet_table(path.name, data).to_pandas()
    except (pa.ArrowException, OSError, ValueError, OverflowError) as reason:
        raise DataError(
            [
                error(
                    "file-format",
                    f"The Parquet file is damaged ({shorten(reason)}).",
                    "Write it again, or give CSV.",
                    file=path.name,
                )
            ]
        ) from reason
    frame.columns = [str(name) for name in frame.columns]
    return RawTable(path.name, frame.reset_index(drop=True), np.arange(2, len(frame) + 2))


def _parquet_table(name: str, data: bytes) -> pa.Table:
    """The table, read in pieces: a few bytes can stand for any number of rows, and for any number of letters."""
    file = pa_parquet.ParquetFile(pa.BufferReader(data))
    check_rows(name, file.metadata.num_rows, len(data))
    batches, size = [], 0
    for batch in file.iter_batches(batch_size=BATCH_ROWS):
        size += batch.nbytes
        if size > MAX_BYTES:
            raise _too_large(name)
        batches.append(batch)
    whole = pa.Table.from_batches(batches, schema=batches[0].schema if batches else file.schema_arrow)
    return whole.replace_schema_metadata(file.schema_arrow.metadata)  # says which column was pandas' index


def check_rows(name: str, rows: int, size: int) -> None:
    """Refuse a Parquet file that says it has far more rows than times can be packed into its bytes."""
    if rows > ROWS_ANYHOW + ROWS_PER_BYTE * size:
        message = f"The Parquet file says it has {rows:,} rows in {size:,} bytes."
        remedy = "Write it again, or give CSV."
        raise DataError([error("file-size", message, remedy, file=name)])


def _read_text(name: str, data: bytes, skip: int) -> RawTable:
    encoding = _encoding(data, whole=True)
    text = data.decode(encoding, errors="replace").removeprefix("\ufeff")
    if "\n" not in text:  # old Macintosh files end their lines so
        text = text.replace("\r", "\n")
    if "\0" in text[:4096]:
        raise DataError([error("file-format", "The file is not text.", "Save the table as CSV (UTF-8).", file=name)])
    lines_before = skip
    for _ in range(skip):
        text = text.partition("\n")[2]
    stripped = text.lstrip("\r\n")
    lines_before += text[: len(text) - len(stripped)].count("\n")
    if not stripped.strip():
        raise DataError(
            [error("empty-file", "The file is empty.", "Give a table with a header and at least one row.", file=name)]
        )
    dialect = Dialect(encoding, _delimiter(stripped))
    frame, rows, problems = _parse(name, stripped, dialect, lines_before)
    if encoding == "cp1252":
        problems.append(
            warning(
                "encoding",
                "The file is not UTF-8; it was read as Windows-1252, so special letters may be wrong.",
                "Save the file as UTF-8.",
                file=name,
            )
        )
    if dialect.delimiter not in ",\t":
        problems.append(
            note(
                "separator",
                f"Columns are separated by `{dialect.delimiter}`; a `,` in a number was read as a decimal comma.",
                "Nothing to do if that is right.",
                file=name,
            )
        )
    return RawTable(name, frame, rows, dialect, tuple(problems))


def _encoding(data: bytes, *, whole: bool) -> str:
    if data.startswith(b"\xef\xbb\xbf"):
        return "utf-8"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    start = data[:4096]
    if start and start.count(0) > len(start) // 4:  # Latin text in UTF-16 has a zero in every other byte
        return "utf-16-le" if start[1:2] == b"\0" else "utf-16-be"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as reason:
        cut_at_end = not whole and reason.start > len(data) - 4
        return "utf-8" if cut_at_end else "cp1252"
    return "utf-8"


def _delimiter(text: str) -> str:
    header = text[:100_000].split("\n", 1)[0]
    outside = "".join(header.split('"')[::2])
    return max(_DELIMITERS, key=outside.count) if any(mark in outside for mark in _DELIMITERS) else ","


def _parse(name: str, text: str, dialect: Dialect, lines_before: int) -> tuple[pd.DataFrame, np.ndarray, list[Problem]]:
    header = _header(name, text, dialect.delimiter)
    if len(header) > MAX_COLUMNS:
        raise DataError(
            [error("columns", f"The table has {len(header)} columns.", f"Keep it below {MAX_COLUMNS}.", file=name)]
        )
    broken: list[tuple[int, int, str]] = []

    def skip_broken(row: pa_csv.InvalidRow) -> str:
        broken.append((row.number, row.actual_columns, row.text))
        return "skip"

    positions = [f"{i}" for i in range(len(header))]
    data = text.encode("utf-8", errors="replace")
    try:
        table = pa_csv.read_csv(
            io.BytesIO(data),
            # one block and one thread: row numbers are exact, and no cell is too long for its block
            read_options=pa_csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=positions),
            parse_options=pa_csv.ParseOptions(
                delimiter=dialect.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=False,
                invalid_row_handler=skip_broken,
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(positions, pa.large_string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowException as reason:
        raise DataError(
            [error("file-format", f"The table cannot be read: {shorten(reason)}.", "Save it as plain CSV.", file=name)]
        ) from reason
    numbers = np.setdiff1d(np.arange(1, table.num_rows + len(broken) + 1), [number for number, _, _ in broken])
    frame = table.to_pandas()
    empty = (frame == "").to_numpy().all(axis=1)
    keep = ~empty & (numbers > 1)
    frame = frame.loc[keep].reset_index(drop=True)
    frame.columns = pd.Index(header)
    found = tuple(Place(number + lines_before, shorten(line)) for number, _, line in broken[:20])
    problems = []
    if broken:
        problems.append(
            error(
                "row-width",
                f"{len(broken)} rows have more or fewer fields than the header's {len(header)}.",
                "Complete or delete these rows; put quotes around cells that contain the separator.",
                file=name,
                count=len(broken),
                places=found,
            )
        )
    return frame, numbers[keep] + lines_before, problems


def _header(name: str, text: str, delimiter: str) -> list[str]:
    csv.field_size_limit(1 << 30)
    try:
        return next(csv.reader(io.StringIO(text), delimiter=delimiter))
    except csv.Error as reason:
        raise DataError(
            [error("file-format", f"The header of {name} is broken ({reason}).", "Save it as plain CSV.", file=name)]
        ) from reason
