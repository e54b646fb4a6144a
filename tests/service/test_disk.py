"""A disk that is full or cannot be written to: said in a sentence, nothing half there, and the rest goes on."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from calibdash.cli.main import run as command
from calibdash.errors import CalibdashError
from calibdash.models.progress import Cancel, Report
from calibdash.runs.folder import read_record, write_run
from calibdash.runs.health import health
from calibdash.runs.queue import JobQueue
from calibdash.runs.request import JobRequest
from calibdash.runs.store import RunStore
from calibdash.runs.work import ending
from calibdash.state.shelf import Shelf
from calibdash.state.uploads import Uploads
from tests.runs.jobs import WAIT, one_meeting, quick, raising, wait_status

LARGE = pd.DataFrame({"text": ["x" * 1000] * 2000})  # 2 MB


@contextmanager
def full_beyond(size: int) -> Iterator[None]:
    """No file can grow beyond so many bytes: what a full disk is like, wherever the test runs."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@contextmanager
def mounted(*arguments: str | Path) -> Iterator[None]:
    done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(arguments[-1])], check=True)  # whoever still looks at it may look on


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return one_meeting(tmp_path / "network")


@pytest.fixture
def make_queue() -> Iterator[Callable[..., JobQueue]]:
    made: list[JobQueue] = []

    def make(root: Path, job: Callable[..., Mapping[str, object]]) -> JobQueue:
        made.append(JobQueue(RunStore(root), 1, job))
        return made[-1]

    yield make
    for queue in made:
        queue.shutdown()


def writing(request: Mapping[str, object], folder: str, _report: Report, _cancel: Cancel) -> dict[str, object]:
    """Seed 1 writes much, others little."""
    write_run(Path(folder) / "out", {"status": "done"}, {"a": LARGE if request["seed"] == 1 else LARGE[:1]})
    return {"elbo": [1.0]}


def test_a_run_that_does_not_fit_is_not_saved_and_the_old_one_stays(tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_run(run, {"number": 1, "status": "done"}, {"a": LARGE[:1]})
    with full_beyond(500_000), pytest.raises(CalibdashError, match="too large") as told:
        write_run(run, {"number": 2, "status": "done"}, {"a": LARGE})
    assert "free space" in told.value.hint
    assert read_record(run)["number"] == 1
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_the_queue_goes_on_when_a_run_cannot_be_written(
    tmp_path: Path, network: Path, make_queue: Callable[..., JobQueue]
) -> None:
    queue = make_queue(tmp_path / "runs", writing)
    with full_beyond(500_000):
        large, small = (queue.submit(JobRequest(str(network), {}, seed=seed)) for seed in (1, 2))
        failed = wait_status(queue, large, "failed")
        wait_status(queue, small, "done")
    assert "Cannot write" in failed.message
    assert "free space" in failed.hint
    queue.restart(large)
    wait_status(queue, large, "done")


def test_dropped_files_that_do_not_fit_are_refused_and_fit_later(tmp_path: Path) -> None:
    uploads = Uploads(Shelf(tmp_path), lambda call: call())
    try:
        with full_beyond(500_000):
            uploads.take("big.csv", 1, 1, b"x" * 2_000_000)
        (problem,) = uploads.problems
        assert "cannot keep these files" in problem.message
        assert "free space" in problem.remedy
        uploads.take("big.csv", 1, 1, b"time,sensor_a,sensor_b,value_a,value_b\n0,A,B,1,2\n")
        assert [file.origin for file in uploads.files] == ["big.csv"]
    finally:
        uploads.close()


def test_a_full_disk(tmp_path: Path, network: Path, make_queue: Callable[..., JobQueue]) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with mounted("-t", "tmpfs", "-o", "size=1m", "tmpfs", disk):
        queue = make_queue(disk / "runs", quick)
        done = queue.submit(JobRequest(str(network), {}))
        wait_status(queue, done, "done")
        assert health(queue).data_writable
        rest = disk / "rest"
        with rest.open("wb") as file:
            try:
                while True:
                    os.write(file.fileno(), b"x" * 4096)
            except OSError:
                pass
        with pytest.raises(CalibdashError, match="No space left"):
            queue.submit(JobRequest(str(network), {}))
        assert [run.id for run in queue.store.runs()] == [done]
        assert health(queue).wrong[-1] == "the disk is nearly full"
        assert not health(queue).data_writable
        rest.unlink()
        wait_status(queue, queue.submit(JobRequest(str(network), {})), "done")
        queue.shutdown()


def test_the_end_of_a_run_is_written_once_there_is_room(
    tmp_path: Path, network: Path, make_queue: Callable[..., JobQueue]
) -> None:
    """A disk that fills up while a job runs cannot take its end; the run must not seem to run for ever."""
    disk = tmp_path / "disk"
    disk.mkdir()
    rest = disk / "rest"

    def fills(*_: object) -> dict[str, object]:
        with rest.open("wb") as file:
            try:
                while True:
                    os.write(file.fileno(), b"x" * 4096)
            except OSError:
                return {"elbo": [1.0] * 2000}

    with mounted("-t", "tmpfs", "-o", "size=1m", "tmpfs", disk):
        queue = make_queue(disk / "runs", fills)
        run_id = queue.submit(JobRequest(str(network), {}))
        for thread in list(queue._threads):
            thread.join(WAIT)
        assert queue.store.get(run_id).status == "running"  # as far as the disk knows
        rest.unlink()
        queue._settle()
        run = queue.store.get(run_id)
        assert run.status == "interrupted"
        assert "could not be written" in run.message
        queue.shutdown()


def test_an_end_from_outside_is_written_once_it_can_be(
    tmp_path: Path, network: Path, make_queue: Callable[..., JobQueue], monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = make_queue(tmp_path / "runs", quick)
    run_id = queue.store.create(JobRequest(str(network), {}))
    queue.store.update(run_id, {"status": "running", "started": "2024"}, lambda _: True)  # by a process apart
    with monkeypatch.context() as full:
        full.setattr(queue.store, "update", raising(CalibdashError("No space left on device.")))
        queue._end(run_id, ending("interrupted"), "running")
        queue._settle()
    assert queue.store.get(run_id).status == "running"
    queue._settle()
    assert "could not be written" in queue.store.get(run_id).message


def test_a_data_directory_that_is_read_only(tmp_path: Path, network: Path, make_queue: Callable[..., JobQueue]) -> None:
    data = tmp_path / "data"
    queue = make_queue(data / "runs", quick)
    done = queue.submit(JobRequest(str(network), {}))
    wait_status(queue, done, "done")
    with mounted("--bind", data, data):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(data)], check=True)
        with pytest.raises(CalibdashError, match="Read-only"):
            queue.submit(JobRequest(str(network), {}))
        assert [run.id for run in queue.store.runs()] == [done]  # what is there can still be looked at
        assert health(queue).wrong == ["the data directory cannot be written to"]
        uploads = Uploads(Shelf(data), lambda call: call())
        uploads.take("a.csv", 1, 1, b"x")
        assert "Read-only" in uploads.problems[0].message


def test_a_data_directory_that_cannot_be(tmp_path: Path, network: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "file").touch()
    assert command(["serve", str(network), "--port", "0", "--data-dir", str(tmp_path / "file" / "data")]) == 2
    assert "Cannot keep runs" in capsys.readouterr().err
