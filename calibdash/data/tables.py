"""From a file to typed columns, with every problem of every cell on the way."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from calibdash.data import parse
from calibdash.data.files import RawTable, read_raw
from calibdash.data.problems import Problem, did_you_mean, error, note, places, raise_errors, warning
from calibdash.data.schema import Column, Kind, Schema

SENSOR_KINDS = ("static", "mobile")


@dataclass(frozen=True)
class Table:
    """The usable rows of a file: typed columns, and each row's number in the file [N]."""

    schema: Schema
    file: str
    frame: pd.DataFrame
    rows: np.ndarray
    problems: tuple[Problem, ...] = field(default=(), repr=False)
    is_hours: bool = False

    def drop(self, bad: np.ndarray, *problems: Problem) -> Table:
        """The table without the rows of the mask ``bad`` [N], and with further problems."""
        keep = ~np.asarray(bad)
        frame = self.frame.loc[keep].reset_index(drop=True)
        return replace(self, frame=frame, rows=self.rows[keep], problems=self.problems + problems)

    def adding(self, *problems: Problem) -> Table:
        """The same rows with further problems."""
        return replace(self, problems=self.problems + problems)

    def places(self, bad: np.ndarray, column: str) -> dict[str, object]:
        """Where the mask holds, as keywords of a :class:`Problem`."""
        return {"file": self.file, "column": column, **places(bad, self.rows, self.frame[column])}


@dataclass(frozen=True)
class _Cells:
    values: pd.Series
    broken: np.ndarray
    missing: np.ndarray
    problems: tuple[Problem, ...]
    is_hours: bool = False


def read_table(path: Path, schema: Schema, zone: str | None = None) -> Table:
    """Read one table of a network folder; problems are collected, not raised."""
    return type_table(read_raw(path), schema, zone)


def load_table(path: Path, schema: Schema, zone: str | None = None) -> Table:
    """Read one table on its own; errors are raised."""
    table = read_table(path, schema, zone)
    raise_errors(table.problems)
    return table


def type_table(raw: RawTable, schema: Schema, zone: str | None = None) -> Table:
    """Match columns, convert cells, and set aside rows that cannot be used."""
    found, problems = _match_columns(raw, schema)
    decimal_comma = raw.dialect is not None and raw.dialect.delimiter != ","
    typed: dict[str, pd.Series] = {}
    set_aside = np.zeros(len(raw.frame), bool)
    is_hours = False
    for name, position in found.items():
        column = schema.column(name)
        if column is None:
            continue
        cells = _convert(raw, column, raw.frame.iloc[:, position], zone, decimal_comma)
        typed[name] = cells.values
        problems.extend(cells.problems)
        set_aside |= cells.broken | (cells.missing & column.required)
        is_hours |= cells.is_hours
    frame = pd.DataFrame(typed, index=raw.frame.index)
    for column in schema.columns:
        if column.required and column.name not in frame:
            frame[column.name] = pd.Series(dtype="float64" if column.kind is Kind.NUMBER else "object")
    table = Table(schema, raw.file, frame, raw.rows, raw.problems + tuple(problems), is_hours)
    return table.drop(set_aside)


def _match_columns(raw: RawTable, schema: Schema) -> tuple[dict[str, int], list[Problem]]:
    header = [str(name).strip().lower().replace(" ", "_") for name in raw.frame.columns]
    problems: list[Problem] = []
    repeated = sorted({name for name in header if header.count(name) > 1 and name})
    if repeated:
        problems.append(
            error(
                "column-twice",
                f"Column `{repeated[0][:60]}` stands in the header more than once.",
                "Keep one of them.",
                file=raw.file,
                column=repeated[0][:60],
            )
        )
    found = {name: i for i, name in reversed(list(enumerate(header))) if schema.column(name)}
    found = dict(sorted(found.items(), key=lambda pair: pair[1]))
    unknown = [name for name in header if schema.column(name) is None]
    missing = [column.name for column in schema.columns if column.required and column.name not in found]
    problems.extend(_missing_column(raw.file, name, unknown, header) for name in missing)
    problems.extend(_lonely_covariates(raw.file, schema, found))
    if unknown:
        known = [name for name in schema.names if name not in found]
        hint = next(filter(None, (did_you_mean(name, known) for name in unknown)), "Nothing to do if that is right.")
        listed = ", ".join(f"`{name[:40]}`" for name in unknown[:8]) + (" …" if len(unknown) > 8 else "")
        problems.append(
            warning(
                "column-unknown",
                f"Columns not used: {listed}.",
                hint,
                file=raw.file,
                column=unknown[0][:60],
                count=len(unknown),
            )
        )
    return found, problems


def _missing_column(file: str, name: str, unknown: list[str], header: list[str]) -> Problem:
    close = did_you_mean(name, unknown).replace("Did you mean", "Rename").replace("?", f" to `{name}`.")
    there = ", ".join(f"`{word[:30]}`" for word in header[:12])
    return error(
        "column-missing",
        f"Column `{name}` is missing; the header has {there}.",
        close or f"Add a column `{name}`.",
        file=file,
        column=name,
    )


