"""Multi-hop calibration: against plain loops over all paths, at its borders, and under changes that must not matter."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibdash.data.network import Clock, Network
from calibdash.data.simulate import PRESETS, simulate_network
from calibdash.errors import CalibdashError
from calibdash.models.multihop import Multihop, Node, multihop
from calibdash.models.multihop_graph import ASSUMED_DRIFT, POOLING, MultihopSettings
from calibdash.models.multihop_search import find_visits, search
from calibdash.models.pairs import pair_data

Row = tuple[float, str, str, float, float]
SMALL = MultihopSettings(window_hours=24, min_observations=2, drift=0.05)


def network(
    rows: list[Row], references: tuple[str, ...] = ("R0",), origin: str | None = None, extra: str = ""
) -> Network:
    table = pd.DataFrame(rows, columns=["time", "sensor_a", "sensor_b", "value_a", "value_b"])
    clock = Clock(pd.Timestamp(origin) if origin else None)
    table["time"] = clock.times(table["time"].to_numpy(dtype=float))
    names = sorted({*table["sensor_a"], *table["sensor_b"], *references, *extra.split()})
    sensors = pd.DataFrame({"sensor": names, "kind": "static", "reference": [name in references for name in names]})
    return Network("test", table, sensors, clock)


def met(hour: float, a: str, b: str, gain: float, count: int = 5, noise: float = 0.0, seed: int = 0) -> list[Row]:
    """Meetings at which the true levels are as b reads, and a's gain (against b) is ``gain``."""
    rng = np.random.default_rng(seed)
    levels = rng.uniform(20, 60, count)
    readings = levels / gain * np.exp(noise * rng.standard_normal(count))
    return [(hour + 0.01 * i, a, b, float(readings[i]), float(levels[i])) for i in range(count)]


def gain(result: Multihop, sensor: str, place: int = 0) -> float:
    return float(np.exp(result.log_gain[result.number(sensor), place]))


# -- against plain loops ------------------------------------------------------------------------------------------


def test_one_hop_equals_direct_calibration() -> None:
    rows = met(3, "M1", "R0", 1.7, count=9, noise=0.2, seed=1)
    result = multihop(network(rows), MultihopSettings(drift=0))
    direct = np.mean([np.log(level / reading) for _, _, _, reading, level in rows])
    table = result.calibration()
    assert table[["sensor", "parameter"]].to_numpy().tolist() == [["M1", "gain"]]
    assert table["median"].item() == pytest.approx(np.exp(direct), rel=1e-12)
    sd = np.std([np.log(level / reading) for _, _, _, reading, level in rows], ddof=1) / 3
    assert result.sd[0, 0] == pytest.approx(sd, rel=1e-12)
    drifting = multihop(network(rows))
    assert drifting.drift == ASSUMED_DRIFT
    assert drifting.sd[0, 0] ** 2 == pytest.approx(sd**2 + ASSUMED_DRIFT**2 / 3, rel=1e-12)
    assert list(table.columns) == ["time", "sensor", "parameter", "mean", "sd", "median", "lower", "upper"]
    assert table["lower"].item() == pytest.approx(np.exp(direct - 1.959964 * sd), rel=1e-6)
    assert table["mean"].item() == pytest.approx(np.exp(direct + sd**2 / 2), rel=1e-12)


