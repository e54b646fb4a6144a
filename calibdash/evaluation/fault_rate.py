"""How often sensors are expected to go wrong, before any visit is looked at: the operator may know better."""

from __future__ import annotations

import math
from collections.abc import Mapping

from calibdash.errors import CalibdashError
from calibdash.evaluation.hypotheses import RATE

KEY = "fault_rate"
LOW, HIGH = 0.001, 100.0  # faults a sensor-year


def stated_rate(about: Mapping[str, str]) -> float:
    """Faults a sensor-year as ``network.toml`` states them, or as usual.   about: what the file says"""
    text = about.get(KEY)
    if text is None:
        return RATE
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not LOW <= rate <= HIGH:
        raise CalibdashError(
            f"network.toml: {KEY} = {text[:40]} is not a number of faults a sensor-year.",
            f"Write a number from {LOW:g} to {HIGH:g}, for example {KEY} = {RATE:g}.",
        )
    return rate
