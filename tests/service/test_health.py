"""``/health`` by itself: what makes it fail, and that it never waits for a disk that does not answer."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from calibdash.runs import health as disk
from calibdash.runs.health import Health, health
from calibdash.runs.queue import JobQueue
from calibdash.runs.store import RunStore
from calibdash.service import health as page
from calibdash.service.health import ROUTES, Watch
from tests.loops import awaited
from tests.runs.jobs import quick


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, []),
        ({"accepting": False}, ["no runs are taken"]),
        ({"data_writable": False}, ["cannot be written"]),
        ({"free_bytes": 10}, ["nearly full"]),
        ({"free_bytes": None}, []),
    ],
)
def test_what_is_wrong(changes: dict[str, object], wrong: list[str]) -> None:
    values = {"waiting": 2, "running": 1, "accepting": True, "data_writable": True, "free_bytes": 1 << 40}
    answer = Health(**{**values, **changes}).as_dict()  # type: ignore[arg-type]
    assert (answer["status"] == "ok") == (not wrong)
    assert all(part in said for part, said in zip(wrong, answer["wrong"], strict=True))  # type: ignore[call-overload]


def test_a_queue_that_stops_takes_nothing(tmp_path: Path) -> None:
    queue = JobQueue(RunStore(tmp_path), 1, quick)
    assert health(queue).wrong == []
    queue.shutdown()
    assert not health(queue).accepting
    assert not list(tmp_path.glob(".health*"))


def test_a_disk_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, asked = threading.Event(), []
    queue = JobQueue(RunStore(tmp_path), 1, quick)
    monkeypatch.setattr(page, "PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(disk, "writable", lambda _: asked.append(1) or answers.wait(30))

    async def look() -> list[object]:
        watch = Watch(lambda: queue)
        first = [(await watch.look())["status"] for _ in range(3)]
        answers.set()
        await watch._answer  # type: ignore[misc]
        return [*first, (await watch.look())["status"]]

    assert awaited(look()) == ["failing"] * 3 + ["ok"]
    assert len(asked) == 1  # however often it is asked
    queue.shutdown()


def test_panel_serve_can_have_it_too() -> None:
    ((pattern, handler, values),) = ROUTES
    assert (pattern, handler.__name__, list(values)) == (r"/health/?", "HealthHandler", ["watch"])
