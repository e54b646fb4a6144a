"""``calibdash labels`` from tables of every form to the files of its run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibdash.cli.main import run
from calibdash.runs.job import run_job
from calibdash.runs.request import JobRequest
from tests.models.labelling.sets import crowd

QUICK = ["--set", "steps=40", "--set", "draws=64", "--set", "samples=2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bees")
    labels, _ = crowd(items=16)
    labels.labels.to_csv(place / "labels.csv", index=False)
    labels.labellers.to_csv(place / "labellers.csv", index=False)
    return place


def test_run_has_its_tables(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["labels", str(folder), "--out", str(tmp_path / "run"), "--json", "--seed", "4", *QUICK]) == 0
    assert json.loads(capsys.readouterr().out)["run"] == str(tmp_path / "run")
    columns = {
        "items": ["item", "class", "probability"],
        "confusion": ["labeller", "time", "true_class", "label", "mean", "lower", "upper"],
        "next": ["rank", "item", "labeller", "expert", "gain", "item_gain", "labeller_gain", "cost", "gain_per_cost"],
    }
    for name, wanted in columns.items():
        assert list(pd.read_csv(tmp_path / "run" / f"{name}.csv").columns) == wanted
    assert {"labeller", "skill", "trend", "labels"} <= set(pd.read_csv(tmp_path / "run" / "labellers.csv").columns)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (record["kind"], record["seed"], record["references"]) == ("labels", 4, ["expert"])


def test_wide_table_with_a_chosen_reference(folder: Path, tmp_path: Path) -> None:
    labels = pd.read_csv(folder / "labels.csv")
    wide = labels.pivot_table(index="item", columns="labeller", values="label", aggfunc="first").reset_index()
    place = tmp_path / "wide"
    place.mkdir()
    wide.rename(columns={"expert": "Dr Okello"}).to_csv(place / "labels.csv", index=False)
    options = ["--reference", "Dr Okello", "--pairwise", *QUICK]
    assert run(["labels", str(place), "--out", str(tmp_path / "run"), *options]) == 0
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["references"] == ["Dr Okello"]
    assert record["settings"]["form"] == "pairwise"
    items = pd.read_csv(tmp_path / "run" / "items.csv")
    np.testing.assert_allclose(items.groupby("item")["probability"].sum(), 1.0)


def test_fallible_reference_is_modelled(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run(["labels", str(folder), "--out", str(out), "--fallible", "expert", *QUICK]) == 0
    assert "expert" in set(pd.read_csv(out / "labellers.csv")["labeller"])


@pytest.mark.parametrize(
    "options", [["--set", "nonsense=1"], ["--reference", "Nobody"], ["--set", "form=both"], ["--fallible", "Nobody"]]
)
def test_mistakes_are_said(folder: Path, tmp_path: Path, options: list[str]) -> None:
    assert run(["labels", str(folder), "--out", str(tmp_path / "run"), *options]) == 2
    assert not (tmp_path / "run").exists()


def test_job_of_the_queue(folder: Path, tmp_path: Path) -> None:
    settings = {"steps": 40, "draws": 64, "samples": 2, "over.time": False}
    request = JobRequest(str(folder), settings, kind="labels", learn=True)
    assert JobRequest.from_dict(request.as_dict()) == request
    gained = run_job(request.as_dict(), str(tmp_path))
    assert gained["kind"] == "labels"
    assert (tmp_path / "items.csv").is_file()
    assert (tmp_path / "posterior.npz").is_file()


def test_zooniverse_export_by_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels, truth = crowd(items=16)
    frame = labels.labels
    stamps = pd.Timestamp("2024-03-01 10:00", tz="UTC") + pd.to_timedelta(np.arange(len(frame)), unit="h")
    numbers = {item: 1000 + number for number, item in enumerate(truth)}
    pd.DataFrame(
        {
            "classification_id": np.arange(len(frame)),
            "user_name": frame["labeller"],
            "workflow_id": 7,
            "created_at": stamps.strftime("%Y-%m-%d %H:%M:%S UTC"),
            "gold_standard": np.where(frame["labeller"] == "expert", "true", ""),
            "annotations": [json.dumps([{"task": "T0", "value": label}]) for label in frame["label"]],
            "subject_ids": frame["item"].map(numbers),
        }
    ).to_csv(tmp_path / "classifications.csv", index=False)
    out = tmp_path / "run"
    assert run(["labels", str(tmp_path / "classifications.csv"), "--out", str(out), *QUICK]) == 0
    record = json.loads((out / "run.json").read_text())
    assert record["references"] == ["expert"]
    assert record["items"] == 16
    assert pd.read_csv(out / "confusion.csv")["time"].str.startswith("2024-03-0").all()
    assert "The run is in" in capsys.readouterr().err


def test_what_is_unsure_is_said(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = pd.read_csv(folder / "labels.csv")
    nobody, two = tmp_path / "nobody", tmp_path / "two"
    for place in (nobody, two):
        place.mkdir()
    labels[labels["labeller"] != "expert"].to_csv(nobody / "labels.csv", index=False)
    other = labels[labels["labeller"] == "expert"].assign(labeller="second", label="class 0")
    pd.concat([labels, other]).to_csv(two / "labels.csv", index=False)
    assert run(["labels", str(nobody), "--out", str(tmp_path / "a"), *QUICK]) == 0
    assert "only through the prior" in " ".join(capsys.readouterr().err.split())
    both = ["--reference", "expert", "--reference", "second"]
    assert run(["labels", str(two), "--out", str(tmp_path / "b"), *both, *QUICK]) == 0
    assert "References disagree about" in " ".join(capsys.readouterr().err.split())
    assert json.loads((tmp_path / "b" / "run.json").read_text())["references"] == ["expert", "second"]
