"""The same queue, with each job done in a process of its own.

Pages stay quick while a fit calculates, since it has its own interpreter and a lower priority; a fit that the system
kills for lack of memory takes nothing with it. A worker is kept for the next job while there may be one, so that its
libraries are loaded only once. The two talk in lines of JSON; the wish to stop is a file in the run's folder.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from calibdash.runs.job import Job, run_job
from calibdash.runs.queue import JobQueue, Task
from calibdash.runs.run import ACTIVE
from calibdash.runs.snapshot import Snapshot
from calibdash.runs.stop import write_stop
from calibdash.runs.store import RunStore
from calibdash.runs.work import REPORT_SECONDS, ending, work

IDLE_SECONDS = 300.0  # after which a worker without a job gives its memory back
NICER = 10  # pages come first; on a machine with two cores they leave more than one to fits
GONE = (
    "The process that ran this was stopped by the system, most likely for lack of memory.",
    "Use fewer inducing points (inducing.most) or a shorter period; or restart it: it goes on where it was.",
)


class Worker:
    """A process that does one job after the other; ``said`` holds its lines, and None once it has ended."""

    def __init__(self, job: Job) -> None:
        name = f"{job.__module__}:{job.__qualname__}"
        command = [sys.executable, "-m", "calibdash.runs.apart", name]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
        self.said: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        threading.Thread(target=self._listen, name="calibdash-listener", daemon=True).start()

    @property
    def alive(self) -> bool:
        """Whether it can take a job."""
        return self._process.poll() is None

    def begin(self, folder: Path) -> None:
        """Give it the run of a folder."""
        assert self._process.stdin is not None  # noqa: S101 (as it was started)
        try:
            self._process.stdin.write(f"{json.dumps(str(folder))}\n")
            self._process.stdin.flush()
        except OSError:  # it has just ended: ``said`` will tell
            return

    def close(self) -> None:
        """Let it end; it does as soon as nobody can talk to it."""
        assert self._process.stdin is not None  # noqa: S101
        try:
            self._process.stdin.close()
        except OSError:
            return

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101
        with self._process.stdout as lines:
            for line in lines:
                self.said.put(json.loads(line))
        self._process.wait()
        self.said.put(None)


class ApartQueue(JobQueue):
    """A queue whose jobs run in processes apart; ``run_job`` must be a function on module level."""

    def __init__(self, store: RunStore, workers: int = 1, run_job: Job = run_job) -> None:
        super().__init__(store, workers, run_job)
        self._idle: list[Worker] = []

    def shutdown(self, timeout: float = 30.0) -> None:
        """As of every queue; the workers end too."""
        super().shutdown(timeout)
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()

    def _perform(self, task: Task) -> None:
        worker = self._worker()
        worker.begin(task.folder)
        verdict = self._watch(task, worker)
        if worker.alive and not self._closing:
            with self._lock:
                self._idle.append(worker)
        else:
            worker.close()
        self._conclude(task, verdict)

    def _worker(self) -> Worker:
        with self._lock:
            while self._idle:
                if (worker := self._idle.pop()).alive:
                    return worker
        return Worker(self._run_job)

    def _watch(self, task: Task, worker: Worker) -> dict[str, object]:
        """Pass on progress and the wish to stop until the job is over; what to say if the run is not ended by then."""
        asked = ""
        while True:
            if not asked and (asked := task.stop()):
                write_stop(task.folder, asked)
            try:
                said = worker.said.get(timeout=REPORT_SECONDS)
            except Empty:
                continue
            if said is None:
                return ending("interrupted", *GONE)
            if "over" in said:
                return ending("interrupted")
            if "log" in said:
                name, level, words, facts = said["log"]
                logging.getLogger(name).log(level, "%s", words, extra=facts)
            elif said["status"] in ACTIVE:  # the end is told once, from the record
                self._tell(Snapshot(**{**said, "trace": tuple(said["trace"])}))


class Passed(logging.Handler):
    """Hands events to the server, whose log it is; of an exception only its type and place, as there."""

    def __init__(self, tell: Callable[[dict[str, Any]], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one event on."""
        facts = {name: getattr(record, name) for name in ("run", "status", "seconds") if hasattr(record, name)}
        words = record.getMessage()
        if record.exc_info and record.exc_info[0] is not None:
            last = traceback.extract_tb(record.exc_info[2])[-1:]
            words += f" {record.exc_info[0].__name__}" + "".join(
                f" at {Path(at.filename).name}:{at.lineno}" for at in last
            )
        self._tell({"log": (record.name, record.levelno, words, facts)})


def serve(job: Job, idle_seconds: float = IDLE_SECONDS) -> None:
    """What a worker does: a job for every line, until no line comes or nobody is there to write one."""
    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is talk
    os.nice(NICER)
    asked: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_hear, args=(asked,), daemon=True).start()

    def tell(said: dict[str, Any]) -> None:
        told.write(f"{json.dumps(said)}\n")
        told.flush()

    logging.basicConfig(handlers=[Passed(tell)], level=logging.INFO, force=True)
    while True:
        try:
            folder = Path(asked.get(timeout=idle_seconds))
        except Empty:
            return
        work(folder, job, tell=lambda snapshot: tell(asdict(snapshot)))
        tell({"over": True})


def _hear(asked: SimpleQueue[str]) -> None:
    """Lines from the server; without it there is nothing to work for, in whatever step of a job."""
    for line in sys.stdin:
        asked.put(json.loads(line))
    os._exit(0)


def _named(name: str) -> Job:
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


if __name__ == "__main__":
    serve(_named(sys.argv[1]))
