"""The served program as systemd sees it: it answers a monitor, logs, stops when told to, and goes on afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from calibdash.data.simulate import PRESETS, simulate_network, write_network
from calibdash.runs.request import JobRequest
from calibdash.runs.store import AGAIN, RunStore
from tests.loops import awaited
from tests.service.visitor import Visitor

WAIT = 120.0
STOP_MOST = 30.0  # seconds; systemd kills after 90


class Service:
    """``calibdash serve`` with its log in JSON."""

    def __init__(self, data: Path, network: Path) -> None:
        command = [sys.executable, "-m", "calibdash", "serve", str(network), "--port", "0", "--data-dir", str(data)]
        command += ["--log-format", "json"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.lines: list[str] = []
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._thread.join()
        self.process.stderr.close()

    def _read(self) -> None:
        for line in self.process.stderr:
            with self._news:
                self.lines.append(line)
                self._news.notify_all()

    @property
    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in list(self.lines)]

    def logged(self, event: str, **facts: object) -> dict[str, Any]:
        """Wait for an event."""

        def found() -> list[dict[str, Any]]:
            return [line for line in self.log if event in line["event"] and facts.items() <= line.items()]

        with self._news:
            assert self._news.wait_for(lambda: bool(found()), WAIT), self.lines
        return found()[0]

    def address(self, path: str = "/") -> str:
        port = self.logged("The server is up")["event"].split()[-1].rstrip(".")
        return f"http://localhost:{port}{path}"

    def stop(self) -> float:
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(STOP_MOST) == 0
        return time.monotonic() - began


@pytest.fixture
def network(tmp_path: Path) -> Path:
    recipe = replace(PRESETS["city"], name="Ada's street", days=20, statics=8, references=2, pairs=1)
    write_network(simulate_network(recipe), tmp_path / "network")
    return tmp_path / "network"


def test_a_service_stops_and_goes_on(tmp_path: Path, network: Path) -> None:
    data = tmp_path / "data"
    store = RunStore(data / "runs")
    run_id = store.create(JobRequest(str(network), {"learn.steps": 30}, learn=True, owner="ada@example.org"))
    store.update(run_id, {"process": None}, lambda _: True)  # as a program that was killed leaves it
    first = Service(data, network)
    try:
        assert first.logged("A run begins", run=run_id)
        with urlopen(first.address("/health"), timeout=WAIT) as answer:
            health = json.load(answer)
        assert (answer.status, health["status"], health["running"]) == (200, "ok", 1)
        assert not {"run", "owner", "path"} & health.keys()
        assert store.get(run_id).message == AGAIN

        async def look() -> None:
            visitor = await Visitor.enter(first.address())
            await visitor.leave()

        awaited(look())
        with pytest.raises(HTTPError):
            urlopen(first.address("/nothing-here"), timeout=WAIT)
        first.stop()
        assert first.logged("The server has stopped")
        assert store.get(run_id).status == "interrupted"
    finally:
        first.close()
    check_log(first)
    second = Service(data, network)
    try:
        assert second.logged("A run ends", run=run_id)["status"] == "done"
        assert store.get(run_id).status == "done"
        second.stop()
    finally:
        second.close()


def check_log(service: Service) -> None:
    """Every line is an event; sessions have a name that is not their id; nobody is named."""
    sessions = {line["session"] for line in service.log if "session" in line}
    assert len(sessions) >= 1
    assert all(len(name) == 12 for name in sessions)
    assert {"time", "level", "logger", "event"} <= set.intersection(*(set(line) for line in service.log))
    text = "".join(service.lines)
    for private in ("ada", "Ada", "example.org", "127.0.0.1", "::1", "nothing-here", str(service.process.args[4])):
        assert private not in text