def all_paths(data: Network, settings: MultihopSettings) -> dict[Node, list[tuple[float, float, float]]]:
    """Algorithm 3 as it is written: every simple path from a reference, as (weight, variance, log gain) by end."""
    groups: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for row in data.colocations.itertuples():
        if min(row.value_a, row.value_b) > 0 and not {row.sensor_a, row.sensor_b} <= set(data.references):
            a, b, ya, yb = row.sensor_a, row.sensor_b, row.value_a, row.value_b
            a, b, ya, yb = (a, b, ya, yb) if a < b else (b, a, yb, ya)
            groups[a, b, math.floor(row.time / settings.window_hours)].append(math.log(yb) - math.log(ya))
    drifting = {key: sum(sensor not in data.references for sensor in key[:2]) for key in groups}
    squares = {key: sum((x - np.mean(group)) ** 2 for x in group) for key, group in groups.items()}
    freedom = sum((len(group) - 1) * drifting[key] for key, group in groups.items())
    noise = sum(squares.values()) / freedom if freedom else 0.2**2
    assert settings.drift is not None
    time_variance = settings.drift**2 * settings.window_hours / 24
    windows = [math.floor(time / settings.window_hours) for time in data.colocations["time"]]
    steps: dict[Node, list[tuple[Node, float, float, float]]] = defaultdict(list)
    for (a, b, window), group in groups.items():
        if len(group) >= settings.min_observations:
            n, key = len(group), (a, b, window)
            variance = (
                max((squares[key] + POOLING * drifting[key] * noise) / (n - 1 + POOLING) / n, 1e-12) + time_variance / 3
            )
            steps[Node(b, window)].append((Node(a, window), 1.0, variance, float(np.mean(group))))
            steps[Node(a, window)].append((Node(b, window), 1.0, variance, -float(np.mean(group))))
    for sensor in data.sensors["sensor"]:
        for window in range(min(windows), max(windows)):
            here, there = Node(sensor, window), Node(sensor, window + 1)
            steps[here].append((there, settings.time_weight, time_variance, 0.0))
            steps[there].append((here, settings.time_weight, time_variance, 0.0))
    found: dict[Node, list[tuple[float, float, float]]] = defaultdict(list)

    def walk(path: list[Node], weight: float, variance: float, log_gain: float) -> None:
        found[path[-1]].append((weight, variance, log_gain))
        for node, *step in steps[path[-1]]:
            if node not in path and node.sensor not in data.references:
                walk([*path, node], weight + step[0], variance + step[1], log_gain + step[2])

    for reference in data.references:
        for window in range(min(windows), max(windows) + 1):
            walk([Node(reference, window)], 0.0, 0.0, 0.0)
    return found


NAMES = ("R0", "R1", "A", "B", "C")
meeting = st.tuples(
    st.sampled_from([(a, b) for a in NAMES for b in NAMES if a != b]),
    st.integers(0, 2),
    st.lists(st.tuples(st.floats(0.5, 80), st.floats(0.5, 80)), min_size=1, max_size=4),
)


@given(st.lists(meeting, min_size=1, max_size=7), st.sampled_from([0.1, 0.21, 0.5, 1.0, 2.3]))
def test_all_paths_agree(meetings: list, time_weight: float) -> None:
    rows = [
        (24.0 * window + index, a, b, *values)
        for (a, b), window, readings in meetings
        for index, values in enumerate(readings)
    ]
    data = network(rows, ("R0", "R1"))
    if all({a, b} <= {"R0", "R1"} for _, a, b, *_ in rows):
        with pytest.raises(CalibdashError, match="no colocation"):
            multihop(data, SMALL)
        return
    settings = replace(SMALL, time_weight=time_weight)
    result = multihop(data, settings)
    paths = all_paths(data, settings)
    for row, sensor in enumerate(result.sensors):
        for place in range(result.windows.count):
            node = Node(sensor, result.windows.first + place)
            ours = [array[row * result.windows.count + place] for array in (result.found.weight, result.found.variance)]
            if node not in paths:
                assert np.isnan(result.log_gain[row, place])
                assert result.path(*node) == []
                continue
            least = min(weight for weight, _, _ in paths[node])
            nearest = [path for path in paths[node] if path[0] < least + 1e-6]
            variance = min(variance for _, variance, _ in nearest)
            assert ours == [pytest.approx(least, abs=1e-9), pytest.approx(variance, rel=1e-6, abs=1e-11)]
            gains = [log_gain for _, v, log_gain in nearest if v <= variance * (1 + 1e-6) + 1e-10]
            assert np.abs(np.array(gains) - result.log_gain[row, place]).min() < 1e-9


def test_networkx_finds_the_same_weights() -> None:
    data = chain_network()
    result = multihop(data, SMALL)
    graph = result.graph()
    weights = nx.multi_source_dijkstra_path_length(graph, {node for node in graph if node[0] == "R0"})
    for row, sensor in enumerate(result.sensors):
        for place in range(result.windows.count):
            node = (sensor, result.windows.first + place)
            path = result.path(*node)
            assert path[-1] == node
            assert result.found.weight[row * result.windows.count + place] == pytest.approx(weights[node])
            assert nx.path_weight(graph, path, "weight") == pytest.approx(weights[node])
            assert nx.path_weight(graph, path, "gain") == pytest.approx(result.log_gain[row, place])
            assert nx.path_weight(graph, path, "variance") == pytest.approx(result.sd[row, place] ** 2)


