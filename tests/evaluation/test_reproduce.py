"""The paper's experiments in miniature, and the page that shows them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from bokeh.plotting import figure

from calibdash.cli.main import run
from calibdash.evaluation import drift, labels, reproduce_figures, synthetic
from calibdash.evaluation.methods import Gains, multihop_best_on_truth, multihop_gains, scores
from calibdash.evaluation.reproduce import drift_table, synthetic_table
from calibdash.models.multihop import multihop
from calibdash.reports.figures import gain_figure, ratio_points, visits_figure
from calibdash.reports.page import Section, Table, write_page


def result(method: str, noise: float = 5.0, seed: int = 0) -> dict:
    return synthetic.work({"study": "synthetic", "noise": noise, "seed": seed, "method": method})


def test_the_floor_is_below_everything_without_the_truth() -> None:
    floor = result("floor")
    for method in ("raw", "multi-hop, tuned on truth", "multi-hop, tuned honestly"):
        assert result(method)["nmse"] > floor["nmse"]
    assert result("multi-hop, tuned on truth")["nmse"] <= result("multi-hop, tuned honestly")["nmse"] * 1.02


def test_tuning_on_the_truth_is_the_best_of_its_grid() -> None:
    simulated = synthetic.dataset(5.0, 1)
    network, points = simulated.network(), synthetic.reading_points(simulated)
    settings, best = multihop_best_on_truth(network, points, windows=(168.0, 1440.0), weights=(0.21,))
    again = multihop_gains(multihop(network, settings), points)
    np.testing.assert_array_equal(best.log_gain, again.log_gain)


def test_points_hold_the_truth() -> None:
    simulated = synthetic.dataset(2.0, 3)
    points = synthetic.reading_points(simulated)
    assert not set(points.sensor) & set(simulated.network().references)
    error = np.exp(points.log_gain) * points.value - points.level
    assert np.std(error / np.exp(points.log_gain)) == pytest.approx(2.0, rel=0.05)


def test_the_tested_reference_drifts_from_1_to_1_83() -> None:
    network, points = drift.drifting_reference(0)
    assert points.value[0] / points.level[0] == pytest.approx(1.0, abs=0.02)
    assert points.value[-1] / points.level[-1] == pytest.approx(1.83, abs=0.02)
    assert np.ptp(points.hours) <= 24 * drift.DAYS
    assert points.sensor[0] not in network.references
    perfect = scores(Gains(points.log_gain, np.full(len(points.hours), 0.1)), points)
    assert perfect["mae"] == pytest.approx(0, abs=1e-9)
    assert drift.work({"seed": 0, "method": "none"})["mae"] > 5


def test_tables_have_a_row_a_method() -> None:
    rows = synthetic_table([result("raw"), result("floor")]).rows
    assert len(rows) == len(synthetic.NOISES) * len(synthetic.METHODS)
    filled = [row for row in rows if row[0] == "5" and row[1] == "raw"]
    assert filled[0][2] == "0.78"
    assert float(filled[0][3]) == pytest.approx(result("raw")["nmse"], abs=0.001)
    assert len(drift_table([drift.work({"seed": 0, "method": "none"})]).rows) == len(drift.METHODS)


def test_figures_and_page_stand_alone(tmp_path: Path) -> None:
    simulated = synthetic.dataset(2.0, 0)
    network = simulated.network()
    ratios = ratio_points(network, network.sensors["sensor"].iloc[-1])
    met = sum(len(hours) for hours, _ in ratios.values())
    table = network.colocations
    own = network.sensors["sensor"].iloc[-1]
    usable = ((table["sensor_a"] == own) & (table["value_a"] > 0)) | (
        (table["sensor_b"] == own) & (table["value_b"] > 0)
    )
    assert met == usable.sum()
    assert isinstance(visits_figure(network, 0, 350), figure)
    steps = multihop(network).calibration(None, [own])
    plot = gain_figure(own, steps.assign(hours=network.clock.hours(steps["time"])), None, ratios, steps=True)
    page = tmp_path / "page.html"
    write_page(page, "<b>", [Section("S", ["<script>x</script>"], [Table(["h"], [["<i>"]])], [(plot, "caption")])])
    text = page.read_text()
    assert "<script>x</script>" not in text
    assert not re.search(r"<(script|link|img|iframe)[^>]*(src|href)=", text)


def test_labels_beside_the_paper(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(labels, "METHODS", ("majority", labels.ORACLE))
    monkeypatch.setattr(reproduce_figures, "labels_figures", list)
    assert run(["reproduce", "labels", "--quick", "--workers", "1", "--out", str(tmp_path)]) == 0
    assert "majority" in capsys.readouterr().out
    text = (tmp_path / "labels.html").read_text()
    assert "81.9" in text  # the paper's figure for votes
    assert "oracle" in text
