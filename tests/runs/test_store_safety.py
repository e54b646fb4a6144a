from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from calibdash.errors import CalibdashError
from calibdash.runs.folder import read_record, status_in, write_run
from calibdash.runs.process import Process, this_process
from calibdash.runs.request import JobRequest
from calibdash.runs.run import valid_id
from calibdash.runs.store import RunStore
from calibdash.runs.work import work
from tests.runs.jobs import quick

Ask = Callable[..., JobRequest]


def done(store: RunStore, request: JobRequest) -> str:
    run_id = store.create(request)
    assert work(store.path(run_id), quick) == "done"
    return run_id


def test_delete_and_undo(store: RunStore, ask: Ask) -> None:
    run_id = done(store, ask())
    before = read_record(store.path(run_id))
    store.delete(run_id)
    assert store.runs() == []
    assert [run.id for run in store.trash()] == [run_id]
    with pytest.raises(CalibdashError, match="no run"):
        store.get(run_id)
    store.restore(run_id)
    assert read_record(store.path(run_id)) == before
    with pytest.raises(CalibdashError, match="not in the trash"):
        store.restore(run_id)
    store.delete(run_id)
    assert store.empty_trash(timedelta(days=1)) == 0
    assert store.empty_trash() == 1
    assert store.trash() == []


def test_what_is_under_way_is_not_deleted_nor_restored_over(store: RunStore, ask: Ask) -> None:
    run_id = store.create(ask())
    with pytest.raises(CalibdashError, match="queued"):
        store.delete(run_id)
    store.update(run_id, {"process": None}, status_in("queued"))
    store.delete(run_id)  # nobody will ever work on it
    write_run(store.root / run_id, {"status": "done"}, {})
    with pytest.raises(CalibdashError, match="another run"):
        store.restore(run_id)


HOSTILE = ["../x", "..", ".", "", ".trash", "a/b", "a\\b", "x\0y", "a\nb", "/etc", "x" * 300, "con:", "\udcff"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(store: RunStore, name: str, tmp_path: Path) -> None:
    write_run(tmp_path / "x", {"status": "done"}, {})
    assert not valid_id(name)
    for act in (store.get, store.path, store.record, store.delete, store.restore, store.export, store.requeue):
        with pytest.raises(CalibdashError):
            act(name)
    assert (tmp_path / "x" / "run.json").exists()


def test_links_are_not_followed(store: RunStore, ask: Ask, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write_run(outside, {"status": "done", "process": None}, {})
    (store.root / "link").symlink_to(outside)
    (store.root / "inner").mkdir()
    (store.root / "inner" / "run.json").symlink_to(outside / "run.json")
    assert store.runs() == []
    for name in ("link", "inner"):
        with pytest.raises(CalibdashError, match="no run"):
            store.delete(name)
    (store.root / "index.sqlite").unlink()
    (store.root / "index.sqlite").symlink_to(tmp_path / "precious")
    run_id = done(store, ask())
    assert [run.id for run in store.runs()] == [run_id]
    assert not (tmp_path / "precious").exists()
    (store.path(run_id) / "secret.csv").symlink_to(outside / "run.json")
    (store.path(run_id) / "more").symlink_to(outside)
    names = zipfile.ZipFile(io.BytesIO(store.export(run_id))).namelist()
    assert names == [f"{run_id}/run.json", f"{run_id}/calibration.csv"]
    (store.root / ".trash").symlink_to(outside)
    with pytest.raises(CalibdashError, match="link"):
        store.delete(run_id)


def test_export_names_no_path(store: RunStore, ask: Ask, tmp_path: Path, network: Path) -> None:
    run_id = store.create(ask(name="for Bob"))
    trouble = {"status": "failed", "message": f"{network} is not a folder.", "hint": f"See {store.path(run_id)}."}
    store.update(run_id, trouble, status_in("queued"))
    target = io.BytesIO()
    store.export(run_id, target)
    with zipfile.ZipFile(target) as archive:
        text = archive.read(f"{run_id}/run.json").decode()
    assert str(tmp_path) not in text
    record = json.loads(text)
    assert record["name"] == "for Bob"
    assert record["message"] == f"{network.name} is not a folder."
    assert "process" not in record


def test_only_runs_whose_process_is_gone_are_interrupted(store: RunStore, ask: Ask) -> None:
    mine, dead, again, far, silent = (store.create(ask()) for _ in range(5))
    me = this_process()
    other = {"status": "running"}
    store.update(dead, {**other, "process": Process(me.host, 2**22 + 5, "x").as_dict()}, status_in("queued"))
    store.update(again, {**other, "process": replace(me, token="earlier").as_dict()}, status_in("queued"))
    for run_id in (far, silent):
        store.update(run_id, {**other, "process": Process("elsewhere", 1, "x").as_dict()}, status_in("queued"))
    os.utime(store.path(silent) / "run.json", (1e9, 1e9))
    assert {run.status for run in RunStore(store.root).runs() if run.id in (mine, far)} == {"queued", "running"}
    for run_id in (dead, again, silent):
        run = store.get(run_id)
        assert run.status == "interrupted"
        assert "stopped" in run.message
        assert "Restart" in run.hint


def test_a_store_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CalibdashError, match="Cannot keep runs"):
        RunStore(tmp_path / "file")


def test_scratch_of_killed_writers_is_swept_away(store: RunStore) -> None:
    old, new, foreign = store.root / ".x.abc.part", store.root / ".y.abc.part", store.root / ".git"
    for folder in (old, new, foreign):
        folder.mkdir()
        (folder / "file").touch()
    for folder in (old, foreign):
        os.utime(folder, (1e9, 1e9))
    RunStore(store.root)
    assert [folder.exists() for folder in (old, new, foreign)] == [False, True, True]
