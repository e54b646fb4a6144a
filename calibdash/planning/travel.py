"""How far and how long it is from anywhere to anywhere: straight lines times a factor, or the user's table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calibdash.data.problems import Problem
from calibdash.data.schema import Column, Kind, Schema
from calibdash.data.tables import load_table
from calibdash.errors import CalibdashError
from calibdash.planning.riders import Rider

EARTH_KM = 6371.0
DISTANCES = Schema(
    "distances",
    (
        Column("from", Kind.ID, "a sensor, or a rider (their base)", required=True),
        Column("to", Kind.ID, "another", required=True),
        Column("km", Kind.NUMBER, "length of the way", required=True, low=0),
        Column("minutes", Kind.NUMBER, "time it takes, if known", low=0),
    ),
)


@dataclass(frozen=True)
class Distances:
    """Ways that a user measured: (from, to, km, minutes or NaN) each; the way back is as long unless it is listed."""

    ways: tuple[tuple[str, str, float, float], ...]


@dataclass(frozen=True)
class Travel:
    """Ways between P places: first all sites, then the base of each rider.

    km [P, P]; minutes [R, P, P] by rider; reachable [P]: the place is known; known: any distance is.
    """

    km: np.ndarray
    minutes: np.ndarray
    reachable: np.ndarray
    known: bool


def read_distances(file: Path) -> tuple[Distances, tuple[Problem, ...]]:
    """The table ``from, to, km[, minutes]``."""
    table = load_table(file, DISTANCES)
    frame = table.frame
    minutes = frame["minutes"].to_numpy(dtype=np.float64) if "minutes" in frame else np.full(len(frame), np.nan)
    ways = tuple(
        zip(
            frame["from"].astype(str), frame["to"].astype(str), frame["km"].astype(float), minutes.tolist(), strict=True
        )
    )
    if not ways:
        raise CalibdashError(f"{file.name} lists no way.", "Give rows of from, to and km.")
    return Distances(ways), table.problems


def straight_km(latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    """Great-circle kilometres between all pairs; NaN where a place is unknown.   [P], [P] → [P, P]"""
    phi, lam = np.radians(latitude), np.radians(longitude)
    half = (
        np.sin((phi[:, None] - phi) / 2) ** 2
        + np.cos(phi)[:, None] * np.cos(phi) * np.sin((lam[:, None] - lam) / 2) ** 2
    )
    return 2 * EARTH_KM * np.arcsin(np.sqrt(np.clip(half, 0.0, 1.0)))


def travel(
    sites: list[str],
    latitude: np.ndarray,
    longitude: np.ndarray,
    riders: tuple[Rider, ...],
    distances: Distances | None,
    factor: float,
) -> Travel:
    """All ways.   latitude, longitude [sites]

    Where nothing at all is known, ways count nothing; so do those to and from a base that is unknown.
    """
    count, bases = len(sites), len(riders)
    north = np.concatenate([latitude, [rider.latitude for rider in riders]])
    east = np.concatenate([longitude, [rider.longitude for rider in riders]])
    km = factor * straight_km(north, east)  # [P, P]
    given = np.full_like(km, np.nan)
    if distances is not None:
        _fill(km, given, sites, riders, distances)
    np.fill_diagonal(km, 0.0)
    known = bool(np.isfinite(km[:, :count][~np.eye(len(km), count, dtype=bool)]).any())
    if not known:
        return Travel(np.zeros_like(km), np.zeros((bases, *km.shape)), np.ones(len(km), dtype=bool), False)
    between = np.isfinite(km[:count, :count]) | np.eye(count, dtype=bool)
    # one whole set of places among which every way is known: drop the place with most gaps until none is left
    reachable = np.ones(count + bases, dtype=bool)
    gaps = ~between
    while count and gaps.any():
        worst = int(np.argmax(gaps.sum(axis=0) + gaps.sum(axis=1)))
        gaps[worst] = gaps[:, worst] = False
        reachable[worst] = False
    for rider in range(count, count + bases):
        inside = np.flatnonzero(reachable[:count])
        if not np.isfinite(np.concatenate([km[rider, inside], km[inside, rider]])).all():
            km[rider], km[:, rider] = 0.0, 0.0
            given[rider], given[:, rider] = np.nan, np.nan
            reachable[rider] = False
    km = np.where(np.isfinite(km), km, 0.0)
    speed = np.array([rider.speed_kmh for rider in riders])
    minutes = np.where(np.isfinite(given), given, 60.0 * km / speed[:, None, None])  # [R, P, P]
    return Travel(km, minutes, reachable, True)


def _fill(km: np.ndarray, given: np.ndarray, sites: list[str], riders: tuple[Rider, ...], distances: Distances) -> None:
    """Put the user's ways over straight lines, in place; a way back that is not listed is as long."""
    place = {rider.name: len(sites) + index for index, rider in enumerate(riders)}
    place |= {rider.sensor: len(sites) + index for index, rider in enumerate(riders) if rider.sensor}
    place |= {name: index for index, name in enumerate(sites)}
    rows = [(place[a], place[b], length, minutes) for a, b, length, minutes in distances.ways if {a, b} <= place.keys()]
    if not rows:
        raise CalibdashError(
            "The table of distances names no way between sensors or riders of this network.",
            "Its columns from and to hold ids of sensors and names of riders.",
        )
    for swap in (True, False):
        for a, b, length, minutes in rows:
            where = (b, a) if swap else (a, b)
            km[where], given[where] = length, minutes