def chain_network() -> Network:
    rows = met(1, "M2", "R0", 2.0, noise=0.1, seed=1)
    rows += met(49, "S1", "M2", 0.5, noise=0.1, seed=2)
    rows += met(73, "S2", "S1", 3.0, noise=0.1, seed=3)
    return network(rows, origin="2024-01-01T00:00:00Z")


# -- windows ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [24.0, 0.1, 1 / 3, 7.3])
@pytest.mark.parametrize("origin", [None, "2024-03-01T00:00:00Z"])
def test_a_time_on_a_border_is_in_the_later_window_alone(width: float, origin: str | None) -> None:
    borders = np.arange(-3, 50) * width
    data = network([(hour, "A", "R0", 10.0, 20.0) for hour in borders], origin=origin)
    result = multihop(data, MultihopSettings(width, min_observations=1))
    hours = data.clock.hours(data.colocations["time"])
    assert result.windows.place(hours).tolist() == list(range(53))
    assert result.arcs.count[result.arcs.colocation].tolist() == [1] * 53
    starts = result.calibration()["time"]
    assert result.windows.place(data.clock.hours(starts)).tolist() == list(range(53))
    before = result.windows.place(hours - 1e-6)
    assert before.tolist() == [-1, *range(52)]
    assert result.windows.place(np.array([np.nan, np.inf, -np.inf, 1e300])).tolist() == [-1] * 4


def test_every_observation_is_in_one_window() -> None:
    rng = np.random.default_rng(3)
    hours = np.sort(np.concatenate([rng.uniform(0, 240, 500), np.arange(11) * 24.0]))
    data = network([(float(hour), "A", "R0", 10.0, 20.0) for hour in hours])
    result = multihop(data, MultihopSettings(min_observations=1))
    assert result.arcs.count.sum() == len(hours)
    assert result.windows.count == 11


def test_windows_without_colocations_are_bridged() -> None:
    data = network(met(1, "A", "R0", 2.0) + met(24 * 9 + 1, "B", "A", 1.5))
    result = multihop(data, SMALL)
    assert result.windows.count == 10
    assert gain(result, "B", 9) == pytest.approx(3.0)
    assert result.paths().query("sensor == 'B'")["windows_crossed"].tolist() == list(range(18, 8, -1))


# -- what must not matter -----------------------------------------------------------------------------------------


def busy() -> Network:
    recipe = replace(
        PRESETS["city"], days=12, statics=8, references=2, mobiles=3, pairs=1, reference_visits=1.0, seed=4
    )
    simulated = simulate_network(recipe)
    return Network("busy", simulated.colocations, simulated.sensors, simulated.scene.clock)


def test_the_order_of_rows_and_of_sides_does_not_matter() -> None:
    data = busy()
    table = data.colocations.sample(frac=1, random_state=1).reset_index(drop=True)
    swap = np.random.default_rng(0).random(len(table)) < 0.5
    mixed = table.assign(
        **{
            f"{what}_{here}": np.where(swap, table[f"{what}_{there}"], table[f"{what}_{here}"])
            for what in ("sensor", "value")
            for here, there in ("ab", "ba")
        }
    )
    sensors = data.sensors.sample(frac=1, random_state=2).reset_index(drop=True)
    first = multihop(data)
    second = multihop(replace(data, colocations=mixed))
    pd.testing.assert_frame_equal(first.paths(), second.paths(), check_exact=True)
    third = multihop(replace(data, colocations=mixed, sensors=sensors))
    ordered = third.paths().sort_values(["sensor", "window_start"], ignore_index=True)
    pd.testing.assert_frame_equal(
        first.paths().sort_values(["sensor", "window_start"], ignore_index=True), ordered, rtol=1e-9
    )


def test_rows_of_one_time_are_pooled_in_any_order() -> None:
    rows = [(1.0, *row[1:]) for row in met(1, "A", "R0", 1.7, count=40, noise=0.3)]
    first, second = multihop(network(rows)), multihop(network(rows[::-1]))
    assert first.log_gain.tolist() == second.log_gain.tolist()
    assert first.sd.tolist() == second.sd.tolist()


