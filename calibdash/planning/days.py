"""The days of a plan, on the network's clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibdash.data.network import Clock, Network
from calibdash.errors import CalibdashError
from calibdash.planning.settings import PlanSettings
from calibdash.planning.value import last_hour


@dataclass(frozen=True)
class Day:
    """One day: its name in the plan, its local midnight in hours of the network's clock, its weekday (0: Monday)."""

    label: str
    midnight: float
    weekday: int | None


def plan_days(network: Network, clock: Clock, settings: PlanSettings) -> tuple[Day, ...]:
    """The days from the start; without one, from the day after the last colocation."""
    if clock.origin is None:
        first = _first_number(network, settings.start)
        return tuple(Day(str(first + step), 24.0 * (first + step), None) for step in range(settings.days))
    date = _first_date(network, clock, settings)
    dates = [date + pd.Timedelta(days=step) for step in range(settings.days)]
    # midnight of each date on the local clock: days of 23 or 25 hours stay whole
    local = pd.DatetimeIndex(dates).tz_localize(
        settings.zone, ambiguous=np.ones(len(dates), dtype=bool), nonexistent="shift_forward"
    )
    hours = clock.hours(local)
    return tuple(
        Day(day.strftime("%Y-%m-%d"), float(hour), day.weekday()) for day, hour in zip(dates, hours, strict=True)
    )


def _first_number(network: Network, start: str | float | pd.Timestamp | None) -> int:
    if start is None:
        return int(np.floor(last_hour(network) / 24.0)) + 1
    try:
        return int(np.floor(float(start) / 24.0))  # type: ignore[arg-type]
    except (TypeError, ValueError) as reason:
        raise CalibdashError(
            f"{str(start)[:60]!r} is no start: the network's times are hours.", "Give a number of hours."
        ) from reason


def _first_date(network: Network, clock: Clock, settings: PlanSettings) -> pd.Timestamp:
    start = settings.start
    if start is None:
        last = clock.times(np.array([last_hour(network)]))[0]
        return pd.Timestamp(last).tz_convert(settings.zone).tz_localize(None).normalize() + pd.Timedelta(days=1)
    try:
        if isinstance(start, float | int):
            raise ValueError
        stamp = pd.Timestamp(start)
        if pd.isna(stamp):
            raise ValueError
    except (ValueError, TypeError, OverflowError) as reason:
        raise CalibdashError(f"{str(start)[:60]!r} is not a date.", "Write the first day as 2024-07-01.") from reason
    return (stamp.tz_convert(settings.zone).tz_localize(None) if stamp.tz is not None else stamp).normalize()
