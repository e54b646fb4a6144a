"""Jobs that calculate nothing, for tests of the queue; those on module level also run in other processes."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from calibdash.models.progress import Cancel, Progress, Report, check
from calibdash.runs.queue import JobQueue
from calibdash.runs.snapshot import Snapshot

WAIT = 30.0


def one_meeting(folder: Path) -> Path:
    """A network that two sensors met in once."""
    folder.mkdir()
    (folder / "colocations.csv").write_text("time,sensor_a,sensor_b,value_a,value_b\n0,R0,S1,40,50\n")
    return folder


def report(iteration: int, elbo: float = 0.0, stage: str = "fit", remaining: float | None = 1.0) -> Progress:
    return Progress(stage, iteration, 10, elbo, 1.0, remaining)


def quick(request: Mapping[str, object], folder: str, progress: Report, cancel: Cancel) -> dict[str, object]:
    check(cancel)
    progress(report(1, -5.0))
    (Path(folder) / "calibration.csv").write_text("time,sensor\n")
    return {"elbo": [-5.0, -4.0], "seconds": 0.5, "seed": request["seed"]}


def until_told(_request: Mapping[str, object], folder: str, progress: Report, cancel: Cancel) -> dict[str, object]:
    """Learns once (a checkpoint), then goes on until cancelled or until the file ``go`` appears in the folder."""
    place = Path(folder)
    learned = place / "checkpoint.json"
    resumed = learned.exists()
    learned.write_text(json.dumps({"learned": {}}))
    for iteration in range(1, 100_000):
        check(cancel)
        progress(report(iteration, -100.0 + iteration))
        if (place / "go").exists():
            return {"elbo": [1.0], "resumed": resumed}
        time.sleep(0.02)
    raise TimeoutError


def dying(_request: Mapping[str, object], folder: str, progress: Report, _cancel: Cancel) -> dict[str, object]:
    """Takes its whole process with it, once somebody has seen it run."""
    progress(report(1, -5.0))
    while not (Path(folder) / "go").exists():
        time.sleep(0.02)
    os._exit(1)


class Gate:
    """A job of this process that tells when it has begun and waits to be let through, or cancelled."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.begun = threading.Semaphore(0)
        self.open = threading.Semaphore(0)
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()

    def __call__(
        self, request: Mapping[str, object], _folder: str, _progress: Report, cancel: Cancel
    ) -> dict[str, object]:
        with self._lock:
            self.order.append(str(request["name"]))
            self._now += 1
            self.most = max(self.most, self._now)
        self.begun.release()
        try:
            while not self.open.acquire(timeout=0.01):
                check(cancel)
            return {"elbo": [0.0]}
        finally:
            with self._lock:
                self._now -= 1

    def wait_begun(self) -> None:
        assert self.begun.acquire(timeout=WAIT)


def raising(error: BaseException) -> Callable[..., dict[str, object]]:
    def job(*_: object) -> dict[str, object]:
        raise error

    return job


def wait_status(queue: JobQueue, run_id: str, *statuses: str) -> Snapshot:
    """Wait until a run has one of these statuses."""
    reached = threading.Event()
    unsubscribe = queue.subscribe(run_id, lambda snapshot: reached.set() if snapshot.status in statuses else None)
    try:
        if queue.progress(run_id).status not in statuses:
            assert reached.wait(WAIT), queue.progress(run_id)
        return queue.progress(run_id)
    finally:
        unsubscribe()


def wait_progress(queue: JobQueue, run_id: str) -> Snapshot:
    """Wait until a run has reported at least one iteration."""
    reached = threading.Event()
    unsubscribe = queue.subscribe(run_id, lambda snapshot: reached.set() if snapshot.iteration else None)
    try:
        if not queue.progress(run_id).iteration:
            assert reached.wait(WAIT), queue.progress(run_id)
        return queue.progress(run_id)
    finally:
        unsubscribe()
