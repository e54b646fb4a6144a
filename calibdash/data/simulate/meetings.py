"""Who meets whom, where and when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibdash.data.simulate.places import permanent_pairs, site_of
from calibdash.data.simulate.recipe import NetworkRecipe

NEAREST_KM = 0.05


@dataclass(frozen=True)
class Meetings:
    """Readings taken side by side, sorted by time: hours [N], a, b and site [N] (indices of sensors)."""

    hours: np.ndarray
    a: np.ndarray
    b: np.ndarray
    site: np.ndarray

    def where(self, keep: np.ndarray) -> Meetings:
        """Those for which the mask holds.   keep [N]"""
        return Meetings(self.hours[keep], self.a[keep], self.b[keep], self.site[keep])


def plan_meetings(recipe: NetworkRecipe, km: np.ndarray, rng: np.random.Generator) -> Meetings:
    """All meetings of a recipe whose sensors stand (or live) at km [S, 2]."""
    if recipe.hops:
        return _sorted(*_chain(recipe, rng))
    return _sorted(
        *_joined(
            _visits(recipe, km, rng, np.arange(recipe.references), recipe.reference_visits),
            _visits(recipe, km, rng, np.arange(recipe.references, recipe.statics), recipe.other_visits),
            _pairs(recipe, rng),
        )
    )


def visit_probabilities(homes_km: np.ndarray, places_km: np.ndarray) -> np.ndarray:
    """p(place | mobile) ∝ 1 / distance from its home.   homes_km [M, 2], places_km [P, 2] → [M, P]"""
    distance = np.linalg.norm(homes_km[:, None] - places_km[None], axis=-1)
    weight = 1 / np.maximum(distance, NEAREST_KM)
    return weight / weight.sum(axis=1, keepdims=True)


def _visits(
    recipe: NetworkRecipe, km: np.ndarray, rng: np.random.Generator, places: np.ndarray, per_day: float
) -> tuple[np.ndarray, ...]:
    """Every mobile's visits to some statics: a Poisson number, times uniform, places by distance."""
    counts = rng.poisson(per_day * recipe.days if len(places) else 0, recipe.mobiles)
    mobile = np.repeat(np.arange(recipe.mobiles), counts)
    start = rng.uniform(0, recipe.hours, len(mobile))
    if not len(mobile):
        return _repeated(recipe, rng, start, mobile, mobile)
    cumulative = np.cumsum(visit_probabilities(km[recipe.statics :], km[places]), axis=1)
    cumulative[:, -1] = 1.0  # rounding must not send anyone to the next mobile's places
    ladder = (cumulative + np.arange(recipe.mobiles)[:, None]).ravel()  # one ascending ladder for all mobiles
    step = np.searchsorted(ladder, mobile + rng.uniform(0, 1, len(mobile)), side="right")
    place = places[np.minimum(step - mobile * len(places), len(places) - 1)]
    return _repeated(recipe, rng, start, place, recipe.statics + mobile)


def _repeated(
    recipe: NetworkRecipe, rng: np.random.Generator, start: np.ndarray, static: np.ndarray, mobile: np.ndarray
) -> tuple[np.ndarray, ...]:
    """A visit's readings, at whole steps of the clock when there can be several; both meet where the static is."""
    step = recipe.reading_minutes / 60
    if recipe.readings_per_visit == 1:
        return start, static, mobile, site_of(recipe)[static]
    counts = rng.integers(1, recipe.readings_per_visit, len(start), endpoint=True)
    nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    hours = np.floor(np.repeat(start, counts) / step) * step + nth * step
    static, mobile = np.repeat(static, counts), np.repeat(mobile, counts)
    inside = hours < recipe.hours
    return hours[inside], static[inside], mobile[inside], site_of(recipe)[static[inside]]


def _pairs(recipe: NetworkRecipe, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Readings of permanent pairs, at every step of the days on which both report."""
    first, second = permanent_pairs(recipe)
    up = rng.uniform(0, 1, (recipe.pairs, recipe.days)) < recipe.pair_uptime
    pair, day = np.nonzero(up)
    clock = np.arange(0, 24, recipe.reading_minutes / 60)
    hours = (24.0 * day[:, None] + clock).ravel()
    pair = np.repeat(pair, len(clock))
    return hours, first[pair], second[pair], first[pair]


def _chain(recipe: NetworkRecipe, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Neighbours only; a meeting is where the standing one of the two is."""
    rate = np.full(recipe.hops, recipe.other_visits)
    rate[0] = recipe.reference_visits
    link = np.repeat(np.arange(recipe.hops), rng.poisson(rate * recipe.days))
    start = rng.uniform(0, recipe.hours, len(link))
    standing = link + link % 2
    riding = link + 1 - link % 2
    hours, static, mobile, site = _repeated(recipe, rng, start, standing, riding)
    return hours, np.minimum(static, mobile), np.maximum(static, mobile), site


def _joined(*parts: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _sorted(hours: np.ndarray, a: np.ndarray, b: np.ndarray, site: np.ndarray) -> Meetings:
    """By time, to the second; the same two sensors in the same second meet once."""
    seconds = np.floor(hours * 3600 + 1e-6).astype(np.int64)
    order = np.lexsort((b, a, seconds))
    seconds, a, b, site = seconds[order], a[order], b[order], site[order]
    repeated = (np.diff(seconds) == 0) & (np.diff(a) == 0) & (np.diff(b) == 0)
    return Meetings(seconds / 3600, a, b, site).where(np.concatenate([np.ones(min(len(a), 1), dtype=bool), ~repeated]))