def test_names_do_not_matter() -> None:
    data = busy()
    names = {name: f'{index:02d},"[> ü' for index, name in enumerate(sorted(data.sensors["sensor"]))}
    table = data.colocations.assign(
        sensor_a=data.colocations["sensor_a"].map(names), sensor_b=data.colocations["sensor_b"].map(names)
    )
    renamed = multihop(
        replace(data, colocations=table, sensors=data.sensors.assign(sensor=data.sensors["sensor"].map(names)))
    )
    plain = multihop(data)
    np.testing.assert_array_equal(renamed.log_gain, plain.log_gain)
    first, second = plain.paths()["path"].map(json.loads), renamed.paths()["path"].map(json.loads)
    assert second.tolist() == [[[names[sensor], start] for sensor, start in path] for path in first]


@given(st.floats(1e-3, 1e3))
def test_the_unit_of_readings_does_not_matter(factor: float) -> None:
    data = chain_network()
    scaled = data.colocations.assign(
        value_a=factor * data.colocations["value_a"], value_b=factor * data.colocations["value_b"]
    )
    first, second = multihop(data), multihop(replace(data, colocations=scaled))
    np.testing.assert_allclose(first.log_gain, second.log_gain, atol=1e-12)
    np.testing.assert_allclose(first.sd, second.sd, rtol=1e-9)
    assert first.paths()["path"].tolist() == second.paths()["path"].tolist()


def test_both_orders_of_a_pair_are_pooled() -> None:
    rows = met(1, "A", "R0", 2.0, count=3)
    other = [(hour + 0.5, b, a, yb, ya * 0.9) for hour, a, b, ya, yb in met(1, "A", "R0", 2.0, count=2, seed=5)]
    result = multihop(network(rows + other))
    assert result.arcs.count.tolist() == [5]
    assert result.log_gain[0, 0] == pytest.approx(np.log(2) - 2 / 5 * np.log(0.9))
    assert np.isnan(multihop(network(rows + other[:1])).log_gain[0, 0])


# -- ties, weights and variances ----------------------------------------------------------------------------------


def test_ties_go_to_the_least_variance_then_to_the_first_id() -> None:
    rows = met(1, "M1", "R0", 1.0, noise=0.1) + met(1, "M2", "R0", 1.0, noise=0.1)
    even = rows + met(2, "S1", "M1", 2.0, noise=0.1) + met(2, "S1", "M2", 2.1, noise=0.1)
    assert [node.sensor for node in multihop(network(even)).path("S1", 0)] == ["R0", "M1", "S1"]
    more = even + met(3, "S1", "M2", 2.1, count=20, noise=0.1)
    assert [node.sensor for node in multihop(network(more)).path("S1", 0)] == ["R0", "M2", "S1"]


@pytest.mark.parametrize("time_weight", [0.1, 0.21, 0.7])
@pytest.mark.parametrize("days", range(1, 10))
def test_equal_weights_are_ties_whatever_their_sums_round_to(time_weight: float, days: int) -> None:
    def when(first: int, last: int) -> int:
        """The window in which S met M on its way to the last window, by how often they met in the first and last."""
        rows = met(1, "M", "R0", 2.0, noise=0.1) + met(2, "S", "M", 2.0, first, 0.1)
        result = multihop(network(rows + met(24 * days, "S", "M", 2.0, last, 0.1)), MultihopSettings(24, time_weight))
        return next(node.window for node in result.path("S", days) if node.sensor == "S")

    # 1 + 1 + 0.1 + 0.1 + … and 1 + 0.1 + 0.1 + … + 1 weigh the same: the number of observations decides
    assert when(50, 5) == 0
    assert when(5, 50) == days


def figure() -> Network:
    """As in the paper's figure: S met a reference 3 windows ago, and now a mobile that met one by way of others."""
    rows = met(1, "S", "R0", 2.0) + met(73, "S", "M1", 0.5) + met(74, "M1", "M2", 1.5) + met(75, "M2", "R0", 4.0)
    return network(rows)


