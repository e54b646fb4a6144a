"""How a mobile gets from one visit to the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibdash.data.simulate.air import ELSEWHERE
from calibdash.data.simulate.network import SimulatedNetwork

SPEED_KMH = 15.0


@dataclass(frozen=True)
class Ride:
    """A mobile's way: corners hours [W] and km [W, 2], joined by straight lines; stays start, end, site [V]."""

    hours: np.ndarray
    km: np.ndarray
    start: np.ndarray
    end: np.ndarray
    site: np.ndarray

    def at(self, hours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where it is, and at whose site if it stays.   hours [N] → km [N, 2], site [N]"""
        km = np.column_stack([np.interp(hours, self.hours, self.km[:, axis]) for axis in (0, 1)])
        if not len(self.start):
            return km, np.full(len(hours), ELSEWHERE)
        stay = np.searchsorted(self.start, hours, side="right") - 1
        staying = (stay >= 0) & (hours <= self.end[stay])
        return km, np.where(staying, self.site[stay], ELSEWHERE)


def plan_ride(simulated: SimulatedNetwork, mobile: int) -> Ride:
    """Home, out to each visit at a boda boda's speed, stay while it lasts, and home again when there is time."""
    recipe, scene, meetings = simulated.recipe, simulated.scene, simulated.meetings
    mine = (meetings.a == mobile) | (meetings.b == mobile)
    hours, site = meetings.hours[mine], meetings.site[mine]
    step = recipe.reading_minutes / 60
    home, now, free = scene.km[mobile], scene.km[mobile], 0.0
    corners: list[tuple[float, np.ndarray]] = [(0.0, home)]
    stays: list[tuple[float, float, int]] = []
    for time, place in zip(hours, site, strict=True):
        if stays and place == stays[-1][2] and time <= stays[-1][1] + 1e-6:
            stays[-1] = (stays[-1][0], time + step, place)  # a further reading of the same visit
            corners[-1] = (time + step, corners[-1][1])
            free = time + step
            continue
        target = scene.km[place]
        via_home = (np.linalg.norm(now - home) + np.linalg.norm(target - home)) / SPEED_KMH
        direct = float(np.linalg.norm(target - now)) / SPEED_KMH
        if time - free < direct:
            continue  # cannot be there in time: this visit is not in the record
        if time - free > via_home:
            corners.append((free + float(np.linalg.norm(now - home)) / SPEED_KMH, home))
            corners.append((time - float(np.linalg.norm(target - home)) / SPEED_KMH, home))
        else:
            corners.append((time - direct, now))
        corners += [(time, target), (time + step, target)]
        stays.append((time, time + step, int(place)))
        now, free = target, time + step
    start, end, places = (np.array([stay[part] for stay in stays]) for part in range(3))
    return Ride(
        np.array([hour for hour, _ in corners]), np.array([km for _, km in corners]), start, end, places.astype(int)
    )
