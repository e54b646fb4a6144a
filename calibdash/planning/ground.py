"""Everything a search for a plan needs, read once: sites, tours that can be ridden, ways and covariances."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from calibdash.data.network import Clock, Network
from calibdash.errors import CalibdashError
from calibdash.models.posterior import Posterior
from calibdash.models.threads import one_thread
from calibdash.planning.covariance import Errors, Points, covariance
from calibdash.planning.days import Day, plan_days
from calibdash.planning.riders import Rider, riders_of
from calibdash.planning.settings import PlanSettings
from calibdash.planning.travel import Travel, travel
from calibdash.planning.value import Targets, network_targets

MOST_POINTS = 1500  # (sensor, time) points of a search; beyond it neighbouring days share their points


@dataclass(frozen=True)
class Shift:
    """One rider's day: the tours of a plan are made for shifts.   rider, day: indices; minutes: length of the day"""

    rider: int
    day: int
    minutes: float


@dataclass(frozen=True)
class Ground:
    """What does not change while plans are tried.

    sites: names of places to visit, sorted; reference [B], latitude, longitude [B]; allowed [B].
    C [V + 1 + T, V + 1]: covariances of (sensor, time) points, a point without error (references), and targets;
    G [V + 1, V + 1] = C_TVᵀ W C_TV; mobile [Q]: the point of the sensor carried in each shift; site [Q, B]: of each
    site then; noise [Q, B]: r of a visit.
    """

    settings: PlanSettings
    clock: Clock
    known: Errors
    aims: Targets
    start: float
    days: tuple[Day, ...]
    riders: tuple[Rider, ...]
    shifts: tuple[Shift, ...]
    sites: tuple[str, ...]
    reference: np.ndarray
    latitude: np.ndarray
    longitude: np.ndarray
    allowed: np.ndarray
    travel: Travel
    C: np.ndarray
    G: np.ndarray
    mobile: np.ndarray
    site: np.ndarray
    noise: np.ndarray
    notes: tuple[str, ...]

    def shift_name(self, shift: int) -> tuple[str, str]:
        """Day and rider as the plan writes them."""
        return self.days[self.shifts[shift].day].label, self.riders[self.shifts[shift].rider].name


def ground(
    posterior: Posterior, network: Network, settings: PlanSettings, days: tuple[Day, ...] | None = None
) -> Ground:
    """Read posterior, network and settings together; ``days`` in place of those of the settings."""
    with one_thread():
        return _ground(posterior, network, settings, days or plan_days(network, posterior.clock, settings))


def _ground(posterior: Posterior, network: Network, settings: PlanSettings, days: tuple[Day, ...]) -> Ground:
    _check_names(network, settings)
    listed_there = network.sensors["sensor"].isin(posterior.sensors)
    strangers = sorted(network.sensors["sensor"][~listed_there].astype(str))
    network = replace(network, sensors=network.sensors[listed_there].reset_index(drop=True))
    riders = riders_of(network, settings.riders)
    for rider in riders:
        posterior.number(rider.sensor)
    start = days[0].midnight
    known, aims = network_targets(posterior, network, start, settings.horizon_hours, settings.weights)
    table = network.sensors[network.sensors["kind"] == "static"]
    table = table.sort_values("sensor", ignore_index=True)
    sites = [str(name) for name in table["sensor"]]
    latitude, longitude = (
        table.get(name, pd.Series(np.nan, table.index)).to_numpy(dtype=np.float64) for name in ("latitude", "longitude")
    )
    ways = travel(sites, latitude, longitude, riders, settings.distances, settings.travel_factor)
    shifts = tuple(
        Shift(r, d, 60.0 * (rider.end - rider.start))
        for d, day in enumerate(days)
        for r, rider in enumerate(riders)
        if rider.works_on(day.label, d + 1, day.weekday)
    )
    allowed = ways.reachable[: len(sites)] & ~np.isin(sites, settings.forbidden)
    numbers = np.array([posterior.number(name) for name in sites], dtype=np.int64)
    carried = np.array([posterior.number(rider.sensor) for rider in riders], dtype=np.int64)
    reference = posterior.reference[numbers] if len(numbers) else np.zeros(0, dtype=bool)
    points, mobile, site = _points(posterior, riders, days, shifts, carried, numbers)
    C, G = _matrices(posterior, known, aims, points)
    independent = np.array([settings.effective_readings(rider.minutes_per_visit) for rider in riders])
    rider_of = np.array([shift.rider for shift in shifts], dtype=np.int64)
    noise = known.noise[carried[rider_of]][:, None] + known.noise[numbers][None, :]  # [Q, B]
    noise = noise / independent[rider_of][:, None]
    return Ground(
        settings,
        posterior.clock,
        known,
        aims,
        start,
        days,
        riders,
        shifts,
        tuple(sites),
        reference,
        latitude,
        longitude,
        allowed,
        ways,
        C,
        G,
        mobile,
        site,
        noise,
        _notes(network, settings, riders, sites, ways, reference & allowed, strangers),
    )


