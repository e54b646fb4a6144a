"""Small networks the tests of the engine share."""

from dataclasses import replace

import numpy as np
import pandas as pd

from calibdash.data.network import Clock, Network
from calibdash.data.simulate import PRESETS, SimulatedNetwork, simulate_network

KNOWN = {
    "kernel": "eq",
    "lengthscale.static": "30d",
    "lengthscale.mobile": "12d",
    "drift": 0.4,
    "bias": 0.2,
    "noise.additive": 5.0,
    "noise.proportional": 0.05,
}


def as_network(simulated: SimulatedNetwork) -> Network:
    table = simulated.colocations.sort_values("time", kind="stable", ignore_index=True)
    return Network("simulated", table, simulated.sensors, simulated.scene.clock)


def simulated(preset: str, **changes) -> tuple[SimulatedNetwork, Network]:
    result = simulate_network(replace(PRESETS[preset], **changes))
    return result, as_network(result)


def table(rows: list[tuple], references: tuple[str, ...] = ("R",), extra: tuple[str, ...] = ()) -> Network:
    """A network from (hour, a, b, value of a, value of b) rows."""
    frame = pd.DataFrame(rows, columns=["time", "sensor_a", "sensor_b", "value_a", "value_b"])
    frame = frame.astype({"time": float, "value_a": float, "value_b": float})
    names = list(dict.fromkeys([*frame["sensor_a"], *frame["sensor_b"], *extra]))
    sensors = pd.DataFrame({"sensor": names, "kind": "static", "reference": [name in references for name in names]})
    return Network("table", frame, sensors, Clock(None))


def random_table(rng: np.random.Generator, rows: int = 40, sensors: int = 4) -> Network:
    """Random meetings of R and some sensors with steady gains."""
    gains = {"R": 1.0} | {f"S{k}": float(np.exp(0.3 * rng.standard_normal())) for k in range(sensors)}
    names = list(gains)
    out = []
    for _ in range(rows):
        a, b = rng.choice(names, 2, replace=False)
        level = rng.uniform(20, 80)
        values = [level / gains[who] * np.exp(0.05 * rng.standard_normal() * (who != "R")) for who in (a, b)]
        out.append((rng.uniform(0, 1000), a, b, *values))
    return table(sorted(out))


def coverage(simulated: SimulatedNetwork, posterior, step_hours: float = 48.0) -> float:
    """Share of sensors and times whose true log gain lies in the 95 % band."""
    hours = np.arange(0, simulated.recipe.hours, step_hours)
    inside = []
    for number in np.flatnonzero(~simulated.scene.reference):
        mean, cov = posterior.latents(posterior.sensors[number], hours)
        truth = np.log(simulated.scene.calibration(np.full(len(hours), number), hours)[0])
        inside.append(np.abs(mean[:, 0] - truth) < 1.96 * np.sqrt(cov[:, 0, 0]))
    return float(np.mean(inside))
