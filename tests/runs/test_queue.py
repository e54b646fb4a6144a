from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from calibdash.errors import CalibdashError
from calibdash.models.progress import Cancel, Progress, Report
from calibdash.runs.fair import FairQueue
from calibdash.runs.folder import write_run
from calibdash.runs.queue import JobQueue
from calibdash.runs.request import JobRequest
from calibdash.runs.snapshot import LONGEST_TRACE, Snapshot, Tracker
from calibdash.runs.stop import write_stop
from calibdash.runs.store import RunStore
from tests.runs.jobs import WAIT, Gate, report, until_told, wait_progress, wait_status

Ask = Callable[..., JobRequest]
MakeQueue = Callable[..., JobQueue]


def test_a_job_is_done(make_queue: MakeQueue, ask: Ask, store: RunStore) -> None:
    queue = make_queue()
    run_id = queue.submit(ask(seed=3))
    assert wait_status(queue, run_id, "done").share == 1.0
    run = store.get(run_id)
    assert (run.seed, run.elbo) == (3, -4.0)


def test_owners_take_turns(make_queue: MakeQueue, ask: Ask) -> None:
    gate = Gate()
    queue = make_queue(gate)
    ids = [queue.submit(ask(owner="ada", name="a1"))]
    gate.wait_begun()
    ids += [queue.submit(ask(owner=name[0], name=name)) for name in ("a2", "a3", "b1", "c1", "b2")]
    # "ada" and "a" are different people: a, b, c wait alike, then a and b again
    assert [queue.position(run_id) for run_id in ids] == [None, 0, 3, 1, 2, 4]
    gate.open.release(6)
    for run_id in ids:
        wait_status(queue, run_id, "done")
    assert gate.order == ["a1", "a2", "b1", "c1", "a3", "b2"]
    assert gate.most == 1


def test_who_was_served_last_waits() -> None:
    fair: FairQueue[int] = FairQueue()
    fair.push("a", "1", 1)
    assert fair.pop() == 1
    fair.push("a", "2", 2)
    fair.push("b", "3", 3)
    assert fair.order() == ["3", "2"]
    assert fair.remove("2") == 2
    assert fair.remove("2") is None
    assert [fair.pop(), fair.pop()] == [3, None]


def test_so_many_at_a_time_and_no_idle_threads(make_queue: MakeQueue, ask: Ask) -> None:
    gate = Gate()
    queue = make_queue(gate, workers=2)
    assert not queue._threads
    ids = [queue.submit(ask(name=str(number))) for number in range(5)]
    gate.wait_begun()
    gate.wait_begun()
    assert [queue.progress(run_id).status for run_id in ids] == ["running"] * 2 + ["queued"] * 3
    threads = list(queue._threads)
    gate.open.release(5)
    for run_id in ids:
        wait_status(queue, run_id, "done")
    for thread in threads:
        thread.join(WAIT)
    assert gate.most == 2
    assert not queue._threads


def test_cancel_queued_and_running(make_queue: MakeQueue, ask: Ask, store: RunStore) -> None:
    gate = Gate()
    queue = make_queue(gate)
    running, waiting, last = (queue.submit(ask(name=name)) for name in "rwl")
    gate.wait_begun()
    heard: list[str] = []
    queue.subscribe(waiting, lambda snapshot: heard.append(snapshot.status))
    queue.cancel(waiting)
    assert store.get(waiting).status == "cancelled"
    assert heard == ["cancelled"]
    queue.cancel(running)
    assert "cancelled" in wait_status(queue, running, "cancelled").message
    gate.open.release()
    wait_status(queue, last, "done")
    queue.cancel(last)
    assert store.get(last).status == "done"
    assert gate.order == ["r", "l"]


def test_restart(make_queue: MakeQueue, ask: Ask, store: RunStore) -> None:
    queue = make_queue(until_told)
    run_id = queue.submit(ask(seed=11))
    wait_progress(queue, run_id)
    with pytest.raises(CalibdashError, match="is running"):
        queue.restart(run_id)
    queue.cancel(run_id)
    wait_status(queue, run_id, "cancelled")
    (store.path(run_id) / "go").touch()
    queue.restart(run_id)
    wait_status(queue, run_id, "done")
    record = store.record(run_id)
    assert (record["seed"], record["resumed"], record["message"]) == (11, True, "")
    with pytest.raises(CalibdashError, match="is done"):
        queue.restart(run_id)


