"""The raw record: complete, repeatable, and mobiles where their visits say."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from calibdash.data.simulate import PRESETS, simulate_measurements, simulate_network, write_measurements
from calibdash.data.simulate.air import ELSEWHERE
from calibdash.data.simulate.places import kilometres
from calibdash.data.simulate.rides import SPEED_KMH, plan_ride

CITY = replace(PRESETS["city"], days=12, statics=12, pairs=2, noise=0.0, proportional_noise=0.0, kappa=0.2)


@pytest.fixture(scope="module")
def city():
    return simulate_network(CITY)


def test_every_sensor_reports_at_its_rate(city):
    table = pd.concat(simulate_measurements(city, every_minutes=5, chunk_days=5), ignore_index=True)
    per_sensor = table["sensor"].value_counts()
    assert set(per_sensor.index) == set(city.sensors["sensor"])
    assert (per_sensor == 12 * 24 * 12).all()
    assert table["time"].is_monotonic_increasing
    assert not table.duplicated(["time", "sensor"]).any()
    mobile = table["sensor"].str.startswith("M")
    assert table.loc[mobile, ["latitude", "longitude"]].notna().all(axis=None)
    assert table.loc[~mobile, ["latitude", "longitude"]].isna().all(axis=None)


def test_the_same_seed_makes_the_same_record(city):
    one, two = (pd.concat(simulate_measurements(city, days=2)) for _ in range(2))
    pd.testing.assert_frame_equal(one, two)


def test_days_can_be_chosen(city):
    table = pd.concat(simulate_measurements(city, first_day=9, days=30))
    start = city.recipe.origin
    assert table["time"].min() >= start + pd.Timedelta(days=9)
    assert table["time"].max() < start + pd.Timedelta(days=12)


def test_mobiles_are_where_they_visit_and_keep_to_their_speed(city):
    mobile = 12
    ride = plan_ride(city, mobile)
    assert len(ride.start) > 5
    km, site = ride.at((ride.start + ride.end) / 2)
    np.testing.assert_array_equal(site, ride.site)
    np.testing.assert_allclose(km, city.scene.km[ride.site], atol=1e-9)
    hours = np.diff(ride.hours)
    assert (hours >= -1e-9).all()
    distance = np.linalg.norm(np.diff(ride.km, axis=0), axis=1)
    assert (distance <= SPEED_KMH * hours + 1e-6).all()
    assert ride.at(np.array([ride.end[0] + 1e-3]))[1] == [ELSEWHERE]


def test_readings_next_to_each_other_differ_by_their_calibration_alone(city):
    table = pd.concat(simulate_measurements(city, every_minutes=1, days=3), ignore_index=True)
    first, second = "R2", "S01"  # a permanent pair
    hours = city.scene.clock.hours(table["time"])
    truth = {}
    for index, sensor in ((1, first), (2, second)):
        rows = (table["sensor"] == sensor).to_numpy()
        gain = np.exp(city.scene.log_gain.at(np.full(rows.sum(), index), hours[rows]))
        water = city.scene.growth(np.full(rows.sum(), index), table.loc[rows, "humidity"].to_numpy())
        truth[sensor] = hours[rows], gain * table.loc[rows, "value"].to_numpy() / water
    again = np.interp(truth[first][0], *truth[second])
    inner = slice(2, -2)
    np.testing.assert_allclose(again[inner], truth[first][1][inner], rtol=0.02)


def test_gps_is_metres_from_the_ride(city):
    table = pd.concat(simulate_measurements(city, days=4), ignore_index=True)
    rows = table["sensor"] == "M1"
    hours = city.scene.clock.hours(table.loc[rows, "time"])
    seen = kilometres(CITY, table.loc[rows, "latitude"].to_numpy(), table.loc[rows, "longitude"].to_numpy())
    true, _ = plan_ride(city, 12).at(hours)
    assert np.linalg.norm(seen - true, axis=1).max() < 0.03


@pytest.mark.parametrize("name", ["measurements.csv", "measurements.parquet"])
def test_files_hold_every_chunk(city, tmp_path, name):
    rows = write_measurements(simulate_measurements(city, days=4, chunk_days=1), tmp_path / name)
    table = pd.read_parquet(tmp_path / name) if name.endswith("parquet") else pd.read_csv(tmp_path / name)
    assert len(table) == rows == 4 * 144 * 16
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_chain_has_a_record_too():
    chain = simulate_network(replace(PRESETS["chain"], days=5))
    table = pd.concat(simulate_measurements(chain))
    assert set(table["sensor"]) == set(chain.sensors["sensor"])
    assert list(table) == ["time", "sensor", "value", "latitude", "longitude"]
