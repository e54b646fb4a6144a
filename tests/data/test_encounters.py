from __future__ import annotations

import gzip
import itertools
import math
import tempfile
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from geographiclib.geodesic import Geodesic
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from calibdash.data import encounters_sql
from calibdash.data.encounters import EncounterOptions, Encounters, find_encounters
from calibdash.data.problems import DataError, Severity
from calibdash.errors import CalibdashError

MINUTE = 60_000_000
HOUR = 60 * MINUTE
START = 1_714_564_800_000_000  # 2024-05-01T12:00:00Z
SLACK_M = 1e-5  # pairs this close to the border are not asked for


def stamp(micros: int) -> str:
    return np.datetime64(micros, "us").astype(str) + "Z"


def distance_m(a: tuple[float, float], b: tuple[float, float]) -> float:
    return Geodesic.WGS84.Inverse(*a, *b, Geodesic.DISTANCE)["s12"]


def brute_force(rows: list[dict], fixed: dict, options: EncounterOptions) -> dict:
    """The definition as a double loop: (time, a, b) → means by column; ``None`` if a pair is too near the border."""
    within, average = (round(hours * HOUR) for hours in (options.within_hours, options.average_hours))
    groups = defaultdict(lambda: defaultdict(list))
    usable = []
    for row in rows:
        position = fixed.get(row["sensor"], row["position"])
        if position is not None and position != (0.0, 0.0) and options.low <= row["value"] <= options.high:
            usable.append({**row, "position": position})
    for one, two in itertools.combinations(usable, 2):
        if one["sensor"] == two["sensor"] or abs(one["time"] - two["time"]) > within:
            continue
        metres = distance_m(one["position"], two["position"])
        if abs(metres - options.distance_m) < SLACK_M:
            return {"border": None}
        if metres > options.distance_m:
            continue
        a, b = sorted((one, two), key=lambda row: row["sensor"])
        period = (a["time"] + b["time"]) // (2 * average) * average
        group = groups[period, a["sensor"], b["sensor"]]
        for name in ("value", "humidity"):
            for side, row in (("a", a), ("b", b)):
                if not math.isnan(row[name]):
                    group[f"{name}_{side}"].append(Fraction(row[name]))
    return {
        key: {name: float(sum(values) / len(values)) for name, values in group.items()}
        for key, group in sorted(groups.items())
    }


def write_rows(path: Path, rows: list[dict], *, hours: bool = False) -> Path:
    frame = pd.DataFrame(
        {
            "time": [repr(row["time"] / HOUR) if hours else stamp(row["time"]) for row in rows],
            "sensor": [row["sensor"] for row in rows],
            "value": [repr(row["value"]) for row in rows],
            "latitude": ["" if row["position"] is None else repr(row["position"][0]) for row in rows],
            "longitude": ["" if row["position"] is None else repr(row["position"][1]) for row in rows],
            "humidity": [repr(row["humidity"]) for row in rows],
        }
    )
    if path.suffix == ".parquet":
        frame = frame.astype({"value": "float64", "humidity": "float64"})
        for name in ("latitude", "longitude"):
            frame[name] = pd.to_numeric(frame[name])
        frame["time"] = pd.to_numeric(frame["time"]) if hours else pd.to_datetime(frame["time"], utc=True)
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)
    return path


