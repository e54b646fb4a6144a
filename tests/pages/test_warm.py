from __future__ import annotations

from pathlib import Path

from calibdash.pages.site import build
from calibdash.pages.warm import warm
from calibdash.runs.queue import JobQueue
from calibdash.runs.store import RunStore
from calibdash.state.folders import find_folders
from calibdash.state.shelf import Shelf


def test_a_page_that_nobody_sees_leaves_nothing_behind(examples: Path, tmp_path: Path) -> None:
    queue, shelf = JobQueue(RunStore(tmp_path / "runs")), Shelf(tmp_path)
    assert warm(lambda: build(find_folders([examples]), queue, shelf)) > 0
    assert not shelf._watchers
    assert not queue._watchers
