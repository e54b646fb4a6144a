"""Plans of visits against brute force, against the rules of thumb coordinators use, and against the clock.

Simulated networks with known truth; posteriors by the one-solve preview with the settings the simulator draws from.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from calibdash.data.network import Network
from calibdash.data.simulate import PRESETS, NetworkRecipe, SimulatedNetwork, simulate_network
from calibdash.data.simulate.meetings import Meetings
from calibdash.data.simulate.network import observe
from calibdash.models.posterior import Posterior
from calibdash.models.preview import preview
from calibdash.models.settings import Settings
from calibdash.planning import PlanSettings, Rider, plan, value_of_visits
from calibdash.planning.draft import Draft
from calibdash.planning.ground import Ground, ground
from calibdash.planning.tours import shortest
from calibdash.planning.value import band

READINGS = 3
RULES = ("round-robin", "widest band first", "nearest by criticality")


def recipe(seed: int, **changes) -> NetworkRecipe:
    """A network that differs from the others in size, density of visits and speed of drift."""
    rng = np.random.default_rng(1000 + seed)
    return replace(
        PRESETS["city"],
        **{
            "seed": seed,
            "days": 60,
            "statics": int(rng.integers(15, 41)),
            "references": int(rng.integers(1, 4)),
            "mobiles": int(rng.integers(2, 5)),
            "pairs": 0,
            "reference_visits": float(rng.uniform(0.05, 0.3)),
            "other_visits": float(rng.uniform(0.3, 2.0)),
            "readings_per_visit": READINGS,
            "static_drift_hours": float(rng.uniform(800, 3000)),
            "mobile_drift_hours": float(rng.uniform(300, 1500)),
            "drift_spread": 0.0,
            "weather": False,
            "lowest_reading": -1e6,
            **changes,
        },
    )


def believed(made: NetworkRecipe) -> Settings:
    """Settings that say what the simulator does."""
    return Settings().with_values(
        {
            "kernel": made.drift,
            "lengthscale.static": made.static_drift_hours,
            "lengthscale.mobile": made.mobile_drift_hours,
            "drift": made.gain_drift,
            "bias": made.gain_bias,
            "noise.additive": made.noise,
            "noise.proportional": made.proportional_noise,
        }
    )


def read(seed: int, **changes) -> tuple[SimulatedNetwork, Network, Posterior]:
    made = recipe(seed, **changes)
    simulated = simulate_network(made)
    network = simulated.network()
    return simulated, network, preview(network, believed(made))


# --- brute force


def masks(base: Ground, shift: int, most: int) -> list[tuple[tuple[int, ...], float]]:
    """Every set of sites that one shift can visit within its hours, and what it costs."""
    rider = base.shifts[shift].rider
    who, place = base.riders[rider], len(base.sites) + rider
    found: list[tuple[tuple[int, ...], float]] = []
    for size in range(most + 1):
        for sites in combinations(np.flatnonzero(base.allowed).tolist(), size):
            tour = shortest(base.travel.minutes[rider], sites, place)
            path = np.array([place, *tour, place])
            minutes = base.travel.minutes[rider][path[:-1], path[1:]].sum() + size * who.minutes_per_visit
            if minutes <= base.shifts[shift].minutes + 1e-6:
                km = base.travel.km[path[:-1], path[1:]].sum()
                found.append((sites, who.cost_per_km * km + who.cost_per_stop * size))
    return found


def optimum(base: Ground, most: int) -> float:
    """The largest gain of any feasible set of visits, two shifts at most."""
    budget = base.settings.budget
    choices = [masks(base, shift, most) for shift in range(len(base.shifts))]
    rows: dict[int, list[list[tuple[int, int]]]] = {}
    others = choices[1] if len(choices) > 1 else [((), 0.0)]
    for first, cost in choices[0]:
        for second, more in others:
            size = len(first) + len(second)
            if 0 < size <= most and (budget is None or cost + more <= budget + 1e-6):
                rows.setdefault(size, []).append([(0, s) for s in first] + [(1, s) for s in second])
    best = 0.0
    for size, sets in rows.items():
        pairs = np.array(sets)  # [n, size, 2]
        m, b = base.mobile[pairs[..., 0]], base.site[pairs[..., 0], pairs[..., 1]]
        noise = base.noise[pairs[..., 0], pairs[..., 1]]

        def contrast(matrix: np.ndarray, m: np.ndarray = m, b: np.ndarray = b) -> np.ndarray:
            def pick(x: np.ndarray, y: np.ndarray) -> np.ndarray:
                return matrix[x[:, :, None], y[:, None, :]]

            return pick(m, m) - pick(m, b) - pick(b, m) + pick(b, b)

        S = contrast(base.C) + noise[:, :, None] * np.eye(size)
        worth = np.trace(np.linalg.solve(S, contrast(base.G)), axis1=1, axis2=2)
        best = max(best, float(worth.max()))
    return best


def small(seed: int) -> tuple[float, float]:
    """Gain of the plan and of the best of all plans, on a network of at most 9 statics and 6 stops."""
    rng = np.random.default_rng(seed)
    statics = int(rng.integers(6, 10))
    _, network, posterior = read(
        seed,
        statics=statics,
        references=int(rng.integers(1, 3)),
        mobiles=2,
        other_visits=float(rng.uniform(0.2, 1.0)),
        reference_visits=float(rng.uniform(0.02, 0.2)),
        mobile_drift_hours=float(rng.uniform(100, 1000)),
    )
    stops = int(rng.integers(3, 7))
    per_km = float(rng.choice([0.0, 0.1, 0.3]))
    bases = network.sensors[network.sensors["kind"] == "mobile"]
    riders = tuple(
        Rider(
            row.sensor,
            row.sensor,
            row.base_latitude,
            row.base_longitude,
            cost_per_km=per_km,
            end=float(rng.integers(11, 18)),
        )
        for row in bases.itertuples()
    )
    budget = stops + (per_km * 20.0)
    settings = PlanSettings(riders=riders, days=1, budget=budget, target=None, least=0.0)
    base = ground(posterior, network, settings)
    ours = plan(posterior, network, settings)
    chosen = ours.chosen
    draft = Draft(base)
    for shift, site in chosen:
        draft.add(shift, site)
    if len(chosen) > 6:  # beyond what brute force looked at: hold the plan to six stops
        return small(seed + 1000)
    return draft.value, optimum(base, 6)


def brute_force(networks: int) -> None:
    shares = []
    for seed in range(networks):
        ours, best = small(seed)
        shares.append(ours / best if best > 0 else 1.0)
    print(
        f"\nAgainst brute force, {networks} networks of ≤ 9 statics, ≤ 6 stops: "
        f"mean {np.mean(shares):.4f} (reach 0.99), worst {np.min(shares):.4f} (reach 0.95)",
        flush=True,
    )


# --- rules of thumb


def rule_of_thumb(base: Ground, rule: str, most: int, reference_first: bool) -> list[tuple[int, int]]:
    """Visits that a rule makes, riders in turn and day after day, at most so many."""
    draft = Draft(base)
    width = {name: index for index, name in enumerate(base.aims.sensors)}
    statics = np.array([site for site, name in enumerate(base.sites) if name in width])
    everybody = np.flatnonzero(base.allowed)
    turn = 0
    made: list[tuple[int, int]] = []
    by_day: dict[int, list[int]] = {}
    for index, shift in enumerate(base.shifts):
        by_day.setdefault(shift.day, []).append(index)
    for shifts in by_day.values():
        working = list(shifts)
        while working and len(made) < most:
            for shift in list(working):
                possible = draft.open()[shift]
                last = draft.tours[shift][-1] if draft.tours[shift] else len(base.sites) + base.shifts[shift].rider
                km = base.travel.km[last, : len(base.sites)]
                if reference_first and not draft.tours[shift] and (possible & base.reference).any():
                    site = int(np.argmin(np.where(possible & base.reference, km, np.inf)))
                elif rule == "round-robin":
                    pool = statics if reference_first else everybody
                    site = int(pool[turn % len(pool)])
                    turn += 1
                else:
                    bands = band(base.aims.by_sensor(draft.spread))
                    critical = np.array([bands[width[base.sites[site]]] for site in statics])
                    if rule == "nearest by criticality":
                        critical = critical / (km[statics] + 1.0)
                    site = int(statics[np.argmax(np.where(possible[statics], critical, -1.0))])
                if not possible[site]:
                    working.remove(shift)
                    continue
                draft.position[shift, site] = len(draft.tours[shift])
                draft.add(shift, site)
                made.append((shift, site))
                if len(made) >= most:
                    break
    return made


def mean_bands(base: Ground, stops: list[tuple[int, int]]) -> np.ndarray:
    """Mean band width over the horizon after each of the stops.   → [stops + 1]"""
    draft = Draft(base)
    curve = [float(np.mean(band(base.aims.by_sensor(draft.spread))))]
    for shift, site in stops:
        draft.add(shift, site)
        curve.append(float(np.mean(band(base.aims.by_sensor(draft.spread)))))
    return np.array(curve)


def ours_with(posterior: Posterior, network: Network, settings: PlanSettings, visits: int, base: Ground) -> tuple:
    found = plan(posterior, network, replace(settings, budget=float(visits)))
    return found, float(mean_bands(base, list(found.chosen))[-1])


def needed(
    posterior: Posterior, network: Network, settings: PlanSettings, level: float, base: Ground, most: int
) -> int:
    """The fewest visits with which the planner reaches a mean band width, by bisection."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        _, width = ours_with(posterior, network, settings, middle, base)
        low, high = (low, middle) if width <= level else (middle, high)
    return high