def test_the_time_weight_chooses_older_references_or_longer_chains() -> None:
    old = multihop(figure(), MultihopSettings(time_weight=0.1))
    assert [node.sensor for node in old.path("S", 3)] == ["R0", "S", "S", "S", "S"]
    assert gain(old, "S", 3) == pytest.approx(2.0)
    assert old.describe_path("S", 80.0) == "from R0 directly, 3 days ago"
    long = multihop(figure(), MultihopSettings(time_weight=2.0))
    assert [node.sensor for node in long.path("S", 3)] == ["R0", "M2", "M1", "S"]
    assert gain(long, "S", 3) == pytest.approx(3.0)
    assert long.describe_path("S", 80.0) == "from R0 via M2 and M1, within the same day"
    assert long.describe_path("M1", 80.0) == "from R0 via M2, within the same day"
    assert long.describe_path("M2", 1.0) == "from R0 directly, 3 days later"
    assert long.describe_path("R0", 1.0) == "a reference itself"
    assert long.describe_path("S", 1e4) == "no path to a reference"


def test_more_hops_and_older_references_are_less_certain() -> None:
    rows = met(1, "S1", "R0", 1.2, noise=0.1)
    for index in range(1, 6):
        rows += met(1, f"S{index + 1}", f"S{index}", 1.1, noise=0.1, seed=index)
    rows += met(24 * 6, "S1", "S2", 1.1, count=1)
    result = multihop(network(rows), MultihopSettings(drift=0.02))
    sd = result.sd[1:]
    assert (np.diff(sd, axis=0) > 0).all()
    assert (np.diff(sd, axis=1) > 0).all()
    np.testing.assert_allclose(np.diff(sd**2, axis=1), 0.02**2)
    assert (result.sd[0] == 0).all()
    assert (result.log_gain[0] == 0).all()


def test_drift_and_noise_are_found() -> None:
    rng = np.random.default_rng(0)
    walk = np.cumsum(0.06 * rng.standard_normal((8, 60)), axis=1)  # log gains by day
    rows = [
        row
        for sensor in range(8)
        for day in range(60)
        for row in met(24 * day + 2, f"S{sensor}", "R0", math.exp(walk[sensor, day]), 8, 0.1, seed=1000 * sensor + day)
    ]
    data = network(rows)
    result = multihop(data)
    assert result.drift == pytest.approx(0.06, rel=0.15)
    assert result.noise == pytest.approx(0.1, rel=0.05)
    still = [
        row
        for sensor in range(8)
        for day in range(60)
        for row in met(24 * day + 2, f"S{sensor}", "R0", 1.3, 8, 0.1, seed=1000 * sensor + day)
    ]
    assert multihop(network(still)).drift < 0.01
    assert multihop(data, MultihopSettings(drift=0.5)).drift == 0.5


# -- outcomes -----------------------------------------------------------------------------------------------------


def test_disconnected_sensors_are_told_row_by_row() -> None:
    data = network(met(1, "A", "R0", 2.0) + met(1, "B", "C", 2.0), extra="D")
    result = multihop(data)
    assert result.without_path == ("B", "C", "D")
    measurements = pd.DataFrame(
        {"time": [1.0, 1, 1, 1, 99, 1, np.nan], "sensor": [*"ARBDAXA"], "value": [10.0, 30, 10, 10, 10, 10, 10]}
    ).replace({"sensor": {"R": "R0"}})
    before = measurements.copy()
    out = result.calibrate(measurements)
    pd.testing.assert_frame_equal(measurements, before)
    assert list(out.columns) == ["time", "sensor", "value", "calibrated", "lower", "upper", "outcome"]
    assert out["outcome"].tolist() == ["", "", *["no path to a reference"] * 5]
    assert out["calibrated"].tolist()[:2] == [pytest.approx(20.0), 30.0]
    assert out.loc[1, ["lower", "upper"]].tolist() == [30.0, 30.0]
    assert out[["calibrated", "lower", "upper"]][2:].isna().to_numpy().all()
    lost = result.paths().query("sensor == 'B'").iloc[0]
    assert (lost["reference"], lost["path"]) == ("", "[]")
    assert pd.isna(lost["hops"])
    assert result.calibration(sensors=["B", "R0"])["median"].isna().tolist() == [True, False]


