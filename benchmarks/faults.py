"""Faults: how many are found, how soon, how often a healthy sensor is accused, and how near that is to the best.

Simulated city networks (2 references, 12 low-cost statics, 3 mobiles, 180 days, visits of up to nine 10-minute
readings), one fault in each at a random time of a random low-cost sensor, judged visit by visit with what was known
then, settings found from each network's own data. A false alarm is one about any other sensor at any time (references
too), or about this one before its fault; passing the limit again counts again only after the probability has fallen
below a tenth of it; the years are those of low-cost sensors alone. A fault is found when the limit is passed at one of
the sensor's next five visits and was not passed before: a false alarm that happens to stand is no merit. Limits were
chosen on other networks (seeds 5000–5055).

The oracle knows what a network was made with: the kernel and lengthscale of each sensor, the noise, that faults are
steps of 30 %; not whose, up or down, or when.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from calibdash.data.network import Network
from calibdash.data.simulate import PRESETS, NetworkRecipe, simulate_network
from calibdash.data.simulate.places import sensor_table
from calibdash.evaluation.cusum import cusum
from calibdash.evaluation.faults import ALARM, WATCH, online, probabilities, search
from calibdash.evaluation.hypotheses import HOURS_A_YEAR, RATE, RECENT, log_sum
from calibdash.evaluation.injected import Fault, with_fault
from calibdash.evaluation.innovations import innovations, prior_covariance
from calibdash.evaluation.visits import Visits, find_visits
from calibdash.models.kernels import Kernel
from calibdash.models.preview import preview
from calibdash.models.settings import Settings
from calibdash.models.threads import one_thread
from calibdash.reports import svg

CITY = replace(
    PRESETS["city"], days=180, statics=14, mobiles=3, pairs=1, reference_visits=0.35, other_visits=2.4, noise=2.0
)
NOISES = (0.12, 0.08)
FIRST_SEED = 20_000
COUNT = 200
STEP = float(np.log(1.3))
SIZES = {"step": STEP, "accelerating": float(np.log(2.0)), "clogged": 0.6, "stuck": 0.0, "noisy": 0.35}
EXPECTED = {"step": "sudden", "accelerating": "slow", "clogged": "slow", "stuck": "stuck", "noisy": "noisy"}
SIMULATED_RATE = 1 / (15 * CITY.hours / HOURS_A_YEAR)  # faults a sensor-year that there are
SOON = 5
LIMITS = np.array(sorted({WATCH, ALARM, *np.round(1 / (1 + np.exp(-np.linspace(-4.5, 4.5, 91))), 4)}))
SHOWN = (0.02, 0.05, 0.1, 0.12, WATCH, 0.16, 0.2, 0.25, 0.3, 0.4, ALARM, 0.7, 0.9)
CUSUM_LIMITS = (3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
BINS = (0.05, 0.2, 0.5, 0.8, 0.9, 0.97, 1.0)
ALLOWED = 1.0  # false alarms a sensor-year
PICTURE = Path("assets/alarms.svg")


@dataclass(frozen=True)
class Watched:
    """One way to watch one network: the faulty sensor's peak soon and ever, the visits to each limit, false alarms."""

    before: float  # of the faulty sensor, at its last visit without the fault
    soon: float
    ever: float
    delay: np.ndarray
    false: np.ndarray

    def found(self, limit: float) -> bool:
        """Whether the fault passed a limit soon that nothing had passed before."""
        return self.before < limit <= self.soon


@dataclass(frozen=True)
class Trial:
    """One network: low-cost sensor-years, how it went, and the alarms of the whole record as (probability, real)."""

    kind: str
    years: float
    ours: Watched
    oracle: Watched | None
    cusum_soon: np.ndarray
    cusum_false: np.ndarray
    named: str  # what the search over the whole record says of this sensor
    first: bool  # and whether it blames this sensor more than any other
    listed: dict[float, list[tuple[float, bool]]]  # by the rate of faults that was assumed


def main(quick: bool = False) -> None:
    console = Console(width=130)
    count = 8 if quick else COUNT
    curves = {}
    for noise in NOISES:
        trials: list[Trial] = []
        started = time.process_time()
        for number in range(count):
            trial = run(replace(CITY, proportional_noise=noise), FIRST_SEED + number)
            trials += [trial] if trial is not None else []
            if number + 1 == count or (number + 1) % 50 == 0:
                spent = (time.process_time() - started) / (number + 1)
                console.print(f"{noise:.0%} noise: {len(trials)} networks, {spent:.1f} CPU s each")
                for table in (roc_table(trials, noise), kinds_table(trials, noise), reliability_table(trials, noise)):
                    console.print(table)
        curves[f"{noise:.0%} noise"] = trials
    if not quick:
        PICTURE.write_text(roc_drawing(curves), encoding="utf-8")


