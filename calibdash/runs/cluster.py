"""The same queue, with its jobs done by a Dask cluster.

Server and workers see the runs (and the network folders) under the same paths: a shared file system. A run's folder is
then all they need to talk: the worker writes ``progress.json`` and the end of the run, the server writes ``stop``.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibdash.errors import CalibdashError
from calibdash.runs.job import Job, run_job
from calibdash.runs.queue import JobQueue, Task
from calibdash.runs.run import ACTIVE
from calibdash.runs.stop import write_stop
from calibdash.runs.store import RunStore
from calibdash.runs.work import REPORT_SECONDS, ending, work

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 10
GONE = (
    "The worker of the cluster that ran this is gone.",
    "It may have run out of memory. Restart the run: it goes on from its last checkpoint.",
)
LOST = ("The connection to the cluster was lost.", "See that its scheduler runs, then restart the run.")


class DaskQueue(JobQueue):
    """A queue whose jobs run on the cluster of a scheduler such as ``tcp://host:8786``.

    ``workers`` jobs at a time; None: as many as the cluster has threads now. Fairness and order are the queue's.
    """

    def __init__(self, store: RunStore, address: str, workers: int | None = None, run_job: Job = run_job) -> None:
        self._address = address
        self._client = connect(address)
        self._connecting = threading.Lock()
        threads = sum(self._client.nthreads().values()) if workers is None else workers
        super().__init__(store, threads, run_job)

    @property
    def accepting(self) -> bool:
        """Whether the scheduler of the cluster answers, too."""
        return super().accepting and self._client.status == "running"

    def shutdown(self, timeout: float = 30.0) -> None:
        """As of every queue; then leave the cluster."""
        super().shutdown(timeout)
        self._client.close()

    def _perform(self, task: Task) -> None:
        key = f"calibdash-{task.id}-{secrets.token_hex(4)}"  # a restarted run is another task
        client = self._connected()
        future = client.submit(work_on_cluster, str(task.folder), self._run_job, key=key, pure=False, retries=0)
        try:
            verdict = self._watch(task, future)
        finally:
            future.release()
        self._conclude(task, verdict)

    def _watch(self, task: Task, future: Any) -> dict[str, object]:
        """Pass on progress and the wish to stop until the task is over; what to say if the run is not ended by then."""
        told, asked = None, ""
        while not future.done():
            snapshot = self.store.snapshot(task.id)
            if snapshot.status in ACTIVE and snapshot != told:
                self._tell(snapshot)
                told = snapshot
            if not asked and (asked := task.stop()):
                write_stop(task.folder, asked)
                if snapshot.status == "queued":  # no worker has taken it yet; one that does now will see the wish
                    future.cancel()
                    return ending(asked)
            if snapshot.status == "running" and self._is_gone(task):
                return ending("interrupted", *GONE)
            with contextlib.suppress(Exception):  # not yet; or cancelled or failed, which its status says
                future.result(timeout=REPORT_SECONDS)
        return _verdict(future)

    def _connected(self) -> Client:
        """The client; a new one if the scheduler was away for so long that the old one gave up."""
        with self._connecting:
            if self._client.status == "closed":
                self._client = connect(self._address)
            return self._client

    def _is_gone(self, task: Task) -> bool:
        """Whether the worker that began this run has left the cluster."""
        process = self.store.get(task.id).process
        try:
            return process is not None and bool(process.worker) and process.worker not in self._client.nthreads()
        except (OSError, RuntimeError):  # the scheduler does not answer: the task's own status will tell
            return False


def work_on_cluster(folder: str, job: Job) -> str:
    """What a worker of the cluster does. A task it is given again after another worker's death is no longer queued."""
    from distributed import get_worker

    return work(Path(folder), job, worker=get_worker().address)


def connect(address: str) -> Client:
    """A client of the cluster."""
    try:
        from distributed import Client
    except ImportError as reason:
        raise CalibdashError(
            "A cluster needs dask.distributed, which is not installed.", "Run: pip install 'calibdash[distributed]'"
        ) from reason
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as reason:
        raise CalibdashError(
            f"No Dask scheduler answers at {address[:100]}.", "Give the address its log shows, such as tcp://host:8786."
        ) from reason


def _verdict(future: Any) -> dict[str, object]:
    """Why a task is over although its run is not."""
    if future.status == "error":
        reason = future.exception()
        if type(reason).__name__ != "KilledWorker":
            text = f"The cluster could not do this: {type(reason).__name__}: {reason}"[:400]
            hint = "See that its workers have the same version of calibdash and see the same files."
            return {**ending("interrupted"), "status": "failed", "message": text, "hint": hint}
    return ending("interrupted", *(LOST if future.status in ("lost", "cancelled") else GONE))
