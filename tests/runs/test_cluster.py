"""The queue on a real cluster: two worker processes on this machine."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from calibdash.errors import CalibdashError
from calibdash.runs import cluster
from calibdash.runs.cluster import DaskQueue
from calibdash.runs.request import JobRequest
from calibdash.runs.snapshot import Snapshot
from calibdash.runs.store import RunStore
from tests.runs.jobs import dying, quick, until_told, wait_progress, wait_status

distributed = pytest.importorskip("distributed")
Ask = Callable[..., JobRequest]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with distributed.LocalCluster(
        n_workers=2, processes=True, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1"
    ) as local:
        yield local.scheduler_address


@pytest.fixture
def make(store: RunStore, address: str) -> Iterator[Callable[..., DaskQueue]]:
    made: list[DaskQueue] = []

    def queue(job: Callable[..., dict[str, object]], workers: int | None = None) -> DaskQueue:
        made.append(DaskQueue(store, address, workers, job))
        return made[-1]

    yield queue
    for one in made:
        one.shutdown()


def test_progress_arrives_and_cancel_works(make: Callable[..., DaskQueue], ask: Ask, store: RunStore) -> None:
    queue = make(until_told)
    assert queue.workers == 2
    cancelled, finished = queue.submit(ask(name="c")), queue.submit(ask(name="f"))
    heard: list[Snapshot] = []
    queue.subscribe(cancelled, heard.append)
    for run_id in (cancelled, finished):
        assert wait_progress(queue, run_id).trace
    processes = {run.process.pid for run in store.runs() if run.process is not None}
    assert len(processes) == 2
    assert os.getpid() not in processes
    assert RunStore(store.root).get(cancelled).status == "running"
    queue.cancel(cancelled)
    wait_status(queue, cancelled, "cancelled")
    (store.path(finished) / "go").touch()
    wait_status(queue, finished, "done")
    assert store.get(finished).elbo == 1.0
    assert heard[-1].status == "cancelled"
    assert [snapshot.status for snapshot in heard].count("cancelled") == 1


def test_a_run_that_waits_for_a_worker_is_cancelled(make: Callable[..., DaskQueue], ask: Ask) -> None:
    queue = make(until_told, workers=3)
    ids = [queue.submit(ask()) for _ in range(3)]
    busy = threading.Semaphore(0)
    for run_id in ids:
        queue.subscribe(run_id, lambda snapshot: busy.release() if snapshot.iteration else None)
    while sum(queue.progress(run_id).status == "running" for run_id in ids) < 2:
        assert busy.acquire(timeout=30)
    (waiting,) = [run_id for run_id in ids if queue.progress(run_id).status == "queued"]
    queue.cancel(waiting)
    wait_status(queue, waiting, "cancelled")
    for run_id in ids:
        queue.cancel(run_id)
        wait_status(queue, run_id, "cancelled")


def test_a_killed_worker(make: Callable[..., DaskQueue], ask: Ask, store: RunStore) -> None:
    queue = make(until_told)
    run_id = queue.submit(ask())
    wait_progress(queue, run_id)
    process = store.get(run_id).process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    snapshot = wait_status(queue, run_id, "interrupted", "failed", "done")
    assert snapshot.status == "interrupted"
    assert "worker" in snapshot.message
    assert "Restart" in snapshot.hint
    (store.path(run_id) / "go").touch()
    queue.restart(run_id)
    wait_status(queue, run_id, "done")
    assert store.record(run_id)["resumed"]


def test_a_job_that_kills_its_worker(make: Callable[..., DaskQueue], ask: Ask, store: RunStore) -> None:
    queue = make(dying)
    run_id = queue.submit(ask())
    wait_progress(queue, run_id)
    (store.path(run_id) / "go").touch()
    assert "worker" in wait_status(queue, run_id, "interrupted").message


def test_shutdown_interrupts_what_runs_on_the_cluster(
    make: Callable[..., DaskQueue], ask: Ask, store: RunStore
) -> None:
    queue = make(until_told)
    run_id = queue.submit(ask())
    wait_progress(queue, run_id)
    queue.shutdown()
    assert store.get(run_id).status == "interrupted"


def test_a_job_the_cluster_does_not_have(make: Callable[..., DaskQueue], ask: Ask) -> None:
    queue = make(Unknown())
    snapshot = wait_status(queue, queue.submit(ask()), "failed")
    assert "could not" in snapshot.message
    assert "same version" in snapshot.hint


class Unknown:
    """As a worker with another version would see it."""

    def __reduce__(self) -> tuple[object, ...]:
        return json.loads, ("not json",)


def test_no_cluster(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.3)
    for address in ("tcp://127.0.0.1:1", "nonsense://x"):
        with pytest.raises(CalibdashError, match="No Dask scheduler"):
            DaskQueue(store, address, 1, quick)
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(CalibdashError, match="not installed"):
        DaskQueue(store, "tcp://127.0.0.1:1", 1, quick)


def test_a_client_that_gave_up_is_replaced(make: Callable[..., DaskQueue], ask: Ask) -> None:
    queue = make(quick)
    queue._client.close()
    wait_status(queue, queue.submit(ask()), "done")