def _lonely_covariates(file: str, schema: Schema, found: dict[str, int]) -> list[Problem]:
    problems = []
    for name in list(found):
        if name in schema.names or not schema.covariates:
            continue
        other = name[:-1] + ("b" if name.endswith("_a") else "a")
        if other not in found:
            del found[name]
            problems.append(
                warning(
                    "covariate-side",
                    f"`{name}` is not used because `{other}` is missing.",
                    f"Add a column `{other}`: both sensors of a pair need the covariate.",
                    file=file,
                    column=name,
                )
            )
    return problems


def _convert(raw: RawTable, column: Column, cells: pd.Series, zone: str | None, decimal_comma: bool) -> _Cells:
    if column.kind is Kind.TIME:
        return _convert_times(raw, column, cells, zone, decimal_comma)
    if column.kind is Kind.NUMBER:
        return _convert_numbers(raw, column, cells, decimal_comma)
    if column.kind is Kind.FLAG:
        return _finish(raw, column, cells, parse.flags(cells), "is neither true nor false", "Write true or false.")
    if column.kind is Kind.SENSOR_KIND:
        text = parse.as_text(cells).str.lower()
        missing = (text == "").to_numpy()
        parsed = parse.Parsed(text, missing, ~text.isin(SENSOR_KINDS).to_numpy() & ~missing)
        first = text[parsed.bad].iloc[0] if parsed.bad.any() else ""
        remedy = did_you_mean(first, SENSOR_KINDS) or "Write static or mobile."
        return _finish(raw, column, cells, parsed, "is not a kind of sensor", remedy)
    what = f"is longer than {parse.LONGEST_ID} characters"
    return _finish(raw, column, cells, parse.ids(cells), what, "Shorten it.")


def _convert_times(raw: RawTable, column: Column, cells: pd.Series, zone: str | None, decimal_comma: bool) -> _Cells:
    parsed = parse.times(cells, zone, decimal_comma=decimal_comma)
    remedy = "Write ISO 8601 with an offset, as 2024-05-01T14:00:00+03:00 (or a number of hours in every row)."
    finished = _finish(raw, column, cells, parsed, "is not a time", remedy)
    problems = finished.problems
    if parsed.naive.any():
        problems += (
            error(
                "time-zone",
                "Times without an offset need a stated time zone.",
                'Add the offset to each time, or put timezone = "Africa/Kampala" into the folder\'s network.toml '
                "(or give --zone).",
                file=raw.file,
                column=column.name,
                **places(parsed.naive, raw.rows, cells),
            ),
        )
    return _Cells(finished.values, finished.broken | parsed.naive, finished.missing, problems, parsed.is_hours)


def _convert_numbers(raw: RawTable, column: Column, cells: pd.Series, decimal_comma: bool) -> _Cells:
    parsed = parse.numbers(cells, decimal_comma=decimal_comma)
    remedy = "Write a plain number such as 35.2, without unit or thousands separators, or leave the cell empty."
    finished = _finish(raw, column, cells, parsed, "is not a number", remedy)
    infinite = np.isinf(parsed.values.to_numpy())
    outside = (parsed.values.lt(column.low) | parsed.values.gt(column.high)).to_numpy() & ~infinite
    problems = finished.problems
    where = {"file": raw.file, "column": column.name}
    if infinite.any():
        effect = "the row was left out" if column.required else "it counts as missing"
        problems += (
            warning(
                "not-finite",
                f"`{column.name}` is infinite; {effect}.",
                "Leave the cell empty where there is no reading.",
                **where,
                **places(infinite, raw.rows, cells),
            ),
        )
    if outside.any():
        problems += (
            error(
                "out-of-range",
                f"`{column.name}` must lie between {column.low:g} and {column.high:g}.",
                "Correct the value, or leave the cell empty.",
                **where,
                **places(outside, raw.rows, cells),
            ),
        )
    values = parsed.values.where(~infinite)
    missing = finished.missing | infinite
    return _Cells(values, finished.broken | outside, missing, problems)


def _finish(raw: RawTable, column: Column, cells: pd.Series, parsed: parse.Parsed, what: str, remedy: str) -> _Cells:
    problems: tuple[Problem, ...] = ()
    if parsed.bad.any():
        problems += (
            error(
                f"not-{column.kind.value.replace(' ', '-')}",
                f"`{column.name}` {what}.",
                remedy,
                file=raw.file,
                column=column.name,
                **places(parsed.bad, raw.rows, cells),
            ),
        )
    if column.required and parsed.missing.any():
        problems += (_left_out(raw, column, cells, parsed.missing),)
    return _Cells(parsed.values, parsed.bad, parsed.missing, problems)


def _left_out(raw: RawTable, column: Column, cells: pd.Series, missing: np.ndarray) -> Problem:
    return warning(
        "missing-value",
        f"Rows without `{column.name}` were left out.",
        "Fill the cell in if the value is known.",
        file=raw.file,
        column=column.name,
        **places(missing, raw.rows, cells),
    )


def spread_note(table: Table) -> Problem:
    """A note that rows do not stand in the order of time."""
    return note(
        "time-order",
        "Rows are not in the order of time; they were sorted inside calibdash, the file is unchanged.",
        "Nothing to do if that is right.",
        file=table.file,
        column="time",
    )
