"""A raw table read column by column, with everything wrong in its cells collected on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from calibdash.data import parse
from calibdash.data.files import RawTable
from calibdash.data.problems import DataError, Problem, did_you_mean, error, places, shorten, warning
from calibdash.data.readers.source import plain

EARLIEST = pd.Timestamp("1970-01-01", tz="UTC")
LATEST = pd.Timestamp("2100-01-01", tz="UTC")
UNIX_FROM, UNIX_UNTIL = EARLIEST.timestamp(), LATEST.timestamp()
RANGES = {
    # µg/m³; -999 and 99999 stand for "no value" in what loggers and archives write, noise may fall below 0
    "value": (-90.0, 99_999.0),
    "latitude": (-90.0, 90.0),
    "longitude": (-180.0, 180.0),
    "humidity": (0.0, 110.0),
    "temperature": (-90.0, 90.0),
}


class Sheet:
    """Columns by name (whatever its case) as values [N]; ``reported`` marks rows a problem already speaks of."""

    def __init__(self, raw: RawTable) -> None:
        self.file = raw.file
        self.rows = raw.rows
        self.problems: list[Problem] = list(raw.problems)
        self.decimal_comma = raw.dialect is not None and raw.dialect.delimiter != ","
        self.reported = np.zeros(len(raw.frame), bool)
        self.names = tuple(str(name).strip() for name in raw.frame.columns)
        self._positions = _positions(raw)
        self._frame = raw.frame

    def __len__(self) -> int:
        return len(self._frame)

    def keep(self, mask: np.ndarray) -> None:
        """Go on with these rows only."""
        self._frame = self._frame.loc[mask].reset_index(drop=True)
        self.rows, self.reported = self.rows[mask], self.reported[mask]

    def find(self, *names: str) -> str | None:
        """The first of these columns that exists."""
        return next((name for name in names if plain(name) in self._positions), None)

    def need(self, columns: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """The column for each role, by the names it may have; stops with all that are missing."""
        found = {role: self.find(*names) for role, names in columns.items()}
        missing = [role for role, name in found.items() if name is None]
        if missing:
            self.problems += [self._missing(columns[role]) for role in missing]
            raise DataError(self.problems)
        return {role: name for role, name in found.items() if name is not None}

    def cells(self, column: str) -> pd.Series:
        """A column as it stands.   → [N]"""
        series = self._frame.iloc[:, self._positions[plain(column)]]
        return series.astype(object) if isinstance(series.dtype, pd.CategoricalDtype) else series

    def text(self, column: str) -> pd.Series:
        """A column as stripped text, missing cells empty.   → [N]"""
        return parse.as_text(self.cells(column))

    def ids(self, column: str) -> pd.Series:
        """Ids, empty where missing.   → [N]"""
        parsed = parse.ids(self.cells(column))
        self.reject(
            "id", column, parsed.bad, "is longer than an id can be", "Shorten it, or mend the quotes around it."
        )
        return parsed.values

    def numbers(self, column: str) -> pd.Series:
        """Numbers, NaN where missing.   → [N] float64"""
        parsed = parse.numbers(self.cells(column), decimal_comma=self.decimal_comma)
        self.reject(
            "number", column, parsed.bad, "is not a number", "Write a plain number such as 12.5, or leave it empty."
        )
        return parsed.values

    def quantity(self, column: str, what: str, scale: float = 1.0, offset: float = 0.0) -> pd.Series:
        """``(number − offset)·scale``, NaN where missing or beyond what ``what`` can be.   → [N] float64"""
        numbers = self.numbers(column)
        values = (numbers - offset) * scale
        possible = values.between(*RANGES[what], inclusive="neither" if what == "value" else "both")
        self._impossible(column, numbers, possible, what)
        return values.where(possible)

    def finite(self, column: str) -> pd.Series:
        """Numbers in whatever unit, NaN where missing or infinite.   → [N] float64"""
        numbers = self.numbers(column)
        possible = numbers.abs() < np.inf
        self._impossible(column, numbers, possible, "value")
        return numbers.where(possible)

    def covariates(self, names: Mapping[str, Sequence[str]]) -> dict[str, pd.Series]:
        """Those of these quantities whose column exists.   → {name: [N]}"""
        found = {what: self.find(*choices) for what, choices in names.items()}
        return {what: self.quantity(column, what) for what, column in found.items() if column is not None}

    def stamps(self, column: str, zone: str | None = None, *, unix: bool = False) -> pd.Series:
        """UTC stamps, NaT where missing; numbers are Unix seconds if ``unix``.   → [N]"""
        cells = self.cells(column)
        seconds = parse.numbers(cells, decimal_comma=False) if unix else None
        is_unix = np.zeros(len(cells), bool)
        if seconds is not None:
            is_unix = seconds.values.between(UNIX_FROM, UNIX_UNTIL).to_numpy(bool)
        parsed = parse.times(cells[~is_unix], zone)
        stamps = pd.Series(pd.NaT, index=cells.index, dtype="datetime64[us, UTC]")
        bad, naive = np.zeros(len(cells), bool), np.zeros(len(cells), bool)
        if parsed.is_hours:
            bad[~is_unix] = ~parsed.missing
        else:
            stamps[~is_unix] = parsed.values
            bad[~is_unix], naive[~is_unix] = parsed.bad, parsed.naive
        if seconds is not None and is_unix.any():
            microseconds = (seconds.values[is_unix] * 1e6).round().astype("int64")
            stamps[is_unix] = pd.to_datetime(microseconds, unit="us", utc=True).astype("datetime64[us, UTC]")
        absurd = (stamps.notna() & ~stamps.between(EARLIEST, LATEST)).to_numpy() & ~naive
        self._naive(column, naive)
        self.reject("time", column, bad, _not_a_time(zone), _time_remedy(zone))
        self.reject(
            "time", column, absurd, "is before 1970 or after 2099", "Mend the clock's stamps, or delete these rows."
        )
        return stamps.mask(bad | naive | absurd)

    def drop(self, code: str, dropped: np.ndarray, message: str, remedy: str, column: str = "") -> None:
        """Warn of rows that are left out; nothing if there are none."""
        if dropped.any():
            values = self.text(column) if column else np.full(len(self), "", object)
            where = places(dropped, self.rows, values)
            self.problems.append(
                warning(code, f"{where['count']} rows {message}", remedy, file=self.file, column=column, **where)
            )

    def stop(self, code: str, message: str, remedy: str, **where: object) -> DataError:
        """An error that ends the reading, with everything found before."""
        self.problems.append(error(code, message, remedy, file=self.file, **where))
        return DataError(self.problems)

    def _missing(self, names: Sequence[str]) -> Problem:
        wanted = " or ".join(f"`{name}`" for name in names)
        header = [shorten(name) for name in self.names]
        close = next((hint for name in names if (hint := did_you_mean(name, header))), "")
        seen = ", ".join(header[:12]) + (", …" if len(header) > 12 else "")
        remedy = close or f"Add the column, or name the right source; the file has {seen}."
        return error("column-missing", f"There is no column {wanted}.", remedy, file=self.file, column=names[0])

    def reject(self, code: str, column: str, bad: np.ndarray, what: str, remedy: str) -> None:
        """Report the cells of a column that cannot be used; nothing if there are none."""
        if not bad.any():
            return
        self.reported |= bad
        where = places(bad, self.rows, self.text(column))
        first = where["places"][0]  # type: ignore[index]
        more = f" (and {where['count'] - 1} more rows)" if where["count"] > 1 else ""  # type: ignore[operator]
        message = f"`{column}` {first.value!r} {what}{more}."
        self.problems.append(error(f"bad-{code}", message, remedy, file=self.file, column=column, **where))

    def _naive(self, column: str, naive: np.ndarray) -> None:
        if naive.any():
            self.reported |= naive
            where = places(naive, self.rows, self.text(column))
            message = f"{where['count']} stamps in `{column}` do not say which time zone they are in."
            remedy = "State the zone they were written in, for example Africa/Kampala or UTC."
            self.problems.append(error("zone-missing", message, remedy, file=self.file, column=column, **where))

    def _impossible(self, column: str, numbers: pd.Series, possible: pd.Series, what: str) -> None:
        wrong = (numbers.notna() & ~possible).to_numpy()
        if wrong.any():
            self.reported |= wrong if what == "value" else False
            where = places(wrong, self.rows, self.text(column))
            message = f"{where['count']} numbers in `{column}` are no possible {what}; they were left out."
            remedy = "Nothing to do if they are error codes; else mend them in the file."
            self.problems.append(warning("impossible", message, remedy, file=self.file, column=column, **where))


def _positions(raw: RawTable) -> dict[str, int]:
    names = [plain(name) for name in raw.frame.columns]
    positions: dict[str, int] = {}
    twice: list[str] = []
    for i, name in enumerate(names):
        if name in positions and name:
            twice.append(name)
        positions.setdefault(name, i)
    if twice:
        found = ", ".join(f"`{shorten(name)}`" for name in dict.fromkeys(twice))
        message = f"More than one column is called {found}."
        wrong = error("column-twice", message, "Rename or delete one.", file=raw.file, column=shorten(twice[0]))
        raise DataError([*raw.problems, wrong])
    return positions


def _not_a_time(zone: str | None) -> str:
    return "is not a time" if zone is None else f"is not a time, or happens twice or never in {zone}"


def _time_remedy(zone: str | None) -> str:
    iso = "Write times as 2025-01-31 14:05:00 with the year first"
    if zone is None:
        return f"{iso}, and an offset such as Z or +03:00."
    return f"{iso}; a logger that ignores summer time needs a zone without it, such as Etc/GMT-3."
