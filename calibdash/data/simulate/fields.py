"""Fields of a recipe: a plain value that knows its meaning, unit and limits."""

from __future__ import annotations

import math
from dataclasses import field, fields
from typing import Any

from calibdash.data.problems import did_you_mean
from calibdash.errors import CalibdashError


def setting(
    default: Any,
    help: str,  # noqa: A002 (the word every option parser uses)
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """A dataclass field whose metadata is enough to build and check a command-line option."""
    metadata = {"help": help, "unit": unit, "low": low, "high": high, "choices": choices}
    return field(default=default, metadata=metadata)


def check_fields(recipe: Any) -> None:
    """Raise :class:`CalibdashError` for the first value that is of another type, or outside its limits."""
    for entry in fields(recipe):
        meta = entry.metadata
        value: Any = getattr(recipe, entry.name)
        wanted: type = type(entry.default)
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            object.__setattr__(recipe, entry.name, float(value))  # 10 and 10.0 must be the same recipe
            value = float(value)
        if type(value) is not wanted:
            raise CalibdashError(f"{entry.name} = {value!r} is not {_NAMES[wanted]}.", f"{entry.name}: {meta['help']}.")
        if meta["choices"] and value not in meta["choices"]:
            hint = did_you_mean(str(value), meta["choices"])
            raise CalibdashError(
                f"{entry.name} = {value!r} is not one of {', '.join(meta['choices'])}.", hint or "Choose one of them."
            )
        if isinstance(value, int | float) and not isinstance(value, bool):
            _check_limits(entry.name, value, meta["low"], meta["high"], meta["unit"])


_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def _check_limits(name: str, value: float, low: float | None, high: float | None, unit: str) -> None:
    if math.isfinite(value) and (low is None or value >= low) and (high is None or value <= high):
        return
    limits = " and ".join(
        part
        for part in (
            f"at least {low:g}" if low is not None else "",
            f"at most {high:g}" if high is not None else "",
        )
        if part
    )
    raise CalibdashError(
        f"{name} = {value:g} is out of range.", f"Use {limits or 'a finite number'} {unit}".rstrip() + "."
    )
