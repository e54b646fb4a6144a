"""A simulated network: scene (who, where, how they drift) → meetings → readings, with the truth kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibdash.data.colocations import complete_sensors
from calibdash.data.network import Clock, Network
from calibdash.data.simulate.air import Air, growth, inlet, make_air
from calibdash.data.simulate.meetings import Meetings, plan_meetings
from calibdash.data.simulate.places import sensor_table, site_of
from calibdash.data.simulate.recipe import NetworkRecipe
from calibdash.data.simulate.waves import Waves, drifts

DIGITS = 6


@dataclass(frozen=True)
class Scene:
    """What a recipe stands for before anyone meets: sensors [S rows], km [S, 2], site [S], how each drifts.

    true = gain · raw / C + offset, with gain = e^{log_gain(t)} and C the growth by humidity (1 without κ,
    and at a reference, which dries its air).
    """

    recipe: NetworkRecipe
    sensors: pd.DataFrame
    km: np.ndarray
    site: np.ndarray
    log_gain: Waves
    offset: Waves
    air: Air

    @property
    def reference(self) -> np.ndarray:
        """Which sensors are references.   → [S]"""
        return self.sensors["reference"].to_numpy(dtype=bool)

    @property
    def clock(self) -> Clock:
        """Hours from the recipe's start."""
        return Clock(self.recipe.origin)

    def calibration(self, sensor: np.ndarray, hours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """True gain and offset.   sensor [N], hours [N] → [N], [N]"""
        return np.exp(self.log_gain.at(sensor, hours)), self.offset.at(sensor, hours)

    def growth(self, sensor: np.ndarray, humidity: np.ndarray) -> np.ndarray:
        """How much water inflates readings: C, or 1 at a reference.   sensor [N], humidity [N] → [N]"""
        return np.where(self.reference[sensor], 1.0, growth(self.recipe.kappa, humidity))

    def read(self, rng: np.random.Generator, sensor: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """What sensors report: references the truth, others with noise and not below their lowest.   [N] → [N]"""
        recipe = self.recipe
        sd = np.hypot(recipe.noise, recipe.proportional_noise * raw)
        noisy = np.maximum(raw + sd * rng.standard_normal(len(raw)), recipe.lowest_reading)
        return significant(np.where(self.reference[sensor], raw, noisy))


@dataclass(frozen=True)
class SimulatedNetwork:
    """Tables of a simulated network and the truth behind them, row by row (``truth``) and at any time (``scene``)."""

    recipe: NetworkRecipe
    colocations: pd.DataFrame
    sensors: pd.DataFrame
    truth: pd.DataFrame
    scene: Scene
    meetings: Meetings

    def network(self) -> Network:
        """The network as the rest of calibdash sees it, without a way through files."""
        colocations = self.colocations.sort_values("time", kind="stable", ignore_index=True)
        return Network(self.recipe.name, colocations, complete_sensors(self.sensors), self.scene.clock)

    def calibration(self) -> pd.DataFrame:
        """True calibrations of non-references: ``time, sensor, parameter, value``, every ``truth_hours``."""
        hours = np.arange(0, self.recipe.hours + 1e-9, self.recipe.truth_hours)
        return true_calibration(self.scene, hours)


def simulate_network(recipe: NetworkRecipe) -> SimulatedNetwork:
    """The network of a recipe: the same recipe, the same network."""
    # Streams apart, so that another noise leaves the sensors, their drift and their meetings as they were.
    scene_rng, meeting_rng, reading_rng = np.random.default_rng(recipe.seed).spawn(3)
    scene = build_scene(recipe, scene_rng)
    return observe(scene, plan_meetings(recipe, scene.km, meeting_rng), reading_rng)


def build_scene(recipe: NetworkRecipe, rng: np.random.Generator) -> Scene:
    """Sensors, their places, drifts and the air of a recipe."""
    sensors, km = sensor_table(recipe, rng)
    moves = (~sensors["reference"].to_numpy(dtype=bool)).astype(np.float64)
    mobile = (sensors["kind"] == "mobile").to_numpy()
    scale = np.where(mobile, recipe.mobile_drift_hours, recipe.static_drift_hours)

    def drift(size: float, bias: float) -> Waves:
        return drifts(rng, recipe.drift, size * moves, bias * moves, scale, recipe.drift_spread)

    log_gain = drift(recipe.gain_drift, recipe.gain_bias)
    offset = drift(recipe.offset_drift, recipe.offset_bias)
    return Scene(recipe, sensors, km, site_of(recipe), log_gain, offset, make_air(recipe, len(sensors), rng))


def observe(scene: Scene, meetings: Meetings, rng: np.random.Generator) -> SimulatedNetwork:
    """What the sensors read when they meet, and what was true."""
    ids = scene.sensors["sensor"].to_numpy(dtype=object)
    level = scene.air.level(meetings.site, meetings.hours)
    table = {"time": scene.clock.times(meetings.hours), "sensor_a": ids[meetings.a], "sensor_b": ids[meetings.b]}
    truth = {"time": table["time"], "sensor_a": table["sensor_a"], "sensor_b": table["sensor_b"], "level": level}
    outside = scene.air.outside(meetings.hours) if scene.recipe.weather else None
    weather: dict[str, np.ndarray] = {}
    for side, sensor in (("a", meetings.a), ("b", meetings.b)):
        gain, offset = scene.calibration(sensor, meetings.hours)
        raw = (level - offset) / gain
        if outside:
            humidity, temperature = inlet(rng, *outside)
            weather |= {f"humidity_{side}": humidity, f"temperature_{side}": temperature}
            raw = raw * scene.growth(sensor, humidity)
        table[f"value_{side}"] = scene.read(rng, sensor, raw)
        truth |= {f"gain_{side}": gain, f"offset_{side}": offset, f"raw_{side}": raw}
    return SimulatedNetwork(
        scene.recipe, pd.DataFrame(table | weather), scene.sensors, pd.DataFrame(truth), scene, meetings
    )


def true_calibration(scene: Scene, hours: np.ndarray) -> pd.DataFrame:
    """Gain, offset (if any moves) and κ (if any) of every non-reference.   hours [T]"""
    parameters = {"gain": np.exp(scene.log_gain.on_grid(hours))}
    if scene.recipe.offset_drift or scene.recipe.offset_bias:
        parameters["offset"] = scene.offset.on_grid(hours)
    if scene.recipe.kappa:
        parameters["kappa"] = np.full((len(scene.sensors), len(hours)), scene.recipe.kappa)
    kept = np.flatnonzero(~scene.reference)
    ids = scene.sensors["sensor"].to_numpy(dtype=object)[kept]
    times = scene.clock.times(hours)
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "time": np.tile(times, len(kept)),
                    "sensor": np.repeat(ids, len(hours)),
                    "parameter": name,
                    "value": significant(values[kept].ravel()),
                }
            )
            for name, values in parameters.items()
        ],
        ignore_index=True,
    )


def significant(values: np.ndarray, digits: int = DIGITS) -> np.ndarray:
    """Rounded to so many significant digits, to keep files small.   [N] → [N]"""
    size = np.floor(np.log10(np.maximum(np.abs(values), 1e-12)))
    unit = 10.0 ** (digits - 1 - size)
    return np.round(values * unit) / unit
