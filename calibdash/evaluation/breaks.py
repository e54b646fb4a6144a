"""Breaks in a finished record: where the mean of a sensor's errors changed, by ``ruptures`` (PELT)."""

from __future__ import annotations

import numpy as np

SHORTEST = 3  # visits between two breaks
PENALTY = 3.0  # squared standard deviations a break must explain, times log N


def breaks(z: np.ndarray, penalty: float = PENALTY) -> tuple[int, ...]:
    """Places at which a new level of the errors begins.   z [N], unit variance → places, ascending"""
    if len(z) < 2 * SHORTEST:
        return ()
    from ruptures import Pelt

    signal = np.clip(z, -8.0, 8.0).reshape(-1, 1)
    found = Pelt(model="l2", min_size=SHORTEST, jump=1).fit(signal).predict(pen=penalty * np.log(len(z)))
    return tuple(int(place) for place in found[:-1])
