"""Processes that are killed: nothing half-written is ever seen, and what was lost can be restarted."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibdash.models.progress import Halfway
from calibdash.models.sites import Sites
from calibdash.runs.checkpoint import keep_halfway, read_halfway
from calibdash.runs.folder import read_record, status_in, write_run
from calibdash.runs.queue import JobQueue
from calibdash.runs.request import JobRequest
from calibdash.runs.store import MOST_CRASHES, RunStore
from calibdash.runs.work import work
from calibdash.state.shelf import Shelf
from calibdash.state.upload.folder import publish
from tests.runs.jobs import quick, until_told, wait_status

Ask = Callable[..., JobRequest]
TOUCHING = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.utime", "os.chmod", "shutil.", "tempfile.")
TABLE = pd.DataFrame({"time": [0.0] * 50, "sensor": ["S1"] * 50})


def killed_at(step: int, act: Callable[[], object]) -> bool:
    """Act in a process that is killed just before it touches the file system for the ``step``-th time; was it?"""
    child = os.fork()
    if child == 0:
        left = step

        def hook(event: str, _arguments: object) -> None:
            nonlocal left
            if event.startswith(TOUCHING):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        try:
            act()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0


def every_step(act: Callable[[], object], check: Callable[[], None]) -> int:
    """Kill at the first step, the second, … until the act gets through; how many steps it has."""
    for step in range(1, 500):
        killed = killed_at(step, act)
        check()
        if not killed:
            return step
    raise AssertionError("it never ended")


def test_a_replaced_run_is_always_the_old_or_the_new_one(tmp_path: Path) -> None:
    run = tmp_path / "run"

    def save(number: int) -> None:
        write_run(run, {"seed": number, "status": "done"}, {"a": TABLE, "b": TABLE}, lambda new: (new / "c").touch())

    def check() -> None:
        assert read_record(run)["seed"] in (1, 2)
        assert sorted(file.name for file in run.iterdir()) == ["a.csv", "b.csv", "c", "run.json"]
        assert len(pd.read_csv(run / "b.csv")) == 50

    save(1)
    assert every_step(lambda: save(2), check) >= 10
    assert read_record(run)["seed"] == 2


def test_a_new_run_is_there_whole_or_not_at_all(store: RunStore, ask: Ask) -> None:
    def check() -> None:
        for run in store.runs():
            assert run.status == "queued"
            assert store.request(run.id).seed == 5

    assert every_step(lambda: store.create(ask(seed=5)), check) >= 5
    assert len(store.runs()) >= 1
    assert {run.status for run in RunStore(store.root).runs()} == {"interrupted"}


def test_a_run_killed_at_any_step_of_its_work_can_be_restarted(store: RunStore, ask: Ask) -> None:
    run_id = store.create(ask(seed=5))
    folder = store.path(run_id)
    seen = set()

    def check() -> None:
        status = RunStore(store.root).get(run_id).status  # which marks what was lost
        seen.add(status)
        assert status in ("queued", "interrupted", "done")
        assert store.request(run_id).seed == 5
        store.snapshot(run_id)
        if status == "interrupted":
            store.requeue(run_id)
        elif status == "done":
            assert (folder / "calibration.csv").read_text() == "time,sensor\n"
            assert read_record(folder)["elbo"] == [-5.0, -4.0]
            store.update(run_id, {"status": "queued"}, status_in("done"))

    assert every_step(lambda: work(folder, quick), check) >= 20
    assert seen == {"queued", "interrupted", "done"}


def test_random_moments(store: RunStore, ask: Ask) -> None:
    run_id = store.create(ask())
    folder = store.path(run_id)
    queued = status_in("queued")
    rng = random.Random(0)
    for _ in range(20):
        child = os.fork()
        if child == 0:
            try:
                number = 0
                while True:
                    number += 1
                    store.update(run_id, {"number": number, "text": "x" * rng.randrange(100_000)}, queued)
                    write_run(store.root / "other", {"number": number, "status": "done"}, {"a": TABLE})
            finally:
                os._exit(1)
        time.sleep(rng.uniform(0.01, 0.06))  # any moment is good
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert read_record(folder)["status"] == "queued"
        if (store.root / "other").exists():
            assert len(pd.read_csv(store.root / "other" / "a.csv")) == 50
        assert all(run.status in ("queued", "done") for run in store.runs())
    assert store.update(run_id, {"number": -1}, queued)  # no lock was left behind


SERVER = """
import sys, threading
from calibdash.runs.queue import JobQueue
from calibdash.runs.request import JobRequest
from calibdash.runs.store import RunStore
from tests.runs.jobs import until_told, wait_progress
queue = JobQueue(RunStore(sys.argv[1]), 1, until_told)
first, second = (queue.submit(JobRequest(sys.argv[2], {}, seed=9, learn=True)) for _ in range(2))
wait_progress(queue, first)
print(first, second, flush=True)
threading.Event().wait()
"""


@pytest.fixture
def killed_server(store: RunStore, network: Path) -> tuple[str, str]:
    """The runs of a server that was killed: one running, one waiting."""
    arguments = [sys.executable, "-c", SERVER, str(store.root), str(network)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=root) as server:
        assert server.stdout is not None
        first, second = server.stdout.readline().split()
        assert RunStore(store.root).get(first).status == "running"
        server.send_signal(signal.SIGKILL)
    return first, second


def test_a_killed_server(killed_server: tuple[str, str], store: RunStore, make_queue: Callable[..., JobQueue]) -> None:
    again = RunStore(store.root)
    assert [again.get(run_id).status for run_id in killed_server] == ["interrupted"] * 2
    queue = make_queue(until_told, on=again)
    for run_id in killed_server:
        (again.path(run_id) / "go").touch()
        queue.restart(run_id)
    for run_id, resumed in zip(killed_server, (True, False), strict=True):
        wait_status(queue, run_id, "done")
        record = again.record(run_id)
        assert (record["seed"], record["learn"], record["resumed"]) == (9, True, resumed)
        assert not (again.path(run_id) / "checkpoint.json").exists()


def test_a_trash_killed_at_any_step_of_being_emptied_gives_back_whole_runs(store: RunStore) -> None:
    run_id = "run"
    put = {"status": "done", "kind": "multihop"}

    def act() -> None:
        store.delete(run_id)
        store.empty_trash()

    def check() -> None:
        here = RunStore(store.root)
        if run_id in [run.id for run in here.trash()]:
            here.restore(run_id)
        if run_id in [run.id for run in here.runs()]:
            assert sorted(file.name for file in here.path(run_id).iterdir()) == ["a.csv", "b.csv", "run.json"]
            assert here.get(run_id).status == "done"
        else:
            write_run(store.root / run_id, put, {"a": TABLE, "b": TABLE})

    write_run(store.root / run_id, put, {"a": TABLE, "b": TABLE})
    assert every_step(act, check) >= 8
    store.delete(run_id)
    store.empty_trash()
    assert not list((store.root / ".trash").iterdir())  # nothing that a killed process left, either


def test_a_checkpoint_killed_at_any_step_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    def halfway(number: float) -> Halfway:
        return Halfway(Sites(np.full((5, 2, 2), number), np.full((5, 2), number)), (number,))

    keep = keep_halfway(tmp_path, "key", seconds=0.0)
    keep(halfway(1.0))

    def check() -> None:
        found = read_halfway(tmp_path, "key")
        assert found is not None
        assert found.elbo[0] in (1.0, 2.0)
        assert np.all(found.sites.shift == found.elbo[0])

    assert every_step(lambda: keep(halfway(2.0)), check) >= 3
    assert read_halfway(tmp_path, "other data") is None


def test_a_network_killed_at_any_step_of_being_added_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    made = tmp_path / "made"

    def act() -> None:
        shelf = Shelf(tmp_path)
        shelf.scratch()
        publish(made, shelf.networks, "Small")

    def check() -> None:
        shelf = Shelf(tmp_path)
        found = list(shelf.networks.iterdir()) if shelf.networks.exists() else []
        assert all(sorted(file.name for file in folder.iterdir()) == ["colocations.csv", "raw"] for folder in found)
        assert not list(tmp_path.glob("uploads/*"))
        if not made.exists():
            (made / "raw").mkdir(parents=True)
            (made / "colocations.csv").write_text("time,sensor_a,sensor_b,value_a,value_b\n0,A,B,1,2\n")

    check()
    assert every_step(act, check) >= 4
    assert any((tmp_path / "networks").iterdir())


def test_interrupted_runs_are_taken_up_again_but_not_for_ever(
    killed_server: tuple[str, str], store: RunStore, make_queue: Callable[..., JobQueue]
) -> None:
    first, second = killed_server
    again = RunStore(store.root)  # as the next program does
    assert (again.record(first)["crashes"], again.record(second)["crashes"]) == (1, 0)
    again.update(first, {"crashes": MOST_CRASHES}, lambda _: True)
    queue = make_queue(until_told, on=again)
    (again.path(second) / "go").touch()
    assert queue.resume() == [second]
    assert "started again" in again.get(second).message
    wait_status(queue, second, "done")
    assert again.get(second).message == ""
    left = again.get(first)
    assert (left.status, queue.resume()) == ("interrupted", [])
    assert "died" in left.message
    (again.path(first) / "go").touch()
    queue.restart(first)  # somebody has looked at it
    wait_status(queue, first, "done")
    assert again.record(first)["crashes"] == 0
