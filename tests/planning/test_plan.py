"""Plans: close to the best there is, and never against what was asked."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.planner import small as against_brute_force
from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.planning import COLUMNS, Distances, PlanSettings, Promise, Rider, plan
from calibdash.planning.tours import length, shortest
from tests.planning.networks import by_hand, small, solved

STATICS = ("R1", "R2", "S1", "S2", "S3", "S4", "S5", "S6")


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_plans_are_close_to_the_best_of_all(seed: int) -> None:
    ours, best = against_brute_force(seed)
    assert 0.95 * best <= ours <= best * (1 + 1e-9)


@pytest.mark.parametrize("count", [3, 7, 9])
def test_tours_are_as_short_as_any(count: int) -> None:
    rng = np.random.default_rng(count)
    ways = rng.uniform(5, 60, (count + 1, count + 1))  # one-way streets and all
    tour = shortest(ways, tuple(range(count)), count)
    assert sorted(tour) == list(range(count))
    stops = min(count, 7)
    if count == stops:
        assert length(ways, tour, count) == pytest.approx(
            min(length(ways, p, count) for p in permutations(range(count)))
        )
    else:
        assert length(ways, tour, count) <= length(ways, tuple(range(count)), count)


@settings(max_examples=25)
@given(st.data())
def test_limits_are_always_kept(data: st.DataObject) -> None:
    posterior, network = small()
    riders = tuple(
        Rider(
            name,
            latitude=0.32 + data.draw(st.floats(-0.05, 0.05)),
            longitude=32.58,
            speed_kmh=data.draw(st.floats(3, 40)),
            cost_per_km=data.draw(st.sampled_from([0.0, 0.2, 2.0])),
            cost_per_stop=data.draw(st.sampled_from([0.0, 1.0, 3.0])),
            minutes_per_visit=data.draw(st.floats(5, 120)),
            start=data.draw(st.floats(6, 10)),
            end=data.draw(st.floats(11, 20)),
            days=data.draw(st.sampled_from([(), ("1",), ("fri", "sat"), ("2020-08-15",)])),
        )
        for name in ("M1", "M2")[: data.draw(st.integers(1, 2))]
    )
    asked = PlanSettings(
        riders=riders,
        days=data.draw(st.integers(1, 3)),
        budget=data.draw(st.one_of(st.none(), st.floats(0, 30))),
        forbidden=tuple(data.draw(st.sets(st.sampled_from(STATICS), max_size=5))),
        target=data.draw(st.sampled_from([None, 0.05, 0.15])),
        effort=data.draw(st.sampled_from(["quick", "full"])),
    )
    made = plan(posterior, network, asked)
    assert tuple(made.stops.columns) == COLUMNS
    assert made.stops["cost"].sum() == pytest.approx(made.cost, abs=1e-3)
    assert asked.budget is None or made.cost <= asked.budget + 1e-6
    assert not set(made.stops["sensor"]) & set(asked.forbidden)
    assert (made.stops["gain"] >= 0).all()
    by_name = {rider.name: rider for rider in riders}
    for tour in made.tours:
        rider = by_name[tour.rider]
        assert tour.minutes <= 60 * (rider.end - rider.start) + 1e-6
        assert tour.with_sensor == rider.name
        midnight = next(day.midnight for day in made.ground.days if day.label == tour.day)
        begins = np.array([stop.begin - midnight for stop in tour.stops])
        assert (begins >= rider.start - 1e-9).all()
        assert (np.diff(begins) >= rider.minutes_per_visit / 60 - 1e-9).all()
        assert begins[-1] + rider.minutes_per_visit / 60 <= rider.end + 1e-6
        assert len({stop.sensor for stop in tour.stops}) == len(tour.stops)
        weekday = pd.Timestamp(tour.day).strftime("%a").lower()
        number = str([day.label for day in made.ground.days].index(tour.day) + 1)
        assert not rider.days or {weekday, number, tour.day} & set(rider.days)


def test_the_order_of_sensors_changes_nothing() -> None:
    posterior, network = small()
    asked = PlanSettings(days=2, budget=7.0)
    turned = Network(network.name, network.colocations, network.sensors[::-1].reset_index(drop=True), network.clock)
    first, second = plan(posterior, network, asked), plan(solved(turned), turned, asked)
    columns = ["day", "rider", "order", "sensor", "with_sensor", "arrive", "reason"]
    pd.testing.assert_frame_equal(first.stops[columns], second.stops[columns])
    np.testing.assert_allclose(first.stops["gain"], second.stops["gain"], rtol=1e-2)
    assert first.summary == second.summary


def test_bands_and_reasons_say_the_same() -> None:
    posterior, network = small()
    made = plan(posterior, network, PlanSettings(days=2, budget=6.0, target=None))
    assert len(made.stops) == 6
    bands = made.bands.set_index("sensor")
    assert list(bands.index) == ["S1", "S2", "S3", "S4", "S5", "S6"]
    assert (bands["after"] <= bands["before"] + 1e-12).all()
    assert (bands["end_after"] <= bands["end_before"] + 1e-12).all()
    for row in made.stops.itertuples():
        if row.sensor in bands.index:
            old, new = bands.loc[row.sensor, "before"], bands.loc[row.sensor, "after"]
            assert row.reason.startswith(f"band of {row.sensor} shrinks from ±{100 * old:.0f} % to ±{100 * new:.0f} %")
        else:
            assert row.reason.startswith(f"recalibrates {row.with_sensor} at the reference")
    _, cov = posterior.latents("S3", np.array([made.ground.start]))
    assert bands.loc["S3", "now"] == pytest.approx(np.sinh(1.959964 * np.sqrt(cov[0, 0, 0])), rel=1e-6)
    assert 0 < made.gain < 1
    assert "6 stops" in made.summary


def test_pins_stay_drops_go_and_promises_are_kept() -> None:
    posterior, network = small()
    asked = PlanSettings(days=2, budget=5.0, target=None)
    first = plan(posterior, network, asked)
    taken = {(visit.day, visit.rider, visit.sensor) for visit in first.visits}
    other = next(
        ("1", rider, site) for rider in ("M1", "M2") for site in STATICS if ("2020-08-14", rider, site) not in taken
    )
    again = plan(posterior, network, pinned=[other], dropped=[first.visits[0]], before=first)
    now = {(visit.day, visit.rider, visit.sensor) for visit in again.visits}
    assert ("2020-08-14", *other[1:]) in now
    gone = first.visits[0]
    assert (gone.day, gone.rider, gone.sensor) not in now
    assert again.cost <= 5
    promised = plan(posterior, network, replace(asked, promised=(Promise("2020-08-15", "M2", "S5"),)))
    assert Promise("2020-08-15", "M2", "S5") in promised.visits


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"promised": (Promise("1", "M1", "S1"),), "forbidden": ("S1",)}, "nobody may visit"),
        ({"promised": (Promise("1", "M1", "S1"), Promise("1", "M1", "S2")), "budget": 1.0}, "more than the budget"),
        ({"promised": tuple(Promise("1", "M1", f"S{k}") for k in range(1, 7))}, "working day has 1.5 h"),
        ({"promised": (Promise("9", "M1", "S1"),)}, "no such day"),
        ({"promised": (Promise("1", "Ali", "S1"),)}, "no such rider"),
        ({"promised": (Promise("1", "M1", "S77"),)}, "no such static sensor"),
        ({"forbidden": ("S77",)}, "S77"),
        ({"riders": (Rider("Ali", "S1"),)}, "static sensor"),
        ({"riders": (Rider("Ali"), Rider("Bea"), Rider("Cem"))}, "no mobile sensor left"),
        ({"start": "yesterday"}, "not a date"),
    ],
)
def test_what_is_impossible_is_said(changes: dict, words: str) -> None:
    posterior, network = small()
    riders = (Rider("M1", "M1", 0.32, 32.58, end=9.5), Rider("M2", "M2", 0.32, 32.58))
    with pytest.raises(CalibdashError, match=words):
        plan(posterior, network, PlanSettings(**{"riders": riders, "days": 2, **changes}))


@pytest.mark.parametrize(
    "wrong", [{"days": 0}, {"budget": -1.0}, {"target": 0.0}, {"zone": "Mars/Base"}, {"effort": "x"}]
)
def test_settings_are_checked(wrong: dict) -> None:
    with pytest.raises(CalibdashError):
        PlanSettings(**wrong)


def test_without_positions_stops_are_counted() -> None:
    posterior, network = small()
    nowhere = network.sensors.assign(latitude=np.nan, longitude=np.nan, base_latitude=np.nan, base_longitude=np.nan)
    made = plan(posterior, replace(network, sensors=nowhere), PlanSettings(days=1, budget=4.0, target=None))
    assert len(made.stops) == 4
    assert (made.stops["travel_km"] == 0).all()
    assert "No positions are known" in made.notes[0]


def test_a_sensor_without_a_place_is_left_out() -> None:
    posterior, network = small()
    lost = network.sensors["sensor"].isin(["S1", "M1"])
    sensors = network.sensors.assign(
        **{
            name: network.sensors[name].mask(lost)
            for name in ("latitude", "longitude", "base_latitude", "base_longitude")
        }
    )
    made = plan(posterior, replace(network, sensors=sensors), PlanSettings(days=1, target=None))
    assert "S1" not in set(made.stops["sensor"])
    assert any("S1" in note for note in made.notes)
    assert any("M1" in note for note in made.notes)


def test_sensors_newer_than_the_run_are_named() -> None:
    posterior, network = small()
    new = network.sensors.iloc[[-1, 0]].assign(sensor=["M9", "S9"], kind=["mobile", "static"], reference=False)
    more = replace(network, sensors=pd.concat([network.sensors, new], ignore_index=True))
    made = plan(posterior, more, PlanSettings(days=1, budget=3.0))
    assert "M9, S9" in made.notes[0]
    assert not made.stops[["sensor", "rider"]].isin(["M9", "S9"]).any(axis=None)


def test_a_table_of_distances_is_used() -> None:
    posterior, network = small()
    names = [*STATICS, "M1", "M2"]
    far = {"S1", "S2", "S3"}
    ways = tuple((a, b, 500.0 if {a, b} & far else 1.0, float("nan")) for a in names for b in names if a < b)
    made = plan(posterior, network, PlanSettings(days=1, distances=Distances(ways), target=None))
    assert not far & set(made.stops["sensor"])
    assert (made.stops["travel_km"] == 1.0).all()
    with pytest.raises(CalibdashError, match="names no way"):
        plan(posterior, network, PlanSettings(distances=Distances((("X", "Y", 1.0, 1.0),))))


def test_without_references_it_says_what_visits_cannot_do() -> None:
    rows = [(float(hour), f"M{hour % 2}", f"S{hour % 3}") for hour in range(40)]
    network = by_hand(rows, ("M0", "M1"), ())
    made = plan(solved(network), network, PlanSettings(days=2, budget=4.0))
    assert any("No sensor is a reference" in note for note in made.notes)
    assert len(made.stops) <= 4
    assert made.stops["day"].isin(["2", "3"]).all()


def test_nothing_to_do_is_a_sentence() -> None:
    posterior, network = small()
    fine = plan(posterior, network, PlanSettings(target=5.0))
    assert fine.stops.empty
    assert fine.summary == "No visit is needed: every sensor stays within ±500 % over the horizon."
    idle = plan(posterior, network, PlanSettings(riders=(Rider("M1", days=("1999-01-01",)),)))
    assert "no rider works" in idle.summary
    closed = plan(posterior, network, PlanSettings(forbidden=STATICS))
    assert "No visit is worth the way" in closed.summary
    rows = [(float(hour), "M0", "R") for hour in range(10)]
    lonely = by_hand(rows, ("M0",), ("R",))
    assert "no static sensor" in plan(solved(lonely), lonely, PlanSettings()).summary
    standing = by_hand([(float(hour), "S", "R") for hour in range(10)], (), ("R",))
    with pytest.raises(CalibdashError, match="no mobile sensor"):
        plan(solved(standing), standing, PlanSettings())


def test_a_target_needs_no_more_visits_than_it_takes() -> None:
    posterior, network = small()
    whole = plan(posterior, network, PlanSettings(target=None, days=3))
    worst = whole.bands["after"].max()
    target = float(worst + 0.3 * (whole.bands["before"].max() - worst))
    made = plan(posterior, network, PlanSettings(target=target, days=3))
    assert (made.bands["after"] <= target * 1.02).all()
    assert 0 < len(made.stops) < len(whole.stops)
    assert "Every sensor is then within" in made.summary


def test_weights_draw_visits() -> None:
    posterior, network = small()
    one = network.sensors.assign(weight=np.where(network.sensors["sensor"] == "S6", 1.0, 0.0))
    made = plan(posterior, replace(network, sensors=one), PlanSettings(days=1, budget=3.0, target=None))
    assert "S6" in set(made.stops["sensor"])
    assert set(made.stops["sensor"]) <= {"S6", "R1", "R2"}
