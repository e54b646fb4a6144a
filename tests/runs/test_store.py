from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from calibdash.errors import CalibdashError
from calibdash.runs.folder import read_record, status_in, write_run
from calibdash.runs.process import this_process
from calibdash.runs.request import JobRequest
from calibdash.runs.run import new_id, valid_id
from calibdash.runs.store import RunStore
from calibdash.runs.work import work
from tests.runs.jobs import quick

Ask = Callable[..., JobRequest]


def done(store: RunStore, request: JobRequest) -> str:
    run_id = store.create(request)
    assert work(store.path(run_id), quick) == "done"
    return run_id


def test_a_run_from_queued_to_done(store: RunStore, ask: Ask, network: Path) -> None:
    request = ask(settings={"lengthscale.mobile": "25d"}, seed=7, owner="ada", name="first", references=["R0"])
    run_id = store.create(request)
    run = store.get(run_id)
    assert (run.status, run.name, run.network, run.owner, run.seed) == ("queued", "first", network.name, "ada", 7)
    assert run.settings == {"lengthscale.mobile": 600.0}
    assert run.process == this_process()
    assert run.created
    assert not run.started
    assert work(store.path(run_id), quick) == "done"
    run = store.get(run_id)
    assert (run.status, run.share, run.elbo) == ("done", 1.0, -4.0)
    assert run.created <= run.started <= run.ended
    assert run.seconds is not None
    assert store.snapshot(run_id).trace == (-5.0, -4.0)
    assert store.request(run_id) == replace(request, network_path=str(network.resolve()))
    assert sorted(file.name for file in store.path(run_id).iterdir()) == ["calibration.csv", "run.json"]
    assert work(store.path(run_id), quick) == ""  # only what is queued is worked on


def test_lists_are_newest_first_and_respect_owners(store: RunStore, ask: Ask) -> None:
    ids = [store.create(ask(owner=owner)) for owner in ("", "ada", "bob")]
    assert [run.id for run in store.runs()] == ids[::-1]
    assert [run.id for run in store.runs("ada")] == [ids[1], ids[0]]
    assert [run.id for run in store.runs("' OR 1=1 --")] == [ids[0]]


def test_runs_of_the_command_line_appear_change_and_vanish(store: RunStore) -> None:
    folder = store.root / "by hand, no. 1"
    write_run(folder, {"kind": "multihop", "status": "done", "network": "K", "seconds": 2.5}, {})
    (run,) = store.runs()
    assert (run.id, run.name, run.kind, run.status, run.seconds) == (folder.name, folder.name, "multihop", "done", 2.5)
    write_run(folder, {"status": "done", "elbo": [1.0, 2.0]}, {})
    assert store.runs()[0].elbo == 2.0
    with pytest.raises(CalibdashError, match="which network"):
        store.request(folder.name)
    folder.rename(store.root.parent / "elsewhere")
    assert store.runs() == []


def test_records_nobody_can_read_are_shown_as_such(store: RunStore) -> None:
    for name, text in {
        "a": "{",
        "b": "[]",
        "c": "[" * 100_000,
        "d": '{"status": "\\ud800", "owner": "\\ud800"}',
    }.items():
        (store.root / name).mkdir()
        (store.root / name / "run.json").write_text(text)
    runs = store.runs()
    assert {run.id for run in runs} == {"a", "b", "c", "d"}
    assert {run.status for run in runs} == {"failed"}
    assert all("damaged" in run.message and run.hint for run in runs)
    store.delete("a")
    assert len(store.runs()) == 3


