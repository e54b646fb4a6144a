"""The command line: exit codes, streams, and files written wholly or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibdash.cli.main import COMMANDS, run
from calibdash.data.folder import load_labels, load_network

AIRQO = (
    "device_name,datetime,s1_pm2_5,s2_pm2_5,latitude,longitude\n"
    "aq-1,2025-01-01 00:05:00Z,30,32,0.31,32.58\naq-2,2025-01-01 00:15:00Z,20,22,0.31,32.5801\n"
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    assert "Usage" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["check"],
        ["check", "no/such/folder"],
        ["import", "airqo", "--out", "x.csv"],
        ["encounters", "no.csv", "--out", "x.csv"],
        ["simulate", "network", "x", "--preset", "moon"],
        ["simulate", "network", "x", "--days", "-3"],
        ["serve", "no/such/folder"],
    ],
)
def test_mistakes_exit_with_2(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.err
    assert "Traceback" not in shown.err
    assert not list(tmp_path.iterdir())


def test_bugs_exit_with_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(COMMANDS, "check", ("calibdash.cli.nowhere:check", ""))
    assert run(["check", "x"]) == 1
    assert "bug" in capsys.readouterr().err


def test_simulate_check_and_nothing_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tmp_path / "net")
    assert run(["simulate", "network", target, "--preset", "chain", "--days", "30", "--seed", "5"]) == 0
    assert run(["check", target, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["sensors"] == 6
    assert report["without_path_to_reference"] == 0
    before = (tmp_path / "net" / "colocations.csv").read_bytes()
    assert run(["simulate", "network", target]) == 2
    assert (tmp_path / "net" / "colocations.csv").read_bytes() == before
    assert load_network(target).references == ("R0",)


def test_simulated_labels(tmp_path: Path) -> None:
    assert run(["simulate", "labels", str(tmp_path / "bees"), "--items", "40"]) == 0
    assert load_labels(tmp_path / "bees").labellers["reference"].sum() == 1


def test_from_raw_files_to_colocations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "raw.csv").write_text(AIRQO)
    measurements, colocations = tmp_path / "measurements.parquet", tmp_path / "net" / "colocations.csv"
    assert run(["import", str(tmp_path / "raw.csv"), "--out", str(measurements)]) == 0
    assert run(["encounters", str(measurements), "--out", str(colocations)]) == 0
    assert "1 colocations" in capsys.readouterr().err
    (row,) = pd.read_csv(colocations, dtype={"sensor_a": str}).itertuples(index=False)
    assert (row.time, row.sensor_a, row.sensor_b, row.value_a, row.value_b) == (
        "2025-01-01T00:10:00Z",
        "aq-1",
        "aq-2",
        31.0,
        21.0,
    )
    assert run(["check", str(colocations.parent)]) == 0
    assert run(["encounters", str(measurements), "--out", str(colocations), "--distance", "1"]) == 0
    assert len(pd.read_csv(colocations)) == 0


def test_import_of_wide_labels_writes_labellers_beside(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("item,expert,Ann\nb1,hortorum,hortorum\nb2,,pratorum\n")
    out = tmp_path / "bees" / "labels.csv"
    assert run(["import", "labels-wide", str(tmp_path / "wide.csv"), "--reference", "expert", "--out", str(out)]) == 0
    labels = load_labels(tmp_path / "bees")
    assert list(labels.labellers.loc[labels.labellers["reference"], "labeller"]) == ["expert"]
    assert run(["import", "labels-wide", str(tmp_path / "wide.csv"), "--reference", "expert", "--out", str(out)]) == 2


def test_positions_from_the_sensors_table(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(
        "time,sensor,value,latitude,longitude\n0,S1,50,,\n0.1,M1,60,0.31,32.58\n0.1,M2,60,0.5,32.58\n"
    )
    (tmp_path / "sensors.csv").write_text(
        "sensor,kind,reference,latitude,longitude\nS1,static,false,0.31,32.58\nM1,mobile,false,,\nM2,mobile,false,,\n"
    )
    out = tmp_path / "colocations.csv"
    assert (
        run(["encounters", str(tmp_path / "m.csv"), "--sensors", str(tmp_path / "sensors.csv"), "--out", str(out)]) == 0
    )
    frame = pd.read_csv(out)
    assert list(frame["sensor_a"]) == ["M1"]
    np.testing.assert_allclose(frame[["value_a", "value_b"]], [[60, 50]])
