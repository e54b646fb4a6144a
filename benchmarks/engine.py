"""The engine against the floor, against Adam, against the clock and against itself at scale."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from calibdash.data.network import Clock, Network
from calibdash.data.simulate import PRESETS, SimulatedNetwork, simulate_network
from calibdash.models.fitting import fit
from calibdash.models.learning import learn
from calibdash.models.posterior import Posterior
from calibdash.models.preview import preview, preview_pairs
from calibdash.models.settings import Settings

PAPER_NMSE = {2.0: 0.18, 5.0: 0.21, 10.0: 0.35, 20.0: 0.84}
OFFSET_TRUTH = {  # what the simulator draws from, offsets in units of the typical reading
    "function": "gain-offset",
    "kernel": "eq",
    "lengthscale.static": "2000h",
    "lengthscale.mobile": "1000h",
    "noise.additive": 2.0,
    "noise.proportional": 0.05,
    "drift.gain": 0.2,
    "bias.gain": 0.2,
    "drift.offset": 2.0 / 60,
    "bias.offset": 3.0 / 60,
}
# name, preset, changes to it, settings, where the rest of the settings comes from
COVERED: tuple[tuple[str, str, dict, dict, str], ...] = (
    ("paper", "paper", {}, {}, "learned"),
    ("chain", "chain", {}, {}, "learned"),
    ("city", "city", {}, {}, "defaults"),
    ("offset, no humidity", "offset", {"days": 60, "kappa": 0.0}, OFFSET_TRUTH, "given"),
    ("offset", "offset", {}, {"function": "humidity-offset"}, "defaults"),
)
FIXED = {
    "kernel": "eq",
    "lengthscale.static": "60d",
    "lengthscale.mobile": "25d",
    "drift": 0.3,
    "bias": 0.3,
    "noise.additive": 3.0,
    "noise.proportional": 0.1,
}


def simulate(preset: str, **changes) -> tuple[SimulatedNetwork, Network]:
    simulated = simulate_network(replace(PRESETS[preset], **changes))
    return simulated, simulated.network()


def log_gain_scores(simulated: SimulatedNetwork, posterior: Posterior, step_hours: float = 24.0) -> dict[str, float]:
    """Coverage of the 95 % band, RMSE and mean negative log density of the true log gain over sensors and times."""
    hours = np.arange(0, simulated.recipe.hours, step_hours)
    errors, spreads = [], []
    for number in np.flatnonzero(~simulated.scene.reference):
        mean, cov = posterior.latents(posterior.sensors[number], hours)
        truth = np.log(simulated.scene.calibration(np.full(len(hours), number), hours)[0])
        errors.append(mean[:, 0] - truth)
        spreads.append(np.sqrt(cov[:, 0, 0]))
    error, spread = np.concatenate(errors), np.concatenate(spreads)
    nlpd = 0.5 * (error / spread) ** 2 + np.log(spread) + 0.5 * np.log(2 * np.pi)
    return {
        "coverage": float(np.mean(np.abs(error) < 1.96 * spread)),
        "rmse": float(np.sqrt(np.mean(error**2))),
        "nlpd": float(np.mean(nlpd)),
    }


def reading_scores(simulated: SimulatedNetwork, network: Network, posterior: Posterior) -> tuple[float, float]:
    """NMSE of calibrated readings of non-references, and its floor: the same with the true gains."""
    table = network.colocations
    order = simulated.colocations["time"].argsort(kind="stable").to_numpy()
    level = simulated.truth["level"].to_numpy()[order]
    hours = network.clock.hours(table["time"])
    ours, floor, truth = [], [], []
    for side in "ab":
        frame = pd.DataFrame(
            {"time": table["time"], "sensor": table[f"sensor_{side}"], "value": table[f"value_{side}"]}
        )
        cheap = ~frame["sensor"].isin(network.references).to_numpy()
        number = np.array([posterior.number(name) for name in frame["sensor"]])
        gain, _ = simulated.scene.calibration(number, hours)
        ours.append(posterior.calibrate(frame)["calibrated"].to_numpy()[cheap])
        floor.append((gain * frame["value"].to_numpy())[cheap])
        truth.append(level[cheap])
    true = np.concatenate(truth)
    spread = np.var(true)
    return (
        float(np.mean((np.concatenate(ours) - true) ** 2) / spread),
        float(np.mean((np.concatenate(floor) - true) ** 2) / spread),
    )


def measured(work: Callable[[], object]) -> tuple[object, float, float]:
    """Result, wall seconds and CPU seconds of some work."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def gigabytes() -> float:
    """The most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def accuracy(datasets: int) -> None:
    print("\nPaper's synthetic network, learned settings, no truth used (mean over datasets)")
    print("noise   NMSE   floor  ratio  paper  coverage  NLPD    RMSE")
    for noise, paper in PAPER_NMSE.items():
        rows = []
        for seed in range(datasets):
            simulated, network = simulate("paper", noise=noise, seed=seed)
            posterior = fit(network, learn(network, Settings()))
            nmse, floor = reading_scores(simulated, network, posterior)
            scores = log_gain_scores(simulated, posterior)
            rows.append([nmse, floor, nmse / floor, scores["coverage"], scores["nlpd"], scores["rmse"]])
        mean = np.mean(rows, axis=0)
        print(
            f"{noise:5.0f}  {mean[0]:.3f}  {mean[1]:.3f}  {mean[2]:.3f}  {paper:.2f}   {mean[3]:.3f}     "
            f"{mean[4]:+.2f}   {mean[5]:.3f}",
            flush=True,
        )


def coverages(networks: int) -> None:
    print(f"\nCoverage of 95 % bands of the gain over {networks} networks of each preset (reach 0.93–0.97)")
    for name, preset, changes, values, how in COVERED:
        shares, errors = [], []
        for seed in range(100, 100 + networks):
            simulated, network = simulate(preset, seed=seed, **changes)
            settings = Settings(tolerance=0.05).with_values(values)
            settings = learn(network, settings) if how == "learned" else settings
            scores = log_gain_scores(simulated, fit(network, settings))
            shares.append(scores["coverage"])
            errors.append(scores["rmse"])
        error = np.std(shares) / np.sqrt(networks)
        print(f"{name:24s} {np.mean(shares):.3f} ± {error:.3f}   RMSE {np.mean(errors):.3f}   {how}", flush=True)


def optimisers(iterations: int) -> None:
    print("\nNatural gradients against compiled Adam, paper's network, same settings")
    simulated, network = simulate("paper", seed=2)
    settings = Settings().with_values(
        FIXED
        | {
            "noise.additive": 10.0,
            "noise.proportional": 0.02,
            "drift": 0.45,
            "lengthscale.mobile": "250h",
            "lengthscale.static": "600h",
        }
    )
    fit(network, settings)
    natural, _, cpu = measured(lambda: fit(network, settings))
    print(f"natural  {cpu:6.2f} CPU s  bound {natural.elbo:.2f}  {log_gain_scores(simulated, natural)}", flush=True)
    options = {"optimiser": "adam", "adam.iterations": iterations, "adam.rate": 0.05, "adam.batch": 300}
    adam, _, slow = measured(lambda: fit(network, settings.with_values(options)))
    print(f"Adam     {slow:6.2f} CPU s  bound {adam.elbo:.2f}  {log_gain_scores(simulated, adam)}  {iterations} steps")
    print(
        f"Adam took {slow / cpu:.0f} × the CPU and is {natural.elbo - adam.elbo:.2f} nats short of the same bound",
        flush=True,
    )


def speed() -> None:
    print("\nTime and memory")
    _, network = simulate("paper", seed=3, days=90)
    fit(network)
    _, _, cpu = measured(lambda: fit(network))
    print(f"14 sensors, {len(network.colocations):,} colocations, warm: fit {cpu:.2f} CPU s (reach 2)", flush=True)
    _, _, cpu = measured(lambda: fit(network, learn(network)))
    print(f"the same with learning: {cpu:.1f} CPU s (reach 40)", flush=True)
    _, city = simulate("city")
    _, wall, cpu = measured(lambda: fit(city))
    print(
        f"51 sensors, {len(city.colocations):,} colocations: {wall:.1f} s, {cpu:.1f} CPU s, {gigabytes():.2f} GB "
        "(reach 30 s, 2 GB)"
    )
    pairs, settings = preview_pairs(city), Settings().with_values(FIXED)
    preview(pairs, settings)
    times = [measured(lambda: preview(pairs, settings))[1] for _ in range(5)]
    print(f"live preview of the same: {1000 * np.median(times):.0f} ms (reach 200)", flush=True)


def large_network(statics: int, mobiles: int, colocations: int, seed: int = 0) -> Network:
    """Many statics, each visited by a few of the mobiles; ten references; steady gains."""
    rng = np.random.default_rng(seed)
    references = 10
    names = [f"S{k}" for k in range(statics)] + [f"M{k}" for k in range(mobiles)]
    kinds = ["static"] * statics + ["mobile"] * mobiles
    gains = np.where(np.arange(len(names)) < references, 0.0, 0.3 * rng.standard_normal(len(names)))
    rounds = rng.integers(0, mobiles, (statics, 6))  # six mobiles know the way to each static
    rounds[:references] = rng.integers(0, mobiles, (references, 6))
    static = rng.integers(0, statics, colocations)
    mobile = statics + rounds[static, rng.integers(0, 6, colocations)]
    hours = np.sort(rng.uniform(0, 200 * 24, colocations))
    level = np.exp(rng.normal(np.log(50), 0.4, colocations))
    noise = 0.1 * rng.standard_normal((2, colocations))
    first = level * np.exp(-gains[static]) * (1 + noise[0] * (static >= references))
    second = level * np.exp(-gains[mobile]) * (1 + noise[1])
    ids = np.array(names, dtype=object)
    table = pd.DataFrame(
        {"time": hours, "sensor_a": ids[static], "sensor_b": ids[mobile], "value_a": first, "value_b": second}
    )
    sensors = pd.DataFrame({"sensor": names, "kind": kinds, "reference": np.arange(len(names)) < references})
    return Network("large", table, sensors, Clock(None))


def scale(largest: int) -> None:
    print("\nScale (settings given; equal visits to each static)")
    settings = Settings().with_values(FIXED | {"lengthscale.static": "100d", "lengthscale.mobile": "50d"})
    seconds = {}
    for statics in (250, 1000):
        network = large_network(statics, 40, largest * statics // 1000)
        posterior, wall, cpu = measured(lambda network=network: fit(network, settings))
        seconds[statics] = cpu
        print(
            f"{statics + 40:,} sensors, {len(network.colocations):,} colocations: {wall:.0f} s, {cpu:.0f} CPU s, "
            f"{gigabytes():.2f} GB, {len(posterior.record.elbo)} iterations",
            flush=True,
        )
    print(f"250 → 1,000 statics: {seconds[1000] / seconds[250]:.1f} × (reach 5); 1,000,000: reach 5 min, 6 GB")


def main(quick: bool = False) -> None:
    """Print every table; ``quick`` takes minutes instead of hours."""
    speed()
    scale(100_000 if quick else 1_000_000)
    optimisers(500 if quick else 3000)
    accuracy(1 if quick else 10)
    coverages(2 if quick else 20)


if __name__ == "__main__":
    import sys

    main("--quick" in sys.argv)
