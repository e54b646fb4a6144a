"""The door between a session and the runs: what is not somebody's own is not there, and who looks changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from calibdash.errors import CalibdashError
from calibdash.runs.access import EVERYBODY, MEMBER, VIEWER, Person, PersonalQueue, PersonalStore
from calibdash.runs.queue import JobQueue
from calibdash.runs.request import JobRequest
from calibdash.runs.store import RunStore
from tests.runs import jobs

Ask = Callable[..., JobRequest]
ANN, BOB = Person("ann"), Person("bob")
VIC, GUEST = Person("vic", lambda: VIEWER), Person("", lambda: VIEWER)
STRANGER = Person("ann", lambda: "")  # taken off the list


@pytest.fixture
def queue(make_queue: Callable[..., JobQueue]) -> JobQueue:
    return make_queue()


@pytest.fixture
def anns(queue: JobQueue, ask: Ask) -> str:
    """A finished run of ann's."""
    run_id = PersonalQueue(queue, ANN).submit(ask(owner="bob", name="a"))
    jobs.wait_status(queue, run_id, "done")
    return run_id


SEEING = {
    "get": lambda queue, run_id: queue.store.get(run_id),
    "path": lambda queue, run_id: queue.store.path(run_id),
    "request": lambda queue, run_id: queue.store.request(run_id),
    "snapshot": lambda queue, run_id: queue.store.snapshot(run_id),
    "export": lambda queue, run_id: queue.store.export(run_id),
    "progress": lambda queue, run_id: queue.progress(run_id),
    "position": lambda queue, run_id: queue.position(run_id),
    "subscribe": lambda queue, run_id: queue.subscribe(run_id, print),
}
CHANGING = {
    "delete": lambda queue, run_id: queue.store.delete(run_id),
    "share": lambda queue, run_id: queue.store.share(run_id, True),
    "restart": lambda queue, run_id: queue.restart(run_id),
    "cancel": lambda queue, run_id: queue.cancel(run_id),
}


def test_the_door_is_all_that_a_session_gets() -> None:
    """Whoever adds a method to the door adds it to the lists above."""
    names = {name for name in (*dir(PersonalQueue), *dir(PersonalStore)) if not name.startswith("_")}
    assert names == {*SEEING, *CHANGING, "runs", "own", "restore", "submit"}


def test_the_owner_is_who_asks_whatever_the_request_says(queue: JobQueue, anns: str) -> None:
    assert queue.store.get(anns).owner == "ann"


@pytest.mark.parametrize("act", [*SEEING, *CHANGING])
@pytest.mark.parametrize("person", [BOB, VIC, GUEST, STRANGER], ids=["bob", "vic", "guest", "stranger"])
def test_others_find_nothing(queue: JobQueue, anns: str, person: Person, act: str) -> None:
    theirs = PersonalQueue(queue, person)
    assert theirs.store.runs() == []
    other = anns[:-1] + "x"
    told = []
    for run_id in (anns, other):
        with pytest.raises(CalibdashError) as refusal:
            (SEEING | CHANGING)[act](theirs, run_id)
        told.append(str(refusal.value).replace(run_id, "ID"))
    assert told[0] == told[1]  # nobody can find out that it exists
    assert queue.store.get(anns).status == "done"
    assert not queue.store.get(anns).shared


@pytest.mark.parametrize("act", SEEING)
@pytest.mark.parametrize("person", [ANN, EVERYBODY], ids=["ann", "no login"])
def test_the_owner_sees(queue: JobQueue, anns: str, person: Person, act: str) -> None:
    theirs = PersonalQueue(queue, person)
    assert [run.id for run in theirs.store.runs()] == [anns]
    SEEING[act](theirs, anns)


