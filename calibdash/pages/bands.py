"""A sensor's calibration over time, as every method sees it: what is to be drawn, as plain columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibdash.data.network import Network
from calibdash.models.multihop import Multihop
from calibdash.models.posterior import Posterior
from calibdash.reports.figures import ratio_points

HALF = 0.6744897501960817 / 1.959963984540054  # of a 95 % band, the part that holds 50 %
GRID_POINTS = 160
VISIT_GAP_HOURS = 3.0
MOST_POINTS = 4000
POSITIVE = frozenset({"gain", "noise"})
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

    layers: dict[str, dict[str, np.ndarray]]
    limits: tuple[float, float]
    title: str
    axis: str


def grid(network: Network) -> np.ndarray:
    """Hours over the whole record, for drawing.   → [T]"""
    hours = network.clock.hours(network.colocations["time"])
    return np.linspace(hours.min(), hours.max(), GRID_POINTS)


def band_table(posterior: Posterior, network: Network, sensor: str, parameter: str = "gain") -> pd.DataFrame:
    """``time, median, lower, upper, lower50, upper50`` of one parameter of a sensor over the record."""
    columns = ["time", "median", "lower", "upper", "lower50", "upper50"]
    if sensor not in posterior.sensors or parameter not in posterior.parameters:
        return pd.DataFrame(columns=columns, dtype=float)
    table = posterior.calibration(network.clock.times(grid(network)), [sensor])
    table = table[table["parameter"] == parameter]
    if parameter in POSITIVE:
        factor = np.log(table["upper"] / table["median"])
        inner = {
            "lower50": table["median"] * np.exp(-HALF * factor),
            "upper50": table["median"] * np.exp(HALF * factor),
        }
    else:
        spread = table["upper"] - table["median"]
        inner = {"lower50": table["median"] - HALF * spread, "upper50": table["median"] + HALF * spread}
    return table.assign(**inner)[columns]


def drawn(network: Network, sensor: str, posterior: Posterior, look: Look) -> Drawn:
    """One parameter of one sensor: 95 and 50 % bands, multi-hop steps, ratios of its colocations, visits, the truth.

    Layers without anything to draw are empty.
    """
    gain = look.parameter == "gain"
    band = band_table(posterior, network, sensor, look.parameter)
    layers = {"band": band}
    if look.other is not None:
        layers["other"] = band_table(look.other, network, sensor, look.parameter)
    if look.hops is not None and gain and sensor in look.hops.sensors:
        layers["hops"] = look.hops.calibration(None, [sensor])[["time", "median"]]
    if look.truth is not None:
        mine = look.truth[(look.truth["sensor"] == sensor) & (look.truth["parameter"] == look.parameter)]
        layers["truth"] = mine[["time", "value"]].set_axis(["time", "median"], axis=1)
    reach = [table[name] for table in layers.values() for name in ("lower", "upper", "median") if name in table]
    if not look.small:
        ratios = _ratios(network, sensor) if gain else {}
        reach += [table["ratio"].quantile([0.1, 0.9]) for table in ratios.values()]
        layers |= _visits(network, sensor) | ratios
    names = dict(zip(network.sensors["sensor"], network.sensors["label"], strict=True))
    return Drawn(
        {name: _columns(table) for name, table in layers.items()},
        _limits([part.to_numpy() for part in reach], look),
        f"{sensor}  {names.get(sensor, '')}".strip(),
        AXES.get(look.parameter, look.parameter.capitalize()),
    )


def visit_hours(hours: np.ndarray) -> np.ndarray:
    """The first moment of each visit: colocations that follow closely belong together.   [N] → [V]"""
    ordered = np.sort(hours)
    return ordered[np.diff(ordered, prepend=-np.inf) > VISIT_GAP_HOURS]


def _visits(network: Network, sensor: str) -> dict[str, pd.DataFrame]:
    """When somebody came: low-cost sensors, and references."""
    table, references = network.colocations, set(network.references)
    mine = table[(table["sensor_a"] == sensor) | (table["sensor_b"] == sensor)]
    hours = network.clock.hours(mine["time"])
    partner = np.where(mine["sensor_a"] == sensor, mine["sensor_b"], mine["sensor_a"])
    known = np.isin(partner, list(references))
    return {
        name: pd.DataFrame({"time": network.clock.times(visit_hours(hours[rows]))})
        for name, rows in (("visits", ~known), ("reference_visits", known))
    }


def _ratios(network: Network, sensor: str) -> dict[str, pd.DataFrame]:
    """Partner ÷ own reading."""
    tables = {}
    for kind, name in (("low-cost", "ratios"), ("reference", "reference_ratios")):
        hours, ratio = ratio_points(network, sensor)[kind]
        step = max(1, len(hours) // MOST_POINTS)  # more would not be told apart
        tables[name] = pd.DataFrame({"time": network.clock.times(hours[::step]), "ratio": ratio[::step]})
    return tables


def _limits(reach: list[np.ndarray], look: Look) -> tuple[float, float]:
    """What the axis spans: all that is drawn but outliers, and some room."""
    values = np.concatenate([np.asarray(part, dtype=float) for part in reach])
    values = values[np.isfinite(values)]
    low, high = np.quantile(values, (0.01, 0.99)) if len(values) else (0.5, 2.0)
    if look.log and low > 0:
        room = max((high / low) ** 0.35, 1.1)
        return float(low / room), float(high * room)
    room = 0.35 * max(high - low, 0.2 if look.parameter in POSITIVE else 0.05 * max(abs(low), abs(high), 1e-9))
    return float(max(0.0, low - room) if look.parameter in POSITIVE else low - room), float(high + room)


def _columns(table: pd.DataFrame) -> dict[str, np.ndarray]:
    columns = {name: table[name].to_numpy() for name in table.columns if name != "time"}
    return {"time": _moments(table["time"]), **columns}


def _moments(times: pd.Series) -> np.ndarray:
    """Times as numbers that Bokeh draws: milliseconds since 1970 in UTC, or hours."""
    if isinstance(times.dtype, pd.DatetimeTZDtype):
        return times.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy("datetime64[ms]").astype(np.float64)
    return times.to_numpy(np.float64)
