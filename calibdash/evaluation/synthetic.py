"""The paper's synthetic experiment (its Table 1) on our simulator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibdash.data.simulate import PRESETS, SimulatedNetwork, simulate_network
from calibdash.evaluation.methods import Gains, Points, multihop_best_on_truth, multihop_gains, posterior_gains, scores
from calibdash.evaluation.study import Result, Task
from calibdash.models.multihop import multihop
from calibdash.models.multihop_search import search
from calibdash.models.settings import Settings

NOISES = (2.0, 5.0, 10.0, 20.0)
METHODS = ("raw", "multi-hop, tuned on truth", "multi-hop, tuned honestly", "paper's model, Adam", "calibdash", "floor")
PAPER_NMSE = {
    "raw": {2.0: 0.77, 5.0: 0.78, 10.0: 0.97, 20.0: 1.46},
    "multi-hop, tuned on truth": {2.0: 0.27, 5.0: 0.44, 10.0: 0.87, 20.0: 3.18},
    "paper's model, Adam": {2.0: 0.18, 5.0: 0.21, 10.0: 0.35, 20.0: 0.84},
}
# Lengthscales as the paper's Bayesian optimisation found them. With its kernel and likelihood variances (7.64 and 6.02,
# which the published code multiplies by 100) an honest Monte-Carlo bound explodes; they are left to the data here.
PAPER_SETTINGS = {
    "likelihood": "paper",
    "optimiser": "adam",
    "adam.iterations": 1000,
    "adam.rate": 0.01,
    "kernel": "eq",
    "lengthscale.static": "2201h",
    "lengthscale.mobile": "581h",
}


def tasks(datasets: int) -> list[Task]:
    """One task a noise, dataset and method."""
    return [
        {"study": "synthetic", "noise": noise, "seed": seed, "method": method}
        for noise in NOISES
        for seed in range(datasets)
        for method in METHODS
    ]


def work(task: Task) -> Result:
    """Figures of one method on one dataset."""
    simulated = dataset(float(str(task["noise"])), int(str(task["seed"])))
    points = reading_points(simulated)
    gains = estimate(str(task["method"]), simulated, points)
    return {**task, **scores(gains, points)}


def dataset(noise: float, seed: int) -> SimulatedNetwork:
    """The paper's network at one noise; all noises of a seed share sensors, drift and visits."""
    return simulate_network(replace(PRESETS["paper"], noise=noise, seed=seed))


def reading_points(simulated: SimulatedNetwork) -> Points:
    """Every reading of a non-reference in the colocations, with its truth."""
    table, truth = simulated.colocations, simulated.truth
    hours = simulated.scene.clock.hours(table["time"])
    parts = [
        (table[f"sensor_{side}"], hours, table[f"value_{side}"], truth["level"], np.log(truth[f"gain_{side}"]))
        for side in "ab"
    ]
    points = Points(*(np.concatenate([np.asarray(part[i]) for part in parts]) for i in range(5)))
    references = simulated.sensors.loc[simulated.sensors["reference"], "sensor"]
    return points.where(~np.isin(points.sensor.astype(str), references.to_numpy(dtype=str)))


def estimate(method: str, simulated: SimulatedNetwork, points: Points) -> Gains:
    """Log gains at the points by one of :data:`METHODS`."""
    unknown = np.full(len(points.hours), np.nan)
    if method == "raw":
        return Gains(np.zeros(len(points.hours)), unknown)
    if method == "floor":
        return Gains(points.log_gain, unknown)
    network = simulated.network()
    if method == "multi-hop, tuned on truth":
        return multihop_best_on_truth(network, points)[1]
    if method == "multi-hop, tuned honestly":
        return multihop_gains(multihop(network, search(network).settings), points)
    from calibdash.models.fitting import fit
    from calibdash.models.learning import learn

    if method == "paper's model, Adam":
        return posterior_gains(fit(network, Settings.from_dict(PAPER_SETTINGS)), points)
    return posterior_gains(fit(network, learn(network, Settings())), points)
