"""``calibdash fit`` and ``calibdash calibrate`` from files to files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibdash.cli.main import run

COLUMNS = ["time", "sensor", "parameter", "mean", "sd", "median", "lower", "upper"]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fit") / "net"
    options = ["--days", "60", "--noise", "2", "--lowest-reading", "0.5", "--seed", "3"]
    assert run(["simulate", "network", str(folder), *options]) == 0
    return folder


@pytest.fixture(scope="module")
def fitted(network: Path) -> Path:
    out = network.parent / "run"
    assert run(["fit", str(network), "--out", str(out), "--set", "lengthscale.mobile=25d", "--seed", "7"]) == 0
    return out


def test_the_run_says_what_made_it(fitted: Path) -> None:
    record = json.loads((fitted / "run.json").read_text())
    assert record["status"] == "done"
    assert record["settings"] == {"lengthscale.mobile": 600.0}
    assert record["seed"] == 7
    assert record["converged"]
    assert len(record["elbo"]) > 1
    assert {"calibdash", "tensorflow", "numpy"} <= set(record["versions"])
    assert record["data_hash"]


def test_calibration_is_daily_and_near_the_truth(network: Path, fitted: Path) -> None:
    table = pd.read_csv(fitted / "calibration.csv")
    assert list(table.columns) == COLUMNS
    assert (table["lower"] < table["median"]).all()
    assert (table["median"] < table["upper"]).all()
    one = table[table["sensor"] == table["sensor"].iloc[0]]
    assert (pd.to_datetime(one["time"]).diff().dropna() == pd.Timedelta(days=1)).all()
    truth = pd.read_csv(network / "truth" / "calibration.csv")
    both = table.merge(truth, on=["time", "sensor", "parameter"])
    assert len(both) > 500
    inside = (both["lower"] <= both["value"]) & (both["value"] <= both["upper"])
    assert inside.mean() > 0.8
    assert np.sqrt(np.mean((both["median"] / both["value"] - 1) ** 2)) < 0.15


def test_calibrate(fitted: Path, tmp_path: Path) -> None:
    raw = tmp_path / "measurements.csv"
    raw.write_text("time,sensor,value\n2024-01-20T00:00:00Z,S1,40\n2024-01-20T03:00:00+03:00,R1,40\n")
    sensors = set(pd.read_csv(fitted / "calibration.csv")["sensor"])
    name = sorted(sensor for sensor in sensors if sensor.startswith("S"))[0]
    raw.write_text(raw.read_text().replace("S1", name))
    assert run(["calibrate", str(fitted), str(raw), "--out", str(tmp_path / "calibrated.csv")]) == 0
    table = pd.read_csv(tmp_path / "calibrated.csv").set_index("sensor")
    assert list(table.columns)[:5] == ["time", "value", "calibrated", "lower", "upper"]
    assert table.loc["R1", "calibrated"] == pytest.approx(40)
    band = table["upper"] - table["lower"]
    assert band[name] > band["R1"]
    assert run(["calibrate", str(tmp_path), str(raw), "--out", str(tmp_path / "x.csv")]) == 2
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "lengthscale.mobil=25d"], "mobile"),
        (["--set", "lengthscale.mobile"], "KEY=VALUE"),
        (["--set", "lengthscale.mobile=soon"], "length of time"),
        (["--set", "likelihood=gaussian"], "reading"),
        (["--settings", "missing.toml"], "missing.toml"),
        (["--reference", "R77"], "R77"),
    ],
)
def test_mistakes(
    network: Path, arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fit", str(network), "--out", str(tmp_path / "run"), *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [("s.toml", "likelihood = 'log-ratio'\n[lengthscale]\nmobile = '25d'"), ("s.json", '{"likelihood": "log-ratio"}')],
)
def test_settings_from_a_file(network: Path, name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    out = tmp_path / "run"
    assert run(["fit", str(network), "--out", str(out), "--settings", str(tmp_path / name)]) == 0
    assert json.loads((out / "run.json").read_text())["settings"]["likelihood"] == "log-ratio"


def test_settings_chosen_on_held_out_colocations(network: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run(["fit", str(network), "--out", str(out), "--set", "likelihood=log-ratio", "--held-out", "3"]) == 0
    record = json.loads((out / "run.json").read_text())
    assert record["settings"] == {"likelihood": "log-ratio"}
    assert {"lengthscale.mobile", "drift", "noise.proportional"} <= set(record["settings_used"])