def test_bounds_of_readings_hold_noise_and_keep_their_order() -> None:
    result = multihop(network(met(1, "A", "R0", 2.0, count=30, noise=0.1)))
    reference = result.calibrate(pd.DataFrame({"time": [1.0], "sensor": ["R0"], "value": [7.0]}))
    assert reference[["calibrated", "lower", "upper"]].to_numpy().tolist() == [[7.0, 7.0, 7.0]]
    out = result.calibrate(pd.DataFrame({"time": 1.0, "sensor": "A", "value": [10.0, 0.0, -3.0, np.nan]}))
    spread = math.exp(1.959964 * math.hypot(result.sd[0, 0], result.noise))
    assert out["upper"][0] == pytest.approx(out["calibrated"][0] * spread, rel=1e-6)
    assert (out["lower"] <= out["calibrated"])[:3].all()
    assert (out["calibrated"] <= out["upper"])[:3].all()
    assert out["outcome"].tolist() == [""] * 4
    with pytest.raises(CalibdashError, match="value"):
        result.calibrate(pd.DataFrame({"time": [1.0], "sensor": ["A"]}))


def test_non_positive_readings_are_left_out_and_said() -> None:
    rows = met(1, "A", "R0", 2.0)
    result = multihop(network([*rows, (2.0, "A", "R0", -1.0, 20.0), (2.1, "A", "R0", 0.0, 20.0)]))
    assert gain(result, "A") == pytest.approx(2.0)
    assert result.arcs.count.tolist() == [5]
    assert "2 colocations" in result.dropped[0]
    assert multihop(network([*rows, (50.0, "A", "R0", -1.0, 20.0)])).windows.count == 3


def test_references_never_get_another_gain() -> None:
    rows = met(1, "A", "R0", 2.0) + met(1, "R1", "A", 3.0) + met(2, "R1", "R0", 5.0)
    result = multihop(network(rows, ("R0", "R1")))
    assert gain(result, "R1") == 1.0
    assert result.path("R1", 0) == [("R1", 0)]
    assert set(result.calibration()["sensor"]) == {"A"}
    assert result.calibration(sensors=["R1"])[["mean", "sd", "lower", "upper"]].to_numpy().tolist() == [[1, 0, 1, 1]]


def test_without_references_there_is_an_error() -> None:
    with pytest.raises(CalibdashError, match="no reference"):
        multihop(network(met(1, "A", "B", 2.0), ()))
    only = multihop(network(met(1, "A", "R0", 2.0)[:1]))
    assert only.without_path == ("A",)
    assert only.paths()["path"].tolist() == ["[]"]


def test_stamps_and_hours_and_path_texts() -> None:
    data = chain_network()
    result = multihop(data)
    last = result.paths().query("sensor == 'S2'").iloc[-1]
    days = [f"2024-01-0{day}T00:00:00Z" for day in (1, 2, 3, 4)]
    expected = [["R0", 0], ["M2", 0], ["M2", 2], ["S1", 2], ["S1", 3], ["S2", 3]]
    assert json.loads(last["path"]) == [[sensor, days[window]] for sensor, window in expected]
    assert (last["hops"], last["windows_crossed"], last["reference"]) == (3, 3, "R0")
    assert last["weight"] == pytest.approx(3 + 3 * 0.21)
    assert last["window_end"] - last["window_start"] == pd.Timedelta("1D")
    assert str(result.paths()["window_start"].dtype).endswith("UTC]")
    assert result.describe_path("S2", pd.Timestamp("2024-01-04T12:00:00Z")) == "from R0 via M2 and S1, 3 days ago"
    assert result.window("2024-01-03T00:00:00Z") == 2
    assert result.window("2025-01-03T00:00:00Z") is None
    hours = multihop(network([(row[0], *row[1:]) for row in met(30, "A", "R0", 2.0)]), replace(SMALL, window_hours=6))
    assert hours.paths()["path"].item() == '[["R0",30.0],["A",30.0]]'
    assert hours.describe_path("A", 31.0) == "from R0 directly, within the same 6 hours"
    with pytest.raises(CalibdashError, match="no sensor"):
        hours.path("B", 5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"window_hours": 0},
        {"window_hours": math.nan},
        {"time_weight": 0},
        {"time_weight": -1},
        {"min_observations": 0},
        {"min_observations": 2.5},
        {"drift": -0.1},
        {"window_hours": "24h"},
    ],
)
def test_settings_are_checked(wrong: dict) -> None:
    with pytest.raises(CalibdashError):
        MultihopSettings(**wrong)