def test_callbacks_cannot_hurt_and_can_leave(make_queue: MakeQueue, ask: Ask) -> None:
    gate = Gate()
    queue = make_queue(gate)
    first, second = queue.submit(ask(name="1")), queue.submit(ask(name="2"))
    gate.wait_begun()
    heard: list[tuple[str, str]] = []
    left: list[str] = []

    def hostile(snapshot: Snapshot) -> None:
        raise RuntimeError(snapshot.id)

    queue.subscribe(second, hostile)
    queue.subscribe(second, lambda snapshot: heard.append((snapshot.status, threading.current_thread().name)))
    unsubscribe = queue.subscribe(second, lambda snapshot: left.append(snapshot.status))
    unsubscribe()
    unsubscribe()
    gate.open.release(2)
    wait_status(queue, first, "done")
    wait_status(queue, second, "done")
    queue.shutdown()
    assert heard == [("running", "calibdash-worker"), ("done", "calibdash-worker")]
    assert left == []


def test_reports_come_at_most_four_times_a_second(
    make_queue: MakeQueue, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr("calibdash.runs.work.monotonic", lambda: clock[0])

    def busy(_request: Mapping[str, object], _folder: str, progress: Report, _cancel: Cancel) -> dict[str, object]:
        begun.wait(WAIT)
        for step in range(1, 201):  # two seconds of hundredths
            clock[0] += 0.01
            progress(report(step, float(step)))
        return {}

    begun = threading.Event()
    queue = make_queue(busy)
    heard: list[Snapshot] = []
    run_id = queue.submit(ask())
    queue.subscribe(run_id, heard.append)
    begun.set()
    wait_status(queue, run_id, "done")
    monkeypatch.undo()
    queue.shutdown()
    told = [snapshot for snapshot in heard if snapshot.iteration and snapshot.status == "running"]
    assert 6 <= len(told) <= 9
    assert heard[-1].iteration == 200
    assert len(heard[-1].trace) == 200


def test_progress_of_another_process_and_the_wish_to_stop(make_queue: MakeQueue, ask: Ask, store: RunStore) -> None:
    queue = make_queue(until_told)
    elsewhere = make_queue(on=RunStore(store.root))  # as a second server would have
    run_id = queue.submit(ask())
    wait_progress(queue, run_id)
    seen = elsewhere.progress(run_id)
    assert seen.status == "running"
    assert seen.trace[0] == -99.0
    assert elsewhere.store.get(run_id).share > 0
    elsewhere.cancel(run_id)
    wait_status(queue, run_id, "cancelled")
    assert elsewhere.progress(run_id).status == "cancelled"
    assert not (store.path(run_id) / "stop").exists()


def test_traces_are_thinned_and_shares_never_fall() -> None:
    tracker = Tracker("x", learn=True)
    learning = [Progress("learn", step, 40, -step, step, 40.0 - step) for step in range(1, 41)]
    shares = [tracker.add(progress).share for progress in learning * 2]  # two kernels
    assert tracker.snapshot.trace == tuple(-float(step) for step in range(1, 41))
    for step in range(1, 3001):
        value = float("nan") if step == 7 else float(step)
        shares.append(tracker.add(Progress("fit", step, 3000, value, step, None)).share)
    assert shares == sorted(shares)
    assert shares[79] == pytest.approx(0.8)
    assert shares[-1] == 1.0
    trace = np.array(tracker.snapshot.trace)
    assert 100 < len(trace) < LONGEST_TRACE
    assert set(np.diff(trace[5:])) == {8.0}


def test_damaged_progress_is_passed_over(store: RunStore, ask: Ask) -> None:
    run_id = store.create(ask())
    for text in ("{", "[]", '{"trace": 5, "share": "x", "iteration": null, "elbo": NaN}', '{"trace": ["a", 1]}'):
        (store.path(run_id) / "progress.json").write_text(text)
        assert store.snapshot(run_id).status == "queued"
    write_stop(store.path(run_id), "nonsense")
    write_run(store.root / "done", {"status": "done", "elbo": [float(step) for step in range(2000)]}, {})
    assert len(store.snapshot("done").trace) <= LONGEST_TRACE


def test_nothing_heavy_is_loaded_before_a_job() -> None:
    script = "import sys, calibdash.runs.queue, calibdash.runs.cluster; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"tensorflow", "distributed", "dask", "panel", "param"} & set(done.stdout.split())
