"""When a rider is where: tours with their times, ridden in the direction that is worth more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibdash.models.posterior import Posterior
from calibdash.planning.covariance import Points, covariance
from calibdash.planning.draft import Draft
from calibdash.planning.ground import Ground

MOST_STOPS = 150  # beyond these, both directions of every tour would take seconds to compare


@dataclass(frozen=True)
class TourStop:
    """One stop.   latitude, longitude: NaN where unknown; arrive: local time 08:35; begin, middle: hours of the
    network's clock; travel_km: from the stop before; cost: with the way there, and back for the last; noise: r
    """

    sensor: str
    reference: bool
    latitude: float
    longitude: float
    arrive: str
    begin: float
    middle: float
    minutes: float
    travel_km: float
    cost: float
    noise: float


@dataclass(frozen=True)
class Tour:
    """One rider's day.   base: latitude and longitude, or None; km and minutes: from the base and back"""

    day: str
    rider: str
    with_sensor: str
    base: tuple[float, float] | None
    stops: tuple[TourStop, ...]
    km: float
    minutes: float
    cost: float


def arrivals(ground: Ground, shift: int, tour: tuple[int, ...]) -> np.ndarray:
    """Minutes from the rider's midnight to each arrival.   → [stops]"""
    rider = ground.shifts[shift].rider
    base = len(ground.sites) + rider
    path = np.array([base, *tour], dtype=np.int64)
    legs = ground.travel.minutes[rider][path[:-1], path[1:]]
    stay = ground.riders[rider].minutes_per_visit
    return 60.0 * ground.riders[rider].start + np.cumsum(legs) + stay * np.arange(len(tour))


def tours(ground: Ground, draft: Draft) -> tuple[Tour, ...]:
    """All tours with a stop, by day and rider."""
    ridden = []
    for shift, tour in enumerate(draft.tours):
        if not tour:
            continue
        rider, day = ground.riders[ground.shifts[shift].rider], ground.days[ground.shifts[shift].day]
        base = len(ground.sites) + ground.shifts[shift].rider
        path = [base, *tour, base]
        km = ground.travel.km[path[:-1], path[1:]]
        times = arrivals(ground, shift, tour)
        stops = []
        for place, (site, minute) in enumerate(zip(tour, times, strict=True)):
            way = km[place] + (km[-1] if place == len(tour) - 1 else 0.0)
            whole = round(float(minute))
            begin = day.midnight + minute / 60.0
            stops.append(
                TourStop(
                    ground.sites[site],
                    bool(ground.reference[site]),
                    float(ground.latitude[site]),
                    float(ground.longitude[site]),
                    f"{whole // 60:02d}:{whole % 60:02d}",
                    begin,
                    begin + rider.minutes_per_visit / 120.0,
                    rider.minutes_per_visit,
                    float(km[place]),
                    float(rider.cost_per_stop + rider.cost_per_km * way),
                    float(ground.noise[shift, site]),
                )
            )
        known = np.isfinite(rider.latitude) and np.isfinite(rider.longitude)
        ridden.append(
            Tour(
                day.label,
                rider.name,
                rider.sensor,
                (rider.latitude, rider.longitude) if known else None,
                tuple(stops),
                float(draft.km[shift]),
                float(draft.minutes[shift]),
                float(draft.costs[shift]),
            )
        )
    return tuple(ridden)


def facing(posterior: Posterior, ground: Ground, draft: Draft) -> None:
    """Turn tours round where the other direction is worth more at the times it leads to; changes the draft."""
    shifts = [shift for shift, tour in enumerate(draft.tours) if len(tour) > 1]
    count = len(draft.stops)
    if not shifts or count > MOST_STOPS:
        return
    # every stop twice: at its time as it is, and with its tour ridden the other way round
    rows = []
    for shift, tour in enumerate(draft.tours):
        if tour:
            there = dict(zip(tour, arrivals(ground, shift, tour), strict=True))
            back = dict(zip(tour[::-1], arrivals(ground, shift, tour[::-1]), strict=True))
            rows += [(shift, site, there[site], back[site]) for site in tour]
    shift_of = np.array([row[0] for row in rows])
    mobile = np.array([posterior.number(ground.riders[ground.shifts[q].rider].sensor) for q in shift_of])
    number = np.array([posterior.number(ground.sites[row[1]]) for row in rows])
    midnight = np.array([ground.days[ground.shifts[q].day].midnight for q in shift_of])
    stay = np.array([ground.riders[ground.shifts[q].rider].minutes_per_visit for q in shift_of])
    hours = np.concatenate([midnight + (np.array([row[way] for row in rows]) + stay / 2) / 60 for way in (2, 3)])
    both = Points(np.concatenate([mobile, mobile, number, number]), np.concatenate([hours, hours]))
    C = covariance(posterior, ground.known, both, both)
    half = 2 * count
    S = C[:half, :half] - C[:half, half:] - C[half:, :half] + C[half:, half:]
    K = covariance(posterior, ground.known, ground.aims.points, both)
    K = np.sqrt(ground.aims.scale)[:, None] * (K[:, :half] - K[:, half:])  # [T, 2·stops]
    G = K.T @ K
    noise = np.array([ground.noise[row[0], row[1]] for row in rows])

    def worth(turned: set[int]) -> float:
        pick = np.arange(count) + count * np.isin(shift_of, list(turned))
        return float(np.trace(np.linalg.solve(S[np.ix_(pick, pick)] + np.diag(noise), G[np.ix_(pick, pick)])))

    turned: set[int] = set()
    best = worth(turned)
    for shift in shifts:
        trial = worth(turned | {shift})
        if trial > best * (1 + 1e-9) and _as_short(ground, draft, shift):
            turned, best = turned | {shift}, trial
    for shift in turned:
        draft.reorder(shift, draft.tours[shift][::-1])


def _as_short(ground: Ground, draft: Draft, shift: int) -> bool:
    """Whether the way round the other way is no longer: one-way streets of a user's table may make it so."""
    rider = ground.shifts[shift].rider
    path = np.array([len(ground.sites) + rider, *draft.tours[shift], len(ground.sites) + rider])
    pairs = (ground.travel.minutes[rider], ground.travel.km)
    return all(ways[path[1:], path[:-1]].sum() <= ways[path[:-1], path[1:]].sum() + 1e-9 for ways in pairs)
