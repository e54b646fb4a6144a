"""Leave one reference out: the injected drift is found, and what cannot be said is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibdash.cli.main import run
from calibdash.data.folder import load_network
from calibdash.data.network import Network
from calibdash.data.simulate import PRESETS, simulate_network, write_network
from calibdash.evaluation.folds import BLOCKS, cannot, fold_names, make_fold
from calibdash.evaluation.leave_one_out import METHODS, Request, estimate, figures, tasks
from calibdash.models.settings import Settings
from tests.models.networks import table

RECIPE = replace(PRESETS["city"], days=40, statics=6, mobiles=3, pairs=1, reference_visits=1.0, seed=5)
QUICK = {
    "likelihood": "log-ratio",
    "kernel": "matern32",
    "lengthscale": "60d",
    "drift": 0.4,
    "bias": 0.3,
    "noise.additive": 2.0,
    "noise.proportional": 0.12,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("evaluate") / "net"
    write_network(simulate_network(RECIPE), place)
    return place


@pytest.fixture(scope="module")
def network() -> Network:
    return simulate_network(RECIPE).network()


def test_a_left_out_reference_is_unknown_and_its_drift_is_known(network: Network) -> None:
    fold = make_fold(network, "R1", 1.83)
    assert fold.network.references == ("R2",)
    assert len(fold.network.colocations) == len(network.colocations)
    assert fold.points.log_gain[0] == pytest.approx(0.0, abs=1e-9)
    assert fold.points.log_gain[-1] == pytest.approx(-np.log(1.83))
    np.testing.assert_allclose(fold.points.value * np.exp(fold.points.log_gain), fold.points.level)
    for side, other in ("ab", "ba"):
        mine = (network.colocations[f"sensor_{side}"] == "R1").to_numpy()
        ratio = fold.network.colocations[f"value_{side}"][mine] / network.colocations[f"value_{side}"][mine]
        assert ratio.between(1 - 1e-12, 1.83 + 1e-12).all()
        pd.testing.assert_series_equal(
            fold.network.colocations[f"value_{other}"][mine], network.colocations[f"value_{other}"][mine]
        )


def test_blocks_of_the_only_reference_cover_its_colocations_once(network: Network) -> None:
    single = network.with_references(("R1",))
    names = fold_names(single)
    assert len(names) == BLOCKS
    folds = [make_fold(single, name) for name in names]
    table_ = network.colocations
    concerned = ((table_["sensor_a"] == "R1") | (table_["sensor_b"] == "R1")).sum()
    assert sum(len(fold.points.hours) for fold in folds) == concerned
    for fold in folds:
        assert len(fold.network.colocations) == len(table_) - len(fold.points.hours)
        assert fold.noisy


def test_a_second_reference_that_met_nobody_does_not_count(network: Network) -> None:
    table_ = network.colocations
    without = table_[(table_["sensor_a"] != "R2") & (table_["sensor_b"] != "R2")].reset_index(drop=True)
    lonely = replace(network, colocations=without)
    assert lonely.references == ("R1", "R2")
    folds = [make_fold(lonely, name) for name in fold_names(lonely)]
    assert len(folds) == BLOCKS
    assert all(len(fold.points.hours) for fold in folds)


@pytest.mark.parametrize(
    ("references", "words"), [((), "no reference"), (("R1",), "too few"), (("R1", "R2"), "too few")]
)
def test_what_cannot_be_said(references: tuple[str, ...], words: str) -> None:
    network = table([(float(i), "A", "B", 20.0, 22.0) for i in range(30)], references, extra=("R1", "R2"))
    assert fold_names(network) == []
    assert words in cannot(network)
    assert tasks(Request("x", None, None, {}), network) == []


def test_the_injected_drift_is_recovered(network: Network) -> None:
    settings = Settings.from_dict(QUICK)
    fold = make_fold(network, "R1", 1.83)
    error = {}
    for method in METHODS:
        gains = estimate(method, fold, settings)
        error[method] = np.mean(np.abs(gains.calibrated(fold.points) - fold.points.level))
    assert error["pair model"] < 0.35 * error["none"]
    assert error["pair model"] < error["multi-hop"] < error["none"]
    inside = np.abs(gains.log_gain - fold.points.log_gain) < 1.96 * gains.sd
    assert inside.mean() > 0.8


def test_held_out_visits_are_covered(network: Network) -> None:
    single = network.with_references(("R1",))
    inside = []
    for name in fold_names(single):
        fold = make_fold(single, name)
        gains = estimate("pair model", fold, Settings.from_dict(QUICK))
        inside.append(np.abs(gains.log_gain - fold.points.log_gain) < 1.96 * gains.sd)
    assert 0.9 < np.concatenate(inside).mean() <= 1.0


def test_figures_by_hand() -> None:
    part = pd.DataFrame(
        {
            "truth": [10.0, 20.0, 30.0],
            "value": [12.0, 25.0, 30.0],
            "calibrated": [11.0, 18.0, np.nan],
            "log_gain": [0.1, -0.1, np.nan],
            "sd": [0.1, 0.2, np.nan],
            "true_log_gain": [0.0, 0.5, 0.0],
        }
    )
    found = figures(part)
    assert found["mae"] == pytest.approx((1 + 2 + 0) / 3)
    assert found["rmse"] == pytest.approx(np.sqrt(5 / 3))
    assert found["nmse"] == pytest.approx((5 / 3) / (200 / 3))
    assert found["bias"] == pytest.approx(-1 / 3)
    assert found["coverage"] == 0.5
    assert found["without_path"] == pytest.approx(1 / 3)
    each = [0.5 * z**2 + np.log(sd) + 0.5 * np.log(2 * np.pi) for z, sd in ((1.0, 0.1), (3.0, 0.2))]
    assert found["nlpd"] == pytest.approx(np.mean(each))


def test_the_command_writes_figures_and_a_page(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [part for key, value in QUICK.items() for part in ("--set", f"{key}={value}")]
    out = tmp_path / "out"
    command = ["evaluate", str(folder), "--out", str(out), "--drift", "1.83", "--workers", "1", "--json", *options]
    assert run(command) == 0
    printed = json.loads(capsys.readouterr().out)["metrics"]
    stored = pd.read_csv(out / "metrics.csv")
    assert [row["method"] for row in printed] == stored["method"].tolist()
    assert stored["fold"].tolist() == ["R1"] * 3 + ["R2"] * 3 + ["all"] * 3
    told = pd.read_csv(out / "predictions.csv")
    assert len(told) == stored[stored["fold"] == "all"]["points"].sum()
    mine = told[(told["fold"] == "R2") & (told["method"] == "pair model")]
    direct = estimate("pair model", make_fold(load_network(folder), "R2", 1.83), Settings.from_dict(QUICK))
    np.testing.assert_allclose(mine["log_gain"], direct.log_gain, atol=1e-9)
    assert json.loads((out / "evaluation.json").read_text())["drift"] == 1.83
    page = (out / "evaluation.html").read_text()
    assert "pair model" in page
    assert str(folder.parent) not in page
    before = (out / "metrics.csv").read_bytes()
    assert run(command) == 0  # what is done is not done again
    assert (out / "metrics.csv").read_bytes() == before


def test_the_command_says_what_it_cannot(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = tmp_path / "net"
    bare.mkdir()
    (bare / "colocations.csv").write_text((folder / "colocations.csv").read_text())
    assert run(["evaluate", str(bare), "--out", str(tmp_path / "out")]) == 0
    assert "There is no reference" in capsys.readouterr().err
    assert "There is no reference" in (tmp_path / "out" / "evaluation.html").read_text()
    assert run(["evaluate", str(folder), "--out", str(tmp_path / "x"), "--drift", "-3"]) == 2
