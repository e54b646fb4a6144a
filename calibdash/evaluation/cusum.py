"""Two-sided CUSUM: small errors of one sign that keep coming add up to an alarm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SLACK = 0.5  # k: errors below half a standard deviation count for nothing
LIMIT = 5.0  # h: in control this is passed about once in 470 visits


@dataclass(frozen=True)
class Cusum:
    """Sums of one sensor over its N visits.   up, down [N]; alarms: places at which one of them passed the limit"""

    up: np.ndarray
    down: np.ndarray
    alarms: tuple[int, ...]


def cusum(z: np.ndarray, slack: float = SLACK, limit: float = LIMIT) -> Cusum:
    """Sums up ← max(0, up + z − k) and down ← max(0, down − z − k); both start anew after an alarm.   z [N]"""
    up, down = np.zeros(len(z)), np.zeros(len(z))
    alarms = []
    high = low = 0.0
    for place, value in enumerate(z):
        high, low = max(0.0, high + value - slack), max(0.0, low - value - slack)
        up[place], down[place] = high, low
        if max(high, low) > limit:
            alarms.append(place)
            high = low = 0.0
    return Cusum(up, down, tuple(alarms))
