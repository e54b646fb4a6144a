"""A process that has everything loaded and forks one victim after another, each to be killed at any moment.

``serve`` is the real program on the data directory; ``script`` does by itself what sessions of it do: it drops files,
saves, fits, reports, deletes and takes back. What a victim has been told is done, it writes to stdout.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from functools import partial
from pathlib import Path

import pandas as pd

import calibdash.models.fitting  # TensorFlow, loaded but not yet at work
import calibdash.pages.site  # noqa: F401
from calibdash.cli.main import run
from calibdash.reports.report import build_report
from calibdash.runs import job
from calibdash.runs.folder import write_run
from calibdash.runs.queue import JobQueue
from calibdash.runs.report import open_subject, write_report
from calibdash.runs.request import JobRequest
from calibdash.runs.store import RunStore
from calibdash.state.shelf import Shelf
from calibdash.state.uploads import Uploads
from tests.runs.jobs import wait_status

ROWS = 2000


def tell(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def serve(data: Path, network: Path, _seed: int) -> None:
    code = run(["serve", str(network), "--port", "0", "--data-dir", str(data)])
    tell("broken", "the server ended by itself with", code)


def script(data: Path, network: Path, seed: int) -> None:
    rng = random.Random(seed)
    store = RunStore(data / "runs")
    queue, shelf = JobQueue(store, 1), Shelf(data)
    while True:
        act = rng.choice([upload, save, fit, delete, report])
        act(data, network, queue, shelf, rng)


def upload(_data: Path, network: Path, _queue: JobQueue, shelf: Shelf, rng: random.Random) -> None:
    uploads = Uploads(shelf, lambda call: call())
    for name in ("colocations.csv", "sensors.csv"):
        content = (network / name).read_bytes()
        idle = threading.Event()
        watcher = uploads.param.watch(lambda event, idle=idle: None if event.new else idle.set(), "busy")
        middle = rng.randrange(len(content))
        uploads.take(name, 1, 2, content[:middle])
        uploads.take(name, 2, 2, content[middle:])
        assert not uploads.busy or idle.wait(60)
        uploads.param.unwatch(watcher)
    there = threading.Event()
    uploads.param.watch(lambda _: there.set(), "added")
    uploads.add()
    assert there.wait(60), (uploads.message, uploads.problems)
    tell("network", uploads.added.name)
    uploads.close()


def save(data: Path, _network: Path, _queue: JobQueue, _shelf: Shelf, rng: random.Random) -> None:
    number = rng.randrange(1000)
    table = pd.DataFrame({"number": [number] * ROWS})
    write_run(data / "runs" / "saved", {"status": "done", "number": number}, {"a": table, "b": table})
    tell("saved", number)


def fit(_data: Path, network: Path, queue: JobQueue, _shelf: Shelf, rng: random.Random) -> None:
    kind = rng.choice(["fit", "fit", "multihop"])
    run_id = queue.submit(JobRequest(str(network), {}, kind=kind))
    tell("run", run_id)
    wait_status(queue, run_id, "done")
    tell("done", run_id)


def delete(_data: Path, network: Path, queue: JobQueue, _shelf: Shelf, rng: random.Random) -> None:
    run_id = queue.submit(JobRequest(str(network), {}, kind="multihop"))
    wait_status(queue, run_id, "done")
    queue.store.delete(run_id)
    if rng.random() < 0.5:
        queue.store.restore(run_id)
        tell("run", run_id)
    else:
        queue.store.empty_trash()


def report(data: Path, _network: Path, queue: JobQueue, _shelf: Shelf, _rng: random.Random) -> None:
    done = [run for run in queue.store.runs() if run.status == "done" and run.kind == "fit" and run.network_path]
    if done:
        write_report(build_report(open_subject(queue.store.path(done[0].id))), data / "report.html")


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead need no burial
    job.keep_halfway = partial(job.keep_halfway, seconds=0.0)  # type: ignore[assignment]
    tell("ready")
    for line in sys.stdin:
        kind, data, network, seed = line.rstrip("\n").split("\t")
        child = os.fork()
        if child:
            tell("pid", child)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        try:
            {"serve": serve, "script": script}[kind](Path(data), Path(network), int(seed))
        except BaseException as reason:
            tell("broken", type(reason).__name__, str(reason).replace("\n", " "))
        finally:
            os._exit(1)


if __name__ == "__main__":
    main()
