"""Quantities as people write them: ``30min``, ``100d``, ``10%``."""

from __future__ import annotations

import math
import re

from calibdash.errors import CalibdashError

HOURS_PER_UNIT = {
    "s": 1 / 3600,
    "min": 1 / 60,
    "h": 1.0,
    "d": 24.0,
    "w": 168.0,
}
_ALIASES = {
    **dict.fromkeys(("sec", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "minute", "minutes"), "min"),
    **dict.fromkeys(("hr", "hour", "hours"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
    **dict.fromkeys(("week", "weeks"), "w"),
}
_DURATION = re.compile(r"\s*((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?)\s*([A-Za-z]*)\s*", re.ASCII)


def parse_hours(text: str | float) -> float:
    """A length of time in hours: ``"30min"`` → 0.5, ``"100d"`` → 2400; a bare number is hours."""
    match = _DURATION.fullmatch(str(text)) if len(str(text)) < 40 else None
    unit = _ALIASES.get(match[2].lower(), match[2].lower() or "h") if match else ""
    if not match or unit not in HOURS_PER_UNIT:
        raise CalibdashError(
            f"{str(text)[:60]!r} is not a length of time.",
            "Write a number and a unit: 90s, 30min, 24h, 100d or 2w.",
        )
    hours = float(match[1]) * HOURS_PER_UNIT[unit]
    if not math.isfinite(hours) or hours <= 0:
        raise CalibdashError(f"{str(text)[:60]!r} is not a positive length of time.", "Write for example 24h.")
    return hours


def format_hours(hours: float) -> str:
    """The shortest exact-looking way to write a length of time: 0.5 → ``30min``, 2400 → ``100d``."""
    for unit in ("d", "h", "min"):
        amount = hours / HOURS_PER_UNIT[unit]
        if amount >= 1:
            return f"{amount:.4g}{unit}"
    return f"{hours / HOURS_PER_UNIT['s']:.4g}s"
