"""Who goes: riders with a base, the mobile sensor they carry, what their way costs and when they work."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import pandas as pd

from calibdash.data.network import Network
from calibdash.data.problems import Problem, did_you_mean
from calibdash.data.schema import Column, Kind, Schema
from calibdash.data.tables import load_table
from calibdash.errors import CalibdashError

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
RIDERS = Schema(
    "riders",
    (
        Column("rider", Kind.ID, "name", required=True),
        Column("latitude", Kind.NUMBER, "of the base, degrees north", low=-90, high=90),
        Column("longitude", Kind.NUMBER, "of the base, degrees east", low=-180, high=180),
        Column("sensor", Kind.ID, "the mobile sensor carried"),
        Column("speed_kmh", Kind.NUMBER, "speed on the way", low=0.1, high=1000),
        Column("cost_per_km", Kind.NUMBER, "in any unit, that of the budget", low=0),
        Column("cost_per_stop", Kind.NUMBER, "in the same unit", low=0),
        Column("minutes_per_visit", Kind.NUMBER, "time at a sensor", low=1, high=1440),
        Column("start", Kind.TEXT, "when work begins, 08:00"),
        Column("end", Kind.TEXT, "when the rider is back, 17:00"),
        Column("days", Kind.TEXT, "mon tue fri, dates, or 1 2 5 of the plan; empty: every day"),
    ),
)


@dataclass(frozen=True)
class Rider:
    """One rider.   sensor: the mobile carried, empty: one of the network's; latitude, longitude: NaN where unknown;
    start, end: hours of the local day; days: weekdays (mon), dates or numbers of days of the plan; none: all.
    """

    name: str
    sensor: str = ""
    latitude: float = math.nan
    longitude: float = math.nan
    speed_kmh: float = 20.0
    cost_per_km: float = 0.0
    cost_per_stop: float = 1.0
    minutes_per_visit: float = 30.0
    start: float = 8.0
    end: float = 17.0
    days: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        who = f"Rider {self.name[:60]!r}"
        for name, low, high in (
            ("speed_kmh", 0.1, 1000.0),
            ("cost_per_km", 0.0, 1e12),
            ("cost_per_stop", 0.0, 1e12),
            ("minutes_per_visit", 1.0, 1440.0),
            ("start", 0.0, 24.0),
            ("end", 0.0, 24.0),
        ):
            value = getattr(self, name)
            if not (math.isfinite(value) and low <= value <= high):
                raise CalibdashError(f"{who}: {name} = {value} is out of range.", f"Between {low:g} and {high:g}.")
        if self.start >= self.end:
            raise CalibdashError(f"{who} ends work before it begins.", "Give start and end as 08:00 and 17:00.")
        if math.isnan(self.latitude) != math.isnan(self.longitude):
            raise CalibdashError(f"{who} has half a base.", "Give both latitude and longitude, or neither.")
        for day in self.days:
            if not (day[:3] in WEEKDAYS or re.fullmatch(r"\d+|\d{4}-\d{2}-\d{2}", day)):
                raise CalibdashError(f"{who} works on {day[:60]!r}, which is no day.", "Write mon tue, or 2024-07-01.")

    def works_on(self, label: str, number: int, weekday: int | None) -> bool:
        """Whether a day, by its name in the plan, its number from 1 and its weekday, is one of theirs."""
        names = {label.lower(), str(number)} | ({WEEKDAYS[weekday]} if weekday is not None else set())
        return not self.days or any(day in names or (day.isalpha() and day[:3] in names) for day in self.days)


def read_riders(file: Path) -> tuple[tuple[Rider, ...], tuple[Problem, ...]]:
    """Riders of a table ``rider, latitude, longitude, sensor, speed_kmh, …``; only ``rider`` is required."""
    table = load_table(file, RIDERS)
    riders = []
    for row in table.frame.to_dict("records"):
        given = {}
        for name in (field.name for field in fields(Rider) if field.name not in ("name", "start", "end", "days")):
            value = row.get(name)
            if value is not None and value != "" and not (isinstance(value, float) and math.isnan(value)):
                given[name] = value
        for name in ("start", "end"):
            if row.get(name):
                given[name] = clock_hours(str(row[name]), f"Rider {str(row['rider'])[:60]!r}")
        days = tuple(word.lower() for word in re.split(r"[\s,;|]+", str(row.get("days") or "")) if word)
        riders.append(Rider(str(row["rider"]), days=days, **given))
    if not riders:
        raise CalibdashError(f"{file.name} names no rider.", "Add a row with a name in the column rider.")
    return tuple(riders), table.problems


def clock_hours(text: str, who: str) -> float:
    """Hours of the day from 08:30, 8 or 8.5."""
    match = re.fullmatch(r"\s*(\d{1,2})(?::(\d{2})(?::\d{2})?|(\.\d+))?\s*", text)
    hours = int(match[1]) + (int(match[2]) / 60 if match[2] else float(match[3] or 0)) if match else math.nan
    if not 0 <= hours <= 24:
        raise CalibdashError(f"{who}: {text[:60]!r} is not a time of day.", "Write 08:00.")
    return hours


def riders_of(network: Network, riders: tuple[Rider, ...]) -> tuple[Rider, ...]:
    """These riders, or one for every mobile of the network, each with the sensor they carry; sorted by name."""
    mobiles = network.sensors[network.sensors["kind"] == "mobile"]
    free = sorted(mobiles["sensor"].astype(str))
    if not free:
        raise CalibdashError(
            "The network has no mobile sensor, so nobody can carry one to another.",
            "Set the kind of the sensors that travel to mobile in the sensors table.",
        )
    if not riders:
        bases = _bases(mobiles)
        return tuple(Rider(name, name, *bases[name]) for name in free)
    known = dict(zip(network.sensors["sensor"].astype(str), network.sensors["kind"], strict=True))
    for rider in riders:
        if rider.sensor and known.get(rider.sensor) != "mobile":
            what = "a static sensor" if rider.sensor in known else "no sensor of the network"
            hint = did_you_mean(rider.sensor, free) or f"Mobile sensors are {', '.join(free[:8])}."
            raise CalibdashError(f"Rider {rider.name[:60]!r} carries {rider.sensor[:60]!r}, {what}.", hint)
    taken = {rider.sensor for rider in riders} | {rider.name for rider in riders if not rider.sensor}
    left = [name for name in free if name not in taken]
    whole = []
    for rider in sorted(riders, key=lambda rider: rider.name):
        if rider.sensor:
            whole.append(rider)
        elif rider.name in free:
            whole.append(replace(rider, sensor=rider.name))
        elif left:
            whole.append(replace(rider, sensor=left.pop(0)))
        else:
            raise CalibdashError(
                f"There is no mobile sensor left for rider {rider.name[:60]!r}.", "Name one in the column sensor."
            )
    bases = _bases(mobiles)
    return tuple(
        replace(rider, latitude=bases[rider.sensor][0], longitude=bases[rider.sensor][1])
        if math.isnan(rider.latitude)
        else rider
        for rider in whole
    )


def _bases(mobiles: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Where the rider of each mobile starts; NaN where the table does not say."""
    unknown = pd.Series(np.nan, mobiles.index)
    columns = [mobiles.get(name, unknown).to_numpy(dtype=np.float64) for name in ("base_latitude", "base_longitude")]
    both = np.isfinite(columns[0]) & np.isfinite(columns[1])
    places = [(float(a), float(b)) if ok else (math.nan, math.nan) for a, b, ok in zip(*columns, both, strict=True)]
    return dict(zip(mobiles["sensor"].astype(str), places, strict=True))
