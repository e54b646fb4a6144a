"""Simulated networks: seeded, as the recipe says, and with a truth that makes the readings again."""

import json
import tomllib
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from calibdash.data.folder import check_folder
from calibdash.data.network import Clock, meetings, without_path
from calibdash.data.simulate import PRESETS, NetworkRecipe, SimulatedNetwork, simulate_network, write_network
from calibdash.data.simulate.air import growth
from calibdash.data.simulate.meetings import visit_probabilities
from calibdash.data.simulate.places import degrees, kilometres
from calibdash.errors import CalibdashError

PAPER = PRESETS["paper"]
SEEDS = range(12)


def non_reference(simulated: SimulatedNetwork) -> pd.DataFrame:
    """Every reading of a non-reference with its level and gain, both sides stacked."""
    references = set(simulated.sensors.loc[simulated.sensors["reference"], "sensor"])
    sides = [
        pd.DataFrame(
            {
                "sensor": simulated.colocations[f"sensor_{side}"],
                "value": simulated.colocations[f"value_{side}"],
                "level": simulated.truth["level"],
                "gain": simulated.truth[f"gain_{side}"],
            }
        )
        for side in "ab"
    ]
    rows = pd.concat(sides)
    return rows[~rows["sensor"].isin(references)]


def nmse(estimate: pd.Series, level: pd.Series) -> float:
    return float(np.mean((estimate - level) ** 2) / np.var(level))


@pytest.mark.parametrize("preset", PRESETS)
def test_the_same_recipe_makes_the_same_network_and_another_seed_another(preset):
    recipe = replace(PRESETS[preset], days=20)
    one, two = simulate_network(recipe), simulate_network(recipe)
    pd.testing.assert_frame_equal(one.colocations, two.colocations)
    pd.testing.assert_frame_equal(one.sensors, two.sensors)
    pd.testing.assert_frame_equal(one.calibration(), two.calibration())
    other = simulate_network(replace(recipe, seed=1)).colocations
    assert not other.equals(one.colocations)


def test_another_noise_leaves_meetings_and_truth_alone():
    quiet, loud = (simulate_network(replace(PAPER, noise=noise)) for noise in (0.0, 20.0))
    pd.testing.assert_frame_equal(quiet.truth, loud.truth)


@pytest.mark.parametrize("preset", PRESETS)
def test_readings_are_the_truth_seen_through_the_calibration(preset):
    simulated = simulate_network(replace(PRESETS[preset], noise=0.0, proportional_noise=0.0, lowest_reading=-1e6))
    table, truth, recipe = simulated.colocations, simulated.truth, simulated.recipe
    references = set(simulated.sensors.loc[simulated.sensors["reference"], "sensor"])
    for side in "ab":
        water = growth(recipe.kappa, table[f"humidity_{side}"]) if recipe.weather else 1.0
        water = np.where(table[f"sensor_{side}"].isin(references), 1.0, water)
        calibrated = truth[f"gain_{side}"] * table[f"value_{side}"] / water + truth[f"offset_{side}"]
        np.testing.assert_allclose(calibrated, truth["level"], rtol=2e-5)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_table_of_calibrations_agrees_with_the_colocations(preset):
    simulated = simulate_network(replace(PRESETS[preset], days=30, truth_hours=1.0))
    clock = Clock(simulated.recipe.origin)
    calibration = simulated.calibration()
    hours = clock.hours(simulated.truth["time"])
    for sensor, table in calibration[calibration["parameter"] == "gain"].groupby("sensor"):
        rows = (simulated.truth["sensor_b"] == sensor).to_numpy()
        between = np.interp(hours[rows], clock.hours(table["time"]), table["value"])
        np.testing.assert_allclose(between, simulated.truth.loc[rows, "gain_b"], rtol=2e-3)


@pytest.mark.parametrize("preset", PRESETS)
def test_noise_has_the_sd_that_was_asked_for(preset):
    recipe = replace(PRESETS[preset], lowest_reading=-1e6)
    simulated = simulate_network(recipe)
    error = simulated.colocations["value_b"] - simulated.truth["raw_b"]  # side b is never a reference
    sd = np.hypot(recipe.noise, recipe.proportional_noise * simulated.truth["raw_b"])
    score = error / sd
    assert abs(score.mean()) < 5 / np.sqrt(len(score))
    assert abs(score.std() - 1) < 5 / np.sqrt(2 * len(score))


def test_references_report_the_truth():
    simulated = simulate_network(PAPER)
    rows = simulated.colocations["sensor_a"].str.startswith("R")
    np.testing.assert_allclose(
        simulated.colocations.loc[rows, "value_a"], simulated.truth.loc[rows, "level"], rtol=1e-5
    )
    assert not simulated.calibration()["sensor"].str.startswith("R").any()