def run(recipe: NetworkRecipe, seed: int) -> Trial | None:
    """Half of the networks have a step, the others one of the other faults."""
    recipe = replace(recipe, seed=seed)
    network = simulate_network(recipe).network()
    rng = np.random.default_rng(10_000 + seed)
    others = [kind for kind in SIZES if kind != "step"]
    kind = "step" if seed % 2 == 0 else others[seed // 2 % len(others)]
    sensor = str(rng.choice(network.sensors.loc[~network.sensors["reference"], "sensor"].tolist()))
    sign = rng.choice([-1, 1]) if kind in ("step", "accelerating") else 1
    fault = Fault(sensor, kind, rng.uniform(60, 120) * 24.0, sign * SIZES[kind])
    faulty = with_fault(network, fault, seed)
    with one_thread():
        posterior = preview(faulty)
        visits = find_visits(posterior, faulty)
        number = visits.sensors.index(sensor)
        if np.sum(visits.hours[visits.of(number)] >= fault.hours) < SOON:
            return None
        prior = prior_covariance(visits, posterior.basis.hyper)
        found = innovations(visits, prior)
        ours = watched(online(found), visits, number, fault.hours)
        oracle = watched(known(faulty, recipe), visits, number, fault.hours) if kind == "step" else None
        alarms = {rate: search(visits, prior, BINS[0], rate) for rate in (RATE, SIMULATED_RATE)}
    real = {
        rate: [(a.probability, bool(a.sensor == number and visits.hours[a.rows[-1]] >= fault.hours)) for a in part]
        for rate, part in alarms.items()
    }
    mine = [alarm for alarm in alarms[RATE] if alarm.sensor == number and alarm.probability >= ALARM]
    return Trial(
        kind,
        sum(healthy_years(visits, other, number, fault.hours) for other in np.flatnonzero(~visits.reference)),
        ours,
        oracle,
        *cusum_watched(found.z, visits, number, fault.hours),
        mine[0].kind if mine else "",
        bool(mine) and mine[0].probability == max(alarm.probability for alarm in alarms[RATE]),
        real,
    )


def healthy_rows(visits: Visits, sensor: int, faulty: int, hours: float) -> np.ndarray:
    """A sensor's visits while there was nothing wrong with it."""
    rows = visits.of(sensor)
    return rows[visits.hours[rows] < hours] if sensor == faulty else rows


def healthy_years(visits: Visits, sensor: int, faulty: int, hours: float) -> float:
    rows = healthy_rows(visits, int(sensor), faulty, hours)
    return float(np.ptp(visits.hours[rows])) / HOURS_A_YEAR if len(rows) else 0.0


def watched(chance: np.ndarray, visits: Visits, faulty: int, hours: float) -> Watched:
    """How a path of probabilities [S, V] would have raised alarms."""
    false = np.zeros(len(LIMITS))
    for other in range(len(visits.sensors)):
        false += passes(chance[other, healthy_rows(visits, other, faulty, hours)])
    own = visits.of(faulty)
    after = visits.hours[own] >= hours
    path, past = chance[faulty, own[after]], chance[faulty, own[~after]]
    before = float(past[-1]) if len(past) else 0.0
    reached = (path[:, None] >= LIMITS) & (before < LIMITS)
    delay = np.where(reached.any(axis=0), np.argmax(reached, axis=0) + 1.0, np.inf)
    return Watched(before, float(path[:SOON].max()), float(path.max()), delay, false)


def passes(path: np.ndarray) -> np.ndarray:
    """How often each of LIMITS is passed anew.   path [n] → [limits]"""
    count, armed = np.zeros(len(LIMITS)), np.ones(len(LIMITS), dtype=bool)
    for value in path:
        hit = armed & (value >= LIMITS)
        count += hit
        armed = (armed & ~hit) | (value < LIMITS / 10)
    return count


def cusum_watched(z: np.ndarray, visits: Visits, faulty: int, hours: float) -> tuple[np.ndarray, np.ndarray]:
    """Whether CUSUM alone finds the fault soon, and its false alarms, at each of its limits."""
    false = np.zeros(len(CUSUM_LIMITS))
    for other in range(len(visits.sensors)):
        rows = healthy_rows(visits, other, faulty, hours)
        own = z[rows] * visits.sign(other)[rows]
        false += [len(cusum(own, limit=limit).alarms) for limit in CUSUM_LIMITS]
    rows = visits.of(faulty)
    first = int(np.searchsorted(visits.hours[rows], hours))
    signed = z[rows] * visits.sign(faulty)[rows]
    soon = [any(0 <= place - first < SOON for place in cusum(signed, limit=limit).alarms) for limit in CUSUM_LIMITS]
    return np.array(soon), false


def known(network: Network, recipe: NetworkRecipe) -> np.ndarray:
    """The oracle's probabilities: likelihood ratios of a 30 % step of each sensor from each visit on.   → [S, V]"""
    made = {
        "kernel": "matern32",
        "lengthscale": f"{recipe.static_drift_hours}h",
        "drift": recipe.gain_drift,
        "bias": recipe.gain_bias,
        "noise.additive": recipe.noise,
        "noise.proportional": recipe.proportional_noise,
    }
    visits = find_visits(preview(network, Settings.from_dict(made)), network)
    C = np.diag(visits.variance + 1e-10)
    lengths = lengthscales(recipe)
    for sensor in np.flatnonzero(~visits.reference):
        rows = visits.of(int(sensor))
        kernel = Kernel("matern32", lengths[visits.sensors[sensor]], recipe.gain_drift, recipe.gain_bias)
        sign = visits.sign(int(sensor))[rows]
        C[np.ix_(rows, rows)] += np.outer(sign, sign) * kernel.matrix(visits.hours[rows], visits.hours[rows])
    inverse = np.linalg.inv(np.linalg.cholesky(C))
    z = (inverse @ visits.ratio)[:, None]
    logs = np.full((len(visits.sensors), len(visits)), -np.inf)
    for sensor in np.flatnonzero(~visits.reference):
        rows = visits.of(int(sensor))
        if len(rows) < 2:
            continue
        columns = inverse[:, rows] * visits.sign(int(sensor))[rows]
        G = np.cumsum(columns[:, ::-1], axis=1)[:, ::-1][: rows[-1] + 1]
        edges = np.append(0, rows[:-1] + 1)
        power = np.cumsum(np.add.reduceat(G**2, edges, axis=0), axis=0)
        match = STEP * np.cumsum(np.add.reduceat(G * z[: len(G)], edges, axis=0), axis=0)
        ratio = np.logaddexp(match, -match) - np.log(2) - 0.5 * STEP**2 * power
        years = np.append(0.0, np.diff(visits.hours[rows])) / HOURS_A_YEAR
        with np.errstate(divide="ignore"):
            weights = np.where(since(len(rows)), np.log(RATE * years) + ratio, -np.inf)
        last = np.searchsorted(rows, np.arange(len(visits)), side="right")
        logs[sensor] = np.append(-np.inf, log_sum(weights))[last]
    return probabilities(logs, visits)


def since(count: int) -> np.ndarray:
    """Which of a sensor's visits [column] could have been the first of a recent fault at each visit [row]."""
    passed = np.arange(count)[:, None] - np.arange(count)[None, :] + 1
    return (passed >= 1) & (passed <= RECENT)


def lengthscales(recipe: NetworkRecipe) -> dict[str, float]:
    """The lengthscale each sensor was given: the scene's random numbers once more."""
    rng = np.random.default_rng(recipe.seed).spawn(3)[0]
    sensors, _ = sensor_table(recipe, rng)
    hours = np.where(sensors["kind"] == "mobile", recipe.mobile_drift_hours, recipe.static_drift_hours)
    drawn = hours * np.exp(recipe.drift_spread * rng.standard_normal(len(sensors)))
    return dict(zip(sensors["sensor"], drawn.tolist(), strict=True))


def share(hits: Sequence[bool] | np.ndarray) -> str:
    """A share of trials with its standard error."""
    p = float(np.mean(hits))
    return f"{100 * p:.0f} % ± {100 * np.sqrt(p * (1 - p) / len(hits)):.0f}"


def rates(trials: list[Trial], counts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """False alarms a sensor-year and their standard errors, networks being the sample."""
    table, years = np.array(counts), np.array([trial.years for trial in trials])
    rate = table.sum(axis=0) / years.sum()
    error = np.sqrt(np.sum((table - np.outer(years, rate)) ** 2, axis=0)) / years.sum()
    return rate, error


def roc_table(trials: list[Trial], noise: float) -> Table:
    table = Table(title=f"30 % steps found within {SOON} visits, against false alarms a sensor-year, {noise:.0%} noise")
    for head in ("probability ≥", "false", "found", "oracle: false", "found", "CUSUM h", "false", "found"):
        table.add_column(head, justify="right")
    steps = [trial for trial in trials if trial.oracle is not None]
    rate, error = rates(trials, [trial.ours.false for trial in trials])
    best, best_error = rates(steps, [trial.oracle.false for trial in steps if trial.oracle])
    summed, summed_error = rates(trials, [trial.cusum_false for trial in trials])
    ours, oracle = [trial.ours for trial in steps], [trial.oracle for trial in steps if trial.oracle]
    allowed = [float(LIMITS[np.argmax(part <= ALLOWED)]) for part in (rate, best)]
    for place, limit in enumerate(SHOWN):
        at = int(np.argmin(np.abs(LIMITS - limit)))
        row = [f"{limit:g}", f"{rate[at]:.2f} ± {error[at]:.2f}", share([one.found(LIMITS[at]) for one in ours])]
        row += [f"{best[at]:.2f} ± {best_error[at]:.2f}", share([one.found(LIMITS[at]) for one in oracle])]
        if place < len(CUSUM_LIMITS):
            found = share([trial.cusum_soon[place] for trial in steps])
            row += [f"{CUSUM_LIMITS[place]:g}", f"{summed[place]:.2f} ± {summed_error[place]:.2f}", found]
        table.add_row(*row)
    table.add_section()
    table.add_row(
        f"at most {ALLOWED:g}: {allowed[0]:.3f}",
        f"{rate[np.searchsorted(LIMITS, allowed[0])]:.2f}",
        share([one.found(allowed[0]) for one in ours]),
        f"{best[np.searchsorted(LIMITS, allowed[1])]:.2f}",
        share([one.found(allowed[1]) for one in oracle]),
    )
    return table


def kinds_table(trials: list[Trial], noise: float) -> Table:
    table = Table(
        title=f"Faults by kind, {noise:.0%} noise: to be watched (≥ {WATCH:.0%}), called faulty (≥ {ALARM:.0%})"
    )
    for head in ("fault", "networks", "within 5", "ever", "median visits", "≥ 50 %", "kind right", "culprit first"):
        table.add_column(head, justify="right")
    place = int(np.searchsorted(LIMITS, WATCH))
    for kind in SIZES:
        mine = [trial for trial in trials if trial.kind == kind]
        if not mine:
            continue
        delays = np.array([trial.ours.delay[place] for trial in mine])
        table.add_row(
            kind,
            str(len(mine)),
            share(delays <= SOON),
            share(np.isfinite(delays)),
            f"{np.median(delays):.0f}",
            share([trial.ours.ever >= ALARM for trial in mine]),
            share([trial.named == EXPECTED[kind] for trial in mine]),
            share([trial.first for trial in mine]),
        )
    return table


def reliability_table(trials: list[Trial], noise: float) -> Table:
    """Of alarms said to have some probability, how many are real, with the rate of faults as simulated and as usual."""
    table = Table(title=f"Alarms over the whole record, {noise:.0%} noise: what was said, and what was so")
    for head in ("probability", *(f"{head} ({rate:.2g} a year)" for rate in (SIMULATED_RATE, RATE) for head in HEADS)):
        table.add_column(head, justify="right")
    for low, high in pairwise(BINS):
        row = [f"{100 * low:.0f}–{100 * high:.0f} %"]
        for rate in (SIMULATED_RATE, RATE):
            inside = [pair for trial in trials for pair in trial.listed[rate] if low <= pair[0] < high + (high == 1)]
            said = f"{100 * np.mean([p for p, _ in inside]):.0f} %" if inside else ""
            row += [str(len(inside)), said, share([real for _, real in inside]) if inside else ""]
        table.add_row(*row)
    return table


HEADS = ("alarms", "said", "real")


def roc_drawing(curves: dict[str, list[Trial]]) -> str:
    """False alarms a sensor-year (across) against the share of steps found (up); the oracle dashed."""
    frame = svg.Frame(460, 260, (0.0, 3.0), (0.5, 1.0), left=40, bottom=30)
    body = svg.axes(
        frame,
        [(value, f"{value:g}") for value in (0.0, 1.0, 2.0, 3.0)],
        [(value, f"{100 * value:.0f} %") for value in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)],
    )
    for place, (name, trials) in enumerate(curves.items()):
        colour = (svg.STATIC, svg.MOBILE)[place]
        steps = [trial for trial in trials if trial.oracle is not None]
        for dash, whose, part in (("", [t.ours for t in trials], trials), ("4 3", [t.oracle for t in steps], steps)):
            rate = rates(part, [one.false for one in whose if one])[0]
            judged = [one for one, trial in zip(whose, part, strict=True) if one and trial.kind == "step"]
            found = np.array([np.mean([one.found(limit) for one in judged]) for limit in LIMITS])
            inside = rate <= frame.x[1]
            body += svg.line(frame.px(rate[inside]), frame.py(found[inside]), colour, 1.8, dash)
        body += svg.text(frame.width - 150, 190 + 14 * place, f"{name} (dashed: oracle)", colour=colour, size=10)
    body += svg.text(250, 258, "false alarms a sensor-year", anchor="middle", size=10)
    style = '<rect width="460" height="260" fill="white"/>'
    drawn = svg.canvas(460, 260, "30 % steps found within 5 visits", style + body)
    return drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" ', 1)