def _points(
    posterior: Posterior,
    riders: tuple[Rider, ...],
    days: tuple[Day, ...],
    shifts: tuple[Shift, ...],
    carried: np.ndarray,
    numbers: np.ndarray,
) -> tuple[Points, np.ndarray, np.ndarray]:
    """Points of sensors at the middle of working days, and where those of each shift are.   → [V], [Q], [Q, B]"""
    chosen = np.unique(np.concatenate([carried, numbers]))
    chosen = chosen[posterior.latent[chosen] >= 0]
    slots = int(np.clip(MOST_POINTS // max(len(chosen), 1), 1, len(days)))
    middle = float(np.mean([(rider.start + rider.end) / 2 for rider in riders]))
    slot_of = np.arange(len(days)) * slots // len(days)  # [days]
    noon = np.array([day.midnight + middle for day in days])
    hours = np.array([noon[slot_of == slot].mean() for slot in range(slots)])
    points = Points(np.tile(chosen, slots), np.repeat(hours, len(chosen)))
    place = np.full(len(posterior.sensors), -1)
    place[chosen] = np.arange(len(chosen))

    def point(sensor: np.ndarray, slot: np.ndarray) -> np.ndarray:
        return np.where(place[sensor] < 0, len(points), slot * len(chosen) + place[sensor])

    slot = np.array([slot_of[shift.day] for shift in shifts], dtype=np.int64)
    rider = np.array([shift.rider for shift in shifts], dtype=np.int64)
    return points, point(carried[rider], slot), point(numbers[None, :], slot[:, None])


def _matrices(posterior: Posterior, known: Errors, aims: Targets, points: Points) -> tuple[np.ndarray, np.ndarray]:
    """C and G with their point without error.   → [V + 1 + T, V + 1], [V + 1, V + 1]"""
    V, T = len(points), len(aims.points)
    rows = Points(
        np.concatenate([points.sensor, aims.points.sensor]), np.concatenate([points.hours, aims.points.hours])
    )
    full = covariance(posterior, known, rows, points)  # [V + T, V]
    C = np.zeros((V + 1 + T, V + 1))
    C[:V, :V] = 0.5 * (full[:V] + full[:V].T)
    C[V + 1 :, :V] = full[V:]
    root = np.sqrt(aims.scale)[:, None] * C[V + 1 :]  # [T, V + 1]
    return C, root.T @ root


def _check_names(network: Network, settings: PlanSettings) -> None:
    """Names in the settings must be names of the network."""
    names = set(network.sensors["sensor"].astype(str))
    for name in settings.forbidden:
        if name not in names:
            raise CalibdashError(f"{name[:60]!r} is forbidden, but no sensor of the network.", "Check its name.")


def _notes(
    network: Network,
    settings: PlanSettings,
    riders: tuple[Rider, ...],
    sites: list[str],
    ways: Travel,
    open_reference: np.ndarray,
    strangers: list[str],
) -> tuple[str, ...]:
    notes = []
    if strangers:
        notes.append(f"Not in the run, so not in the plan (fit again): {listed(strangers)}.")
    if not ways.known:
        notes.append("No positions are known: ways count nothing, and stops are planned by their number alone.")
    else:
        lost = [name for name, there in zip(sites, ways.reachable, strict=False) if not there]
        if lost:
            notes.append(f"Without a position, so nobody is sent there: {listed(lost)}.")
        homeless = [rider.name for rider, there in zip(riders, ways.reachable[len(sites) :], strict=True) if not there]
        if homeless:
            notes.append(f"The base is unknown of {listed(homeless)}: their ways begin and end at a sensor.")
    if not network.references:
        notes.append(
            "No sensor is a reference: visits can tie sensors to each other, but none can fix the level of all."
        )
    elif not open_reference.any():
        notes.append("No reference can be visited: the level rests on what is known of the mobiles now.")
    if settings.horizon_hours < 24.0 * settings.days and math.isfinite(settings.horizon_hours):
        notes.append("The plan is longer than the horizon: visits late in it count less.")
    return tuple(notes)


def listed(names: list[str], most: int = 6) -> str:
    """Names in a sentence."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