def test_the_paper_network_has_its_sensors_and_visit_rates():
    networks = [simulate_network(replace(PAPER, seed=seed)) for seed in SEEDS]
    sensors = networks[0].sensors
    assert (sensors["kind"] == "static").sum() == 10
    assert (sensors["kind"] == "mobile").sum() == 4
    assert sensors["reference"].sum() == 4
    to_reference = [network.colocations["sensor_a"].str.startswith("R").sum() for network in networks]
    to_other = [network.colocations["sensor_a"].str.startswith("S").sum() for network in networks]
    mobile_days = 4 * 180
    assert np.mean(to_reference) / mobile_days == pytest.approx(0.5, abs=0.03)
    assert np.mean(to_other) / mobile_days == pytest.approx(2.5, abs=0.07)
    assert all(network.colocations["sensor_b"].str.startswith("M").all() for network in networks)


def test_visits_are_inverse_to_the_distance_from_home():
    simulated = simulate_network(replace(PAPER, days=20_000, truth_hours=1e5))
    table = simulated.colocations
    statics, homes = simulated.scene.km[4:10], simulated.scene.km[10:]
    expected = visit_probabilities(homes, statics)
    distance = np.linalg.norm(homes[:, None] - statics, axis=-1)
    np.testing.assert_allclose(expected * distance, np.broadcast_to((expected * distance)[:, :1], (4, 6)))
    others = table[table["sensor_a"].str.startswith("S")]
    counts = pd.crosstab(others["sensor_b"], others["sensor_a"]).to_numpy()
    np.testing.assert_allclose(counts / counts.sum(axis=1, keepdims=True), expected, atol=0.01)


def test_periods_have_the_medians_of_the_paper():
    scene = simulate_network(replace(PAPER, statics=2000, references=0, mobiles=2000, days=1)).scene
    period = 2 * np.pi / scene.log_gain.frequency[:, 0]
    assert np.median(period[:2000]) == pytest.approx(3070, rel=0.04)
    assert np.median(period[2000:]) == pytest.approx(1007, rel=0.04)
    assert (np.ptp(scene.log_gain.on_grid(np.arange(0, 20_000, 10.0)), axis=1) > 0.9).all()


@pytest.mark.parametrize(
    ("noise", "raw", "floor"), [(2, 0.77, 0.009), (5, 0.78, 0.058), (10, 0.97, 0.231), (20, 1.46, 0.924)]
)
def test_errors_before_and_after_perfect_calibration_are_those_of_the_paper(noise, raw, floor):
    rows = [non_reference(simulate_network(replace(PAPER, noise=noise, seed=seed))) for seed in SEEDS]
    assert np.mean([nmse(row["value"], row["level"]) for row in rows]) == pytest.approx(raw, rel=0.06)
    perfect = np.mean([nmse(row["gain"] * row["value"], row["level"]) for row in rows])
    assert perfect == pytest.approx(floor, rel=0.06)


def test_the_city_is_like_kampala():
    simulated = simulate_network(PRESETS["city"])
    table, sensors = simulated.colocations, simulated.sensors
    assert len(sensors) == 51
    assert sensors["reference"].sum() == 2
    assert (sensors["kind"] == "mobile").sum() == 4
    assert len(table) == pytest.approx(40_432, rel=0.08)
    permanent = ~table["sensor_b"].str.startswith("M")
    assert permanent.mean() > 0.5
    assert set(table.loc[permanent, "sensor_a"]) == {"R2", "S05", "S06", "S07"}
    assert simulated.truth["level"].between(10, 300).all()
    spread = simulated.truth["level"].quantile([0.05, 0.5, 0.95]).to_numpy()
    assert spread[1] < spread.mean()  # skewed to the right
    assert sensors["latitude"].dropna().between(0.2, 0.45).all()
    graph = meetings(table, sensors)
    assert without_path(graph, ("R1", "R2")) == ()


def test_a_pair_breathes_the_same_air_and_stands_together():
    scene = simulate_network(PRESETS["city"]).scene
    pairs = np.flatnonzero(scene.site != np.arange(len(scene.site)))
    assert len(pairs) == 4
    apart_km = np.linalg.norm(scene.km[pairs] - scene.km[scene.site[pairs]], axis=1)
    np.testing.assert_allclose(apart_km, 0.008)


@pytest.mark.parametrize("hops", [1, 2, 5, 9])
def test_a_chain_only_joins_neighbours(hops):
    simulated = simulate_network(replace(PRESETS["chain"], hops=hops))
    graph = meetings(simulated.colocations, simulated.sensors)
    names = ["R0", *(f"S{number}" for number in range(1, hops + 1))]
    assert {frozenset(edge) for edge in graph.edges} == {frozenset(pair) for pair in pairwise(names)}
    assert list(simulated.sensors.loc[simulated.sensors["reference"], "sensor"]) == ["R0"]


def test_offsets_and_humidity_move():
    simulated = simulate_network(PRESETS["offset"])
    calibration = simulated.calibration()
    assert set(calibration["parameter"]) == {"gain", "offset", "kappa"}
    offsets = calibration[calibration["parameter"] == "offset"].groupby("sensor")["value"]
    assert (offsets.std() > 0.2).all()
    for side in "ab":
        assert simulated.colocations[f"humidity_{side}"].between(30, 95).all()
        assert simulated.colocations[f"temperature_{side}"].between(0, 45).all()
    assert growth(0.33, np.array([50.0, 80.0])) == pytest.approx([1.2, 1.8])


