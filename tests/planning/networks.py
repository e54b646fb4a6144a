"""Small networks, solved at once, that the tests of planning share."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from calibdash.data.network import Clock, Network
from calibdash.data.simulate import PRESETS, simulate_network
from calibdash.models.posterior import Posterior
from calibdash.models.preview import preview
from calibdash.models.settings import Settings

BELIEFS = {
    "kernel": "matern32",
    "lengthscale.static": "60d",
    "lengthscale.mobile": "15d",
    "drift": 0.25,
    "bias": 0.2,
    "noise.additive": 2.0,
    "noise.proportional": 0.1,
}
RECIPE = replace(
    PRESETS["city"],
    days=30,
    statics=8,
    references=2,
    mobiles=2,
    pairs=0,
    other_visits=0.5,
    reference_visits=0.1,
    readings_per_visit=2,
    weather=False,
    seed=3,
)


@cache
def small(**changes) -> tuple[Posterior, Network]:
    network = simulate_network(replace(RECIPE, **changes)).network()
    return preview(network, Settings().with_values(BELIEFS)), network


def solved(network: Network, **beliefs) -> Posterior:
    return preview(network, Settings().with_values({**BELIEFS, **beliefs}))


def by_hand(rows: list[tuple[float, str, str]], mobiles: tuple[str, ...], references: tuple[str, ...]) -> Network:
    """A network of equal readings from (hour, a, b) rows, nobody knows where; times are hours."""
    table = pd.DataFrame(rows, columns=["time", "sensor_a", "sensor_b"]).assign(value_a=10.0, value_b=10.0)
    table = table.astype({"time": float}).sort_values("time", ignore_index=True)
    names = sorted({*table["sensor_a"], *table["sensor_b"]})
    sensors = pd.DataFrame(
        {
            "sensor": names,
            "kind": ["mobile" if name in mobiles else "static" for name in names],
            "reference": [name in references for name in names],
            "latitude": np.nan,
            "longitude": np.nan,
        }
    )
    return Network("by hand", table, sensors, Clock(None))
