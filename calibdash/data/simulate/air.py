"""The air a simulated network measures: the true level and the weather, anywhere and at any time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibdash.data.simulate.recipe import NetworkRecipe
from calibdash.data.simulate.waves import Waves, gp_draws, sinusoids

ELSEWHERE = -1  # the site of a mobile that rides: the city's level, without a local part
CITY_PERIOD_HOURS = 63.0
LOCAL_PERIOD_HOURS = 14.5
LOWEST_LEVEL, HIGHEST_LEVEL = 10.0, 300.0
DRY, DAMP = 30.0, 95.0
KAPPA_DENSITY = 1.65


@dataclass(frozen=True)
class Air:
    """Level and weather of one city.

    city: one function; local: one a site [S]; weather: one function, shared; clock_hours: what the local
    clock shows at hour 0.
    """

    kind: str
    mean: float
    clock_hours: float
    city: Waves
    local: Waves
    weather: Waves

    def level(self, site: np.ndarray, hours: np.ndarray) -> np.ndarray:
        """True level h > 0.   site [N] (an index, or ELSEWHERE), hours [N] → [N]"""
        local = self.local.at(np.maximum(site, 0), hours) * (site != ELSEWHERE)
        shared = self.city.on_grid(hours)[0]
        if self.kind == "sinusoid":
            return np.maximum(self.mean + shared + local, 1.0)
        log_level = np.log(self.mean - LOWEST_LEVEL) - 0.2 + rush_hours(hours + self.clock_hours) + shared + local
        return np.minimum(LOWEST_LEVEL + np.exp(log_level), HIGHEST_LEVEL)

    def outside(self, hours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Humidity in % (damp before dawn, dry after noon) and temperature in °C.   hours [N] → [N], [N]"""
        sun = np.cos(2 * np.pi * (hours + self.clock_hours - 15) / 24)  # 1 at 15:00 local, −1 at 03:00
        front = self.weather.on_grid(hours)[0]
        return 68 - 17 * sun + 8 * front, 23.0 + 4.5 * sun - 1.5 * front


def inlet(rng: np.random.Generator, humidity: np.ndarray, temperature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a sensor finds in its own inlet, and reports to a tenth.   outside [N], [N] → [N], [N]"""
    damp = np.round(np.clip(humidity + 2.0 * rng.standard_normal(len(humidity)), DRY, DAMP), 1)
    return damp, np.round(temperature + 0.5 * rng.standard_normal(len(temperature)), 1)


def rush_hours(clock_hours: np.ndarray) -> np.ndarray:
    """Log level over the day: peaks at 08:00 and 20:00, lowest in mid-afternoon.   [N] → [N]"""
    day = 2 * np.pi * clock_hours / 24
    return 0.25 * np.cos(day - 2 * np.pi * 22 / 24) + 0.3 * np.cos(2 * day - 2 * np.pi * 16 / 24)


def growth(kappa: float, humidity: np.ndarray) -> np.ndarray:
    """How much water inflates a raw reading: C = 1 + (κ/1.65) / (100/RH − 1).   humidity [N] in % → [N]"""
    return 1 + (kappa / KAPPA_DENSITY) / (100 / np.asarray(humidity) - 1)


def make_air(recipe: NetworkRecipe, sites: int, rng: np.random.Generator) -> Air:
    """The air of a recipe, with a local part for each of ``sites`` places."""
    if recipe.level == "sinusoid":
        city = sinusoids(rng, np.array([recipe.level_amplitude]), np.array([CITY_PERIOD_HOURS]))
        amplitude = np.full(sites, recipe.level_amplitude / 2)
        local = sinusoids(rng, amplitude, LOCAL_PERIOD_HOURS * np.exp(0.1 * rng.standard_normal(sites)))
    else:
        city = gp_draws(rng, "matern32", np.array([0.4]), np.array([48.0]))
        draws = gp_draws(rng, "matern32", np.full(sites, 0.3), np.full(sites, 6.0))
        mean = 0.25 * rng.standard_normal(sites)
        local = Waves(mean, draws.trend, draws.amplitude, draws.frequency, draws.phase)
    weather = gp_draws(rng, "matern32", np.array([1.0]), np.array([60.0]))
    local_start = recipe.origin.tz_convert(recipe.timezone)
    clock_hours = (local_start.tz_localize(None) - local_start.tz_localize(None).normalize()) / pd.Timedelta(hours=1)
    return Air(recipe.level, recipe.level_mean, float(clock_hours), city, local, weather)