def as_dict(found: pd.DataFrame, *, hours: bool = False) -> dict:
    result = {}
    for row in found.to_dict("records"):
        key = (round(row["time"] * HOUR) if hours else row["time"].value // 1000, row["sensor_a"], row["sensor_b"])
        names = ("value_a", "value_b", "humidity_a", "humidity_b")
        result[key] = {name: row[name] for name in names if not math.isnan(row[name])}
    return result


CENTRES = (
    (0.31, 32.58),
    (0.0, 0.0),
    (0.0, 180.0),
    (-0.0, -180.0),
    (51.5, -180.0),
    (-33.9, 180.0),
    (90.0, 0.0),
    (89.9999, 77.0),
    (-90.0, -45.0),
    (-89.9998, 179.9999),
)
SENSORS = ("a", "B", "007", "é", "𝄞", "﷐")
# shifts by metres near the distance (40) and near the width of a cube, and times near within and period
SHIFTS = st.sampled_from(
    (0.0, 1.0, 5.0, 13.0, 20.0, 28.0, 28.5, 39.0, 39.999, 40.001, 41.0, 56.0, 80.0, -25.0, -40.001)
)
TIMES = st.one_of(
    st.builds(
        lambda five, extra: START + 5 * five * MINUTE + extra, st.integers(-8, 8), st.sampled_from((-1, 0, 0, 0, 1))
    ),
    st.integers(START - HOUR, START + HOUR),
)
VALUES = st.one_of(
    st.floats(10, 300), st.sampled_from((10.0, 20.0, 300.0, 9.999999, 300.0000001, math.nan, math.inf, -5.0))
)


def shifted(centre: tuple[float, float], north: float, east: float) -> tuple[float, float]:
    first = Geodesic.WGS84.Direct(*centre, 0, north)
    second = Geodesic.WGS84.Direct(first["lat2"], first["lon2"], 90, east)
    return (second["lat2"], second["lon2"])


@st.composite
def cities(draw: st.DrawFn) -> tuple[list[dict], dict]:
    centre = draw(st.sampled_from(CENTRES))
    positions = st.builds(lambda north, east: shifted(centre, north, east), SHIFTS, SHIFTS)
    known = draw(st.lists(positions, min_size=1, max_size=5))
    names = draw(st.lists(st.sampled_from(SENSORS), min_size=2, max_size=4, unique=True))
    fixed = draw(st.dictionaries(st.sampled_from(names), st.sampled_from(known), max_size=2))
    row = st.fixed_dictionaries(
        {
            "time": TIMES,
            "sensor": st.sampled_from(names),
            "value": VALUES,
            "position": st.sampled_from([*known, *known, None]),
            "humidity": st.one_of(st.just(math.nan), st.floats(0, 100)),
        }
    )
    rows = draw(st.lists(row, min_size=10, max_size=30))
    return rows + draw(st.lists(st.sampled_from(rows), max_size=3)), fixed


def sensors_frame(fixed: dict) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sensor": list(fixed),
            "kind": "static",
            "latitude": [position[0] for position in fixed.values()],
            "longitude": [position[1] for position in fixed.values()],
        }
    )


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("encounters")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(
    city=cities(),
    ending=st.sampled_from(("csv", "parquet")),
    hours=st.booleans(),
    rows_per_chunk=st.sampled_from((3, 250_000)),
    options=st.sampled_from(
        (
            EncounterOptions(),
            EncounterOptions(within_hours=0),
            EncounterOptions(average_hours=7 / 60, within_hours=1.5),
            EncounterOptions(distance_m=57.3, low=-10, high=1e6),
        )
    ),
)
def test_equals_a_double_loop(shared, city, ending, hours, rows_per_chunk, options):
    rows, fixed = city
    if hours:  # hours near 0, some of them negative, and exact to the microsecond
        rows = [{**row, "time": row["time"] - START} for row in rows]
    expected = brute_force(rows, fixed, options)
    event("border" if "border" in expected else "met" if expected else "nobody met")
    if "border" in expected:
        return
    path = write_rows(shared / f"measurements.{ending}", rows, hours=hours)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encounters_sql, "_ROWS_PER_CHUNK", rows_per_chunk)
        found = find_encounters(path, sensors_frame(fixed), options).colocations
    assert list(as_dict(found, hours=hours)) == list(expected)
    for key, means in as_dict(found, hours=hours).items():
        assert means == pytest.approx(expected[key], rel=1e-13, abs=1e-11), key


def test_larger_random_city_equals_a_double_loop_in_any_order(tmp_path):
    rng = np.random.default_rng(7)
    rows = [
        {
            "time": START + int(rng.integers(0, 12 * HOUR)),
            "sensor": f"s{rng.integers(12)}",
            "value": float(np.round(rng.uniform(5, 320), 2)),
            "position": shifted((0.31, 32.58), *rng.uniform(-60, 60, 2)),
            "humidity": math.nan if rng.random() < 0.2 else float(np.round(rng.uniform(0, 100), 1)),
        }
        for _ in range(600)
    ]
    expected = brute_force(rows, {}, EncounterOptions())
    found = find_encounters(write_rows(tmp_path / "m.csv", rows), None, EncounterOptions()).colocations
    shuffled = [rows[i] for i in rng.permutation(len(rows))]
    again = find_encounters(write_rows(tmp_path / "m.csv", shuffled), None, EncounterOptions()).colocations
    assert len(found) > 1000
    assert list(as_dict(found)) == list(expected)
    for key, means in as_dict(found).items():
        assert means == pytest.approx(expected[key], rel=1e-13, abs=1e-11), key
    pd.testing.assert_frame_equal(found, again, check_exact=True)  # to the last bit


