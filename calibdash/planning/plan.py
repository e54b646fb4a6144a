"""A plan of visits: who goes where on which day, why, and how much narrower the bands become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from calibdash.data.network import Network
from calibdash.data.problems import did_you_mean
from calibdash.errors import CalibdashError
from calibdash.models.posterior import Posterior
from calibdash.models.threads import one_thread
from calibdash.planning.covariance import Points, variance
from calibdash.planning.draft import Draft
from calibdash.planning.ground import Ground, ground
from calibdash.planning.reasons import reasons, summary
from calibdash.planning.schedule import Tour, facing, tours
from calibdash.planning.search import search, shorten
from calibdash.planning.settings import PlanSettings, Promise
from calibdash.planning.value import Targets, Together, Visits, band, together

COLUMNS = (
    "day",
    "rider",
    "order",
    "sensor",
    "with_sensor",
    "arrive",
    "minutes",
    "travel_km",
    "cost",
    "gain",
    "reason",
)


@dataclass(frozen=True)
class Source:
    """What a plan was made from."""

    posterior: Posterior
    network: Network


@dataclass(frozen=True)
class Plan:
    """What to do and what comes of it.

    stops: a row a stop, ``day, rider, order, sensor, with_sensor, arrive`` (local time), ``minutes, travel_km`` (from
    the stop before), ``cost`` (the last of a tour pays the way back), ``gain`` (% of the network's present uncertainty
    that comes back if this stop alone is left out), ``reason``.
    bands: a row a sensor that counts, ``sensor, weight, now, before, after`` (over the horizon), ``end_before,
    end_after`` (at its end): half-widths of 95 % bands as shares.
    gain: share of the weighted variance over the horizon that all stops remove together.
    """

    stops: pd.DataFrame
    tours: tuple[Tour, ...]
    bands: pd.DataFrame
    cost: float
    gain: float
    km: float
    summary: str
    notes: tuple[str, ...]
    ground: Ground = field(repr=False)
    chosen: tuple[tuple[int, int], ...] = field(repr=False, default=())
    source: Source | None = field(repr=False, default=None)

    @property
    def visits(self) -> tuple[Promise, ...]:
        """The stops as (day, rider, sensor), to be pinned or dropped."""
        return tuple(Promise(*row) for row in self.stops[["day", "rider", "sensor"]].itertuples(index=False, name=None))


def plan(
    posterior: Posterior,
    network: Network,
    settings: PlanSettings | None = None,
    *,
    pinned: Sequence[Promise | tuple[str, str, str]] = (),
    dropped: Sequence[Promise | tuple[str, str, str]] = (),
    before: Plan | None = None,
) -> Plan:
    """The best plan found for a run and its network.

    pinned: visits that must stay, like promises; dropped: visits not to be proposed again. before: the plan that
    these changes are about: what it read is used again and its other visits are where the search begins, which takes
    a fraction of the time.
    """
    settings = settings or (before.ground.settings if before is not None else PlanSettings())
    reused = before is not None and before.ground.settings == settings and _same(before.source, posterior, network)
    with one_thread():
        base = before.ground if before is not None and reused else ground(posterior, network, settings)
        kept = [_stop(base, promise, "promised") for promise in (*settings.promised, *map(_promise, pinned))]
        kept = list(dict.fromkeys(kept))
        banned = np.zeros_like(base.noise, dtype=bool)
        for promise in map(_promise, dropped):
            banned[_stop(base, promise, "dropped")] = True
        _check_kept(base, kept, banned)
        first = [stop for stop in before.chosen if stop not in kept] if before is not None and reused else []
        draft = search(base, kept, banned, first)
        return replace(_told(posterior, base, draft), source=Source(posterior, network))


def _same(source: Source | None, posterior: Posterior, network: Network) -> bool:
    return source is not None and source.posterior is posterior and source.network is network


def _promise(visit: Promise | tuple[str, str, str]) -> Promise:
    return visit if isinstance(visit, Promise) else Promise(*map(str, visit))


def _stop(base: Ground, visit: Promise, what: str) -> tuple[int, int]:
    """Shift and site of a visit, or an error that says what does not exist."""
    text = f"The {what} visit of {visit.rider[:60]!r} to {visit.sensor[:60]!r} on {visit.day[:60]!r}"
    riders = [rider.name for rider in base.riders]
    if visit.rider not in riders:
        raise CalibdashError(
            f"{text} is not possible: there is no such rider.",
            did_you_mean(visit.rider, riders) or f"Riders are {', '.join(riders[:8])}.",
        )
    if visit.sensor not in base.sites:
        raise CalibdashError(
            f"{text} is not possible: there is no such static sensor.",
            did_you_mean(visit.sensor, base.sites) or "Only static sensors that the run knows can be visited.",
        )
    labels = [day.label for day in base.days]
    label = visit.day
    if label not in labels and label.isdecimal() and 1 <= int(label) <= len(labels):
        label = labels[int(label) - 1]
    if label not in labels:
        raise CalibdashError(
            f"{text} is not possible: the plan has no such day.", f"Its days are {labels[0]} to {labels[-1]}."
        )
    for index, shift in enumerate(base.shifts):
        if base.days[shift.day].label == label and riders[shift.rider] == visit.rider:
            return index, base.sites.index(visit.sensor)
    raise CalibdashError(f"{text} is not possible: the rider does not work that day.", "Change the rider's days.")


def _check_kept(base: Ground, kept: list[tuple[int, int]], banned: np.ndarray) -> None:
    """Promises that cannot all be kept are said so, with what stands in their way."""
    draft = Draft(base)
    for shift, site in kept:
        day, rider = base.shift_name(shift)
        text = f"The promised visit of {rider[:60]!r} to {base.sites[site][:60]!r} on {day} cannot be kept: "
        if banned[shift, site]:
            raise CalibdashError(text + "it is also to be dropped.", "Decide for one of the two.")
        if not base.allowed[site]:
            forbidden = base.sites[site] in base.settings.forbidden
            why = "nobody may visit that sensor." if forbidden else "where that sensor stands is not known."
            raise CalibdashError(text + why, "Take it off the promises, or lift what forbids it.")
        draft.add(shift, site)
    shorten(draft)
    late = np.flatnonzero(draft.minutes > draft.limit[:, 0] + 1e-6)
    if len(late):
        day, rider = base.shift_name(int(late[0]))
        need, have = draft.minutes[late[0]] / 60, draft.limit[late[0], 0] / 60
        raise CalibdashError(
            f"The promised visits of {rider[:60]!r} on {day} take {need:.1f} h, but the working day has {have:.1f} h.",
            "Promise fewer visits that day, or lengthen the working hours.",
        )
    budget = base.settings.budget
    if budget is not None and draft.cost > budget + 1e-6:
        raise CalibdashError(
            f"The promised visits cost {draft.cost:.4g}, more than the budget of {budget:g}.",
            "Raise the budget, or promise fewer visits.",
        )


def _told(posterior: Posterior, base: Ground, draft: Draft) -> Plan:
    """The draft with its times, values at those times, and sentences."""
    facing(posterior, base, draft)
    ridden = tours(base, draft)
    made = _visits(posterior, ridden)
    worth = together(posterior, base.known, base.aims, made)
    bands = _bands(posterior, base, made, worth)
    total = max(float(base.aims.scale @ base.aims.variance), 1e-300)
    texts = reasons(base, ridden, worth)
    rows: list[tuple[object, ...]] = []
    for tour in ridden:
        for order, stop in enumerate(tour.stops, start=1):
            number = len(rows)
            rows.append(
                (
                    tour.day,
                    tour.rider,
                    order,
                    stop.sensor,
                    tour.with_sensor,
                    stop.arrive,
                    stop.minutes,
                    round(stop.travel_km, 2),
                    round(stop.cost, 4),
                    float(f"{100.0 * float(worth.without[number] @ base.aims.scale) / total:.3g}"),
                    texts[number],
                )
            )
    stops = pd.DataFrame(rows, columns=list(COLUMNS))
    gain = worth.gain / total
    sentence = summary(base, draft, bands, gain)
    return Plan(
        stops, ridden, bands, draft.cost, gain, float(draft.km.sum()), sentence, base.notes, base, tuple(draft.stops)
    )


def _visits(posterior: Posterior, ridden: tuple[Tour, ...]) -> Visits:
    """The stops of all tours as visits at their middle."""
    rows = [
        (posterior.number(tour.with_sensor), posterior.number(stop.sensor), stop.middle, stop.noise)
        for tour in ridden
        for stop in tour.stops
    ]
    a, b, hours, noise = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Visits(np.array(a, dtype=np.int64), np.array(b, dtype=np.int64), np.array(hours), np.array(noise))


def _bands(posterior: Posterior, base: Ground, made: Visits, worth: Together) -> pd.DataFrame:
    """Bands of the sensors that count: now, over the horizon and at its end, without and with the plan."""
    aims = base.aims
    ends = np.array([base.start, base.start + base.settings.horizon_hours])
    numbers = [posterior.number(name) for name in aims.sensors]
    plain = np.array([variance(posterior, base.known, number, ends) for number in numbers]).reshape(-1, 2)
    last = Targets(
        aims.sensors,
        ends[1:],
        np.ones(1),
        aims.weight,
        Points(np.array(numbers, dtype=np.int64), np.full(len(numbers), ends[1])),
        plain[:, 1],
        np.zeros(len(numbers)),
    )
    after = together(posterior, base.known, last, made).variance
    return pd.DataFrame(
        {
            "sensor": list(aims.sensors),
            "weight": aims.weight,
            "now": band(plain[:, 0]),
            "before": band(aims.by_sensor(aims.variance)),
            "after": band(aims.by_sensor(worth.variance)),
            "end_before": band(plain[:, 1]),
            "end_after": band(after),
        }
    )
