"""Network folders: what is read, what is refused, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibdash.data.files import read_raw, write_table
from calibdash.data.folder import check_folder, load_labels, load_network
from calibdash.data.network import Clock
from calibdash.data.problems import DataError, Problem
from calibdash.data.schema import MEASUREMENTS, SCHEMAS
from calibdash.data.tables import load_table
from calibdash.errors import CalibdashError

HEADER = "time,sensor_a,sensor_b,value_a,value_b"
SENSORS = "sensor,kind,reference\nR1,static,true\nM1,mobile,no\nS1,static,0\n007,static,FALSE\n"


def folder(path: Path, rows: str, header: str = HEADER, **files: str) -> Path:
    (path / "colocations.csv").write_text(f"{header}\n{rows}")
    for name, text in files.items():
        (path / name.replace("_", ".")).write_text(text)
    return path


def found(path: Path, code: str, **options: object) -> Problem:
    problems = {problem.code: problem for problem in check_folder(path, **options).problems}
    assert code in problems, f"{code} not among {sorted(problems)}"
    return problems[code]


def test_times_are_utc_and_ids_stay_text(tmp_path: Path) -> None:
    rows = (
        "2024-05-01T03:00:00+03:00,007,R1,10,20\n2024-05-01 01:30:00Z,M1,007,11,21\n"
        "2024-05-01T02:00:00.5+00:00,M1,S1,1,2"
    )
    network = load_network(folder(tmp_path, rows, sensors_csv=SENSORS))
    assert list(network.colocations["time"]) == list(
        pd.to_datetime(["2024-05-01T00:00:00Z", "2024-05-01T01:30:00Z", "2024-05-01T02:00:00.5Z"], format="ISO8601")
    )
    assert list(network.colocations["sensor_a"]) == ["007", "M1", "M1"]
    assert network.references == ("R1",)
    np.testing.assert_allclose(network.clock.hours(network.colocations["time"]), [0, 1.5, 2 + 0.5 / 3600])


def test_numbers_are_hours(tmp_path: Path) -> None:
    network = load_network(folder(tmp_path, "0,M1,R1,1,2\n36.5,M1,S1,1,2", sensors_csv=SENSORS))
    assert network.clock == Clock(None)
    assert list(network.colocations["time"]) == [0, 36.5]


def test_naive_times_need_a_zone(tmp_path: Path) -> None:
    path = folder(tmp_path, "2024-05-01 03:00:00,M1,R1,1,2\n2024-05-01T04:00:00Z,M1,R1,1,2", sensors_csv=SENSORS)
    problem = found(path, "time-zone")
    assert (problem.places[0].row, problem.count) == (2, 1)
    stated = load_network(path, zone="Africa/Kampala")
    assert stated.colocations["time"].iloc[0] == pd.Timestamp("2024-05-01T00:00:00Z")
    (path / "network.toml").write_text('timezone = "Africa/Kampala"\nname = "Ours"')
    assert load_network(path).name == "Ours"
    with pytest.raises(CalibdashError, match="Africa/Kampala"):
        load_network(path, zone="Africa/Kampalla")


def test_hours_that_happen_twice_are_refused(tmp_path: Path) -> None:
    path = folder(tmp_path, "2024-10-27 02:30:00,M1,R1,1,2\n2024-10-27 05:00:00,M1,R1,1,2", sensors_csv=SENSORS)
    assert found(path, "not-time", zone="Europe/Berlin").places[0].row == 2


def test_all_problems_at_once(tmp_path: Path) -> None:
    rows = "\n".join(
        [
            "2024-05-01T00:00:00Z,M1,R1,abc,20",  # row 2
            "yesterday,M1,R1,10,20",
            "2024-05-01T00:00:00Z,M1,R9,10,20",
            "2024-05-01T00:00:00Z,M1,M1,10,20",
            "2024-05-01T00:00:00Z,M1,S1,10,inf",
            "1970-01-01T00:00:00Z,M1,S1,10,20",
            "2024-05-02T00:00:00Z,M1,S1,-1,20",
            "2024-05-02T00:00:00Z,S1,M1,20,-1",
            "2024-05-02T00:00:00Z,m1,S1,7,20",
            "2024-05-02T00:00:00Z,,S1,7,20",
        ]
    )
    checked = check_folder(folder(tmp_path, rows, sensors_csv=SENSORS + "m1,flying,maybe\n"))
    rows_by_code = {problem.code: [place.row for place in problem.places] for problem in checked.problems}
    assert (
        rows_by_code.items()
        >= {
            "not-number": [2],
            "not-time": [3],
            "self-colocation": [5],
            "not-finite": [6],
            "time-absurd": [7],
            "duplicate-row": [9],
            "not-positive": [8],
            "missing-value": [11],
            "not-sensor-kind": [6],
            "not-flag": [6],
        }.items()
    )
    assert rows_by_code["unknown-id"] in ([4], [10])
    assert checked.network is None
    with pytest.raises(DataError) as caught:
        load_network(tmp_path)
    assert len(caught.value.problems) == len(checked.problems)


@pytest.mark.parametrize(
    ("header", "remedy"),
    [
        ("time,sensor_a,sensorb,value_a,value_b", "Rename `sensorb` to `sensor_b`."),
        ("time,sensor_a,sensor_b,value_a", "Add a column `value_b`."),
    ],
)
def test_wrong_columns_name_the_right_one(tmp_path: Path, header: str, remedy: str) -> None:
    width = header.count(",") + 1
    row = ",".join(["2024-05-01T00:00:00Z", "M1", "R1", "1", "2"][:width])
    assert found(folder(tmp_path, row, header), "column-missing").remedy == remedy


def test_two_spellings(tmp_path: Path) -> None:
    rows = "0,S01,R1,1,2\n1,s1,R1,1,2\n2,S-2,R1,1,2\n3,S_2,R1,3,4\n4,11-2,1-12,3,4"
    problems = [problem for problem in check_folder(folder(tmp_path, rows)).problems if problem.code == "two-spellings"]
    assert len(problems) == 2
    assert "`S01` and `s1`" in problems[0].message + problems[1].message


def test_inferred_sensors_are_told(tmp_path: Path) -> None:
    rows = "\n".join(f"{hour},M{m},S{s},1,2" for hour, (m, s) in enumerate((m, s) for m in range(2) for s in range(6)))
    network = load_network(folder(tmp_path, rows))
    assert set(network.sensors.loc[network.sensors["kind"] == "mobile", "sensor"]) == {"M0", "M1"}
    codes = {problem.code for problem in network.problems}
    assert codes == {"sensors-assumed", "no-reference"}
    marked = load_network(tmp_path, references=("S3",))
    assert marked.references == ("S3",)
    with pytest.raises(DataError, match="S33"):
        load_network(tmp_path, references=("S33",))


def test_sensors_without_path(tmp_path: Path) -> None:
    sensors = SENSORS + "S8,static,false\nS9,static,false\n"
    path = folder(tmp_path, "0,R1,M1,1,2\n1,M1,S1,1,2\n2,S8,007,1,2", sensors_csv=sensors)
    problem = found(path, "no-path")
    assert problem.count == 3
    assert all(name in problem.message for name in ("007", "S8", "S9"))


@pytest.mark.parametrize("hour", [1704067200, -2e9])
def test_unix_seconds_are_not_hours(tmp_path: Path, hour: float) -> None:
    path = folder(tmp_path, f"{hour},R1,M1,1,2", sensors_csv=SENSORS)
    assert "Unix" in found(path, "time-absurd").remedy
    assert found(path, "no-rows")


def test_covariates_need_both_sides(tmp_path: Path) -> None:
    header = f"{HEADER},humidity_a,humidity_b,temperature_a"
    path = folder(tmp_path, "0,R1,M1,1,2,55,,20\n1,R1,M1,1,2,x,50,20", header, sensors_csv=SENSORS)
    assert found(path, "covariate-side").column == "temperature_a"
    assert found(path, "not-number").column == "humidity_a"
    path = folder(tmp_path, "0,R1,M1,1,2,55,,20", header, sensors_csv=SENSORS)
    network = load_network(path)
    assert network.covariates == ("humidity",)
    assert np.isnan(network.colocations["humidity_b"].iloc[0])


def test_the_same_table_twice(tmp_path: Path) -> None:
    folder(tmp_path, "0,R1,M1,1,2")
    write_table(read_raw(tmp_path / "colocations.csv").frame, tmp_path / "colocations.parquet")
    assert found(tmp_path, "table-twice")


def test_a_folder_without_tables_says_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "colocation.csv").write_text(HEADER)
    problem = found(tmp_path, "table-missing")
    assert "colocation.csv" in problem.message
    assert "Did you mean `colocations.csv`?" in problem.remedy


def test_example_data_is_fine(examples: Path) -> None:
    assert load_network(examples / "kampala").references
    assert load_labels(examples / "bees").labellers["reference"].any()


def test_measurements_are_checked_too(tmp_path: Path) -> None:
    path = folder(tmp_path, "0,R1,M1,1,2", sensors_csv=SENSORS)
    (path / "measurements.csv").write_text("time,sensor,value\n0,M1,abc\n1,X9,3\n")
    assert found(path, "not-number").places[0].row == 2
    assert "X9" in found(path, "unknown-id").message
    assert load_network(path).references == ("R1",)


names = st.text(st.characters(exclude_categories=("Cs", "Cc", "Z")), min_size=1, max_size=12)
stamps = st.datetimes(pd.Timestamp("2000-01-01"), pd.Timestamp("2026-01-01")).map(lambda t: t.replace(microsecond=0))
values = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.lists(st.tuples(stamps, names, values), min_size=1, max_size=12), st.sampled_from([".csv", ".tsv", ".parquet"])
)
def test_measurements_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list, suffix: str) -> None:
    frame = pd.DataFrame(rows, columns=["time", "sensor", "value"])
    frame["time"] = pd.to_datetime(frame["time"], utc=True).astype("datetime64[us, UTC]")
    path = tmp_path_factory.mktemp("round") / f"measurements{suffix}"
    write_table(frame, path)
    pd.testing.assert_frame_equal(load_table(path, MEASUREMENTS).frame, frame, check_dtype=False, rtol=1e-15)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


pairs = st.tuples(names, names).filter(lambda pair: pair[0] != pair[1])


@given(st.lists(st.tuples(stamps, pairs, values, values), min_size=1, max_size=12))
def test_network_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list) -> None:
    frame = pd.DataFrame([(t, a, b, x, y) for t, (a, b), x, y in rows], columns=HEADER.split(","))
    frame["time"] = pd.to_datetime(frame["time"], utc=True).astype("datetime64[us, UTC]")
    path = tmp_path_factory.mktemp("network")
    write_table(frame, path / "colocations.csv")
    network = load_network(path)
    write_table(network.colocations, path / "colocations.csv")
    again = load_network(path)
    pd.testing.assert_frame_equal(again.colocations, network.colocations)
    assert len(network.colocations) <= len(frame)
    assert set(network.sensors["sensor"]) == set(frame["sensor_a"]) | set(frame["sensor_b"])


sensor_rows = st.lists(
    st.tuples(
        names,
        st.sampled_from(["static", "mobile"]),
        st.booleans(),
        st.floats(-90, 90),
        st.floats(-180, 180),
        st.floats(0, 1e6),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda row: row[0],
)


@given(sensor_rows, st.sampled_from([".csv", ".parquet"]))
def test_sensors_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list, suffix: str) -> None:
    columns = ["sensor", "kind", "reference", "latitude", "longitude", "weight"]
    frame = pd.DataFrame(rows, columns=columns)
    path = tmp_path_factory.mktemp("sensors") / f"sensors{suffix}"
    write_table(frame, path)
    pd.testing.assert_frame_equal(load_table(path, SCHEMAS["sensors"]).frame, frame, check_dtype=False, rtol=1e-15)


@given(st.lists(st.tuples(names, st.booleans()), min_size=1, max_size=8), st.sampled_from([".csv", ".parquet"]))
def test_labellers_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list, suffix: str) -> None:
    frame = pd.DataFrame(rows, columns=["labeller", "reference"])
    path = tmp_path_factory.mktemp("labellers") / f"labellers{suffix}"
    write_table(frame, path)
    pd.testing.assert_frame_equal(load_table(path, SCHEMAS["labellers"]).frame, frame, check_dtype=False)


labels = st.lists(st.tuples(names, names, names, stamps), min_size=1, max_size=12)


@given(labels)
def test_labels_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list) -> None:
    frame = pd.DataFrame(rows, columns=["item", "labeller", "label", "time"]).drop_duplicates()
    frame["time"] = pd.to_datetime(frame["time"], utc=True).astype("datetime64[us, UTC]")
    path = tmp_path_factory.mktemp("labels")
    write_table(frame, path / "labels.csv")
    pd.testing.assert_frame_equal(load_labels(path).labels, frame.reset_index(drop=True), check_dtype=False)


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    from calibdash.data.files import write_atomically

    path = tmp_path / "out.csv"
    path.write_text("before")

    def fail(file: object) -> None:
        file.write(b"half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_atomically(path, fail)
    assert path.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["out.csv"]
    with pytest.raises(DataError, match=r"\.csv or \.parquet"):
        write_table(pd.DataFrame(), tmp_path / "out.doc")