@pytest.mark.parametrize("centre", CENTRES)
def test_exactly_at_the_distance_counts(tmp_path, centre):
    options = EncounterOptions()
    for azimuth in (0, 33, 90, 171):
        there = Geodesic.WGS84.Direct(*centre, azimuth, 40.0)
        beyond = Geodesic.WGS84.Direct(*centre, azimuth, 40.0001)
        for end, expected in ((there, 1), (beyond, 0)):
            rows = [
                {"time": START, "sensor": "a", "value": 20.0, "position": centre, "humidity": 1.0},
                {"time": START, "sensor": "b", "value": 20.0, "position": (end["lat2"], end["lon2"]), "humidity": 1.0},
            ]
            if centre == (0.0, 0.0):
                rows[0]["position"] = (0.0, 1e-12)
            assert len(run(write_rows(tmp_path / "m.csv", rows), options=options).colocations) == expected


def run(
    path: Path, sensors: pd.DataFrame | None = None, options: EncounterOptions | None = None, **kwargs
) -> Encounters:
    return find_encounters(path, sensors, options or EncounterOptions(), **kwargs)


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


HEADER = "time,sensor,value,latitude,longitude\n"
TWO = HEADER + "{},a,20,0.3,32.5\n{},b,30,0.3,32.5\n"


def test_columns_without_covariates(tmp_path):
    found = run(write(tmp_path / "m.csv", TWO.format("2024-05-01T12:00:00Z", "2024-05-01T15:10:00+0300")))
    assert list(found.colocations.columns) == ["time", "sensor_a", "sensor_b", "value_a", "value_b"]
    assert found.colocations.to_dict("records") == [
        {"time": pd.Timestamp("2024-05-01T12:00Z"), "sensor_a": "a", "sensor_b": "b", "value_a": 20, "value_b": 30}
    ]
    assert found.problems == ()


@pytest.mark.parametrize(
    "body",
    ["", "2024-05-01T12:00Z,a,20,0.3,32.5\n", "2024-05-01T12:00Z,a,20,0.3,32.5\n2024-05-01T12:00Z,b,20,0.4,32.5\n"],
    ids=["no rows", "one sensor", "far apart"],
)
def test_nobody_met(tmp_path, body):
    found = run(write(tmp_path / "m.csv", HEADER + body)).colocations
    assert found.empty
    assert list(found.columns) == ["time", "sensor_a", "sensor_b", "value_a", "value_b"]
    assert body == "" or str(found["time"].dtype) == "datetime64[us, UTC]"


def test_naive_times_need_a_zone(tmp_path):
    path = write(tmp_path / "m.csv", TWO.format("2024-05-01 12:00:00", "2024-05-01T12:10"))
    with pytest.raises(DataError) as raised:
        run(path)
    (problem,) = raised.value.problems
    assert (problem.code, problem.column, problem.count, problem.places[0].row) == ("time-zone", "time", 2, 2)
    assert "--zone" in problem.remedy
    found = run(path, zone="Africa/Kampala").colocations
    assert found["time"].tolist() == [pd.Timestamp("2024-05-01T09:00Z")]


def test_times_that_happen_twice_or_never(tmp_path):
    path = write(tmp_path / "m.csv", TWO.format("2024-10-27 02:30:00", "2024-03-31T02:30"))
    with pytest.raises(DataError) as raised:
        run(path, zone="Europe/Berlin")
    assert [place.row for place in raised.value.problems[0].places] == [2, 3]


def test_unknown_zone(tmp_path):
    with pytest.raises(CalibdashError, match="Africa/Kampala"):
        run(write(tmp_path / "m.csv", HEADER), zone="Africa/Kampla")


@pytest.mark.parametrize("form", ["20240501T120000Z", "2024-05-01T12:00:00.000000000Z", "2024-05-01T12:00:00 UTC"])
def test_rarer_forms_of_iso_8601(tmp_path, form):
    found = run(write(tmp_path / "m.csv", TWO.format(form, "2024-05-01T12:00:00-00:00"))).colocations
    assert found["time"].tolist() == [pd.Timestamp("2024-05-01T12:00Z")]


def test_numbers_are_hours(tmp_path):
    found = run(write(tmp_path / "m.csv", TWO.format("0.1", "-0.3"))).colocations
    assert found["time"].tolist() == [-1 / 6]


