"""Jobs in processes of their own: progress, cancel, a worker that is used again, one that dies, one left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from calibdash.runs.apart import ApartQueue
from calibdash.runs.request import JobRequest
from calibdash.runs.snapshot import Snapshot
from calibdash.runs.store import RunStore
from tests.runs.jobs import dying, quick, until_told, wait_progress, wait_status

Ask = Callable[..., JobRequest]
Make = Callable[..., ApartQueue]


@pytest.fixture
def make(store: RunStore) -> Iterator[Make]:
    made: list[ApartQueue] = []

    def queue(job: Callable[..., dict[str, object]], workers: int = 1) -> ApartQueue:
        made.append(ApartQueue(store, workers, job))
        return made[-1]

    yield queue
    for one in made:
        one.shutdown()


def pids(store: RunStore) -> list[int]:
    return [run.process.pid for run in store.runs() if run.process is not None]


def test_progress_arrives_cancel_works_and_the_worker_is_used_again(make: Make, ask: Ask, store: RunStore) -> None:
    queue = make(until_told)
    cancelled = queue.submit(ask())
    heard: list[Snapshot] = []
    queue.subscribe(cancelled, heard.append)
    assert wait_progress(queue, cancelled).trace
    queue.cancel(cancelled)
    wait_status(queue, cancelled, "cancelled")
    assert [snapshot.status for snapshot in heard].count("cancelled") == 1
    finished = queue.submit(ask())
    wait_progress(queue, finished)
    (store.path(finished) / "go").touch()
    wait_status(queue, finished, "done")
    assert store.get(finished).elbo == 1.0
    assert len(set(pids(store))) == 1
    assert os.getpid() not in pids(store)


def test_two_at_a_time(make: Make, ask: Ask, store: RunStore) -> None:
    queue = make(until_told, workers=2)
    ids = [queue.submit(ask()) for _ in range(2)]
    for run_id in ids:
        wait_progress(queue, run_id)
    assert len(set(pids(store))) == 2
    for run_id in ids:
        queue.cancel(run_id)
        wait_status(queue, run_id, "cancelled")


def test_a_worker_that_dies_takes_only_its_run_along(make: Make, ask: Ask, store: RunStore) -> None:
    queue = make(dying)
    lost = queue.submit(ask())
    wait_progress(queue, lost)
    (store.path(lost) / "go").touch()
    snapshot = wait_status(queue, lost, "interrupted")
    assert "memory" in snapshot.message
    assert "restart" in snapshot.hint
    again = queue.submit(ask())
    wait_progress(queue, again)
    queue.cancel(again)  # it does not listen, but may end
    (store.path(again) / "go").touch()
    wait_status(queue, again, "interrupted", "cancelled")


def test_a_stop_of_the_server_interrupts(make: Make, ask: Ask, store: RunStore) -> None:
    queue = make(until_told)
    run_id = queue.submit(ask())
    wait_progress(queue, run_id)
    queue.shutdown()
    assert store.get(run_id).status == "interrupted"


def test_a_job_that_fails_says_why(make: Make, ask: Ask, store: RunStore, network: Path) -> None:
    from calibdash.runs.job import run_job

    queue = make(run_job)
    run_id = queue.submit(ask(kind="fit"))
    (network / "colocations.csv").unlink()
    snapshot = wait_status(queue, run_id, "failed", "done")
    assert snapshot.status == "failed"
    assert store.get(run_id).hint


def test_a_worker_ends_with_its_server(store: RunStore, ask: Ask) -> None:
    """Killed without a word, the server leaves no process that goes on writing."""
    run_id = store.create(ask())
    command = [sys.executable, "-m", "calibdash.runs.apart", f"{until_told.__module__}:{until_told.__qualname__}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(f'"{store.path(run_id)}"\n')
        worker.stdin.flush()
        assert any('"status": "running"' in line for line in worker.stdout)
        worker.stdin.close()
        worker.wait(30)
    assert RunStore(store.root).get(run_id).status == "interrupted"


def test_quick_jobs_in_a_row(make: Make, ask: Ask, store: RunStore) -> None:
    queue = make(quick)
    ids = [queue.submit(ask(seed=seed)) for seed in range(5)]
    for seed, run_id in enumerate(ids):
        wait_status(queue, run_id, "done")
        assert store.record(run_id)["seed"] == seed
