"""``calibdash report``, ``faults`` and ``calibrate`` from files to files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from calibdash.cli.main import run
from calibdash.data.exports import read_export
from calibdash.data.folder import load_network
from calibdash.models.preview import preview
from calibdash.models.settings import Settings
from calibdash.runs.fit import grid, record
from calibdash.runs.folder import write_run

SETTINGS = Settings.from_dict(
    {
        "likelihood": "log-ratio",
        "kernel": "matern32",
        "lengthscale": "50d",
        "drift": 0.3,
        "bias": 0.3,
        "noise.additive": 2.0,
        "noise.proportional": 0.1,
    }
)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "net"
    options = ["--preset", "city", "--days", "30", "--statics", "6", "--mobiles", "2", "--pairs", "1", "--seed", "3"]
    assert run(["simulate", "network", str(folder), *options]) == 0
    return folder


@pytest.fixture(scope="module")
def fitted(network: Path) -> Path:
    """A run as `calibdash fit` writes it, of the model that needs no TensorFlow."""
    loaded = load_network(network)
    posterior = preview(loaded, SETTINGS)
    about = {**record(loaded, SETTINGS, posterior, False), "network_path": str(network), "zone": None}
    out = network.parent / "=run"
    write_run(out, about, {"calibration": posterior.calibration(grid(loaded, 24.0))}, posterior.save)
    return out


def test_report(network: Path, fitted: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert run(["report", str(fitted), "--out", str(out)]) == 0
    html = out.read_text(encoding="utf-8")
    assert json.loads((fitted / "run.json").read_text())["data_hash"] in html
    assert "have changed since" not in html
    assert run(["report", str(fitted), "--out", str(out), "--fault-rate", "0.5"]) == 0
    assert "a sensor has 0.5 faults a year" in out.read_text(encoding="utf-8")
    assert str(network.parent) not in html  # no path of this machine


def test_report_of_a_network_that_has_moved_or_changed(
    network: Path, fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(network, moved)
    lines = (moved / "colocations.csv").read_text().splitlines(keepends=True)
    (moved / "colocations.csv").write_text("".join(lines[:-5]))
    assert run(["report", str(fitted), "--out", str(tmp_path / "a.html"), "--network", str(moved)]) == 0
    assert "have changed since" in (tmp_path / "a.html").read_text(encoding="utf-8")
    run_copy = tmp_path / "copy"
    shutil.copytree(fitted, run_copy)
    about = json.loads((run_copy / "run.json").read_text())
    (run_copy / "run.json").write_text(json.dumps({**about, "network_path": str(tmp_path / "gone")}))
    assert run(["report", str(run_copy), "--out", str(tmp_path / "b.html")]) == 2
    assert "--network DIR" in capsys.readouterr().err
    assert not (tmp_path / "b.html").exists()
    assert run(["report", str(tmp_path), "--out", str(tmp_path / "b.html")]) == 2


def test_report_of_a_multihop_run(network: Path, tmp_path: Path) -> None:
    hops = tmp_path / "hops"
    assert run(["multihop", str(network), "--out", str(hops), "--window", "7d"]) == 0
    assert run(["report", str(hops), "--out", str(tmp_path / "c.html"), "--network", str(network)]) == 0
    assert "Calibration of each sensor" in (tmp_path / "c.html").read_text(encoding="utf-8")


def test_faults_of_a_run_and_of_a_folder(
    network: Path, fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["faults", str(fitted), "--out", str(tmp_path / "alarms.csv"), "--least", "0.01", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["alarms"]
    stored = pd.read_csv(tmp_path / "alarms.csv")
    assert [row["sensor"] for row in listed] == stored["sensor"].tolist()
    for text in stored["evidence"]:
        assert {"visits", "cusum", "break", "without"} <= set(json.loads(text))
    chance = {}
    for rate in ("0.01", "50"):
        assert run(["faults", str(fitted), "--least", "0.01", "--json", "--fault-rate", rate]) == 0
        found = json.loads(capsys.readouterr().out)["alarms"]
        chance[rate] = sum(row["probability"] for row in found)
    assert chance["0.01"] < chance["50"]
    assert run(["faults", str(fitted), "--fault-rate", "-1"]) == 2
    assert run(["faults", str(network), "--least", "0.99"]) == 0
    assert run(["faults", str(tmp_path / "nowhere")]) == 2


@pytest.mark.parametrize("suffix", ["csv", "parquet", "nc"])
def test_calibrated_readings_say_which_calibration_made_them(fitted: Path, tmp_path: Path, suffix: str) -> None:
    raw = tmp_path / "measurements.csv"
    raw.write_text("time,sensor,value\n2020-07-20T00:00:00Z,S3,40\n2020-07-20T03:00:00+03:00,R1,40\n")
    out = tmp_path / f"c.{suffix}"
    assert run(["calibrate", str(fitted), str(raw), "--out", str(out)]) == 0
    table = read_export(out)
    about = json.loads((fitted / "run.json").read_text())
    for fact in (fitted.name, about["data_hash"], about["settings_hash"]):
        assert table["calibration"].astype(str).str.contains(fact, regex=False).all()
    assert table.set_index("sensor")["calibrated"]["R1"] == 40
    if suffix == "csv":
        assert "'=run" in out.read_text()
    assert run(["calibrate", str(fitted), str(raw), "--out", str(tmp_path / "c.xlsx")]) == 2
