from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from calibdash.errors import CalibdashError
from calibdash.runs.folder import status_in
from calibdash.runs.queue import JobQueue
from calibdash.runs.request import JobRequest
from calibdash.runs.store import RunStore
from tests.runs.jobs import WAIT, Gate, quick, raising, until_told, wait_progress, wait_status

Ask = Callable[..., JobRequest]
MakeQueue = Callable[..., JobQueue]


class ResourceExhaustedError(Exception):
    """As TensorFlow calls it."""


@pytest.mark.parametrize(
    ("error", "message", "hint", "logged"),
    [
        (CalibdashError("The network has no reference.", "Mark one."), "no reference", "Mark one", False),
        (MemoryError(), "not enough memory", "fewer", False),
        (np._core._exceptions._ArrayMemoryError((10,), np.dtype(float)), "not enough memory", "fewer", False),
        (ResourceExhaustedError("OOM"), "not enough memory", "fewer", False),
        (ZeroDivisionError("oh"), "This is a bug in calibdash (ZeroDivisionError: oh)", "report", True),
        (SystemExit(3), "This is a bug", "report", True),
    ],
)
def test_failures_are_told(
    make_queue: MakeQueue,
    ask: Ask,
    store: RunStore,
    error: BaseException,
    message: str,
    hint: str,
    logged: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue = make_queue(raising(error))
    with caplog.at_level(logging.WARNING, "calibdash"):
        first, second = queue.submit(ask()), queue.submit(ask())
        for run_id in (first, second):  # the worker lives on
            snapshot = wait_status(queue, run_id, "failed")
            run = store.get(run_id)
            assert message in snapshot.message == run.message
            assert hint in snapshot.hint == run.hint
    assert ("Traceback" in caplog.text) == logged


def test_cancel_what_nobody_works_on(make_queue: MakeQueue, ask: Ask, store: RunStore) -> None:
    run_id = store.create(ask())
    queue = make_queue()
    queue.cancel(run_id)  # its process is this one, which may have another queue
    assert (store.path(run_id) / "stop").read_text() == "cancelled"
    store.update(run_id, {"process": None}, status_in("queued"))
    queue.cancel(run_id)
    assert store.get(run_id).status == "cancelled"


def test_shutdown_interrupts(make_queue: MakeQueue, ask: Ask, store: RunStore) -> None:
    gate = Gate()
    queue = make_queue(gate)
    running, waiting = queue.submit(ask()), queue.submit(ask())
    gate.wait_begun()
    queue.shutdown()
    assert {store.get(run_id).status for run_id in (running, waiting)} == {"interrupted"}
    with pytest.raises(CalibdashError, match="stopping"):
        queue.submit(ask())
    again = make_queue(quick)
    again.restart(waiting)
    wait_status(again, waiting, "done")


def test_shutdown_does_not_wait_for_ever(make_queue: MakeQueue, ask: Ask, store: RunStore) -> None:
    begun, over = threading.Event(), threading.Event()

    def deaf(*_: object) -> dict[str, object]:
        begun.set()
        over.wait(WAIT)
        return {"elbo": [1.0]}

    queue = make_queue(deaf)
    run_id = queue.submit(ask())
    assert begun.wait(WAIT)
    (thread,) = queue._threads
    queue.shutdown(timeout=0.01)
    assert store.get(run_id).status == "interrupted"
    over.set()
    thread.join(WAIT)
    assert store.get(run_id).status == "interrupted"  # too late


def test_a_folder_that_is_taken_away_ends_its_job(
    make_queue: MakeQueue, ask: Ask, store: RunStore, tmp_path: Path
) -> None:
    queue = make_queue(until_told)
    run_id, second = queue.submit(ask()), queue.submit(ask())
    wait_progress(queue, run_id)
    store.path(run_id).rename(tmp_path / "away")
    wait_progress(queue, second)
    assert not (store.root / run_id).exists()
    assert [run.id for run in store.runs()] == [second]


def test_an_attempt_that_was_given_up_ends_and_is_not_kept(
    make_queue: MakeQueue, ask: Ask, store: RunStore, caplog: pytest.LogCaptureFixture
) -> None:
    queue = make_queue(until_told)
    run_id = queue.submit(ask())
    wait_progress(queue, run_id)
    (ghost,) = queue._threads
    assert store.update(run_id, {"status": "interrupted"}, status_in("running"))  # as one who cannot see it would
    gate = Gate()
    other = make_queue(gate)
    other.restart(run_id)
    gate.wait_begun()
    ghost.join(WAIT)
    assert not ghost.is_alive()
    assert "not kept" in caplog.text
    assert store.get(run_id).status == "running"
    gate.open.release()
    wait_status(other, run_id, "done")
    assert store.record(run_id)["elbo"] == [0.0]


def test_what_cannot_even_begin_is_told(make_queue: MakeQueue, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = make_queue()
    trouble = raising(CalibdashError("No Dask scheduler answers.", "Start it."))
    monkeypatch.setattr(queue, "_perform", trouble)
    snapshot = wait_status(queue, queue.submit(ask()), "failed")
    assert (snapshot.message, snapshot.hint) == ("No Dask scheduler answers.", "Start it.")
