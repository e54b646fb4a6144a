"""What is remembered of a fit of labellers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version

PACKAGES = ("calibdash", "numpy", "pandas", "scipy", "tensorflow")


@dataclass(frozen=True)
class LabelRecord:
    """How a fit went. family: "exact" (draws of the posterior), "dense" or "diagonal" (draws of a Gaussian).

    elbo: the bound over its steps, scales held; disagreement: of the chains of the walk (1: none), None without one.
    """

    seed: int
    data_hash: str
    versions: dict[str, str]
    seconds: float
    elbo: tuple[float, ...]
    family: str
    unknowns: int
    labels: int
    accepted: float | None
    disagreement: float | None
    notes: tuple[str, ...]


@lru_cache(maxsize=1)
def versions() -> tuple[tuple[str, str], ...]:
    """Versions of what a fit stands on."""
    return tuple((name, version(name)) for name in PACKAGES)
