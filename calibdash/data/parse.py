"""From cells to values: numbers, times, ids and flags, each with a mask of what could not be understood."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from calibdash.data.problems import did_you_mean
from calibdash.errors import CalibdashError

MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "nat", "<na>"))
LONGEST_ID = 200
TRUE_WORDS = frozenset(("true", "t", "yes", "y", "1", "1.0"))
FALSE_WORDS = frozenset(("false", "f", "no", "n", "0", "0.0"))
_DECIMAL_COMMA = r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?"
_STAMP = r"\d{4}-?\d{2}-?\d{2}(?:[T ]\s*\d{1,2}.*)?"
_OFFSET = r".*\d(?::?\d\d)+(?:[.,]\d+)?\s*(?:Z|z|UTC|[+-]\d\d(?::?\d\d)?)"


@dataclass(frozen=True)
class Parsed:
    """Values [N], which of them are missing [N], and which could not be understood [N]."""

    values: pd.Series
    missing: np.ndarray
    bad: np.ndarray


@dataclass(frozen=True)
class ParsedTimes(Parsed):
    """Times: also which stamps lack an offset although no zone was stated [N]."""

    naive: np.ndarray
    is_hours: bool = False


def is_text(series: pd.Series) -> bool:
    """Whether cells still have to be read as text."""
    return bool(pd.api.types.is_object_dtype(series) or pd.api.types.is_string_dtype(series))


def as_text(series: pd.Series) -> pd.Series:
    """Cells as stripped text; whole numbers without ``.0``, missing ones empty.   [N] → [N]"""
    if pd.api.types.is_float_dtype(series):
        whole = series.notna() & np.isfinite(series) & (series == series.round()) & (series.abs() < 2**53)
        text = series.astype(object).where(~whole, series.where(whole, 0).astype("int64").astype(object))
        return text.where(series.notna(), "").astype(str)
    return series.astype(object).where(series.notna(), "").astype(str).str.strip()


def numbers(series: pd.Series, *, decimal_comma: bool = False) -> Parsed:
    """Plain numbers, float64.   [N] → [N]"""
    if not is_text(series):
        if pd.api.types.is_bool_dtype(series) or not pd.api.types.is_numeric_dtype(series):
            return _all_bad(series)
        values = series.astype("float64")
        return Parsed(values, values.isna().to_numpy(), np.zeros(len(series), bool))
    text = as_text(series)
    missing = text.str.lower().isin(MISSING).to_numpy()
    values = pd.to_numeric(text.where(~missing, "nan"), errors="coerce").astype("float64")
    not_read = values.isna().to_numpy() & ~missing
    if decimal_comma and not_read.any():
        comma = text.str.fullmatch(_DECIMAL_COMMA).to_numpy(bool) & not_read
        values = values.where(~comma, pd.to_numeric(text.where(comma, "0").str.replace(",", "."), errors="coerce"))
        not_read &= ~comma
    return Parsed(values, missing, not_read)


def times(series: pd.Series, zone: str | None = None, *, decimal_comma: bool = False) -> ParsedTimes:
    """UTC stamps from ISO 8601, or hours if every cell is a number.   [N] → [N]"""
    none = np.zeros(len(series), bool)
    if pd.api.types.is_datetime64_any_dtype(series):
        return _typed_stamps(series, zone)
    as_numbers = numbers(series, decimal_comma=decimal_comma)
    if not as_numbers.bad.any() and not as_numbers.missing.all():
        return ParsedTimes(as_numbers.values, as_numbers.missing, none, none, is_hours=True)
    text = as_text(series)
    missing = text.str.lower().isin(MISSING).to_numpy()
    plausible = text.str.fullmatch(_STAMP).to_numpy(bool) & (text.str.len() < 50).to_numpy() & ~missing
    aware = text.str.fullmatch(_OFFSET).to_numpy(bool) & plausible
    naive = plausible & ~aware
    stamps = pd.Series(pd.NaT, index=series.index, dtype="datetime64[us, UTC]")
    stamps[aware] = _stamps(text[aware])
    if zone is not None:
        stamps[naive] = localize(_stamps(text[naive]).dt.tz_localize(None), zone)
        naive = none
    bad = stamps.isna().to_numpy() & ~missing & ~naive
    return ParsedTimes(stamps, missing, bad, naive)


def flags(series: pd.Series) -> Parsed:
    """Yes or no.   [N] → [N] bool"""
    if pd.api.types.is_bool_dtype(series):
        values = series.astype("boolean")
        return Parsed(values.fillna(False).astype(bool), values.isna().to_numpy(), np.zeros(len(series), bool))
    text = as_text(series).str.lower()
    missing = text.isin(MISSING).to_numpy()
    bad = ~text.isin(TRUE_WORDS | FALSE_WORDS).to_numpy() & ~missing
    return Parsed(text.isin(TRUE_WORDS), missing, bad)


def ids(series: pd.Series) -> Parsed:
    """Ids and names: text as it stands, without blanks around it.   [N] → [N] str"""
    text = as_text(series)
    return Parsed(text, (text == "").to_numpy(), (text.str.len() > LONGEST_ID).to_numpy())


def check_zone(zone: str) -> ZoneInfo:
    """The zone of that name, or an error that names a close one."""
    from zoneinfo import available_timezones

    try:
        return ZoneInfo(zone)
    except (KeyError, ValueError, OSError) as reason:
        hint = did_you_mean(zone, available_timezones()) or "Use a name such as Africa/Kampala or UTC."
        raise CalibdashError(f"{zone[:60]!r} is not a known time zone.", hint) from reason


def localize(stamps: pd.Series, zone: str) -> pd.Series:
    """Naive local stamps to UTC; those that happen twice or never become NaT.   [N] → [N]"""
    local = stamps.dt.tz_localize(check_zone(zone), ambiguous="NaT", nonexistent="NaT")
    return local.dt.tz_convert("UTC").astype("datetime64[us, UTC]")


def _stamps(text: pd.Series) -> pd.Series:
    tidy = text.str.replace(r"\s*UTC$", "Z", regex=True)
    stamps = pd.to_datetime(tidy, utc=True, format="ISO8601", errors="coerce")
    return stamps.astype("datetime64[us, UTC]")


def _typed_stamps(series: pd.Series, zone: str | None) -> ParsedTimes:
    missing = series.isna().to_numpy()
    none = np.zeros(len(series), bool)
    if series.dt.tz is not None:
        return ParsedTimes(series.dt.tz_convert("UTC").astype("datetime64[us, UTC]"), missing, none, none)
    series = series.astype("datetime64[us]")
    if zone is None:
        return ParsedTimes(series.dt.tz_localize("UTC"), missing, none, ~missing)
    stamps = localize(series, zone)
    return ParsedTimes(stamps, missing, stamps.isna().to_numpy() & ~missing, none)


def _all_bad(series: pd.Series) -> Parsed:
    missing = series.isna().to_numpy()
    return Parsed(pd.Series(np.nan, index=series.index), missing, ~missing)
