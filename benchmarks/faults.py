"""Faults: how many are found, how soon, and how often a healthy sensor is accused.

Simulated city networks (2 references, 12 low-cost statics, 3 mobiles, 180 days, visits of up to nine 10-minute
readings), one fault in each at a random time of a random low-cost sensor, judged visit by visit with what was known
then. A false alarm is one about any other sensor at any time, or about this one before its fault; passing the limit
again counts again only after the probability has fallen below a tenth of it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from rich.console import Console
from rich.table import Table

from calibdash.data.simulate import PRESETS, NetworkRecipe, simulate_network
from calibdash.evaluation.cusum import cusum
from calibdash.evaluation.faults import ALARM, WATCH, find_alarms, online
from calibdash.evaluation.hypotheses import HOURS_A_YEAR
from calibdash.evaluation.injected import Fault, with_fault
from calibdash.evaluation.innovations import innovations, prior_covariance
from calibdash.evaluation.visits import find_visits
from calibdash.models.preview import preview

CITY = replace(
    PRESETS["city"], days=180, statics=14, mobiles=3, pairs=1, reference_visits=0.35, other_visits=2.4, noise=2.0
)
RECIPES = {"8 % noise": replace(CITY, proportional_noise=0.08), "12 % noise": CITY}
SIZES = {"step": np.log(1.3), "accelerating": np.log(2.0), "clogged": 0.6, "stuck": 0.0, "noisy": 0.35}
EXPECTED = {"step": "sudden", "accelerating": "slow", "clogged": "slow", "stuck": "stuck", "noisy": "noisy"}
SOON = 5
LIMITS = (0.05, 0.1, WATCH, 0.2, 0.35, ALARM, 0.7, 0.9)
CUSUM_LIMITS = (3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


@dataclass(frozen=True)
class Trial:
    """One network: years watched, peaks of the faulty sensor's probability soon and ever, false peaks, and CUSUM's."""

    kind: str
    years: float
    soon: float
    ever: float
    delay: np.ndarray  # visits until each of LIMITS is passed
    false: np.ndarray  # false alarms at each of LIMITS
    cusum_soon: np.ndarray
    cusum_false: np.ndarray
    named: str  # what the search over the whole record says of this sensor
    first: bool  # and whether it blames this sensor more than any other


def main(quick: bool = False) -> None:
    console = Console()
    for name, recipe in RECIPES.items():
        count = 10 if quick else {"8 % noise": 200, "12 % noise": 100}[name]
        started = time.perf_counter()
        trials = [trial for seed in range(count) if (trial := run(recipe, seed)) is not None]
        console.print(f"{name}: {len(trials)} networks, {time.perf_counter() - started:.0f} s")
        console.print(kinds_table(trials, name))
        console.print(roc_table(trials, name))


def run(recipe: NetworkRecipe, seed: int) -> Trial | None:
    """Half of the networks have a step, the others one of the other faults."""
    network = simulate_network(replace(recipe, seed=seed)).network()
    rng = np.random.default_rng(10_000 + seed)
    others = [kind for kind in SIZES if kind != "step"]
    kind = "step" if seed % 2 == 0 else others[seed // 2 % len(others)]
    sensor = str(rng.choice(network.sensors.loc[~network.sensors["reference"], "sensor"].tolist()))
    sign = rng.choice([-1, 1]) if kind in ("step", "accelerating") else 1
    fault = Fault(sensor, kind, rng.uniform(60, 120) * 24.0, sign * SIZES[kind])
    faulty = with_fault(network, fault, seed)
    posterior = preview(faulty)
    visits = find_visits(posterior, faulty)
    found = innovations(visits, prior_covariance(visits, posterior.basis.hyper))
    chance = online(found)
    number = visits.sensors.index(sensor)
    own = visits.of(number)
    after = own[visits.hours[own] >= fault.hours]
    if len(after) < SOON:
        return None
    years, false, cusum_false = 0.0, np.zeros(len(LIMITS)), np.zeros(len(CUSUM_LIMITS))
    for other in range(len(visits.sensors)):
        rows = visits.of(other)
        if other == number:
            rows = rows[visits.hours[rows] < fault.hours]
        years += float(np.ptp(visits.hours[rows])) / HOURS_A_YEAR if len(rows) else 0.0
        false += [passes(chance[other, rows], limit) for limit in LIMITS]
        z = found.z[rows] * visits.sign(other)[rows]
        cusum_false += [len(cusum(z, limit=limit).alarms) for limit in CUSUM_LIMITS]
    z = found.z[own] * visits.sign(number)[own]
    first = int(np.searchsorted(own, after[0]))
    hits = [[place - first for place in cusum(z, limit=limit).alarms if place >= first] for limit in CUSUM_LIMITS]
    listed = find_alarms(posterior, faulty, ALARM)
    mine = [alarm for alarm in listed if alarm.sensor == number and visits.hours[alarm.rows[-1]] >= fault.hours]
    path = chance[number, after]
    return Trial(
        kind,
        years,
        float(path[:SOON].max()),
        float(path.max()),
        np.array([int(np.argmax(path >= limit)) + 1 if path.max() >= limit else np.inf for limit in LIMITS]),
        false,
        np.array([bool(hit) and hit[0] < SOON for hit in hits]),
        cusum_false,
        mine[0].kind if mine else "",
        bool(mine) and mine[0].probability == max(alarm.probability for alarm in listed),
    )


def passes(path: np.ndarray, limit: float) -> int:
    """How often a limit is passed anew."""
    count, armed = 0, True
    for value in path:
        if armed and value >= limit:
            count, armed = count + 1, False
        elif value < limit / 10:
            armed = True
    return count


def kinds_table(trials: list[Trial], name: str) -> Table:
    table = Table(title=f"Faults by kind, {name}: to be watched (≥ {WATCH:.0%}) and called faulty (≥ {ALARM:.0%})")
    for head in (
        "fault",
        "networks",
        "within 5",
        "ever",
        "median visits",
        "≥ 50 %, ever",
        "kind right",
        "culprit first",
    ):
        table.add_column(head, justify="right")
    place = LIMITS.index(WATCH)
    for kind in SIZES:
        mine = [trial for trial in trials if trial.kind == kind]
        if not mine:
            continue
        delays = np.array([trial.delay[place] for trial in mine])
        table.add_row(
            kind,
            str(len(mine)),
            f"{np.mean(delays <= SOON):.0%}",
            f"{np.mean(np.isfinite(delays)):.0%}",
            f"{np.median(delays):.0f}",
            f"{np.mean([trial.ever >= ALARM for trial in mine]):.0%}",
            f"{np.mean([trial.named == EXPECTED[kind] for trial in mine]):.0%}",
            f"{np.mean([trial.first for trial in mine]):.0%}",
        )
    return table


def roc_table(trials: list[Trial], name: str) -> Table:
    table = Table(title=f"30 % steps found within {SOON} visits, against false alarms, {name}")
    for head in ("probability ≥", "false a sensor-year", "found", "CUSUM h", "false a sensor-year", "found"):
        table.add_column(head, justify="right")
    years = sum(trial.years for trial in trials)
    steps = [trial for trial in trials if trial.kind == "step"]
    rates = sum(trial.false for trial in trials) / years
    cusum_rates = sum(trial.cusum_false for trial in trials) / years
    for place in range(max(len(LIMITS), len(CUSUM_LIMITS))):
        row = ["", "", ""] * 2
        if place < len(LIMITS):
            found = np.mean([trial.soon >= LIMITS[place] for trial in steps])
            row[:3] = [f"{LIMITS[place]:g}", f"{rates[place]:.2f}", f"{found:.0%}"]
        if place < len(CUSUM_LIMITS):
            found = np.mean([trial.cusum_soon[place] for trial in steps])
            row[3:] = [f"{CUSUM_LIMITS[place]:g}", f"{cusum_rates[place]:.2f}", f"{found:.0%}"]
        table.add_row(*row)
    return table
