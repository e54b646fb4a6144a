"""Measurement files as a stream of text cells: one pass, and little memory however large the file."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pa_compute
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from calibdash.data.files import MAX_BYTES, MAX_COLUMNS, Dialect, RawTable, check_rows, sniff
from calibdash.data.problems import PLACES_KEPT, DataError, Place, Problem, error, note, raise_errors, shorten, warning
from calibdash.data.schema import MEASUREMENTS
from calibdash.data.tables import type_table

COLUMNS = MEASUREMENTS.names
MOST_UNPACKED = 100  # bytes out of one byte of gzip; tables of readings come to 20
_BLOCK_BYTES = 4 << 20  # also the longest row that can be read
_PARQUET_ROWS = 1 << 16


@dataclass(frozen=True)
class Batch:
    """Some rows: ``row`` (as a spreadsheet counts, header = 1) and text columns; ``done`` is the share of the file."""

    cells: pa.RecordBatch
    done: float


@dataclass(frozen=True)
class MeasurementStream:
    """The rows of one file. ``problems`` is complete only when ``batches`` has been used up."""

    columns: tuple[str, ...]
    batches: Iterator[Batch]
    decimal_comma: bool = False
    problems: list[Problem] = field(default_factory=list)


@contextmanager
def open_measurements(path: Path) -> Iterator[MeasurementStream]:
    """Open CSV (any dialect that :func:`calibdash.data.files.sniff` knows, also gzipped) or Parquet by its content."""
    name = path.name
    try:
        if not path.is_file():
            raise DataError([error("file-missing", f"{name} is not a file.", "Check the name.", file=name)])
        with path.open("rb") as file:
            magic = file.read(4)
            file.seek(0)
            yield _parquet_stream(name, file) if magic == b"PAR1" else _text_stream(path, file)
    except (pa.ArrowException, EOFError, zlib.error, gzip.BadGzipFile) as reason:
        message = f"{name} cannot be read: {shorten(reason)}."
        raise DataError(
            [error("file-format", message, "Write it again as plain CSV or Parquet.", file=name)]
        ) from reason
    except OSError as reason:
        message = f"Cannot read {name}: {reason.strerror or shorten(reason)}."
        raise DataError([error("file-access", message, "Check the path and its rights.", file=name)]) from reason


def _text_stream(path: Path, file: IO[bytes]) -> MeasurementStream:
    dialect = _dialect(path)
    size = max(path.stat().st_size, 1)
    text = _Utf8(_unpacked(file), dialect.encoding)
    header = _header(path.name, text, dialect.delimiter)
    found, problems = _find_columns(path.name, header)
    problems += _remarks(path.name, dialect)
    batches = _text_batches(path.name, text, dialect, len(header), found, problems)
    return MeasurementStream(
        columns=tuple(found),
        batches=(Batch(cells, min(file.tell() / size, 1.0)) for cells in batches),
        decimal_comma=dialect.delimiter != ",",
        problems=problems,
    )


def _text_batches(
    name: str, text: _Utf8, dialect: Dialect, width: int, found: dict[str, int], problems: list[Problem]
) -> Iterator[pa.RecordBatch]:
    """Rows of ``found`` columns; rows of another width than the header become one problem at the end."""
    broken: dict[int, str] = {}

    def skip_broken(row: pa_csv.InvalidRow) -> str:
        broken[row.number] = shorten(row.text) if len(broken) < PLACES_KEPT else ""
        return "skip"

    positions = [str(i) for i in range(width)]
    chosen = [str(i) for i in found.values()]
    reader = pa_csv.open_csv(
        text,
        # without threads the rows that are skipped still count in the numbers of those behind them
        read_options=pa_csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES, column_names=positions),
        parse_options=pa_csv.ParseOptions(
            delimiter=dialect.delimiter,
            newlines_in_values=True,
            ignore_empty_lines=False,
            invalid_row_handler=skip_broken,
        ),
        convert_options=pa_csv.ConvertOptions(
            include_columns=chosen,
            column_types=dict.fromkeys(chosen, pa.large_string()),
            strings_can_be_null=False,
        ),
    )
    following = 1
    for batch in reader:
        rows = _row_numbers(following, batch.num_rows, broken)
        if not len(rows):
            continue
        body = batch.slice(1) if following == 1 else batch
        following = int(rows[-1]) + 1
        rows = rows[len(rows) - body.num_rows :] + text.lines_before
        yield _named(rows, body.columns, found)
    if broken:
        places = tuple(Place(n + text.lines_before, line) for n, line in list(broken.items())[:PLACES_KEPT])
        problems.append(
            error(
                "row-width",
                f"{len(broken)} rows have more or fewer fields than the header's {width}.",
                "Complete or delete these rows; put quotes around cells that contain the separator.",
                file=name,
                count=len(broken),
                places=places,
            )
        )


def _row_numbers(following: int, count: int, broken: dict[int, str]) -> np.ndarray:
    """Numbers of the next ``count`` good rows from row ``following`` on, past the broken ones.   → [count]"""
    ahead = [number for number in broken if number >= following]
    return np.setdiff1d(np.arange(following, following + count + len(ahead)), ahead)[:count]


def _parquet_stream(name: str, file: IO[bytes]) -> MeasurementStream:
    parquet = pa_parquet.ParquetFile(file)
    header = parquet.schema_arrow.names
    found, problems = _find_columns(name, header)
    total = max(parquet.metadata.num_rows, 1)
    check_rows(name, total, file.seek(0, io.SEEK_END))

    def batches() -> Iterator[Batch]:
        seen = 0
        for batch in parquet.iter_batches(_PARQUET_ROWS, columns=[header[i] for i in found.values()]):
            rows = np.arange(seen + 2, seen + 2 + batch.num_rows)
            texts = [_as_text(batch.column(header[i])) for i in found.values()]
            seen += batch.num_rows
            yield Batch(_named(rows, texts, found), seen / total)

    return MeasurementStream(tuple(found), batches(), problems=problems)


def _as_text(cells: pa.Array) -> pa.Array:
    """Typed cells as the text that a CSV would hold: stamps with an offset in UTC, whole numbers without ``.0``."""
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if pa.types.is_timestamp(cells.type):
        cells = cells.cast(pa.timestamp("us", "UTC" if cells.type.tz else None), safe=False)
    return cells.cast(pa.large_string())


def _named(rows: np.ndarray, texts: Sequence[pa.Array], names: Iterable[str]) -> pa.RecordBatch:
    """Row numbers and cells, without blanks around them."""
    trimmed = [pa_compute.utf8_trim_whitespace(cells) for cells in texts]
    return pa.RecordBatch.from_arrays([pa.array(rows, pa.int64()), *trimmed], names=["row", *names])


def _find_columns(name: str, header: Sequence[str]) -> tuple[dict[str, int], list[Problem]]:
    """Positions of the columns that matter, in the order of ``COLUMNS``, and what the schema says of the rest."""
    empty = pd.DataFrame(columns=list(header), dtype=object)
    table = type_table(RawTable(name, empty, np.empty(0, np.int64)), MEASUREMENTS)
    raise_errors(table.problems)
    names = [str(column).strip().lower().replace(" ", "_") for column in header]
    return {column: names.index(column) for column in COLUMNS if column in names}, list(table.problems)


def _dialect(path: Path) -> Dialect:
    """The dialect of the whole file: bytes that are not UTF-8 may come late."""
    with path.open("rb") as file:
        unpacked = _unpacked(file)
        head = unpacked.read(_BLOCK_BYTES)
        dialect = sniff(head)
        if dialect.encoding != "utf-8":
            return dialect
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while head:
                decoder.decode(head)
                head = unpacked.read(_BLOCK_BYTES)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return Dialect("cp1252", dialect.delimiter)
    return dialect


def _remarks(name: str, dialect: Dialect) -> list[Problem]:
    remarks = []
    if dialect.encoding == "cp1252":
        message = f"{name} is not UTF-8; it was read as Windows-1252, so special letters may be wrong."
        remarks.append(warning("encoding", message, "Save the file as UTF-8.", file=name))
    if dialect.delimiter not in ",\t":
        mark = f"`{dialect.delimiter}`"
        message = f"{name} separates its columns with {mark}; `,` inside numbers was read as a decimal comma."
        remarks.append(note("separator", message, "Nothing to do if that is right.", file=name))
    return remarks


def _unpacked(file: IO[bytes]) -> IO[bytes]:
    zipped = file.read(2) == b"\x1f\x8b"
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    return _Gzip(file, MAX_BYTES + MOST_UNPACKED * size) if zipped else file  # type: ignore[return-value]


class _Gzip(gzip.GzipFile):
    """A gzip file that ends in an error where it holds more than any table of its size would."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        super().__init__(fileobj=file)
        self._most = most

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        if self.tell() > self._most:
            raise EOFError("it unpacks to far more than it should")
        return data


