"""Who the sensors of a simulated network are, and where they stand."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibdash.data.simulate.recipe import NetworkRecipe

KM_PER_DEGREE = 111.2
PAIR_METRES = 8.0


def sensor_table(recipe: NetworkRecipe, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """The sensors (references, statics, mobiles, in this order) and where they stand.   → [S] rows, km [S, 2]

    A mobile stands at its home. The second of a permanent pair stands a few metres beside the first.
    """
    if recipe.hops:
        return _chain_table(recipe, rng)
    ids = [
        *_ids("R", recipe.references),
        *_ids("S", recipe.statics - recipe.references),
        *_ids("M", recipe.mobiles),
    ]
    km = rng.uniform(-recipe.area_km / 2, recipe.area_km / 2, (len(ids), 2))
    first, second = permanent_pairs(recipe)
    angle = rng.uniform(0, 2 * np.pi, recipe.pairs)
    km[second] = km[first] + PAIR_METRES / 1000 * np.column_stack([np.cos(angle), np.sin(angle)])
    index = np.arange(len(ids))
    return _table(recipe, ids, index >= recipe.statics, index < recipe.references, km), km


def permanent_pairs(recipe: NetworkRecipe) -> tuple[np.ndarray, np.ndarray]:
    """Indices of both sides of each permanent pair: a reference and a static, then statics.   → [P], [P]"""
    firsts = recipe.references + recipe.pairs + np.arange(max(recipe.pairs - 1, 0))
    seconds = recipe.references + np.arange(recipe.pairs)
    return np.concatenate([np.full(min(recipe.pairs, 1), recipe.references - 1), firsts]).astype(int), seconds


def site_of(recipe: NetworkRecipe) -> np.ndarray:
    """Whose air a sensor breathes: its own place's, or that of the first of its permanent pair.   → [S]"""
    site = np.arange(recipe.hops + 1 if recipe.hops else recipe.statics + recipe.mobiles)
    first, second = permanent_pairs(recipe)
    site[second] = first
    return site


def degrees(recipe: NetworkRecipe, km: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Latitude and longitude of points given in km east and north of the centre.   km [N, 2] → [N], [N]"""
    latitude = recipe.latitude + km[:, 1] / KM_PER_DEGREE
    longitude = recipe.longitude + km[:, 0] / (KM_PER_DEGREE * np.cos(np.radians(recipe.latitude)))
    return latitude, (longitude + 180) % 360 - 180


def kilometres(recipe: NetworkRecipe, latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    """The inverse of :func:`degrees`.   latitude [N], longitude [N] → km [N, 2]"""
    east = (longitude - recipe.longitude + 180) % 360 - 180
    scale = KM_PER_DEGREE * np.cos(np.radians(recipe.latitude))
    return np.column_stack([east * scale, (latitude - recipe.latitude) * KM_PER_DEGREE])


def _ids(letter: str, count: int) -> list[str]:
    width = len(str(count))
    return [f"{letter}{number:0{width}d}" for number in range(1, count + 1)]


def _chain_table(recipe: NetworkRecipe, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """R0 – S1 – S2 – …: even links stand, odd ones ride between their two neighbours."""
    index = np.arange(recipe.hops + 1)
    ids = ["R0", *(f"S{number}" for number in index[1:])]
    km = np.column_stack([recipe.area_km * (index / recipe.hops - 0.5), rng.uniform(-0.5, 0.5, len(index))])
    return _table(recipe, ids, index % 2 == 1, index == 0, km), km


def _table(
    recipe: NetworkRecipe, ids: list[str], mobile: np.ndarray, reference: np.ndarray, km: np.ndarray
) -> pd.DataFrame:
    latitude, longitude = (np.round(angle, 6) for angle in degrees(recipe, km))
    return pd.DataFrame(
        {
            "sensor": ids,
            "kind": np.where(mobile, "mobile", "static"),
            "reference": reference,
            "latitude": np.where(mobile, np.nan, latitude),
            "longitude": np.where(mobile, np.nan, longitude),
            "base_latitude": np.where(mobile, latitude, np.nan),
            "base_longitude": np.where(mobile, longitude, np.nan),
        }
    )