@pytest.mark.parametrize("kernel", ["eq", "matern32"])
def test_gp_drift_has_the_covariance_of_its_kernel(kernel):
    recipe = replace(
        PAPER, statics=4000, references=0, mobiles=0, days=1, drift=kernel, drift_spread=0.0, gain_drift=0.3
    )
    values = simulate_network(recipe).scene.log_gain.on_grid(np.array([100.0, 100.0 + recipe.static_drift_hours]))
    decay = np.exp(-0.5) if kernel == "eq" else (1 + np.sqrt(3)) * np.exp(-np.sqrt(3))
    assert values.std(axis=0) == pytest.approx([0.3, 0.3], rel=0.05)
    assert np.corrcoef(values.T)[0, 1] == pytest.approx(decay, abs=0.04)


def test_thousands_of_sensors():
    recipe = replace(PRESETS["city"], statics=3000, references=20, mobiles=300, days=30, pairs=10)
    simulated = simulate_network(recipe)
    assert len(simulated.sensors) == 3300
    assert simulated.sensors["sensor"].is_unique
    assert len(simulated.colocations) > 90_000
    assert not simulated.colocations.duplicated(["time", "sensor_a", "sensor_b"]).any()
    assert simulated.colocations["time"].is_monotonic_increasing
    assert (simulated.colocations["sensor_a"] != simulated.colocations["sensor_b"]).all()


@pytest.mark.parametrize("change", [{"mobiles": 0}, {"statics": 4}, {"references": 0}, {"reference_visits": 0.0}])
def test_networks_with_nothing_of_a_kind(change):
    simulated = simulate_network(replace(PAPER, days=3, **change))
    assert list(simulated.colocations) == ["time", "sensor_a", "sensor_b", "value_a", "value_b"]
    assert len(simulated.colocations) == len(simulated.truth)


def test_positions_go_there_and_back():
    recipe = replace(PAPER, latitude=-36.8, longitude=179.99)
    km = np.random.default_rng(0).uniform(-20, 20, (50, 2))
    latitude, longitude = degrees(recipe, km)
    assert (np.abs(longitude) <= 180).all()
    np.testing.assert_allclose(kilometres(recipe, latitude, longitude), km, atol=1e-8)


def test_the_folder_holds_tables_and_truth(tmp_path):
    simulated = simulate_network(replace(PRESETS["offset"], days=10))
    write_network(simulated, tmp_path)
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {
        "colocations.csv",
        "sensors.csv",
        "network.toml",
        "truth/calibration.csv",
        "truth/colocations.csv",
        "truth/recipe.json",
    }
    table = pd.read_csv(tmp_path / "colocations.csv")
    assert table["time"].str.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").all()
    np.testing.assert_array_equal(table["value_a"], simulated.colocations["value_a"])
    truth = pd.read_csv(tmp_path / "truth" / "colocations.csv")
    assert list(truth) == ["time", "sensor_a", "sensor_b", "level", "gain_a", "gain_b", "offset_a", "offset_b"]
    assert len(truth) == len(table)
    settings = tomllib.loads((tmp_path / "network.toml").read_text(encoding="utf-8"))
    assert settings == {"name": "offset", "timezone": "Africa/Kampala", "quantity": "PM2.5", "unit": "µg/m³"}
    again = NetworkRecipe(**json.loads((tmp_path / "truth" / "recipe.json").read_text(encoding="utf-8")))
    assert again == simulated.recipe


@pytest.mark.parametrize("preset", PRESETS)
def test_what_is_written_passes_every_check(preset, tmp_path):
    write_network(simulate_network(replace(PRESETS[preset], truth_hours=240.0)), tmp_path)
    assert {problem.code for problem in check_folder(tmp_path).problems} <= {"not-positive"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"noise": -1.0}, "noise"),
        ({"noise": float("nan")}, "noise"),
        ({"days": 0}, "days"),
        ({"days": 1.5}, "days"),
        ({"references": 11}, "references"),
        ({"drift": "sinusiod"}, "sinusoid"),
        ({"pairs": 40}, "pairs"),
        ({"pairs": 1, "hops": 3}, "chain"),
        ({"kappa": 0.3}, "weather"),
        ({"start": "2024-01-01"}, "offset"),
        ({"start": "yesterday-ish"}, "start"),
        ({"timezone": "Africa/Atlantis"}, "timezone"),
    ],
)
def test_recipes_that_cannot_be_made_say_why(change, words):
    with pytest.raises(CalibdashError, match=words) as problem:
        replace(PAPER, **change)
    assert problem.value.hint


def test_a_whole_number_is_as_good_as_a_float():
    assert replace(PAPER, noise=10) == PAPER


def test_every_field_can_become_an_option():
    for entry in fields(NetworkRecipe):
        assert entry.metadata["help"]
        assert type(entry.default) in (int, float, str, bool)
