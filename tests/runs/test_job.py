"""The real job: from a request to a run that can be opened."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibdash.cli.main import run as command
from calibdash.errors import CalibdashError
from calibdash.models.progress import FitCancelledError, Progress
from calibdash.models.store import load
from calibdash.runs import job
from calibdash.runs.checkpoint import CHECKPOINT, HALFWAY, keep_halfway, read_checkpoint
from calibdash.runs.job import run_job
from calibdash.runs.queue import JobQueue
from calibdash.runs.request import JobRequest
from calibdash.runs.store import RunStore
from tests.runs.jobs import wait_status

QUICK = {"lengthscale": "25d", "drift": 0.3, "bias": 0.3, "kernel": "matern32", "learn.steps": 3}


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("city") / "net"
    assert command(["simulate", "network", str(folder), "--days", "30", "--noise", "2", "--seed", "3"]) == 0
    return folder


def test_fit_with_learning_through_the_queue(city: Path, make_queue: Callable[..., JobQueue], store: RunStore) -> None:
    queue = make_queue(run_job)
    request = JobRequest(str(city), QUICK, learn=True, seed=4, name="learned")
    first = queue.submit(request)
    assert wait_status(queue, first, "done", "failed").message == ""
    record = store.record(first)
    assert {"kind", "status", "settings", "seed", "data_hash", "versions", "elbo", "seconds"} <= record.keys()
    assert (record["id"], record["name"], record["seed"]) == (first, "learned", 4)
    assert store.snapshot(first).trace[-1] == store.get(first).elbo
    names = {file.name for file in store.path(first).iterdir()}
    assert names == {"run.json", "calibration.csv", "posterior.json", "posterior.npz"}
    warm = queue.submit(JobRequest(str(city), record["settings_used"], warm_run=first))  # type: ignore[arg-type]
    wait_status(queue, warm, "done", "failed")
    a, b = load(store.path(first)), load(store.path(warm))
    assert len(b.record.elbo) <= len(a.record.elbo)
    assert b.elbo == pytest.approx(a.elbo, abs=1.0)


def test_what_was_learned_is_not_learned_again(city: Path, store: RunStore) -> None:
    run_id = store.create(JobRequest(str(city), QUICK, learn=True))
    folder, request = store.path(run_id), store.request(run_id).as_dict()
    stages: list[str] = []
    learned: list[bool] = []

    def progress(report: Progress) -> None:
        stages.append(report.stage)
        learned.append((folder / CHECKPOINT).exists())

    with pytest.raises(FitCancelledError):
        run_job(request, str(folder), progress, lambda: "fit" in stages)
    assert "learn" in stages
    assert learned[stages.index("fit")]
    assert not (folder / "posterior.npz").exists()
    kept = read_checkpoint(folder)["learned"]
    stages.clear()
    record = run_job(json.loads(json.dumps(request)), str(folder), progress, None)
    assert set(stages) == {"fit"}
    assert record["settings_used"] == kept
    # other data, or a checkpoint of another request: learned afresh
    heard: list[object] = []
    (folder / CHECKPOINT).write_text(json.dumps({**read_checkpoint(folder), "data": "other"}))
    run_job(request, str(folder), progress, None, heard.append)
    assert "learn" in stages
    assert len(heard) == 1


def test_an_interrupted_fit_goes_on(city: Path, store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "keep_halfway", partial(keep_halfway, seconds=0.0))
    settings = {**QUICK, "lengthscale": "5d", "noise.additive": 2.0, "noise.proportional": 0.05, "tolerance": 1e-7}
    folder, other = (store.path(store.create(JobRequest(str(city), settings))) for _ in range(2))
    request = JobRequest(str(city), settings).as_dict()
    whole = run_job(request, str(other))["elbo"]
    assert len(whole) > 3  # type: ignore[arg-type]
    seen: list[int] = []

    def progress(report: Progress) -> None:
        seen.append(report.iteration)

    with pytest.raises(FitCancelledError):
        run_job(request, str(folder), progress, lambda: 2 in seen)
    halfway = (folder / HALFWAY).read_bytes()
    seen.clear()
    assert run_job(request, str(folder), progress)["elbo"] == whole
    assert seen[0] == 3
    assert not (folder / HALFWAY).exists()
    for kept, changes in ((halfway, {"drift": 0.2}), (b"damaged", {})):
        (folder / HALFWAY).write_bytes(kept)
        seen.clear()
        run_job({**request, "settings": {**settings, **changes}}, str(folder), progress)
        assert seen[0] == 1


def test_multihop(city: Path, make_queue: Callable[..., JobQueue], store: RunStore) -> None:
    queue = make_queue(run_job)
    run_id = queue.submit(JobRequest(str(city), {"window_hours": 240.0, "min_observations": 1}, kind="multihop"))
    assert wait_status(queue, run_id, "done", "failed").message == ""
    assert store.get(run_id).kind == "multihop"
    table = pd.read_csv(store.path(run_id) / "calibration.csv")
    assert np.isfinite(table["median"]).any()


def test_mistakes_in_the_data_are_told(network: Path, make_queue: Callable[..., JobQueue], store: RunStore) -> None:
    (network / "colocations.csv").write_text("time,sensor_a\n0,R0\n")
    queue = make_queue(run_job)
    run_id = queue.submit(JobRequest(str(network), {}))
    snapshot = wait_status(queue, run_id, "failed")
    assert "colocations.csv" in snapshot.message
    assert snapshot.hint
    with pytest.raises(CalibdashError):
        run_job({**store.request(run_id).as_dict(), "warm_run": "../x"}, str(store.path(run_id)))


def test_runs_of_the_command_line(city: Path, store: RunStore) -> None:
    assert command(["multihop", str(city), "--out", str(store.root / "by hand")]) == 0
    (run,) = store.runs()
    assert (run.id, run.kind, run.status) == ("by hand", "multihop", "done")
    assert run.created
