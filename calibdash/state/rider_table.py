"""Riders as the rows of a table that people fill in. Where riders live is not in it."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.planning import Rider, read_riders
from calibdash.planning.riders import clock_hours
from calibdash.state.upload.archive import safe_name

# heading: field of a rider
HEADINGS = {
    "Rider": "name",
    "Carries": "sensor",
    "From": "start",
    "Until": "end",
    "Minutes": "minutes_per_visit",
    "km/h": "speed_kmh",
    "Per km": "cost_per_km",
    "Per stop": "cost_per_stop",
    "Days": "days",
}


def rider_frame(riders: Sequence[Rider]) -> pd.DataFrame:
    """A row a rider, under the headings."""
    return pd.DataFrame(
        [[_cell(rider, name) for name in HEADINGS.values()] for rider in riders], columns=list(HEADINGS)
    )


def _cell(rider: Rider, name: str) -> object:
    value = getattr(rider, name)
    if name in ("start", "end"):
        minutes = round(60 * value)
        return f"{minutes // 60:02d}:{minutes % 60:02d}"
    return " ".join(value) if name == "days" else value


def changed_rider(rider: Rider, heading: str, value: object) -> Rider:
    """The rider with another cell; a value that cannot be is said."""
    name, text = HEADINGS[heading], "" if value is None else str(value).strip()
    who = f"Rider {rider.name[:60]!r}"
    if name in ("start", "end"):
        return _with(rider, name, clock_hours(text, who))
    if name == "days":
        return replace(rider, days=tuple(word.lower() for word in re.split(r"[\s,;|]+", text) if word))
    if name in ("name", "sensor"):
        if name == "name" and not text:
            raise CalibdashError("A rider needs a name.", "Write one, or take the row away.")
        return replace(rider, name=text) if name == "name" else replace(rider, sensor=text)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise CalibdashError(f"{who}: {text[:60]!r} is no number.", f"Write a number under {heading}.")
    return _with(rider, name, number)


def _with(rider: Rider, name: str, value: float) -> Rider:
    changes: dict[str, Any] = {name: value}
    return replace(rider, **changes)


def one_more(riders: Sequence[Rider], network: Network) -> Rider:
    """A new rider with a mobile that nobody carries yet, if there is one, and hours as everybody's."""
    mobiles = sorted(network.sensors.loc[network.sensors["kind"] == "mobile", "sensor"].astype(str))
    carried = {rider.sensor for rider in riders}
    free = next((name for name in mobiles if name not in carried), mobiles[0] if mobiles else "")
    names = {rider.name for rider in riders}
    name = next(name for number in range(1, len(riders) + 2) if (name := f"Rider {number}") not in names)
    like = riders[-1] if riders else Rider(name)
    return replace(like, name=name, sensor=free, latitude=math.nan, longitude=math.nan, days=())


def riders_in(name: str, content: bytes | str) -> tuple[Rider, ...]:
    """Riders of a file that a user dropped in."""
    data = content.encode() if isinstance(content, str) else content
    with tempfile.TemporaryDirectory(prefix="calibdash-") as scratch:
        path = Path(scratch) / safe_name(name)
        path.write_bytes(data)
        return read_riders(path)[0]