def simulated_error(
    simulated: SimulatedNetwork, network: Network, base: Ground, stops: list[tuple[int, int]], draws: int
) -> float:
    """RMSE of the log gains of statics over the horizon after these visits were made in the simulated world."""
    scene = simulated.scene
    ids = {name: index for index, name in enumerate(scene.sensors["sensor"])}
    minutes = np.arange(READINGS) * 10.0 / 60
    hours = [base.days[base.shifts[q].day].midnight + 12.5 for q, _ in stops]
    mobile = np.array([ids[base.riders[base.shifts[q].rider].sensor] for q, _ in stops], dtype=np.int64)
    place = np.array([ids[base.sites[b]] for _, b in stops], dtype=np.int64)
    when = np.add.outer(np.array(hours), minutes).ravel()
    order = np.argsort(when, kind="stable")
    a, b = (np.repeat(side, READINGS)[order] for side in (place, mobile))
    meetings = Meetings(when[order], a, b, scene.site[a])
    squares = []
    numbers = np.array([ids[name] for name in base.aims.sensors])
    for draw in range(draws):
        extra = [observe(scene, meetings, np.random.default_rng(draw)).colocations] if stops else []
        table = pd.concat([network.colocations, *extra]).sort_values("time", kind="stable", ignore_index=True)
        table = table[(table["value_a"] > 0) & (table["value_b"] > 0)].reset_index(drop=True)
        after = preview(Network("after", table, network.sensors, network.clock), believed(simulated.recipe))
        for name, number in zip(base.aims.sensors, numbers, strict=True):
            mean, _ = after.latents(name, base.aims.hours)
            truth = np.log(scene.calibration(np.full(len(base.aims.hours), number), base.aims.hours)[0])
            squares.append(np.mean((mean[:, 0] - truth) ** 2))
    return float(np.mean(squares))


