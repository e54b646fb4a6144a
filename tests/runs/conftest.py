from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from calibdash.runs.job import Job
from calibdash.runs.queue import JobQueue
from calibdash.runs.request import JobRequest
from calibdash.runs.store import RunStore
from tests.runs import jobs


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return jobs.one_meeting(tmp_path / "Kampala north")


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs")


@pytest.fixture
def ask(network: Path) -> Callable[..., JobRequest]:
    def make(**values: object) -> JobRequest:
        return JobRequest(str(network), **{"settings": {}, **values})  # type: ignore[arg-type]

    return make


@pytest.fixture
def make_queue(store: RunStore) -> Iterator[Callable[..., JobQueue]]:
    made: list[JobQueue] = []

    def make(job: Job = jobs.quick, workers: int = 1, on: RunStore = store) -> JobQueue:
        made.append(JobQueue(on, workers, job))
        return made[-1]

    yield make
    for queue in made:
        queue.shutdown()