def test_naive_times_are_fetched_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("calibdash.data.measurements_sql._ROWS_PER_FETCH", 3)
    body = "".join(f"2024-05-01 12:{minute:02d}:00,{name},20,0.3,32.5\n" for minute in range(10) for name in "ab")
    found = run(write(tmp_path / "m.csv", HEADER + body), zone="UTC").colocations
    assert found["time"].tolist() == [pd.Timestamp("2024-05-01T12:00Z")]


def test_every_bad_cell_is_reported_at_once(tmp_path):
    text = (
        HEADER
        + "yesterday,a,20,0.3,32.5\n"
        + "2024-05-01T12:00Z,a,20 µg,0.3,32.5\n"
        + "\n"
        + "2024-05-01T12:00Z,b,20,0.3,east\n"
        + '2024-05-01T12:00Z,b,20,91,"32.5"\n'
        + "2024-05-01T12:00Z,b,20,0.3\n"
        + "2024-05-01T12:00Z,b,1_000,0.3,32.5\n"
        + "12.5,b,20,0.3,32.5\n"
    )
    with pytest.raises(DataError) as raised:
        run(write(tmp_path / "m.csv", text))
    found = {
        (problem.code, problem.column): [(place.row, place.value) for place in problem.places]
        for problem in raised.value.problems
        if problem.severity is Severity.ERROR
    }
    assert found == {
        ("row-width", ""): [(7, "2024-05-01T12:00Z,b,20,0.3")],
        ("not-time", "time"): [(2, "yesterday"), (9, "12.5")],
        ("not-number", "value"): [(3, "20 µg"), (8, "1_000")],
        ("not-number", "longitude"): [(5, "east")],
        ("out-of-range", "latitude"): [(6, "91.0")],
    }
    assert all(problem.remedy for problem in raised.value.problems)


def test_rows_left_out_are_counted(tmp_path):
    text = (
        HEADER
        + "2024-05-01T12:00Z,a,20,0.3,32.5\n"
        + "2024-05-01T12:00Z,b,,0.3,32.5\n"
        + "2024-05-01T12:00Z,b,NaN,0.3,32.5\n"
        + "2024-05-01T12:00Z,b,9.9,0.3,32.5\n"
        + "2024-05-01T12:00Z,b,inf,0.3,32.5\n"
        + ",b,20,0.3,32.5\n"
        + "2024-05-01T12:00Z, ,20,0.3,32.5\n"
        + "2024-05-01T12:00Z,b,20,0.3,\n"
        + "2024-05-01T12:00Z,b,20,0,0\n"
    )
    found = run(write(tmp_path / "m.csv", text))
    assert found.colocations.empty
    assert {(p.code, p.column): (p.count, p.places[0].row) for p in found.problems} == {
        ("missing-value", "value"): (2, 3),
        ("value-range", "value"): (1, 5),
        ("not-finite", "value"): (1, 6),
        ("missing-value", "time"): (1, 7),
        ("missing-value", "sensor"): (1, 8),
        ("position-missing", "latitude"): (1, 9),
        ("position-zero", "latitude"): (1, 10),
    }
    assert all(problem.severity is Severity.WARNING for problem in found.problems)


def test_static_positions_beat_those_of_rows_and_mobiles_keep_theirs(tmp_path):
    text = HEADER + "1,static,20,9,9\n1,mobile,20,0.3,32.5\n1,unlisted,20,,\n"
    sensors = pd.DataFrame(
        {"sensor": ["static", "mobile"], "kind": ["static", "mobile"], "latitude": [0.3, 50], "longitude": [32.5, 50]}
    )
    found = run(write(tmp_path / "m.csv", text), sensors)
    assert found.colocations[["sensor_a", "sensor_b"]].to_numpy().tolist() == [["mobile", "static"]]
    assert [(p.code, p.places[0].value) for p in found.problems] == [("position-missing", "unlisted")]


