"""Sensors judged beside references: daily means by the local clock, before and after calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibdash.data.network import Network
from calibdash.evaluation.standards import (
    EPA,
    EPA_DAYS,
    EU_DAYS,
    EU_OBJECTIVES,
    LIMIT_CEN,
    LIMIT_DIRECTIVE,
    Figures,
    cen_class,
    cen_words,
    epa_met,
    expanded_uncertainty,
    figures,
)
from calibdash.models.posterior import Posterior

COMPLETE = 0.75  # of the readings of an hour, and of the hours of a day (18 of 24)
BESIDE_METRES = 50.0
DRAWS = 200
GRID_MOST = 200  # times at which calibrations are drawn
EARTH_METRES = 6_371_000.0


@dataclass(frozen=True)
class Pairs:
    """Readings of a sensor and of a reference beside it, side by side.   time [N] UTC, raw, truth [N]

    source: ``measurements`` of both, or their ``colocations``
    """

    sensor: str
    reference: str
    source: str
    time: pd.DatetimeIndex
    raw: np.ndarray
    truth: np.ndarray
    covariates: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Assessment:
    """One sensor beside one reference.

    days: ``day, raw, calibrated, truth`` of valid days; span: days from first to last reading; before, after: figures
    of daily means; at_visits: figures (before, after) of single readings, for where there are no days; chance:
    probability of each objective after calibration; verdicts: what can be said, in words, by standard.
    """

    pairs: Pairs
    days: pd.DataFrame
    span: int
    before: Figures
    after: Figures
    at_visits: tuple[Figures, Figures]
    chance: Mapping[str, float]
    verdicts: Mapping[str, str]

    @property
    def capture(self) -> float:
        """Valid days as a share of all, in per cent."""
        return 100 * len(self.days) / max(self.span, 1)


def assess(
    posterior: Posterior,
    network: Network,
    measurements: pd.DataFrame | None = None,
    *,
    zone: str = "UTC",
    pollutant: str = "PM2.5",
    seed: int = 0,
) -> list[Assessment]:
    """Every low-cost sensor that has been beside a reference; networks without stamps of time have no days."""
    if network.clock.origin is None:
        return []
    found = [*_measured(network, measurements), *_colocated(network)]
    kept: dict[tuple[str, str], Pairs] = {}
    for pairs in found:
        kept.setdefault((pairs.sensor, pairs.reference), pairs)  # whole records before visits
        better = kept[pairs.sensor, pairs.reference]
        if len(pairs.time) > len(better.time):
            kept[pairs.sensor, pairs.reference] = pairs
    return [judge(posterior, pairs, zone, pollutant, seed) for _, pairs in sorted(kept.items())]


def judge(posterior: Posterior, pairs: Pairs, zone: str, pollutant: str, seed: int = 0) -> Assessment:
    """Figures and verdicts of one sensor beside one reference."""
    middle = calibrated(posterior, pairs)
    days = daily_means(pairs.time, np.vstack([pairs.raw, pairs.truth, middle]), zone)
    raw, truth, after = (days[name].to_numpy() for name in range(3))
    local = pairs.time.tz_convert(zone)
    span = int((local.max().normalize() - local.min().normalize()).days) + 1 if len(local) else 0
    ensemble = []
    if len(days) >= EPA_DAYS:  # below that nothing is judged, and no draw is needed
        drawn = daily_means(pairs.time, calibrated_draws(posterior, pairs, seed), zone)
        ensemble = [figures(drawn[name].to_numpy(), truth) for name in drawn.columns]
    before, now = figures(raw, truth), figures(after, truth)
    chance, verdicts = _verdicts(before, now, ensemble, len(days), 100 * len(days) / max(span, 1), pollutant)
    table = pd.DataFrame({"day": days.index, "raw": raw, "calibrated": after, "truth": truth})
    at_visits = (figures(pairs.raw, pairs.truth), figures(middle, pairs.truth))
    return Assessment(pairs, table, span, before, now, at_visits, chance, verdicts)


def _verdicts(
    before: Figures, after: Figures, ensemble: list[Figures], days: int, capture: float, pollutant: str
) -> tuple[dict[str, float], dict[str, str]]:
    chance: dict[str, float] = {}
    verdicts: dict[str, str] = {}
    unknown = f"not assessable ({days} valid day{'s' * (days != 1)})"
    if pollutant in EPA:
        verdicts["US EPA targets"] = unknown
        if days >= EPA_DAYS:
            met = [all(epa_met(part, pollutant).values()) for part in (before, after)]
            verdicts["US EPA targets"] = f"before: {_met(met[0])}; after: {_met(met[1])}"
            chance["US EPA targets"] = float(np.mean([all(epa_met(part, pollutant).values()) for part in ensemble]))
    if pollutant != "PM2.5":
        return chance, verdicts
    sure = days >= EU_DAYS and np.isfinite(after.residual)
    spread = np.array([expanded_uncertainty(part, LIMIT_DIRECTIVE)[0] for part in ensemble]) if sure else np.array([])
    for name, objective in EU_OBJECTIVES.items():
        verdicts[name] = unknown
        if sure:
            had, has = (expanded_uncertainty(part, LIMIT_DIRECTIVE)[0] for part in (before, after))
            words = [f"{value:.0f} %, {_met(value <= objective)}" for value in (had, has)]
            verdicts[name] = f"before: {words[0]}; after: {words[1]}"
            chance[name] = float(np.mean(spread <= objective))
    name = f"CEN/TS 17660 style, {LIMIT_CEN:g} µg/m³"
    verdicts[name] = unknown
    if sure:
        had_class, has_class = cen_class(before, capture), cen_class(after, capture)
        verdicts[name] = f"before: {cen_words(had_class)}; after: {cen_words(has_class)}"
        chance[name] = float(np.mean([cen_class(part, capture) == has_class for part in ensemble]))
    return chance, verdicts


def _met(met: bool) -> str:
    return "met" if met else "not met"


def calibrated(posterior: Posterior, pairs: Pairs) -> np.ndarray:
    """Readings under the median calibration.   → [N]"""
    frame = pd.DataFrame({"time": pairs.time, "sensor": pairs.sensor, "value": pairs.raw, **pairs.covariates})
    return posterior.calibrate(frame)["calibrated"].to_numpy()


def calibrated_draws(posterior: Posterior, pairs: Pairs, seed: int = 0) -> np.ndarray:
    """Readings under joint draws of the calibration.   → [DRAWS, N]"""
    hours = posterior.hours(pairs.time)
    grid = np.unique(np.quantile(hours, np.linspace(0, 1, min(GRID_MOST, len(hours)))))
    parameters = posterior.sample(posterior.clock.times(grid), [pairs.sensor], DRAWS, seed)[:, 0]  # [B, T, C]
    function = posterior.function
    covariates = {}
    for name in function.covariates:
        column = np.asarray(pairs.covariates.get(name, np.full(len(hours), np.nan)), dtype=np.float64)
        covariates[name] = np.where(np.isfinite(column), column, posterior.fill[name])
    rows = []
    for draw in parameters:
        values = [np.interp(hours, grid, draw[:, c]) for c in range(draw.shape[1])]
        scaled = [v / posterior.level**p.power for v, p in zip(values, function.parameters, strict=True)]
        rows.append(posterior.level * function.calibrate(np, pairs.raw / posterior.level, scaled, covariates))
    return np.vstack(rows)


def daily_means(time: pd.DatetimeIndex, values: np.ndarray, zone: str) -> pd.DataFrame:
    """Means of local days that have 18 valid hours; an hour is valid with 75 % of its readings.   values [K, N]

    The usual number of readings an hour is that of the fullest hours; a change of the clock makes a day of 23 or 25
    hours, of which 18 are still needed.
    """
    columns = list(range(len(values)))
    if not len(time):
        return pd.DataFrame(columns=columns, dtype=np.float64)
    order = np.argsort(time.asi8, kind="stable")
    hours = time[order].tz_convert("UTC").floor("h")
    frame = pd.DataFrame(values.T[order], columns=columns)
    counts = frame.groupby(hours).size()
    usual = float(counts.quantile(0.95))
    valid = counts.index[counts >= COMPLETE * usual]
    hourly = frame.groupby(hours).mean().loc[valid]
    local = pd.DatetimeIndex(hourly.index).tz_convert(zone).normalize()
    enough = hourly.groupby(local).size()
    return hourly.groupby(local).mean().loc[enough.index[enough >= COMPLETE * 24]]


def _colocated(network: Network) -> list[Pairs]:
    """Colocations with references, a sensor and reference at a time."""
    table = network.colocations
    known = set(network.references)
    parts = []
    for own, other in (("a", "b"), ("b", "a")):
        rows = table[table[f"sensor_{other}"].isin(known) & ~table[f"sensor_{own}"].isin(known)]
        names = {f"sensor_{own}": "sensor", f"value_{own}": "raw", f"sensor_{other}": "reference"}
        names |= {f"value_{other}": "truth"} | {f"{name}_{own}": name for name in network.covariates}
        parts.append(rows[["time", *names]].rename(columns=names))
    both = pd.concat(parts, ignore_index=True).sort_values("time", kind="stable")
    return [
        _pairs(str(sensor), str(reference), "colocations", part, network.covariates)
        for (sensor, reference), part in both.groupby(["sensor", "reference"], sort=True)
    ]


def _measured(network: Network, measurements: pd.DataFrame | None) -> list[Pairs]:
    """Hourly records of statics that stand beside a reference."""
    if measurements is None or measurements.empty:
        return []
    found = []
    covariates = tuple(name for name in network.covariates if name in measurements)
    for sensor, reference in beside(network.sensors):
        sides = [measurements[measurements["sensor"] == name] for name in (sensor, reference)]
        if any(side.empty for side in sides):
            continue
        own, truth = (_hours(side, covariates) for side in sides)
        both = own.join(truth[["value"]].rename(columns={"value": "truth"}), how="inner").reset_index(names="time")
        found.append(_pairs(sensor, reference, "measurements", both.rename(columns={"value": "raw"}), covariates))
    return found


def _hours(side: pd.DataFrame, covariates: tuple[str, ...]) -> pd.DataFrame:
    index = pd.DatetimeIndex(side["time"]).floor("h")
    grouped = side[["value", *covariates]].groupby(index)
    counts = grouped.size()
    return grouped.mean().loc[counts.index[counts >= COMPLETE * float(counts.quantile(0.95))]]


def beside(sensors: pd.DataFrame) -> list[tuple[str, str]]:
    """Low-cost statics within 50 m of a reference, by their positions, as (sensor, reference)."""
    placed = sensors[(sensors["kind"] == "static") & sensors["latitude"].notna() & sensors["longitude"].notna()]
    names = placed["sensor"].to_numpy(dtype=object)
    known = placed["reference"].to_numpy(dtype=bool)
    latitude = np.radians(placed["latitude"].to_numpy(dtype=np.float64))
    longitude = np.radians(placed["longitude"].to_numpy(dtype=np.float64))
    found = []
    for place in np.flatnonzero(known):
        north = latitude - latitude[place]
        east = (longitude - longitude[place]) * np.cos(latitude[place])
        near = (EARTH_METRES * np.hypot(north, east) <= BESIDE_METRES) & ~known
        found += [(str(name), str(names[place])) for name in names[near]]
    return found


def _pairs(sensor: str, reference: str, source: str, part: pd.DataFrame, covariates: tuple[str, ...]) -> Pairs:
    time = pd.DatetimeIndex(part["time"])
    more = {name: part[name].to_numpy(dtype=np.float64) for name in covariates}
    return Pairs(sensor, reference, source, time, part["raw"].to_numpy(), part["truth"].to_numpy(), more)