@pytest.mark.parametrize("damage", ["rubbish", "empty", "gone", "other", "unreadable rows", "folder"])
def test_the_index_is_made_anew(store: RunStore, ask: Ask, damage: str) -> None:
    run_id = store.create(ask())
    index = store.root / "index.sqlite"
    assert len(store.runs()) == 1
    if damage == "unreadable rows":
        with sqlite3.connect(index) as base:
            base.execute("UPDATE runs SET run = '{}'")
        base.close()
    else:
        for suffix in ("", "-wal", "-shm"):
            index.with_name(index.name + suffix).unlink(missing_ok=True)
    if damage == "rubbish":
        index.write_bytes(os.urandom(5000))
    elif damage == "empty":
        index.touch()
    elif damage == "folder":
        index.mkdir()
    elif damage == "other":
        with sqlite3.connect(index) as base:
            base.execute("PRAGMA user_version = 1")
        base.close()
    assert [run.id for run in store.runs()] == [run_id]
    assert [run.id for run in RunStore(store.root).runs()] == [run_id]


def test_a_locked_index_does_not_hide_runs(store: RunStore, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibdash.runs.index.WAIT", 0.01)
    store.runs()
    base = sqlite3.connect(store.root / "index.sqlite", isolation_level=None)
    base.execute("BEGIN IMMEDIATE")
    run_id = store.create(ask())
    assert [run.id for run in store.runs()] == [run_id]
    base.execute("ROLLBACK")
    base.close()
    assert [run.id for run in store.runs()] == [run_id]


def test_two_processes_see_each_other(store: RunStore, ask: Ask, network: Path) -> None:
    mine = store.create(ask(name="mine"))
    script = (
        "import sys; from calibdash.runs.store import RunStore; from calibdash.runs.request import JobRequest\n"
        "store = RunStore(sys.argv[1]); print([run.name for run in store.runs()])\n"
        "print(store.create(JobRequest(sys.argv[2], {}, name='theirs')), flush=True); input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, store.root, network], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "['mine']\n"
        theirs = other.stdout.readline().strip()
        assert [run.id for run in store.runs()] == [theirs, mine]
        assert RunStore(store.root).get(theirs).status == "queued"  # its process lives
        other.stdin.write("\n")
    assert RunStore(store.root).get(theirs).status == "interrupted"
    assert store.get(mine).status == "queued"


def test_many_threads(store: RunStore, ask: Ask) -> None:
    failures: list[BaseException] = []
    other = RunStore(store.root)

    def busy(which: RunStore) -> None:
        try:
            for _ in range(5):
                run_id = which.create(ask())
                assert run_id in {run.id for run in which.runs()}
                which.update(run_id, {"status": "cancelled"}, status_in("queued"))
                which.delete(run_id)
        except BaseException as reason:
            failures.append(reason)

    threads = [threading.Thread(target=busy, args=(which,)) for which in (store, other, store, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert store.runs() == []
    assert len(store.trash()) == 20


def test_requests_are_checked_at_the_door(store: RunStore, ask: Ask, tmp_path: Path) -> None:
    with pytest.raises(CalibdashError, match="no setting"):
        ask(settings={"lengthscal": 1})
    with pytest.raises(CalibdashError, match="no setting"):
        ask(kind="multihop", settings={"lengthscale.mobile": 1})
    with pytest.raises(CalibdashError, match="no kind"):
        ask(kind="magic")
    with pytest.raises(CalibdashError, match="not a folder"):
        store.create(JobRequest(str(tmp_path / "missing"), {}))
    with pytest.raises(CalibdashError, match="no run"):
        store.create(ask(warm_run="missing"))
    assert store.runs() == []


def test_ids_sort_by_time() -> None:
    ids = [new_id() for _ in range(50)]
    assert sorted(ids) == sorted(ids, key=lambda name: name.rpartition("-")[0])
    assert len(set(ids)) == 50
    assert all(map(valid_id, ids))
    assert valid_id("Läufe 2")


def test_write_run_says_who_and_when(tmp_path: Path) -> None:
    write_run(tmp_path / "one", {"status": "done"}, {"t": pd.DataFrame({"a": [1]})})
    record = read_record(tmp_path / "one")
    assert record["id"] == "one"
    assert record["created"] == record["ended"]