@pytest.mark.parametrize("person", [BOB, VIC, GUEST], ids=["bob", "vic", "guest"])
def test_a_shared_run_is_seen_and_not_changed(queue: JobQueue, anns: str, person: Person) -> None:
    PersonalQueue(queue, ANN).store.share(anns, True)
    theirs = PersonalQueue(queue, person)
    assert [run.id for run in theirs.store.runs()] == [anns]
    for look in SEEING.values():
        look(theirs, anns)
    for change in CHANGING.values():
        with pytest.raises(CalibdashError, match=r"Only ann can change|look and download"):
            change(theirs, anns)
    PersonalQueue(queue, ANN).store.share(anns, False)
    assert theirs.store.runs() == []


def test_what_was_made_without_a_login_is_everybodys(queue: JobQueue, ask: Ask) -> None:
    run_id = PersonalQueue(queue, EVERYBODY).submit(ask())
    jobs.wait_status(queue, run_id, "done")
    for person in (ANN, VIC, GUEST):
        assert [run.id for run in PersonalQueue(queue, person).store.runs()] == [run_id]
    with pytest.raises(CalibdashError, match="look and download"):
        PersonalQueue(queue, VIC).store.delete(run_id)
    PersonalQueue(queue, ANN).store.delete(run_id)
    with pytest.raises(CalibdashError, match="look and download"):
        PersonalQueue(queue, VIC).store.restore(run_id)
    PersonalQueue(queue, BOB).store.restore(run_id)


def test_the_trash_is_private_too(queue: JobQueue, anns: str) -> None:
    PersonalQueue(queue, ANN).store.delete(anns)
    with pytest.raises(CalibdashError, match="not in the trash"):
        PersonalQueue(queue, BOB).store.restore(anns)
    with pytest.raises(CalibdashError, match="not in the trash"):
        PersonalQueue(queue, BOB).store.restore("none")
    PersonalQueue(queue, ANN).store.restore(anns)


@pytest.mark.parametrize("person", [VIC, GUEST, STRANGER], ids=["vic", "guest", "stranger"])
def test_who_looks_starts_nothing(queue: JobQueue, ask: Ask, person: Person) -> None:
    with pytest.raises(CalibdashError, match="look and download"):
        PersonalQueue(queue, person).submit(ask())
    assert queue.store.runs() == []


def test_a_role_can_be_taken_away_while_the_session_lasts(queue: JobQueue, ask: Ask) -> None:
    roles = [MEMBER]
    theirs = PersonalQueue(queue, Person("ann", lambda: roles[0]))
    run_id = theirs.submit(ask())
    jobs.wait_status(queue, run_id, "done")
    roles[0] = VIEWER
    with pytest.raises(CalibdashError, match="look and download"):
        theirs.submit(ask())
    assert theirs.store.runs()
    roles[0] = ""
    assert theirs.store.runs() == []


def test_networks_and_runs_to_start_from_are_checked(queue: JobQueue, anns: str, ask: Ask) -> None:
    with pytest.raises(CalibdashError, match="not on offer"):
        PersonalQueue(queue, BOB, may_read=lambda _: False).submit(ask())
    with pytest.raises(CalibdashError, match="There is no run"):
        PersonalQueue(queue, BOB).submit(ask(warm_run=anns))
    assert [run.owner for run in queue.store.runs()] == ["ann"]


def test_a_damaged_record_shows_its_folder_to_nobody(queue: JobQueue, anns: str) -> None:
    record = queue.store.path(anns) / "run.json"
    for text in ("{", "[]", '"x"'):
        record.write_text(text)
        with pytest.raises(CalibdashError):
            PersonalQueue(queue, BOB).store.path(anns)


def test_sharing_reaches_the_list(store: RunStore, ask: Ask, tmp_path: Path) -> None:
    run_id = store.create(ask(owner="ann"))
    store.share(run_id, True)
    assert json.loads((store.path(run_id) / "run.json").read_text())["shared"] is True
    assert [run.id for run in store.runs("bob")] == [run_id]
    store.share(run_id, False)
    assert store.runs("bob") == []
    assert [run.id for run in RunStore(tmp_path / "runs").runs("ann")] == [run_id]