def test_too_many_windows_are_refused() -> None:
    with pytest.raises(CalibdashError, match="too many"):
        multihop(network(met(0, "A", "R0", 2.0) + met(1e6, "A", "R0", 2.0)), MultihopSettings(window_hours=1 / 60))


# -- simulated truth and search -----------------------------------------------------------------------------------


def true_log_gains(simulated: object, result: Multihop) -> tuple[np.ndarray, np.ndarray]:
    hours = result.windows.starts() + result.windows.hours / 2
    kept = np.flatnonzero(~result.reference)
    truth = [np.log(simulated.scene.calibration(np.full(len(hours), row), hours)[0]) for row in kept]  # type: ignore[attr-defined]
    return np.array(truth), kept


def test_simulated_truth_is_recovered_and_covered() -> None:
    covered, errors, raw = [], [], []
    for seed in range(3):
        simulated = simulate_network(replace(PRESETS["city"], days=60, statics=20, seed=seed))
        data = Network("city", simulated.colocations, simulated.sensors, simulated.scene.clock)
        result = multihop(data)
        truth, kept = true_log_gains(simulated, result)
        error = np.abs(result.log_gain[kept] - truth)
        covered.append(np.nanmean(error < 1.96 * result.sd[kept]))
        errors.append(np.nanmean(error))
        raw.append(np.mean(np.abs(truth)))
    assert np.mean(errors) < 0.5 * np.mean(raw)
    assert 0.9 < np.mean(covered) <= 1.0, covered


def test_visits_are_whole() -> None:
    rows = met(1, "A", "R0", 2.0) + met(1.5, "A", "R1", 2.0) + met(30, "A", "R0", 2.0) + met(1, "B", "A", 2.0)
    rows += [(100 + hour, "B", "R0", 10.0, 20.0) for hour in range(60)]
    pairs = pair_data(network(rows, ("R0", "R1")), positive=True)
    visits = find_visits(pairs, 2)
    names = [pairs.sensors[index] for index in visits.sensor]
    assert names == ["A", "A", "B", "B", "B"]
    assert visits.fold.tolist() == [0, 1, 0, 1, 0]
    assert np.bincount(visits.visit[visits.visit >= 0]).tolist() == [10, 5, 24, 24, 12]
    assert (visits.visit < 0).sum() == 5
    np.testing.assert_allclose(visits.log_gain, np.log(2.0))


def test_search_is_deterministic_and_uses_no_truth() -> None:
    data = busy()
    calls: list[float] = []
    first = search(data, window_hours=(12, 24, 72), time_weights=(0.1, 1.0), folds=3, progress=calls.append)
    shuffled = replace(data, colocations=data.colocations.sample(frac=1, random_state=0).reset_index(drop=True))
    second = search(shuffled, window_hours=(72, 24, 12), time_weights=(1.0, 0.1), folds=3)
    pd.testing.assert_frame_equal(first.table, second.table)
    assert first.settings == second.settings
    assert len(first.table) == 9
    assert calls[-1] == 1.0
    assert first.table["score"].is_monotonic_increasing
    assert first.table["score"].iloc[0] < first.raw


def test_search_prefers_windows_that_reach() -> None:
    # two readings a day: windows of a day never have five, windows of a week do
    rows = [row for day in range(60) for row in met(24 * day + 3, "A", "R0", 1.5, count=2, noise=0.05, seed=day)]
    found = search(network(rows))
    assert found.settings.window_hours >= 96
    short = found.table.query("window_hours == 24")
    assert (short["without_path"] == 1).all()
    assert short["error"].isna().all()
    np.testing.assert_allclose(short["score"], np.log(2))  # not the raw readings' log 1.5


def test_search_judges_only_what_it_held_out() -> None:
    rows = [row for visit in range(20) for row in met(240 * visit + 3, "A", "R0", 1.0 if visit % 2 else 3.0)]
    found = search(network(rows), window_hours=(24,), time_weights=(0.21,), folds=20)
    np.testing.assert_allclose(found.table["error"], np.log(3), rtol=0.01)  # its neighbours in time are all wrong


def test_search_needs_visits_to_references() -> None:
    with pytest.raises(CalibdashError, match="too few"):
        search(network(met(1, "A", "R0", 2.0)))
    with pytest.raises(CalibdashError, match="too few"):
        search(network(met(1, "A", "B", 2.0)))
