"""Fifty kills at random moments of fits, uploads and saves: nothing is lost, nothing is half there, all goes on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibdash.data.folder import check_folder
from calibdash.data.problems import has_errors
from calibdash.data.simulate import PRESETS, simulate_network, write_network
from calibdash.models.store import load
from calibdash.runs.folder import read_record
from calibdash.runs.process import _token
from calibdash.runs.queue import JobQueue
from calibdash.runs.request import JobRequest
from calibdash.runs.store import MOST_CRASHES, RunStore
from calibdash.state.shelf import Shelf
from tests.runs.jobs import wait_status
from tests.service.victims import ROWS

ROOT = Path(__file__).parents[2]
KILLS = {"script": 30, "serve": 20}
LONGEST = {"script": 4.0, "serve": 9.0}  # seconds that a victim lives at most


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("network") / "small"
    recipe = replace(PRESETS["city"], days=10, statics=6, references=2, mobiles=2, pairs=1)
    write_network(simulate_network(recipe), folder)
    return folder


class Killer:
    """Starts victims and kills them; keeps what they said was done."""

    def __init__(self, data: Path, network: Path) -> None:
        self.data, self.network = data, network
        self.said: dict[str, list[str]] = {}
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        command = [sys.executable, "-W", "ignore", "-m", "tests.service.victims"]
        self._mother = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT,
            env=environment,
        )  # fmt: skip
        assert self._line() == ["ready"]

    def start(self, kind: str, seed: int) -> int:
        self._mother.stdin.write(f"{kind}\t{self.data}\t{self.network}\t{seed}\n")
        self._mother.stdin.flush()
        while (words := self._line())[0] != "pid":
            pass
        return int(words[1])

    def kill(self, pid: int) -> None:
        family = [pid, *below(pid)]
        os.kill(pid, signal.SIGKILL)
        while any(_token(one) is not None for one in family):  # its workers end with it
            time.sleep(0.005)

    def close(self) -> None:
        self._mother.stdin.close()
        for line in self._mother.stdout:
            self._keep(line.split())
        self._mother.stdout.close()
        self._mother.wait(20)

    def _line(self) -> list[str]:
        words = self._mother.stdout.readline().split()
        assert words, "the mother of victims is gone"
        self._keep(words)
        return words

    def _keep(self, words: list[str]) -> None:
        self.said.setdefault(words[0], []).append(" ".join(words[1:]))


def below(pid: int) -> list[int]:
    """The processes that a process has started."""
    listed = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for line in listed for child in line.split()]


@pytest.fixture
def killer(tmp_path: Path, network: Path) -> Iterator[Killer]:
    killer = Killer(tmp_path / "data", network)
    yield killer
    killer.close()


def test_fifty_kills(killer: Killer, network: Path) -> None:
    rng = random.Random(9)
    data = killer.data
    store = RunStore(data / "runs")
    kinds = [kind for kind, count in KILLS.items() for _ in range(count)]
    rng.shuffle(kinds)
    seen: set[str] = set()
    for number, kind in enumerate(kinds):
        if kind == "serve":
            wanted(store, network, number)
        pid = killer.start(kind, number)
        time.sleep(rng.uniform(0.05, LONGEST[kind]))  # any moment is good
        killer.kill(pid)
        seen |= check(data, network)
        asked = {run.id for run in store.runs()} | {run.id for run in store.trash()}
        assert set(killer.said.get("run", [])) <= asked
    assert "broken" not in killer.said, killer.said["broken"]
    assert sum(int(store.record(run.id).get("crashes", 0)) for run in store.runs()) >= 10  # hit while at work
    assert {"interrupted", "done"} <= seen
    assert len(killer.said["network"]) > 5
    everything_goes_on(killer, store, network)


def wanted(store: RunStore, network: Path, seed: int) -> None:
    """Something for the server to take up: a run that another process left, and one that learns."""
    waiting = [run for run in store.runs() if run.status == "interrupted"]
    for learn in (False, True):
        if len(waiting) < 4:
            run_id = store.create(JobRequest(str(network), {"learn.steps": 3}, learn=learn, seed=seed))
            store.update(run_id, {"process": None}, lambda _: True)


def check(data: Path, network: Path) -> set[str]:
    """What a fresh start finds: every file whole, every run known, the interrupted ones saying so."""
    store, shelf = RunStore(data / "runs"), Shelf(data)
    for run in store.runs():
        assert run.status in ("interrupted", "done"), (run.status, run.message)
        assert run.status == "done" or (run.message and run.hint)
        if run.status == "done" and run.kind == "fit" and run.id != "saved":
            assert len(load(store.path(run.id)).sensors) == 8
            assert pd.read_csv(store.path(run.id) / "calibration.csv")["mean"].notna().all()
    if (data / "runs" / "saved").exists():
        number = read_record(data / "runs" / "saved")["number"]
        for name in "ab":
            assert pd.read_csv(data / "runs" / "saved" / f"{name}.csv")["number"].tolist() == [number] * ROWS
    for folder in shelf.offered({}).values():
        assert not has_errors(check_folder(folder).problems)
        assert (folder / "colocations.csv").read_bytes() == (network / "colocations.csv").read_bytes()
    assert not list(data.glob("networks/*/*.part"))
    assert all((folder / "network.toml").is_file() for folder in data.glob("networks/*"))
    assert not list(data.glob("uploads/*"))  # whoever dropped them is dead
    if (data / "report.html").exists():
        assert (data / "report.html").read_text().rstrip().endswith("</html>")
    return {run.status for run in store.runs()}


def everything_goes_on(killer: Killer, store: RunStore, network: Path) -> None:
    """The next start takes up what was interrupted, and it ends as if nothing had happened."""
    crashed = [run.id for run in store.runs() if store.record(run.id).get("crashes", 0) >= MOST_CRASHES]
    pid = killer.start("serve", 0)
    deadline = time.monotonic() + 240
    while any(run.status != "done" for run in store.runs() if run.id not in crashed):
        assert time.monotonic() < deadline, [(run.id, run.status, run.message) for run in store.runs()]
        time.sleep(0.2)
    for run_id in crashed:
        assert store.get(run_id).status in ("interrupted", "done")
    killer.kill(pid)
    queue = JobQueue(store, 1)
    try:
        for run_id in crashed:
            if (run := store.get(run_id)).status != "done":
                assert "died" in run.message
                queue.restart(run_id)
                wait_status(queue, run_id, "done")
        calm = queue.submit(JobRequest(str(network), {}))
        wait_status(queue, calm, "done")
    finally:
        queue.shutdown()
    expected = pd.read_csv(store.path(calm) / "calibration.csv")["mean"].to_numpy()
    same = [run.id for run in store.runs() if run.kind == "fit" and run.id in set(killer.said.get("run", []))]
    assert same
    for run_id in same:
        got = pd.read_csv(store.path(run_id) / "calibration.csv")["mean"].to_numpy()
        np.testing.assert_allclose(got, expected, rtol=1e-3)
