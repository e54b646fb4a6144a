"""The full fit of a session: asked for here, done by the server's queue, its result shown when it is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import param

from calibdash.errors import CalibdashError
from calibdash.models.model import read_pairs
from calibdash.models.outcome import data_hash
from calibdash.models.posterior import Posterior
from calibdash.models.store import load
from calibdash.runs.queue import JobQueue
from calibdash.runs.request import JobRequest
from calibdash.runs.snapshot import Snapshot
from calibdash.state.tuning import SLIDERS, Tuning

Schedule = Callable[[Callable[[], None]], None]


class Fitting(param.Parameterized):
    """The run a session waits for or looks at.

    ``schedule`` brings a call from the worker's thread into the session's own.
    """

    tuning: Any = param.ClassSelector(class_=Tuning, allow_None=False)
    busy = param.Boolean(False, doc="Whether a run of this session waits or runs.")
    snapshot: Any = param.ClassSelector(class_=Snapshot, doc="Where that run stands.")
    message = param.String(doc="Why there is no result, in a sentence.")
    posterior: Any = param.ClassSelector(class_=Posterior, doc="The result on show; None is the live preview.")
    run_id = param.String(doc="The run on show.")

    def __init__(self, tuning: Tuning, queue: JobQueue, schedule: Schedule, **params: Any) -> None:
        super().__init__(tuning=tuning, **params)
        self._queue = queue
        self._schedule = schedule
        self._unsubscribe: Callable[[], None] = lambda: None
        tuning.param.watch(self._back_to_preview, list(SLIDERS))
        tuning.session.param.watch(self._back_to_preview, ["network"])

    def _back_to_preview(self, *_: object) -> None:
        self.param.update(posterior=None, message="", run_id="" if not self.busy else self.run_id)

    def start(self) -> None:
        """Queue a fit of what is on show."""
        session = self.tuning.session
        try:
            request = JobRequest(
                str(session.folder.resolve()),
                self.tuning.wanted().as_dict(),
                learn=self.tuning.learn,
                references=tuple(session.references),
                name=session.network.name,
            )
            run_id = self._queue.submit(request)
        except CalibdashError as problem:
            self.message = str(problem)
            return
        self.param.update(busy=True, message="", run_id=run_id, snapshot=Snapshot(run_id, "queued"))
        self.watch(run_id)

    def watch(self, run_id: str) -> None:
        """Follow a run, from wherever it stands."""
        self._unsubscribe()
        self._unsubscribe = self._queue.subscribe(run_id, lambda shot: self._schedule(lambda: self.apply(shot)))
        self.apply(self._queue.progress(run_id))

    def cancel(self) -> None:
        """Ask the run to stop."""
        if self.busy:
            self._queue.cancel(self.run_id)

    def apply(self, snapshot: Snapshot) -> None:
        """Take over what the worker says; the result, once there is one."""
        if snapshot.id != self.run_id or not self.busy:
            return
        if snapshot.status in ("queued", "running"):
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
        try:
            posterior = load(self._queue.store.path(run_id))
            known = data_hash(read_pairs(self.tuning.session.network, posterior.settings)) == posterior.record.data_hash
        except CalibdashError as problem:
            self.message = str(problem)
            return
        told = "" if known else "This run was made from other colocations or references than those on show now."
        self.param.update(posterior=posterior, run_id=run_id, message=told)

    def detach(self) -> None:
        """Stop listening; the run goes on without us."""
        self._unsubscribe()
        self._unsubscribe = lambda: None
