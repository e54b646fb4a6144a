"""Who may see and change what: the one door between a session and the runs of its server.

Pages and their state get a :class:`PersonalQueue`, never the queue itself; what it does not pass on cannot be done.
Commands work on the files with the rights of whoever starts them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from calibdash.errors import CalibdashError
from calibdash.runs.queue import JobQueue
from calibdash.runs.request import JobRequest
from calibdash.runs.run import Run
from calibdash.runs.snapshot import Snapshot
from calibdash.runs.store import RunStore

MEMBER, VIEWER = "member", "viewer"
ROLES = (MEMBER, VIEWER)
LOOK_ONLY = "You may look and download here, but not change anything."
ASK = "Ask whoever runs this server to make you a member."


@dataclass(frozen=True)
class Person:
    """Whose session it is. name: None where nobody has to log in, '' for a guest; role: asked for at every door, so
    that it can be taken away while the session lasts.
    """

    name: str | None = None
    role: Callable[[], str] = lambda: MEMBER

    @property
    def may_change(self) -> bool:
        """Whether this is more than somebody who looks."""
        return self.role() == MEMBER

    def must_change(self) -> None:
        """Refuse somebody who may only look."""
        if not self.may_change:
            raise CalibdashError(LOOK_ONLY, ASK)

    def sees(self, owner: str, shared: bool = False) -> bool:
        """Whether something of this owner ('' = everybody's) is theirs to look at."""
        if self.role() not in ROLES:  # taken off the list since they came
            return False
        return self.name is None or shared or owner in ("", self.name)

    def owns(self, owner: str) -> bool:
        """Whether something of this owner is theirs to change."""
        return self.may_change and (self.name is None or owner in ("", self.name))


EVERYBODY = Person()


class PersonalStore:
    """The runs of a store that one person may see. What is not theirs is not there, as far as they can tell."""

    def __init__(self, store: RunStore, person: Person) -> None:
        self._store, self._person = store, person

    def runs(self) -> list[Run]:
        """Their runs, shared ones and everybody's, newest first."""
        return [run for run in self._store.runs(self._person.name) if self._person.sees(run.owner, run.shared)]

    def get(self, run_id: str) -> Run:
        """One run as it is now."""
        return self._store.get(self._seen(run_id))

    def path(self, run_id: str) -> Path:
        """The folder of a run."""
        return self._store.path(self._seen(run_id))

    def request(self, run_id: str) -> JobRequest:
        """What was asked for."""
        return self._store.request(self._seen(run_id))

    def snapshot(self, run_id: str) -> Snapshot:
        """Where a run stands."""
        return self._store.snapshot(self._seen(run_id))

    def export(self, run_id: str) -> bytes:
        """The run as a zip archive."""
        return self._store.export(self._seen(run_id))

    def delete(self, run_id: str) -> None:
        """Put a run of theirs into the trash."""
        self._store.delete(self.own(run_id))

    def restore(self, run_id: str) -> None:
        """Take a run of theirs back out of it."""
        deleted = {run.id: run for run in self._store.trash()}
        if run_id in deleted and not self._person.owns(deleted[run_id].owner):
            raise self._not_theirs(deleted[run_id], f"The run {run_id!r} is not in the trash.")
        self._store.restore(run_id)

    def share(self, run_id: str, shared: bool) -> None:
        """Let everybody see a run of theirs, or nobody else."""
        self._store.share(self.own(run_id), shared)

    def own(self, run_id: str) -> str:
        """The same id, if the run is theirs to change."""
        run = self._store.get(self._seen(run_id))
        if not self._person.owns(run.owner):
            raise self._not_theirs(run, "")
        return run_id

    def _seen(self, run_id: str) -> str:
        """The same id, if the run is theirs to see; one that is not is missing, in the words of the store."""
        self._store.record(run_id)  # a record that cannot be read does not say whose it is
        run = self._store.get(run_id)
        if not self._person.sees(run.owner, run.shared):
            raise self._store.missing(run_id)
        return run_id

    def _not_theirs(self, run: Run, hidden: str) -> CalibdashError:
        if not self._person.may_change:
            return CalibdashError(LOOK_ONLY, ASK)
        if hidden:
            return CalibdashError(hidden, "It may have been removed for good.")
        return CalibdashError(f"Only {run.owner} can change this run.", "Start one of your own.")


class PersonalQueue:
    """The queue as one person may use it. ``may_read`` says whether a network folder is on offer to them."""

    def __init__(self, queue: JobQueue, person: Person, may_read: Callable[[Path], bool] = lambda _: True) -> None:
        self._queue, self._person, self._may_read = queue, person, may_read
        self.store = PersonalStore(queue.store, person)

    def submit(self, request: JobRequest) -> str:
        """Queue a run of theirs; its id."""
        self._person.must_change()
        self._check_network(request)
        if request.warm_run is not None:
            self.store.path(request.warm_run)
        return self._queue.submit(request if self._person.name is None else replace(request, owner=self._person.name))

    def restart(self, run_id: str) -> None:
        """Queue a run of theirs again."""
        self._check_network(self.store.request(self.store.own(run_id)))
        self._queue.restart(run_id)

    def cancel(self, run_id: str) -> None:
        """Stop a run of theirs."""
        self._queue.cancel(self.store.own(run_id))

    def progress(self, run_id: str) -> Snapshot:
        """Where a run stands."""
        self.store.path(run_id)
        return self._queue.progress(run_id)

    def position(self, run_id: str) -> int | None:
        """How many runs will begin before this one; None if it does not wait here."""
        self.store.path(run_id)
        return self._queue.position(run_id)

    def subscribe(self, run_id: str, callback: Callable[[Snapshot], None]) -> Callable[[], None]:
        """Have ``callback`` called at each change; the result ends that."""
        self.store.path(run_id)
        return self._queue.subscribe(run_id, callback)

    def _check_network(self, request: JobRequest) -> None:
        if not self._may_read(Path(request.network_path)):
            raise CalibdashError("This network is not on offer to you.", "Choose one from the list of networks.")


AnyQueue: TypeAlias = JobQueue | PersonalQueue
