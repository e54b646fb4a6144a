"""If visits go on as they did: which of them could be dropped, and where one more reference would help most."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.models.posterior import Posterior
from calibdash.models.threads import one_thread
from calibdash.planning.covariance import Errors, Points, covariance
from calibdash.planning.days import plan_days
from calibdash.planning.ground import listed
from calibdash.planning.reasons import percent
from calibdash.planning.settings import PlanSettings
from calibdash.planning.value import Targets, band, network_targets

PAST_HOURS = 60 * 24.0  # how far back a habit is looked for
WEEK_HOURS = 168.0
MOST_VISITS = 2500  # pairs × weeks of one calculation
REFERENCE_DAYS = 7.0  # a permanent neighbour says as much a week as so many visits


@dataclass(frozen=True)
class Habits:
    """Pairs that meet and how often.   a, b [N]: places in ``posterior.sensors``; rate [N]: visits a week

    hours [W]: middles of the periods of the horizon; noise [N]: of one period's visits together.
    """

    a: np.ndarray
    b: np.ndarray
    rate: np.ndarray
    hours: np.ndarray
    noise: np.ndarray


@dataclass(frozen=True)
class Usual:
    """Covariances once the usual visits of the horizon are made.

    points: all sensors that are not references at each period; C [V, V], K [T, V]: after the visits;
    inverse [n, n], pull [T, n]: S⁻¹ and K S⁻¹ of the visits; after [T]: variances of the targets.
    """

    known: Errors
    aims: Targets
    habits: Habits
    points: Points
    C: np.ndarray
    K: np.ndarray
    inverse: np.ndarray
    pull: np.ndarray
    after: np.ndarray


def habits(posterior: Posterior, network: Network, known: Errors, start: float, settings: PlanSettings) -> Habits:
    """Who met whom how often in the last two months of the record; a day together is a visit."""
    table = network.colocations
    hours = network.clock.hours(table["time"])
    number = {name: index for index, name in enumerate(posterior.sensors)}
    a = table["sensor_a"].map(number).fillna(-1).to_numpy(dtype=np.int64)
    b = table["sensor_b"].map(number).fillna(-1).to_numpy(dtype=np.int64)
    recent = (hours > hours.max() - PAST_HOURS) & (a >= 0) & (b >= 0) & (a != b)
    recent &= ~(posterior.reference[a] & posterior.reference[b])
    weeks = max(min(PAST_HOURS, float(np.ptp(hours))) / WEEK_HOURS, 1.0)
    rows = pd.DataFrame({"a": np.minimum(a, b), "b": np.maximum(a, b), "day": np.floor(hours / 24.0)})[recent]
    visits = rows.groupby(["a", "b", "day"]).size().reset_index(name="readings")
    pairs = visits.groupby(["a", "b"])["readings"].agg(["size", "mean"]).reset_index()
    pairs = pairs.sort_values(["size", "a", "b"], ascending=[False, True, True])[:MOST_VISITS]
    periods = math.ceil(settings.horizon_hours / WEEK_HOURS)
    periods = int(np.clip(MOST_VISITS // max(len(pairs), 1), 1, periods))
    step = settings.horizon_hours / periods
    first, second = pairs["a"].to_numpy(), pairs["b"].to_numpy()
    rate = pairs["size"].to_numpy(dtype=np.float64) / weeks
    readings = pairs["mean"].to_numpy(dtype=np.float64)
    independent = readings / (1 + (readings - 1) * settings.correlation)
    noise = (known.noise[first] + known.noise[second]) / (independent * rate * step / WEEK_HOURS)
    return Habits(first, second, rate, start + step * (np.arange(periods) + 0.5), noise)


def usual(posterior: Posterior, network: Network, settings: PlanSettings) -> Usual:
    """The posterior as it will be over the horizon if everybody goes on as before."""
    start = plan_days(network, posterior.clock, settings)[0].midnight
    known, aims = network_targets(posterior, network, start, settings.horizon_hours, settings.weights)
    regular = habits(posterior, network, known, start, settings)
    sensors = np.flatnonzero(posterior.latent >= 0)
    points = Points(np.tile(sensors, len(regular.hours)), np.repeat(regular.hours, len(sensors)))
    rows = Points(
        np.concatenate([points.sensor, aims.points.sensor]), np.concatenate([points.hours, aims.points.hours])
    )
    full = covariance(posterior, known, rows, points)
    V = len(points)
    C, K = 0.5 * (full[:V] + full[:V].T), full[V:]
    place = np.full(len(posterior.sensors), -1)
    place[sensors] = np.arange(len(sensors))
    H = np.zeros((len(regular.a) * len(regular.hours), V))
    for period in range(len(regular.hours)):
        lines = np.arange(len(regular.a)) + period * len(regular.a)
        for side, sign in ((regular.a, 1.0), (regular.b, -1.0)):
            there = place[side] >= 0
            H[lines[there], period * len(sensors) + place[side[there]]] += sign
    HC = H @ C
    S = HC @ H.T + np.diag(np.tile(regular.noise, len(regular.hours)))
    inverse = np.linalg.inv(0.5 * (S + S.T))
    KH = K @ H.T
    pull = KH @ inverse
    after = np.maximum(aims.variance - np.einsum("tn,tn->t", pull, KH), 0.0)
    return Usual(known, aims, regular, points, C - HC.T @ inverse @ HC, K - pull @ HC, inverse, pull, after)


def useless_colocations(
    posterior: Posterior, network: Network, settings: PlanSettings | None = None, *, loss: float = 0.01
) -> pd.DataFrame:
    """Regular colocations by how little they would be missed: ``sensor_a, sensor_b, visits_per_week, loss, useless``.

    loss: by what share the uncertainty over the horizon grows if this pair alone stops meeting. All that are
    ``useless`` can stop together and it still grows by no more than ``loss``.
    """
    with one_thread():
        state = usual(posterior, network, settings or PlanSettings())
    regular, aims = state.habits, state.aims
    total = max(float(aims.scale @ state.after), 1e-300)
    count, periods = len(regular.a), len(regular.hours)
    blocks = np.arange(count)[:, None] + count * np.arange(periods)

    def lost(pairs: np.ndarray) -> float:
        chosen = blocks[pairs].ravel()
        part = state.pull[:, chosen]
        middle = np.linalg.solve(state.inverse[np.ix_(chosen, chosen)], part.T)  # [n, T]
        return float(np.einsum("t,tn,nt->", aims.scale, part, middle)) / total

    alone = np.array([lost(np.array([pair])) for pair in range(count)])
    order = np.argsort(alone, kind="stable")
    low, high = 0, count
    while low < high:  # the most pairs that can stop together
        middle = (low + high + 1) // 2
        low, high = (middle, high) if lost(order[:middle]) <= loss else (low, middle - 1)
    names = np.array(posterior.sensors, dtype=object)
    return pd.DataFrame(
        {
            "sensor_a": names[regular.a[order]],
            "sensor_b": names[regular.b[order]],
            "visits_per_week": regular.rate[order],
            "loss": alone[order],
            "useless": np.arange(count) < low,
        }
    )


def best_reference_site(posterior: Posterior, network: Network, settings: PlanSettings | None = None) -> pd.DataFrame:
    """Where one more reference instrument would help most, best first.

    ``sensor`` (the static it would stand beside), ``gain`` (share of the uncertainty over the horizon that goes),
    ``band_before, band_after`` (means over sensors), ``reason``. Riders are taken to go on as before, so that those
    who pass the new reference are recalibrated there.
    """
    settings = settings or PlanSettings()
    with one_thread():
        state = usual(posterior, network, settings)
    aims, regular = state.aims, state.habits
    if not aims.sensors:
        raise CalibdashError("There is no static sensor beside which a reference could stand.", "")
    total = max(float(aims.scale @ state.after), 1e-300)
    before = _mean_band(aims, state.after)
    sensors = np.flatnonzero(posterior.latent >= 0)
    place = {int(sensor): index for index, sensor in enumerate(sensors)}
    step = np.arange(len(regular.hours)) * len(sensors)
    weeks = settings.horizon_hours / len(regular.hours) / WEEK_HOURS
    rows = []
    for name in aims.sensors:
        site = posterior.number(name)
        met = (regular.a == site) | (regular.b == site)
        guests = np.where(regular.a[met] == site, regular.b[met], regular.a[met])
        rates = regular.rate[met]
        moving = posterior.mobile[guests] & ~posterior.reference[guests]
        guests, rates = guests[moving], rates[moving]
        who = np.concatenate([[site], guests])
        often = np.concatenate([[REFERENCE_DAYS], rates]) * weeks
        noise = (state.known.noise[who] + posterior.basis.hyper.noise_reference**2) / np.maximum(often, 1e-9)
        chosen = (np.array([place[int(sensor)] for sensor in who])[:, None] + step).ravel()
        S = state.C[np.ix_(chosen, chosen)] + np.diag(np.repeat(noise, len(step)))
        K = state.K[:, chosen]
        after = np.maximum(state.after - np.einsum("tn,nt->t", K, np.linalg.solve(S, K.T)), 0.0)
        passing = [posterior.sensors[guest] for guest in guests[np.argsort(-rates, kind="stable")]]
        text = f"mean band {percent(before)} → {percent(_mean_band(aims, after))}"
        text += f"; recalibrates {listed(passing, 3)}" if passing else "; no rider passes there"
        rows.append((name, float(aims.scale @ (state.after - after)) / total, before, _mean_band(aims, after), text))
    table = pd.DataFrame(rows, columns=["sensor", "gain", "band_before", "band_after", "reason"])
    return table.sort_values("gain", ascending=False, kind="stable", ignore_index=True)


def _mean_band(aims: Targets, variance: np.ndarray) -> float:
    weight = aims.weight if aims.weight.any() else np.ones_like(aims.weight)
    return float(np.average(band(aims.by_sensor(variance)), weights=weight))
