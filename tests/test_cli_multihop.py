"""``calibdash multihop`` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from calibdash.cli.main import run
from tests.test_layers import modules_after


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("multihop") / "city"
    options = ["--days", "20", "--statics", "8", "--pairs", "1", "--reference-visits", "1"]
    assert run(["simulate", "network", str(folder), "--preset", "city", *options]) == 0
    return folder


def test_a_run_is_written(city: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    assert run(["multihop", str(city), "--out", str(out), "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["settings"]["window_hours"] == 24
    assert "path to a reference" in shown.err
    assert sorted(file.name for file in out.iterdir()) == ["calibration.csv", "paths.csv", "run.json"]
    record = json.loads((out / "run.json").read_text())
    assert (record["kind"], record["status"], record["network"]) == ("multihop", "done", "city")
    assert record["settings"] == {"window_hours": 24.0, "time_weight": 0.21, "min_observations": 5, "drift": None}
    assert record["settings_used"]["drift"] > 0
    assert record["seconds"] < 10
    assert record["versions"]["networkx"]
    table = pd.read_csv(out / "calibration.csv")
    assert list(table.columns) == ["time", "sensor", "parameter", "mean", "sd", "median", "lower", "upper"]
    assert len(table) == 10 * record["windows"]
    assert (table["parameter"] == "gain").all()
    assert table["time"].iloc[0] == "2020-07-15T00:00:00Z"
    paths = pd.read_csv(out / "paths.csv")
    for path, reference, sensor in zip(paths["path"].map(json.loads), paths["reference"], paths["sensor"], strict=True):
        assert (path[0][0], path[-1][0]) == (reference, sensor)


def test_options_count(city: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    options = ["--window", "2d", "--time-weight", "1.5", "--min-observations", "3", "--reference", "R1"]
    assert run(["multihop", str(city), "--out", str(out), *options]) == 0
    record = json.loads((out / "run.json").read_text())
    assert record["settings"] == {"window_hours": 48.0, "time_weight": 1.5, "min_observations": 3, "drift": None}
    assert set(pd.read_csv(out / "paths.csv")["reference"]) == {"R1"}
    assert "R2" in set(pd.read_csv(out / "calibration.csv")["sensor"])


def test_search_chooses_and_says_so(city: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    assert run(["multihop", str(city), "--out", str(out), "--search"]) == 0
    assert "held-out" in capsys.readouterr().err
    record = json.loads((out / "run.json").read_text())
    best = pd.read_csv(out / "search.csv").iloc[0]
    assert record["settings_used"]["window_hours"] == best["window_hours"]
    assert record["searched"]["score"] == pytest.approx(best["score"])


def test_sensors_without_a_path_and_plain_hours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "net"
    folder.mkdir()
    rows = [f"{hour},A,R0,10,20\n{hour},B,C,-1,20\n" for hour in range(1, 7)]
    (folder / "colocations.csv").write_text("time,sensor_a,sensor_b,value_a,value_b\n" + "".join(rows))
    (folder / "sensors.csv").write_text(
        "sensor,kind,reference\nA,mobile,false\nR0,static,true\nB,static,false\nC,static,0\n"
    )
    assert run(["multihop", str(folder), "--out", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().err
    assert "2 of 4 sensors have no path to a reference: B, C." in said
    assert "Left out 6 colocations" in said
    table = pd.read_csv(tmp_path / "run" / "calibration.csv")
    assert table[["time", "sensor"]].to_numpy().tolist() == [[0.0, "A"], [0.0, "B"], [0.0, "C"]]
    assert table["median"].tolist()[0] == pytest.approx(2.0)
    assert table["median"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize(
    "options", [["--window", "0h"], ["--time-weight", "-1"], ["--min-observations", "0"], ["--reference", "nobody"]]
)
def test_mistakes_write_nothing(
    options: list[str], city: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["multihop", str(city), "--out", str(tmp_path / "run"), *options]) == 2
    assert capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_without_a_reference_it_says_how_to_name_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "net"
    folder.mkdir()
    (folder / "colocations.csv").write_text("time,sensor_a,sensor_b,value_a,value_b\n1,A,B,10,20\n")
    (folder / "sensors.csv").write_text("sensor,kind,reference\nA,mobile,false\nB,static,false\n")
    assert run(["multihop", str(folder), "--out", str(tmp_path / "run")]) == 2
    assert "--reference" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_other_folders_are_not_replaced(city: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    assert run(["multihop", str(city), "--out", str(tmp_path)]) == 2
    assert (tmp_path / "thesis.txt").exists()


def test_neither_tensorflow_nor_panel_is_loaded(city: Path, tmp_path: Path) -> None:
    arguments = ["multihop", str(city), "--out", str(tmp_path / "run")]
    loaded = modules_after(f"from calibdash.cli.main import run\nassert run({arguments!r}) == 0")
    assert not loaded & {"tensorflow", "panel"}
