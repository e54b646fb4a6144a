"""Targets of agencies against values worked out by hand, days by the local clock, and what cannot be judged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from calibdash.data.simulate import PRESETS, simulate_network
from calibdash.evaluation.assessment import Pairs, assess, beside, daily_means, judge
from calibdash.evaluation.standards import (
    CEN,
    EPA,
    Figures,
    cen_class,
    cen_words,
    epa_met,
    expanded_uncertainty,
    figures,
    orthogonal,
)
from calibdash.models.preview import preview
from tests.evaluation.test_faults import AS_MADE

X = np.array([10.0, 20.0, 30.0, 40.0])
Y = np.array([12.0, 19.0, 33.0, 40.0])


def test_figures_by_hand() -> None:
    found = figures(Y, X)
    # Σdx² = 500, Σdxdy = 490, Σdy² = 490
    assert found.slope == pytest.approx(490 / 500)
    assert found.intercept == pytest.approx(26 - 0.98 * 25)
    assert found.r2 == pytest.approx(490**2 / (500 * 490))
    assert found.rmse == pytest.approx(np.sqrt((4 + 1 + 9 + 0) / 4))
    assert found.nrmse == pytest.approx(100 * np.sqrt(3.5) / 25)
    assert found.bias == pytest.approx(1.0)
    assert found.mae == pytest.approx(1.5)
    # b1 = (490 − 500 + √(10² + 4·490²)) / 980
    b1 = (-10 + np.sqrt(100 + 4 * 490**2)) / 980
    assert found.b1 == pytest.approx(b1)
    assert found.b0 == pytest.approx(26 - 25 * b1)


def test_orthogonal_regression_is_the_first_principal_axis() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(10, 60, 50)
    y = 3 + 1.3 * x + rng.normal(0, 4, 50)
    b1, b0, residual = orthogonal(y, x)
    axis = np.linalg.eigh(np.cov(x, y))[1][:, -1]
    assert b1 == pytest.approx(axis[1] / axis[0])
    assert b0 == pytest.approx(y.mean() - b1 * x.mean())
    assert residual == pytest.approx(np.sum((y - b0 - b1 * x) ** 2) / 48)


def test_expanded_uncertainty_by_hand() -> None:
    found = Figures(50, 1, 0, 1, 1, 1, 0, 1, b1=1.1, b0=-1.0, residual=9.0)
    whole, chance, bias = expanded_uncertainty(found, 25.0)
    assert chance == pytest.approx(100 * 2 * 3 / 25)
    assert bias == pytest.approx(100 * 2 * (-1 / 25 + 0.1))
    assert whole == pytest.approx(np.hypot(24.0, 12.0))
    assert expanded_uncertainty(found, 25.0, reference_sd=3.0)[1] == 0.0
    assert expanded_uncertainty(found, 25.0, reference_sd=30.0)[1] == 0.0


def test_epa_takes_rmse_or_nrmse_for_particles_alone() -> None:
    good = Figures(30, 1.0, 0.0, 0.9, 8.0, 20.0, 0, 0, 1, 0, 0)
    assert epa_met(good, "PM2.5")["RMSE"]
    assert not epa_met(replace(good, nrmse=31.0), "PM2.5")["RMSE"]
    assert not epa_met(good, "O3")["RMSE"]
    assert not epa_met(replace(good, slope=1.36), "PM2.5")["slope"]
    assert epa_met(replace(good, slope=1.35), "PM2.5")["slope"]
    assert set(EPA) == {"PM2.5", "PM10", "O3", "NO2", "SO2", "CO"}


def test_cen_classes_and_their_careful_names() -> None:
    good = Figures(50, 1, 0, 1, 1, 1, 0, 0, b1=1.0, b0=0.0, residual=4.0)
    assert cen_class(good, 95.0) == 1
    assert cen_class(good, 60.0) == 2
    assert cen_class(replace(good, b0=6.0), 95.0) == 3
    assert cen_class(replace(good, b1=3.0), 95.0) is None
    assert cen_words(1) == "Class-1-style criteria met"
    assert list(CEN) == [1, 2, 3]


@pytest.mark.parametrize(("y", "x"), [([], []), ([5.0], [4.0]), ([5.0, 6.0], [4.0, 4.0]), ([5.0] * 4, [1.0, 2, 3, 4])])
def test_too_little_has_no_line(y: list[float], x: list[float]) -> None:
    found = figures(np.array(y), np.array(x))
    assert found.count == len(x)
    assert np.isnan(found.slope)
    assert not any(epa_met(found, "PM2.5")[name] for name in ("slope", "R²"))
    assert cen_class(found, 100.0) is None


def test_a_day_is_local_and_has_eighteen_hours() -> None:
    start = pd.Timestamp("2024-03-01T21:00", tz="UTC")  # midnight in Kampala
    time = pd.date_range(start, periods=24 + 17, freq="h")
    days = daily_means(time, np.arange(41.0)[None], "Africa/Kampala")
    assert [str(day.date()) for day in days.index] == ["2024-03-02"]
    assert days[0].tolist() == [11.5]
    assert (
        len(daily_means(time.append(time[-1:] + pd.Timedelta(hours=1)), np.arange(42.0)[None], "Africa/Kampala")) == 2
    )
    assert [str(day.date()) for day in daily_means(time, np.arange(41.0)[None], "UTC").index] == ["2024-03-02"]


def test_an_hour_needs_three_quarters_of_its_readings() -> None:
    full = pd.date_range("2024-03-01", periods=6 * 24, freq="10min", tz="UTC")
    thin = full[::2]
    assert len(daily_means(full, np.ones((1, len(full))), "UTC")) == 1
    half = full[:72].append(thin[36:])  # from noon on every other reading is missing
    assert len(daily_means(half, np.ones((1, len(half))), "UTC")) == 0


def test_days_of_23_and_25_hours() -> None:
    time = pd.date_range("2024-03-30T23:00", "2024-03-31T21:00", freq="h", tz="UTC")  # Berlin's day of 23 hours
    days = daily_means(time, np.ones((1, len(time))), "Europe/Berlin")
    assert [str(day.date()) for day in days.index] == ["2024-03-31"]


@pytest.fixture(scope="module")
def network():
    recipe = replace(PRESETS["city"], days=60, statics=6, mobiles=2, pairs=1, pair_uptime=0.8, seed=2)
    return simulate_network(recipe).network()


def test_a_sensor_beside_a_reference_is_judged_before_and_after(network) -> None:
    posterior = preview(network, AS_MADE)
    found = {one.pairs.sensor: one for one in assess(posterior, network, zone="Africa/Kampala")}
    long = max(found.values(), key=lambda one: len(one.days))
    assert len(long.days) > 40
    assert long.after.rmse < long.before.rmse
    assert abs(long.after.slope - 1) < 0.1
    assert "after: met" in long.verdicts["US EPA targets"]
    assert long.chance["US EPA targets"] > 0.95
    assert 0 <= long.chance["2008/50/EC, fixed"] <= long.chance["2008/50/EC, indicative"] <= 1
    assert "-style criteria met" in long.verdicts["CEN/TS 17660 style, 30 µg/m³"]
    short = found["M1"]
    assert set(short.verdicts.values()) == {"not assessable (0 valid days)"}
    assert not short.chance


def test_probabilities_follow_the_uncertainty_of_the_calibration(network) -> None:
    time = pd.date_range(network.clock.origin, periods=24 * 50, freq="h")
    truth = 40 + 20 * np.sin(np.arange(len(time)) / 30.0)
    sure = preview(network, AS_MADE)
    unsure = preview(network.with_references(()), AS_MADE)
    chances = []
    for posterior in (sure, unsure):
        mean = posterior.calibration(time, ["S3"])["median"].to_numpy()
        pairs = Pairs("S3", "R1", "measurements", time, truth / mean, truth, {})
        chances.append(judge(posterior, pairs, "UTC", "PM2.5").chance["2008/50/EC, fixed"])
    assert chances[0] > chances[1] + 0.1


def test_who_stands_beside_a_reference() -> None:
    sensors = pd.DataFrame(
        {
            "sensor": ["R", "near", "far", "rider", "lost"],
            "kind": ["static", "static", "static", "mobile", "static"],
            "reference": [True, False, False, False, False],
            "latitude": [0.3, 0.3003, 0.3006, 0.3, np.nan],
            "longitude": [32.5] * 5,
        }
    )
    assert beside(sensors) == [("near", "R")]
