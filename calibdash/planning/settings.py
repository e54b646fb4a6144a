"""What decides a plan: riders, limits and what counts, as one frozen object checked when it is made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from calibdash.data.parse import check_zone
from calibdash.errors import CalibdashError
from calibdash.models.setting_table import Setting
from calibdash.planning.riders import Rider
from calibdash.planning.travel import Distances

READING_MINUTES = 10.0
SETTINGS = (
    Setting("days", "count", 7, 1, 366, "Length of the plan."),
    Setting("budget", "number", None, 0.0, 1e12, "Most that all visits may cost; none: no limit but working hours."),
    Setting("horizon_hours", "hours", 720.0, 1.0, 24.0 * 3660, "How long after its start calibrations should be good."),
    Setting("target", "number", 0.10, 0.001, 10.0, "Half-width of the 95 % band that is enough; none: no such limit."),
    Setting("travel_factor", "number", 1.3, 1.0, 10.0, "Ways by road in straight lines, where no distances are given."),
    Setting("readings", "count", None, 1, 10_000, "Pairs of readings a visit; none: one every ten minutes."),
    Setting("correlation", "number", 0.5, 0.0, 1.0, "Of the errors of two readings of one visit."),
    Setting("least", "number", 0.05, 0.0, 1.0, "Share of a sensor's uncertainty that a visit must at least remove."),
    Setting("effort", "choice", "full", 0, 0, "Whether better plans are searched for.", ("full", "quick")),
)
_OPTIONAL = ("budget", "target", "readings")


@dataclass(frozen=True)
class Promise:
    """A visit on a certain day by a certain rider.   day: as the plan writes it (2024-07-01), or 1 for its first day"""

    day: str
    rider: str
    sensor: str


@dataclass(frozen=True)
class PlanSettings:
    """What a plan must respect and what it is for.

    riders: who can go; none: every mobile sensor of the network, from its base. start: the first day (a date, or a
    number of hours for networks without dates); None is the day after the last colocation. days: how many.
    budget: the most that all visits may cost, in the unit of the riders' costs; riders cost 1 a stop unless told
    otherwise, so that it then is a number of visits. None: no limit but working hours.
    horizon_hours: how long after the start calibrations should be good. target: the half-width of a sensor's 95 %
    band, as a share, that is good enough (0.1: within ±10 %); None: the more the better.
    forbidden: sensors nobody may visit. promised: visits that must be kept. weights: how much each sensor matters,
    over those of the sensors table (1 where it says nothing). distances: kilometres by road; straight lines times
    travel_factor where it has none. zone: of the working hours.
    readings: pairs of readings a visit; None: one every ten minutes. correlation: of the errors of two readings of
    one visit: n readings count as n/(1 + (n − 1)·correlation). least: a visit that removes less than this share of an
    average sensor's uncertainty is not worth the way. effort: full or quick (no search for better plans).
    """

    riders: tuple[Rider, ...] = ()
    start: str | float | pd.Timestamp | None = None
    days: int = 7
    budget: float | None = None
    horizon_hours: float = 720.0
    target: float | None = 0.10
    forbidden: tuple[str, ...] = ()
    promised: tuple[Promise, ...] = ()
    weights: tuple[tuple[str, float], ...] = ()
    distances: Distances | None = None
    travel_factor: float = 1.3
    zone: str = "UTC"
    readings: int | None = None
    correlation: float = 0.5
    least: float = 0.05
    effort: str = "full"
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.weights, Mapping):
            object.__setattr__(self, "weights", tuple(self.weights.items()))
        for setting in SETTINGS:
            value = getattr(self, setting.field)
            if setting.unit != "choice" and not (value is None and setting.key in _OPTIONAL):
                _between(setting.key.removesuffix("_hours"), value, setting.low, setting.high)
        for name, weight in self.weights:
            _between(f"the weight of {name[:60]}", weight, 0.0, 1e12)
        if self.effort not in ("full", "quick"):
            raise CalibdashError(f"effort cannot be {self.effort[:60]!r}.", "Choose full or quick.")
        names = [rider.name for rider in self.riders]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise CalibdashError(f"There are two riders called {twice[:60]!r}.", "Give each rider a name of their own.")
        check_zone(self.zone)

    def effective_readings(self, minutes: float) -> float:
        """How many independent readings a visit of so many minutes is worth."""
        count = self.readings if self.readings is not None else max(1.0, math.floor(minutes / READING_MINUTES))
        return count / (1.0 + (count - 1.0) * self.correlation)


def _between(name: str, value: float, low: float, high: float) -> None:
    if not (isinstance(value, int | float) and math.isfinite(value) and low <= value <= high):
        raise CalibdashError(f"{name} = {value!r} is out of range.", f"It must lie between {low:g} and {high:g}.")
