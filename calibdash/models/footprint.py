"""How much memory a fit will hold, from its sizes alone. No TensorFlow.

Glossary as everywhere: S sensors, L latent processes each, M inducing points, n = L·M, N colocations. What counts are
the blocks [n, n]: one a sensor, one an edge of those that met or become neighbours by elimination, and the dense rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from calibdash.models import functions
from calibdash.models.defaults import resolve, thinned
from calibdash.models.elimination import Elimination, plan
from calibdash.models.hyper import Hyper
from calibdash.models.inducing import FEWEST, inducing_times
from calibdash.models.pairs import PairData
from calibdash.models.posterior import Posterior
from calibdash.models.progress import Cancel
from calibdash.models.room import room_for
from calibdash.models.settings import Settings

NUMBER = 8  # bytes
LOADED = 450_000_000  # TensorFlow and what it compiles for a fit
WORKING = 120_000_000  # times 1 + L: expectations are worked on in chunks of this size, whatever the data
LEARNING_POINTS = 1.4  # times as many inducing points while lengthscales are looked for


@dataclass(frozen=True)
class Sizes:
    """Of one fit.   blocks: how many [n, n] a posterior keeps; widest: of the largest step of the elimination;
    core: sensors that are left to the dense factor
    """

    rows: int
    sensors: int
    latents: int
    points: int
    blocks: int
    widest: int
    core: int

    @property
    def bytes(self) -> int:
        """The most that a fit holds at a time, TensorFlow included."""
        n = self.latents * self.points
        block, dense = n * n * NUMBER, (self.core * n) ** 2 * NUMBER
        # Two posteriors stand side by side, the one reached and the one tried; each is made from copies of its blocks.
        posteriors = 2 * (self.blocks * block + dense) + self.blocks * block // 2 + 3 * dense + self.widest * block
        design = 2 * self.rows * n * NUMBER + 2 * self.sensors * self.latents * self.points**2 * NUMBER
        sites = self.rows * NUMBER * (40 + 12 * (2 * self.latents) ** 2)
        return LOADED + WORKING * (1 + self.latents) + posteriors + design + sites


def fit_bytes(pairs: PairData, settings: Settings, hyper: Hyper | None = None, *, learn: bool = False) -> int:
    """What a fit of these colocations holds at most; with ``learn`` also while values are looked for in the data."""
    hyper = hyper or resolve(settings, pairs)
    points = inducing_count(pairs, hyper, settings)
    need = sizes(pairs, hyper.latents, points).bytes
    if learn:
        more = min(int(np.ceil(LEARNING_POINTS * points)), settings.inducing_most)
        need = max(need, sizes(thinned(pairs, settings.learn_most), hyper.latents, more).bytes)
    return need


def inducing_count(pairs: PairData, hyper: Hyper, settings: Settings) -> int:
    """M of a fit with these hyperparameters."""
    return inducing_times(pairs, hyper, settings.inducing_density, settings.inducing_most).shape[1]


def latents_of(settings: Settings) -> int:
    """L: the parameters of the calibration function, and the noise where it changes over time."""
    return len(functions.named(settings.function).parameters) + (settings.noise_model != "fixed")


def sizes(pairs: PairData, latents: int, points: int) -> Sizes:
    """Of a fit of these colocations with M inducing points."""
    count = len(pairs.latent_sensors)
    first, second = pairs.pair_ids()
    met = np.stack([first, second], axis=1)[second >= 0].astype(np.int64)
    return sizes_of(_plan(count, met.tobytes(), latents * points), len(pairs.hours), latents, points)


def sizes_of(eliminated: Elimination, rows: int, latents: int, points: int) -> Sizes:
    """The same where it is known how the sensors are eliminated."""
    across = sum(group.edges.size for group in eliminated.groups)
    gone = sum(len(group.nodes) for group in eliminated.groups)
    kept = 2 * eliminated.count + eliminated.met + len(eliminated.edges) + gone + across
    widest = max((3 * group.edges.size + 2 * len(group.neighbours) ** 2 for group in eliminated.groups), default=0)
    return Sizes(rows, eliminated.count, latents, points, kept, widest, len(eliminated.core))


def bytes_after(preview: Posterior, settings: Settings, *, learn: bool) -> int:
    """What a fit with these settings holds at most, told from a preview of the same network: at once."""
    rows, points, latents = preview.record.colocations, preview.basis.times.shape[1], latents_of(settings)
    need = sizes_of(preview.plan, rows, latents, points).bytes
    if learn:
        more = min(int(np.ceil(LEARNING_POINTS * points)), settings.inducing_most)
        need = max(need, sizes_of(preview.plan, min(rows, settings.learn_most), latents, more).bytes)
    return need


@lru_cache(maxsize=32)
def _plan(count: int, met: bytes, block: int) -> Elimination:
    return plan(count, np.frombuffer(met, dtype=np.int64).reshape(-1, 2), block)


@contextmanager
def room_for_fit(pairs: PairData, latents: int, points: int, cancel: Cancel | None = None) -> Iterator[None]:
    """Hold the memory of a fit with M inducing points; refuse where there is not enough."""
    need = sizes(pairs, latents, points).bytes - LOADED  # who asks has TensorFlow loaded already
    with room_for(need, "This fit", partial(remedy, pairs, latents, points), cancel):
        yield


def remedy(pairs: PairData, latents: int, points: int, left: int) -> str:
    """What to do where a fit does not fit: with fewer inducing points, if there are any that do."""
    for fewer in range(points - 1, FEWEST - 1, -1):
        if sizes(pairs, latents, fewer).bytes - LOADED <= left:
            return f"Use fewer inducing points (inducing.most={fewer} fits), a shorter period, or more memory."
    return "Use a shorter period, fewer sensors, or a machine with more memory."
