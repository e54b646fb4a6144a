"""A sensor's calibration over time, as every method sees it: what is to be drawn, as plain columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibdash.data.network import Clock, Network
from calibdash.models.multihop import Multihop
from calibdash.models.posterior import Posterior
from calibdash.models.predict import curves
from calibdash.reports.figures import ratio_points
from calibdash.state.once import once

HALF = 0.6744897501960817 / 1.959963984540054  # of a 95 % band, the part that holds 50 %
GRID_POINTS = 160
VISIT_GAP_HOURS = 3.0
HOUR_MS = 3.6e6
MOST_POINTS = 4000
POSITIVE = frozenset({"gain", "noise"})
Layer = dict[str, np.ndarray]
AXES = {"gain": "True level ÷ reading", "noise": "Noise, times the usual"}


@dataclass(frozen=True)
class Look:
    """What is drawn of a sensor besides its band, and how.   other: a second run's posterior"""

    parameter: str = "gain"
    hops: Multihop | None = None
    truth: pd.DataFrame | None = None
    other: Posterior | None = None
    log: bool = False
    small: bool = False


@dataclass(frozen=True)
class Drawn:
    """Columns to draw by layer (times as Bokeh takes them), the axis' limits and the title."""

    layers: dict[str, Layer]
    limits: tuple[float, float]
    title: str
    axis: str


@once
def record_hours(network: Network) -> np.ndarray:
    """When colocations were.   → [N]"""
    return network.clock.hours(network.colocations["time"])


def grid(network: Network) -> np.ndarray:
    """Hours over the whole record, for drawing.   → [T]"""
    hours = record_hours(network)
    return np.linspace(hours.min(), hours.max(), GRID_POINTS)


def band(posterior: Posterior, network: Network, sensor: str, parameter: str = "gain") -> Layer:
    """``hours, median, lower, upper, lower50, upper50`` of one parameter of a sensor over the record."""
    if sensor not in posterior.sensors or parameter not in posterior.parameters:
        return {name: np.zeros(0) for name in ("hours", "median", "lower", "upper", "lower50", "upper50")}
    hours = grid(network)
    own = hours if posterior.clock == network.clock else posterior.hours(network.clock.times(hours))
    found = curves(posterior, sensor, own)[parameter]
    median, lower, upper = (found[name] for name in ("median", "lower", "upper"))
    if parameter in POSITIVE:
        factor = np.exp(HALF * np.log(upper / median))
        inner = {"lower50": median / factor, "upper50": median * factor}
    else:
        spread = HALF * (upper - median)
        inner = {"lower50": median - spread, "upper50": median + spread}
    return {"hours": hours, "median": median, "lower": lower, "upper": upper, **inner}


def drawn(network: Network, sensor: str, posterior: Posterior, look: Look) -> Drawn:
    """One parameter of one sensor: 95 and 50 % bands, multi-hop steps, ratios of its colocations, visits, the truth.

    Layers without anything to draw are empty.
    """
    gain = look.parameter == "gain"
    layers = {"band": band(posterior, network, sensor, look.parameter)}
    if look.other is not None:
        layers["other"] = band(look.other, network, sensor, look.parameter)
    if look.hops is not None and gain and sensor in look.hops.sensors:
        layers["hops"] = dict(zip(("hours", "median"), look.hops.steps(sensor), strict=True))
    if look.truth is not None:
        mine = look.truth[(look.truth["sensor"] == sensor) & (look.truth["parameter"] == look.parameter)]
        layers["truth"] = {"hours": network.clock.hours(mine["time"]), "median": mine["value"].to_numpy()}
    reach = [layer[name] for layer in layers.values() for name in ("lower", "upper", "median") if name in layer]
    if not look.small:
        met = met_by(network, sensor)
        layers |= {name: layer for name, layer in met.items() if gain or "ratio" not in layer}
        reach += [np.quantile(layer["ratio"], (0.1, 0.9)) for layer in layers.values() if len(layer.get("ratio", ()))]
    names = dict(zip(network.sensors["sensor"], network.sensors["label"], strict=True))
    return Drawn(
        {name: _timed(network.clock, layer) for name, layer in layers.items()},
        _limits(reach, look),
        f"{sensor}  {names.get(sensor, '')}".strip(),
        AXES.get(look.parameter, look.parameter.capitalize()),
    )


def visit_hours(hours: np.ndarray) -> np.ndarray:
    """The first moment of each visit: colocations that follow closely belong together.   [N] → [V]"""
    ordered = np.sort(hours)
    return ordered[np.diff(ordered, prepend=-np.inf) > VISIT_GAP_HOURS]


@once
def _met(network: Network) -> dict[str, dict[str, Layer]]:  # noqa: ARG001 (kept for it)
    return {}


def met_by(network: Network, sensor: str) -> dict[str, Layer]:
    """When somebody came, and partner ÷ own reading then; low-cost sensors and references apart."""
    known = _met(network)
    if sensor not in known:
        known[sensor] = _visits(network, sensor) | _ratios(network, sensor)
    return known[sensor]


def _visits(network: Network, sensor: str) -> dict[str, Layer]:
    table, references = network.colocations, set(network.references)
    rows = ((table["sensor_a"] == sensor) | (table["sensor_b"] == sensor)).to_numpy()
    mine, hours = table[rows], record_hours(network)[rows]
    partner = np.where(mine["sensor_a"] == sensor, mine["sensor_b"], mine["sensor_a"])
    known = np.isin(partner, list(references))
    return {
        name: {"hours": visit_hours(hours[kind])} for name, kind in (("visits", ~known), ("reference_visits", known))
    }


def _ratios(network: Network, sensor: str) -> dict[str, Layer]:
    layers = {}
    points = ratio_points(network, sensor)
    for kind, name in (("low-cost", "ratios"), ("reference", "reference_ratios")):
        hours, ratio = points[kind]
        step = max(1, len(hours) // MOST_POINTS)  # more would not be told apart
        layers[name] = {"hours": hours[::step], "ratio": ratio[::step]}
    return layers


def _limits(reach: list[np.ndarray], look: Look) -> tuple[float, float]:
    """What the axis spans: all that is drawn but outliers, and some room."""
    values = np.concatenate(reach)
    values = values[np.isfinite(values)]
    low, high = np.quantile(values, (0.01, 0.99)) if len(values) else (0.5, 2.0)
    if look.log and low > 0:
        room = max((high / low) ** 0.35, 1.1)
        return float(low / room), float(high * room)
    room = 0.35 * max(high - low, 0.2 if look.parameter in POSITIVE else 0.05 * max(abs(low), abs(high), 1e-9))
    return float(max(0.0, low - room) if look.parameter in POSITIVE else low - room), float(high + room)


def _timed(clock: Clock, layer: Layer) -> Layer:
    """The layer with its hours as numbers that Bokeh draws: milliseconds since 1970 in UTC, or hours."""
    hours = layer["hours"]
    moments = hours if clock.origin is None else _origin(clock) + np.round(hours * HOUR_MS)
    return {"time": moments, **{name: column for name, column in layer.items() if name != "hours"}}


def hours_of(clock: Clock, moments: np.ndarray) -> np.ndarray:
    """Hours of the clock from the numbers that Bokeh draws.   [T] → [T]"""
    return moments if clock.origin is None else (moments - _origin(clock)) / HOUR_MS


def _origin(clock: Clock) -> float:
    return clock.origin.timestamp() * 1e3  # type: ignore[union-attr]
