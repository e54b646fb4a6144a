"""The one queue of a server: jobs wait fairly, a few threads work, pages watch and cancel."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from calibdash.errors import CalibdashError
from calibdash.runs.fair import FairQueue
from calibdash.runs.folder import holds, status_in
from calibdash.runs.job import Job, run_job
from calibdash.runs.request import JobRequest
from calibdash.runs.run import ACTIVE
from calibdash.runs.snapshot import Snapshot
from calibdash.runs.stop import Stop, write_stop
from calibdash.runs.store import RunStore
from calibdash.runs.work import ending, failure, work

EXIT_SECONDS = 5.0
UNWRITTEN = ("The result could not be written.", "Free some space in the data directory, then restart the run.")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Task:
    """A run in this process's hands."""

    id: str
    folder: Path
    stop: Stop


class JobQueue:
    """At most ``workers`` jobs at a time, each in a thread that is started when there is something to do.

    Every method may be called from any thread. ``run_job`` is the job: see :func:`calibdash.runs.job.run_job`.
    """

    def __init__(self, store: RunStore, workers: int = 1, run_job: Job = run_job) -> None:
        self.store = store
        self.workers = max(1, workers)
        self._run_job = run_job
        self._lock = threading.Lock()
        self._waiting: FairQueue[Task] = FairQueue()
        self._running: dict[str, Task] = {}
        self._threads: set[threading.Thread] = set()
        self._snapshots: dict[str, Snapshot] = {}
        self._watchers: dict[str, dict[object, Callable[[Snapshot], None]]] = {}
        self._unended: dict[str, Mapping[str, object]] = {}
        self._closing = False
        atexit.register(self.shutdown, EXIT_SECONDS)

    def submit(self, request: JobRequest) -> str:
        """Put a new run into the queue; its id. Mistakes that can be seen at once are raised here."""
        self._check_open()
        run_id = self.store.create(request)
        self._enter(run_id, request.owner)
        return run_id

    def restart(self, run_id: str) -> None:
        """Queue a run again that failed, was cancelled or interrupted; it goes on from its last checkpoint."""
        self._check_open()
        owner = self.store.request(run_id).owner
        self.store.requeue(run_id)
        self._enter(run_id, owner)

    def resume(self) -> list[str]:
        """Take up again what was interrupted when a program stopped; the ids. What cannot be is told in the log."""
        taken = []
        for run_id in self.store.interrupted():
            try:
                self._check_open()
                owner = self.store.request(run_id).owner
                self.store.requeue(run_id, by_hand=False)
                self._enter(run_id, owner)
            except CalibdashError:  # its network is gone, or another program was first
                log.warning("An interrupted run cannot be taken up again.", extra={"run": run_id})
            else:
                taken.append(run_id)
        return taken

    def cancel(self, run_id: str) -> None:
        """A waiting run is cancelled at once, a running one between two iterations, in whichever process it is."""
        with self._lock:
            waiting = self._waiting.remove(run_id)
            running = self._running.get(run_id)
        if waiting is not None:
            self._end(run_id, ending("cancelled"), "queued")
        elif running is not None:
            running.stop.ask("cancelled")
        elif (run := self.store.get(run_id)).active:
            if self.store.is_orphan(run):
                self._end(run_id, ending("cancelled"), *ACTIVE)
            else:
                write_stop(self.store.path(run_id), "cancelled")

    def progress(self, run_id: str) -> Snapshot:
        """Where a run stands, also one of another process."""
        with self._lock:
            snapshot = self._snapshots.get(run_id)
        return snapshot or self.store.snapshot(run_id)

    @property
    def accepting(self) -> bool:
        """Whether runs are taken and can be done."""
        return not self._closing

    def counts(self) -> tuple[int, int]:
        """How many runs wait here, and how many run."""
        with self._lock:
            return len(self._waiting), len(self._running)

    def position(self, run_id: str) -> int | None:
        """How many runs will begin before this one; None if it does not wait here."""
        with self._lock:
            order = self._waiting.order()
        return order.index(run_id) if run_id in order else None

    def subscribe(self, run_id: str, callback: Callable[[Snapshot], None]) -> Callable[[], None]:
        """Have ``callback`` called at each change of status and, at most four times a second, of progress.

        It is called in the thread that works on the run, or that cancels it. The result ends the subscription.
        """
        key = object()
        with self._lock:
            self._watchers.setdefault(run_id, {})[key] = callback

        def unsubscribe() -> None:
            with self._lock:
                watchers = self._watchers.get(run_id, {})
                watchers.pop(key, None)
                if not watchers:
                    self._watchers.pop(run_id, None)

        return unsubscribe

    def shutdown(self, timeout: float = 30.0) -> None:
        """Take no more jobs, ask those that run to end, and mark all that are not done as interrupted."""
        with self._lock:
            self._closing = True
            waiting = list(iter(self._waiting.pop, None))
            running = list(self._running.values())
            threads = list(self._threads)
        for task in waiting:
            self._end(task.id, ending("interrupted"), "queued")
        for task in running:
            task.stop.ask("interrupted")
        deadline = time.monotonic() + timeout
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        with self._lock:
            late = list(self._running)
        for run_id in late:
            self._end(run_id, ending("interrupted"), *ACTIVE)
        atexit.unregister(self.shutdown)

    def _perform(self, task: Task) -> None:
        """Do one job, here and now; a subclass may have it done elsewhere."""
        work(task.folder, self._run_job, tell=self._tell, stop=task.stop)

    def _conclude(self, task: Task, verdict: dict[str, object]) -> None:
        """Tell how a run ended that was done elsewhere; ``verdict`` counts if nobody wrote its end."""
        if (snapshot := self.store.snapshot(task.id)).status in ACTIVE:
            self._end(task.id, verdict, *ACTIVE)
        else:
            self._tell(snapshot)

    def _enter(self, run_id: str, owner: str) -> None:
        self._settle()
        folder = self.store.path(run_id)
        log.info("A run is queued.", extra={"run": run_id})
        with self._lock:
            self._waiting.push(owner, run_id, Task(run_id, folder, Stop(folder)))
            if len(self._threads) < self.workers:
                thread = threading.Thread(target=self._drain, name="calibdash-worker", daemon=True)
                self._threads.add(thread)
                thread.start()

    def _drain(self) -> None:
        """A worker thread: job after job until none waits."""
        while True:
            with self._lock:
                task = None if self._closing else self._waiting.pop()
                if task is None:
                    self._threads.discard(threading.current_thread())
                    return
                self._running[task.id] = task
            try:
                self._perform(task)
            except BaseException as reason:  # its folder or the cluster is gone: the next job may do better
                self._end(task.id, failure(task.id, reason), *ACTIVE)
            with self._lock:
                self._running.pop(task.id)
                self._snapshots.pop(task.id, None)
                self._unended.setdefault(task.id, task.stop.attempt)
            self._settle()

    def _settle(self) -> None:
        """See that what is over is over on disk, too: while that was full, the end of a run could not be written."""
        with self._lock:
            over, self._unended = self._unended, {}
        for run_id, attempt in over.items():
            try:
                if attempt:
                    self.store.update(run_id, ending("interrupted", *UNWRITTEN), holds(attempt))
            except CalibdashError:
                if self.store.exists(run_id):
                    with self._lock:
                        self._unended[run_id] = attempt

    def _end(self, run_id: str, changes: dict[str, object], *statuses: str) -> None:
        """End a run from outside its job, if it has one of these statuses."""
        try:
            if self.store.update(run_id, changes, status_in(*statuses)):
                self._tell(self.store.snapshot(run_id))
        except CalibdashError as reason:
            log.warning("A run cannot be ended: %s", reason.message, extra={"run": run_id})
            with suppress(CalibdashError):
                record = self.store.record(run_id)
                with self._lock:
                    self._unended[run_id] = {key: record.get(key) for key in ("status", "started", "process")}

    def _tell(self, snapshot: Snapshot) -> None:
        over = snapshot.status not in ACTIVE
        with self._lock:
            if over:
                self._snapshots.pop(snapshot.id, None)
            else:
                self._snapshots[snapshot.id] = snapshot
            watchers = list(self._watchers.get(snapshot.id, {}).values())
        for callback in watchers:
            try:
                callback(snapshot)
            except Exception:
                log.exception("A callback of a run failed.", extra={"run": snapshot.id})

    def _check_open(self) -> None:
        if self._closing:
            raise CalibdashError("The server is stopping.", "Start the run again when it is back.")