def rules(networks: int, visits: int, draws: int, days: int = 7) -> None:
    """Rules begin on the first day, the planner may choose: one day shows what the choice of stops is worth."""
    fewer: dict[str, list[float]] = {rule: [] for rule in (*RULES, "best of them")}
    errors: dict[str, list[float]] = {rule: [] for rule in (*RULES, "planner", "none")}
    for seed in range(networks):
        simulated, network, posterior = read(100 + seed)
        settings = PlanSettings(target=None, least=0.0, days=days)
        base = ground(posterior, network, settings)
        made: dict[str, list[tuple[int, int]]] = {}
        for rule in RULES:
            tries = [rule_of_thumb(base, rule, visits, first) for first in (False, True)]
            made[rule] = min(tries, key=lambda stops: mean_bands(base, stops)[-1])
        counts = {}
        for rule in RULES:
            level = mean_bands(base, made[rule])[-1]
            counts[rule] = needed(posterior, network, settings, level, base, len(made[rule]))
            fewer[rule].append(1 - counts[rule] / len(made[rule]))
        fewer["best of them"].append(min(fewer[rule][-1] for rule in RULES))
        found, _ = ours_with(posterior, network, settings, visits, base)
        made["planner"], made["none"] = list(found.chosen), []
        for rule, stops in made.items():
            errors[rule].append(simulated_error(simulated, network, base, stops, draws if stops else 1))
        print(
            f"  network {seed}: {len(base.sites)} sites, {len(base.riders)} riders; fewer visits "
            + ", ".join(f"{rule} {100 * values[-1]:.0f} %" for rule, values in fewer.items()),
            flush=True,
        )
    print(
        f"\nVisits for the same mean band width as {visits} visits by each rule, "
        f"{networks} networks, days to choose from: {days}"
    )
    for rule, values in fewer.items():
        reach = {"round-robin": " (reach 40 %)", "best of them": " (reach 20 %)"}.get(rule, "")
        print(f"  {rule:24s} {100 * np.mean(values):.0f} % fewer{reach}; least {100 * np.min(values):.0f} %")
    print(f"RMSE of the log gains over the horizon after {visits} simulated visits (reach: lowest of all)")
    for rule, values in errors.items():
        print(f"  {rule:24s} {np.sqrt(np.mean(values)):.4f}")