def _header(name: str, text: _Utf8, delimiter: str) -> list[str]:
    head = text.peek().decode("utf-8", errors="replace")
    if "\0" in head[:4096]:
        raise DataError([error("file-format", f"{name} is not a text file.", "Save the table as CSV.", file=name)])
    if not head.strip():
        remedy = "Give a table with a header and at least one row."
        raise DataError([error("empty-file", f"{name} is empty.", remedy, file=name)])
    csv.field_size_limit(_BLOCK_BYTES)
    try:
        header = next(csv.reader(io.StringIO(head, newline=None), delimiter=delimiter))
    except csv.Error as reason:
        message = f"The header of {name} cannot be read: {reason}."
        raise DataError([error("file-format", message, "Save it as plain CSV.", file=name)]) from reason
    if len(header) > MAX_COLUMNS:
        message = f"{name} has {len(header)} columns."
        raise DataError([error("columns", message, f"Keep it below {MAX_COLUMNS}.", file=name)])
    return header


class _Utf8(io.RawIOBase):
    """Any text file as UTF-8 bytes, without byte-order mark and without empty lines before the header."""

    def __init__(self, source: IO[bytes], encoding: str) -> None:
        self._chunks = self._recoded(source, encoding)
        self._waiting = b""
        self.lines_before = 0
        self._skip_blank_start()

    def readable(self) -> bool:
        return True

    def peek(self) -> bytes:
        """What comes next, without taking it."""
        self._waiting = self._waiting or next(self._chunks, b"")
        return self._waiting

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        chunk = self.peek()[: len(buffer)]
        buffer[: len(chunk)] = chunk
        self._waiting = self._waiting[len(chunk) :]
        return len(chunk)

    def _skip_blank_start(self) -> None:
        while chunk := self.peek():
            self._waiting = chunk.lstrip(b"\r\n")
            self.lines_before += chunk[: len(chunk) - len(self._waiting)].count(b"\n")
            if self._waiting:
                return

    @staticmethod
    def _recoded(source: IO[bytes], encoding: str) -> Iterator[bytes]:
        if encoding == "utf-8":
            chunk = source.read(_BLOCK_BYTES).removeprefix(codecs.BOM_UTF8)
            while chunk:
                yield chunk
                chunk = source.read(_BLOCK_BYTES)
            return
        decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        while chunk := source.read(_BLOCK_BYTES):
            if text := decoder.decode(chunk):
                yield text.encode("utf-8", errors="replace")
