"""How many visits a week keep every sensor good: the curve of effort against uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from calibdash.data.network import Network
from calibdash.models.posterior import Posterior
from calibdash.planning.days import Day, plan_days
from calibdash.planning.draft import Draft
from calibdash.planning.ground import Ground, ground
from calibdash.planning.reasons import percent
from calibdash.planning.settings import PlanSettings
from calibdash.planning.value import band

WEEK_HOURS = 168.0
TARGET = 0.10


@dataclass(frozen=True)
class EffortCurve:
    """table: ``visits_per_week, mean_band, worst_band`` (half-widths over the horizon, as shares).

    needed: the fewest visits a week that keep every sensor within the target; None if those tried do not.
    """

    table: pd.DataFrame
    target: float
    needed: int | None
    sentence: str


def effort_curve(
    posterior: Posterior, network: Network, settings: PlanSettings | None = None, *, most: int = 60
) -> EffortCurve:
    """Bands over the horizon with 0, 1, 2 … well-chosen visits in each of its weeks; ways and hours count nothing."""
    settings = settings or PlanSettings()
    weeks = max(1, math.ceil(settings.horizon_hours / WEEK_HOURS))
    first = plan_days(network, posterior.clock, replace(settings, days=1))[0]
    days = tuple(Day(str(week + 1), first.midnight + WEEK_HOURS * week, None) for week in range(weeks))
    riders = tuple(replace(rider, days=()) for rider in settings.riders)
    base = ground(posterior, network, replace(settings, riders=riders, budget=None, promised=()), days)
    draft = Draft(base)
    draft.limit = np.full_like(draft.limit, np.inf)
    week_of = np.array([shift.day for shift in base.shifts])
    rows = [_row(draft, 0)]
    for visits in range(1, most + 1):
        added = [_best_of_week(base, draft, week_of == week) for week in range(weeks)]
        rows.append(_row(draft, visits))
        if not any(added):
            break
    table = pd.DataFrame(rows, columns=["visits_per_week", "mean_band", "worst_band"])
    target = settings.target or TARGET
    good = table.loc[table["worst_band"] <= target, "visits_per_week"]
    needed = int(good.iloc[0]) if len(good) else None
    return EffortCurve(table, target, needed, _sentence(table, target, needed))


def _best_of_week(base: Ground, draft: Draft, shifts: np.ndarray) -> bool:
    """Make the visit of one week that adds most, or the reference that it should begin with; whether there was one."""
    possible = draft.open() & shifts[:, None]
    if not possible.any():
        return False
    gains = np.where(possible, draft.gains(), 0.0)
    shift, site = np.unravel_index(int(np.argmax(gains)), gains.shape)
    references = possible & base.reference & ~(draft.used & base.reference).any(axis=1)[:, None]
    if references.any():
        nearest = np.argmax(references, axis=1)
        rows = np.arange(len(nearest))
        alone, after = draft.bundled(base.noise[rows, nearest][:, None])
        fits = possible & references.any(axis=1)[:, None] & ~base.reference
        both = np.where(fits, alone + after, 0.0) / 2  # a step: it takes two visits
        if both.max() > gains.max():
            shift = np.argmax(both.max(axis=1))
            site = nearest[shift]
    if gains.max() <= 0.0 and not possible[shift, site]:
        return False
    draft.add(int(shift), int(site))
    return True


def _row(draft: Draft, visits: int) -> tuple[int, float, float]:
    aims = draft.ground.aims
    bands, weight = band(aims.by_sensor(draft.spread)), aims.weight
    counted = bands[weight > 0]
    if not len(counted):
        return visits, 0.0, 0.0
    return visits, float(np.average(bands, weights=weight)), float(counted.max())


def _sentence(table: pd.DataFrame, target: float, needed: int | None) -> str:
    if needed == 0:
        return f"Every sensor stays within {percent(target)} without any visit."
    if needed is not None:
        return f"About {needed} visits a week keep every sensor within {percent(target)}."
    last = table.iloc[-1]
    return (
        f"{int(last['visits_per_week'])} visits a week do not keep every sensor within {percent(target)}: "
        f"the widest band is then {percent(float(last['worst_band']))}."
    )