def test_hostile_names_stay_text(tmp_path):
    names = [
        "'; DROP TABLE cells; --",
        '"a""b"',
        "<script>alert(1)</script>",
        "007",
        "7",
        "x;y\n,z",
        "名前",
        "NULL",
        "$1",
    ]
    frame = pd.DataFrame({"time": 1.0, "sensor": names, "value": 20.0, "latitude": 0.3, "longitude": 32.5})
    for path in (tmp_path / "m.csv", tmp_path / "m.parquet"):
        frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
        found = run(path).colocations
        pairs = list(zip(found["sensor_a"], found["sensor_b"], strict=True))
        assert pairs == list(itertools.combinations(sorted(names), 2))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_other_dialects(tmp_path, encoding):
    text = "\r\n\r\nTime; Sensor ;VALUE;latitude;longitude;Ort\r\n" + "".join(
        f"2024-05-01T12:00Z;{name};20,5;0,3;32,5;Zürich\r\n" for name in ("ä", "b")
    )
    found = run(write(tmp_path / "m.csv", text, encoding))
    assert found.colocations[["sensor_a", "value_a", "sensor_b"]].to_numpy().tolist() == [["b", 20.5, "ä"]]
    codes = {problem.code for problem in found.problems}
    assert codes == {"separator", "column-unknown"} | ({"encoding"} if encoding == "cp1252" else set())


def test_late_bytes_that_are_not_utf8(tmp_path, monkeypatch):
    monkeypatch.setattr("calibdash.data.measurements_stream._BLOCK_BYTES", 128)
    rows = "".join(f"{i},{name},20,0.3,32.5\n" for i in range(50) for name in "ab")
    found = run(write(tmp_path / "m.csv", HEADER + rows + "50,ä,20,0.3,32.5\n", "cp1252"))
    assert "encoding" in {problem.code for problem in found.problems}
    assert set(found.colocations["sensor_a"]) | set(found.colocations["sensor_b"]) == {"a", "b"}


def test_row_numbers_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("calibdash.data.measurements_stream._BLOCK_BYTES", 200)
    lines = [f"{i},a,20,0.3,32.5" for i in range(200)]
    lines[50], lines[100], lines[150], lines[180] = "short,a", "", "too,long,1,2,3,4", "120,a,bad,0.3,32.5"
    with pytest.raises(DataError) as raised:
        run(write(tmp_path / "m.csv", "\n" + HEADER + "\n".join(lines)))
    where = {problem.code: [place.row for place in problem.places] for problem in raised.value.problems}
    assert where == {"row-width": [53, 153], "not-number": [183]}


def test_gzip(tmp_path):
    path = tmp_path / "m.csv.gz"
    path.write_bytes(gzip.compress(TWO.format(1, 1).encode()))
    assert len(run(path).colocations) == 1
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"m\.csv\.gz"):
        run(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"\0\1\2\3",
        b"PAR1",
        b"PAR1junkPAR1",
        b"time,sensor\n1,a\n",
        b'time,sensor,value\n"1,a',
        b"PK\3\4\0\0",
    ],
    ids=["empty", "blank", "binary", "cut parquet", "junk parquet", "no value", "open quote", "zip"],
)
def test_files_that_cannot_be_used(tmp_path, content):
    path = tmp_path / "m.csv"
    path.write_bytes(content)
    with pytest.raises(DataError) as raised:
        run(path)
    assert raised.value.hint


def test_missing_file(tmp_path):
    with pytest.raises(DataError, match="not a file"):
        run(tmp_path / "none.csv")


def test_a_close_column_is_suggested(tmp_path):
    with pytest.raises(DataError, match="sensr"):
        run(write(tmp_path / "m.csv", "time,sensr,value\n"))


def test_progress_rises_to_one_and_may_stop_the_search(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(encounters_sql, "_ROWS_PER_CHUNK", 10)
    body = "".join(f"{i / 10},{name},20,0.3,32.5\n" for i in range(50) for name in "ab")
    path = write(tmp_path / "m.csv", HEADER + body)
    seen: list[float] = []
    run(path, progress=seen.append)
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0.0, 1.0)
    assert len(seen) > 5
    for stop in (0.0, 0.5, 0.8):

        def cancel(done: float, stop: float = stop) -> None:
            if done >= stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run(path, progress=cancel)
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"distance_m": 0},
        {"distance_m": 1e-6},
        {"distance_m": math.nan},
        {"distance_m": 1e6},
        {"within_hours": -1},
        {"within_hours": math.inf},
        {"average_hours": 0},
        {"average_hours": math.nan},
        {"low": 300, "high": 10},
        {"high": math.inf},
        {"low": math.nan},
    ],
)
def test_options_are_checked(wrong):
    with pytest.raises(CalibdashError) as raised:
        EncounterOptions(**wrong)
    assert raised.value.hint
