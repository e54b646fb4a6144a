"""How a fit tells where it is, and how it is stopped."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from calibdash.errors import CalibdashError
from calibdash.models.sites import Sites


@dataclass(frozen=True)
class Progress:
    """One report of a fit: ``remaining`` is the estimated number of seconds left (None: not known yet)."""

    stage: str
    iteration: int
    total: int
    elbo: float
    seconds: float
    remaining: float | None


@dataclass(frozen=True)
class Halfway:
    """Where natural gradients stand after an iteration: what it takes to go on.   elbo: the bound up to here"""

    sites: Sites
    elbo: tuple[float, ...]


Report = Callable[[Progress], None]
Cancel = Callable[[], bool]
Keep = Callable[[Halfway], None]


class FitCancelledError(CalibdashError):
    """The fit was stopped between two iterations."""

    def __init__(self) -> None:
        super().__init__("The fit was cancelled.", "Nothing was saved; start it again when you like.")


def check(cancel: Cancel | None) -> None:
    """Stop here if asked to."""
    if cancel is not None and cancel():
        raise FitCancelledError


def iterations_left(gains: list[float], tolerance: float) -> int | None:
    """How many more iterations until gains, which shrink about geometrically, fall below the tolerance."""
    if len(gains) < 2 or not 0 < gains[-1] < gains[-2]:
        return None
    rate = math.log(gains[-1] / gains[-2])
    return max(0, math.ceil(math.log(tolerance / gains[-1]) / rate))
