"""How a fit tells where it is, and how it is stopped."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from calibdash.errors import CalibdashError


@dataclass(frozen=True)
class Progress:
    """One report of a fit: ``remaining`` is the estimated number of seconds left (None: not known yet)."""

    stage: str
    iteration: int
    total: int
    elbo: float
    seconds: float
    remaining: float | None


Report = Callable[[Progress], None]
Cancel = Callable[[], bool]


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