# --- the clock


def seconds() -> None:
    print("\nTime and memory (wall, and CPU of one core)")
    made = replace(PRESETS["city"], days=120)
    network = simulate_network(made).network()
    posterior = preview(network, believed(made))
    found = None
    for name, settings in (
        ("no budget", PlanSettings()),
        ("budget 40", PlanSettings(budget=40.0)),
        ("no target", PlanSettings(target=None)),
    ):
        found, took = timed(lambda settings=settings: plan(posterior, network, settings))
        print(f"51 sensors, 4 riders, 7 days, {name}: {took}, {len(found.stops)} stops (reach 10 s)", flush=True)
    _, took = timed(lambda: plan(posterior, network, dropped=[found.visits[0]], before=found))
    print(f"the same with one stop dropped: {took} (reach about 1 s)", flush=True)
    times = pd.date_range("2020-11-13T08:00Z", periods=120, freq="1h")
    grid = [(rider.name, site, t) for rider in found.ground.riders for site in found.ground.sites for t in times]
    table = pd.DataFrame(grid, columns=["sensor_a", "sensor_b", "time"])
    _, took = timed(lambda: value_of_visits(posterior, network, table))
    print(f"value of {len(table):,} visits at {len(times)} times: {took} (reach 1 s)", flush=True)


def large() -> None:
    made = replace(PRESETS["city"], days=30, statics=970, references=10, mobiles=30, pairs=10, area_km=30.0)
    network = simulate_network(made).network()
    posterior = preview(network, believed(made))
    found, took = timed(lambda: plan(posterior, network, PlanSettings(days=1)))
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"1,000 sensors, 30 riders, one day: {took}, {len(found.stops)} stops, {gigabytes:.1f} GB (reach 60 s)")
    print(f"  {found.summary}", flush=True)


def timed(work: Callable[[], Any]) -> tuple[Any, str]:
    """What some work returns, and how long it took in words."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, f"{time.perf_counter() - wall:.2f} s ({time.process_time() - cpu:.2f} CPU s)"


def main(quick: bool = False) -> None:
    """Print every table; ``quick`` looks at a few networks."""
    seconds()
    large()
    brute_force(5 if quick else 30)
    rules(3 if quick else 20, 24, 1 if quick else 4)
    rules(3 if quick else 20, 20, 1 if quick else 4, days=1)


if __name__ == "__main__":
    import sys

    main("--quick" in sys.argv)
