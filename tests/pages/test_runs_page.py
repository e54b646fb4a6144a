"""The runs page: what is listed, and delete with undo."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import panel as pn
import pytest

from calibdash.errors import CalibdashError
from calibdash.pages.runs import RunsPage
from calibdash.pages.site import Desk
from calibdash.runs.folder import write_run
from calibdash.runs.queue import JobQueue
from calibdash.runs.store import RunStore
from calibdash.state.folders import find_folders
from calibdash.state.session import Session

RECORD = {"kind": "fit", "status": "done", "network": "<b>Kampala", "settings": {"drift": 0.2}, "seconds": 1.5}


@pytest.fixture
def queue(tmp_path: Path) -> JobQueue:
    write_run(tmp_path / "runs" / "mine", RECORD, {"calibration": pd.DataFrame({"time": [0.0]})})
    return JobQueue(RunStore(tmp_path / "runs"))


def test_a_run_of_the_command_line_is_listed_deleted_and_brought_back(queue: JobQueue) -> None:
    page = RunsPage(queue=queue, open_run=print)
    (row,) = page._frame().to_dict("records")
    assert (row["Network"], row["Status"], row["Settings"]) == ("<b>Kampala", "done", "drift 0.2")
    page._table.selection = [0]
    assert page.picked == "mine"
    page._do(page._delete)
    assert page._frame().empty
    assert isinstance(page._place[0], pn.pane.HTML)
    page._do(page._undo)
    assert list(page._frame()["id"]) == ["mine"]
    page._table.selection = [0]
    assert queue.store.export(page.picked)[:2] == b"PK"
    assert page.__panel__() is not None


def test_where_there_are_no_runs_it_says_where_they_come_from(tmp_path: Path) -> None:
    page = RunsPage(queue=JobQueue(RunStore(tmp_path / "runs")), open_run=print)
    assert "No runs yet" in page._place[0].object
    write_run(tmp_path / "runs" / "mine", RECORD, {"calibration": pd.DataFrame({"time": [0.0]})})
    page.refresh()
    assert page._place[0] is page._table


def test_a_run_of_another_network_is_refused_with_a_sentence(queue: JobQueue, examples: Path) -> None:
    desk = Desk(Session(find_folders([examples])), queue, lambda _: None)
    with pytest.raises(CalibdashError, match="not on offer"):
        desk.open_run("mine")
