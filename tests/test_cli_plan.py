"""``calibdash plan`` from the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from calibdash.cli.main import run
from calibdash.data.folder import load_network
from calibdash.models.preview import preview
from calibdash.models.settings import Settings
from calibdash.planning import COLUMNS
from calibdash.runs.folder import write_run
from tests.planning.networks import BELIEFS
from tests.test_layers import modules_after


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network folder and a run beside it, as `calibdash fit` leaves them."""
    place = tmp_path_factory.mktemp("plan")
    options = ["--days", "20", "--statics", "8", "--pairs", "1", "--reference-visits", "0.3"]
    assert run(["simulate", "network", str(place / "net"), "--preset", "city", *options]) == 0
    posterior = preview(load_network(place / "net"), Settings().with_values(BELIEFS))
    record = {"kind": "fit", "status": "done", "network_path": str(place / "net"), "zone": None}
    write_run(place / "run", record, {}, posterior.save)
    return place


def test_a_plan_is_written(fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plan.csv"
    extra = ["--gpx", str(tmp_path / "p.gpx"), "--ics", str(tmp_path / "p.ics")]
    assert run(["plan", str(fitted / "run"), "--out", str(out), "--budget", "5", "--target", "none", *extra]) == 0
    said = capsys.readouterr().err
    assert "the mean band over the horizon shrinks" in said
    table = pd.read_csv(out)
    assert tuple(table.columns) == COLUMNS
    assert len(table) == 5
    assert table["day"].between("2020-08-05", "2020-08-11").all()  # in Kampala
    assert (tmp_path / "p.gpx").is_file()
    assert (tmp_path / "p.ics").is_file()
    assert len(list(tmp_path.iterdir())) == 3


def test_options_count(fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plan.csv"
    (tmp_path / "riders.csv").write_text("rider,sensor,latitude,longitude,end\nAli,M2,0.32,32.58,12:00\n")
    options = ["--riders", str(tmp_path / "riders.csv"), "--days", "2", "--start", "2020-09-01", "--horizon", "10d"]
    options += ["--forbid", "S1", "--forbid", "S2", "--promise", "2020-09-02,Ali,S5", "--weight", "S3=9", "--quick"]
    assert run(["plan", str(fitted / "run"), "--out", str(out), *options, "--target", "5%", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    table = pd.read_csv(out)
    assert shown["stops"] == json.loads(table.to_json(orient="records"))
    assert set(table["rider"]) == {"Ali"}
    assert set(table["with_sensor"]) == {"M2"}
    assert set(table["day"]) <= {"2020-09-01", "2020-09-02"}
    assert not {"S1", "S2"} & set(table["sensor"])
    assert ((table["day"] == "2020-09-02") & (table["sensor"] == "S5")).any()
    assert (table["arrive"] < "12:00").all()
    assert {row["sensor"]: row["weight"] for row in shown["bands"]}["S3"] == 9


def test_a_network_that_moved_can_be_named(fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(fitted / "run", tmp_path / "run")
    shutil.copytree(fitted / "net", tmp_path / "moved")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    (tmp_path / "run" / "run.json").write_text(json.dumps(record | {"network_path": str(tmp_path / "gone")}))
    command = ["plan", str(tmp_path / "run"), "--out", str(tmp_path / "plan.csv"), "--quick", "--days", "1"]
    assert run(command) == 2
    assert "--network" in capsys.readouterr().err
    assert run([*command, "--network", str(tmp_path / "moved")]) == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--target", "wide"],
        ["--target", "-5%"],
        ["--days", "0"],
        ["--budget", "-1"],
        ["--budget", "nan"],
        ["--promise", "S5"],
        ["--promise", "1,Nobody,S5"],
        ["--forbid", "S99"],
        ["--weight", "S1"],
        ["--weight", "S99=2"],
        ["--start", "soon"],
        ["--riders", "nowhere.csv"],
        ["--distances", "nowhere.csv"],
        ["--zone", "Mars/A"],
    ],
)
def test_mistakes_write_nothing(
    options: list[str], fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", str(fitted / "run"), "--out", str(tmp_path / "plan.csv"), *options]) == 2
    assert capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_only_fits_can_be_planned_for(fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "run", {"kind": "multihop", "status": "done"}, {})
    assert run(["plan", str(tmp_path / "run"), "--out", str(tmp_path / "plan.csv")]) == 2
    assert "calibdash fit" in capsys.readouterr().err
    assert run(["plan", str(fitted / "run"), "--out", str(tmp_path / "plan.xlsx")]) == 2
    assert run(["plan", str(tmp_path), "--out", str(tmp_path / "plan.csv")]) == 2
    assert not (tmp_path / "plan.csv").exists()


def test_neither_tensorflow_nor_panel_is_loaded(fitted: Path, tmp_path: Path) -> None:
    arguments = ["plan", str(fitted / "run"), "--out", str(tmp_path / "plan.csv"), "--days", "1", "--quick"]
    loaded = modules_after(f"from calibdash.cli.main import run\nassert run({arguments!r}) == 0")
    assert not loaded & {"tensorflow", "panel", "matplotlib"}
