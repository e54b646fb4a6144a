"""The paper's Kampala experiment on simulated cities: a reference that is treated as unknown and made to drift."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from calibdash.data.network import Network
from calibdash.data.simulate import PRESETS, simulate_network
from calibdash.evaluation.methods import Gains, Points, multihop_best_on_truth, posterior_gains, scores
from calibdash.evaluation.study import Result, Task
from calibdash.models.settings import Settings

METHODS = ("none", "multi-hop, tuned on truth", "calibdash, the paper's prior", "calibdash")
PAPER = {"none": (12.71, 0.321), "multi-hop, tuned on truth": (8.67, 0.180), METHODS[2]: (5.545, 0.078)}
# The operators' beliefs in the paper: 100 days, kernel variance 9, bias variance 3; the noise is left to the data.
PAPER_PRIOR = {"kernel": "eq", "lengthscale": "100d", "drift": 3.0, "bias": 3**0.5}
DAYS, LAST_FACTOR = 69.0, 1.83


def tasks(networks: int) -> list[Task]:
    """One task a network and method."""
    return [{"study": "drift", "seed": seed, "method": method} for seed in range(networks) for method in METHODS]


def work(task: Task) -> Result:
    """Figures of one method on one city."""
    network, points = drifting_reference(int(str(task["seed"])))
    return {**task, **scores(estimate(str(task["method"]), network, points), points)}


def drifting_reference(seed: int) -> tuple[Network, Points]:
    """A city whose second reference is unknown: it reports in the middle 69 days only, ×1 rising to ×1.83.

    → the network, and the distinct readings of that sensor with their true level
    """
    city = simulate_network(replace(PRESETS["city"], seed=seed)).network()
    known, tested = city.references[0], city.references[1]
    table = city.colocations
    hours = city.clock.hours(table["time"])
    start = hours.min() + (hours.max() - hours.min() - 24 * DAYS) / 2
    share = (hours - start) / (24 * DAYS)
    factor = 1 + (LAST_FACTOR - 1) * np.clip(share, 0, 1)
    concerned = (table["sensor_a"] == tested) | (table["sensor_b"] == tested)
    keep = ~concerned.to_numpy() | ((share >= 0) & (share <= 1))
    changed = table.copy()
    rows = []
    for side in "ab":
        mine = (table[f"sensor_{side}"] == tested).to_numpy() & keep
        changed.loc[mine, f"value_{side}"] = table.loc[mine, f"value_{side}"] * factor[mine]
        rows.append(
            pd.DataFrame({"hours": hours[mine], "level": table.loc[mine, f"value_{side}"], "factor": factor[mine]})
        )
    readings = pd.concat(rows).drop_duplicates("hours").sort_values("hours")
    colocations = changed[keep].reset_index(drop=True)
    network = Network(city.name, colocations, city.sensors, city.clock).with_references((known,))
    level, scale = readings["level"].to_numpy(), readings["factor"].to_numpy()
    names = np.full(len(readings), tested, dtype=object)
    return network, Points(names, readings["hours"].to_numpy(), level * scale, level, -np.log(scale))


def estimate(method: str, network: Network, points: Points) -> Gains:
    """Log gains of the tested sensor by one of :data:`METHODS`."""
    if method == "none":
        return Gains(np.zeros(len(points.hours)), np.full(len(points.hours), np.nan))
    if method == "multi-hop, tuned on truth":
        return multihop_best_on_truth(network, points)[1]
    from calibdash.models.fitting import fit

    settings = Settings.from_dict(PAPER_PRIOR if method == "calibdash, the paper's prior" else {})
    return posterior_gains(fit(network, settings), points)
