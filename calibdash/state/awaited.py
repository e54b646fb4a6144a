"""A run that a session waits for: asked for here, done by the server's queue, its result shown when it is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import param

from calibdash.errors import CalibdashError
from calibdash.runs.access import AnyQueue
from calibdash.runs.request import JobRequest
from calibdash.runs.run import ACTIVE
from calibdash.runs.snapshot import Snapshot

Schedule = Callable[[Callable[[], None]], None]


class Awaited(param.Parameterized):
    """The run a session waits for or looks at; what kind of run it is says a subclass.

    ``schedule`` brings a call from the worker's thread into the session's own.
    """

    busy = param.Boolean(False, doc="Whether a run of this session waits or runs.")
    snapshot: Any = param.ClassSelector(class_=Snapshot, doc="Where that run stands.")
    message = param.String(doc="Why there is no result, in a sentence.")
    run_id = param.String(doc="The run on show.")

    def __init__(self, queue: AnyQueue, schedule: Schedule, **params: Any) -> None:
        super().__init__(**params)
        self._queue = queue
        self._schedule = schedule
        self._unsubscribe: Callable[[], None] = lambda: None

    def submit(self, make: Callable[[], JobRequest]) -> None:
        """Queue a run and wait for it; what is wrong with the request is said."""
        try:
            run_id = self._queue.submit(make())
        except CalibdashError as problem:
            self.message = str(problem)
            return
        self.await_run(run_id)

    def await_run(self, run_id: str) -> None:
        """Wait for a run, from wherever it stands."""
        self.param.update(busy=True, message="", run_id=run_id, snapshot=Snapshot(run_id, "queued"))
        self.watch(run_id)

    def watch(self, run_id: str) -> None:
        """Follow a run, from wherever it stands."""
        self._unsubscribe()
        self._unsubscribe = self._queue.subscribe(run_id, lambda shot: self._schedule(lambda: self.apply(shot)))
        self.apply(self._queue.progress(run_id))

    def cancel(self) -> None:
        """Ask the run to stop."""
        if not self.busy:
            return
        try:
            self._queue.cancel(self.run_id)
        except CalibdashError as problem:
            self.message = str(problem)

    def apply(self, snapshot: Snapshot) -> None:
        """Take over what the worker says; the result, once there is one."""
        if snapshot.id != self.run_id or not self.busy:
            return
        if snapshot.status in ACTIVE:
            self.snapshot = snapshot
            return
        self.detach()
        if snapshot.status == "done":
            self.show(snapshot.id)
        else:
            self.message = f"{snapshot.message} {snapshot.hint}".strip() or snapshot.status
        self.param.update(busy=False, snapshot=None)

    def show(self, run_id: str) -> None:
        """Put the result of a run on show."""
        raise NotImplementedError

    def detach(self) -> None:
        """Stop listening; the run goes on without us."""
        self._unsubscribe()
        self._unsubscribe = lambda: None
