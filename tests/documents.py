"""Commands and links in Markdown, and a place where the commands are run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from calibdash.cli.main import cli, run

ROOT = Path(__file__).parents[1]
LONG = {"reproduce"}  # studies of half an hour; their parts are tested in tests/evaluation
START_SECONDS = 180.0  # a loaded machine is slow, not wrong
AIRQO = (
    "device_name,datetime,s1_pm2_5,s2_pm2_5,latitude,longitude\n"
    "aq-1,2025-01-01 00:05:00Z,30,32,0.31,32.58\naq-2,2025-01-01 00:15:00Z,20,22,0.31,32.5801\n"
)


def blocks(text: str, language: str) -> list[str]:
    """The code of all fences of a language."""
    return [
        body for kind, body in re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL) if kind == language
    ]


def commands(text: str) -> list[str]:
    """Lines of shell: those of fences marked ``sh``, and of indented blocks."""
    fenced = "".join(blocks(text, "sh"))
    bare = re.sub(r"^```.*?^```\n", "", text, flags=re.MULTILINE | re.DOTALL)
    indented = "".join(re.findall(r"(?:(?<=\n\n)|(?<=\A))((?:    \S.*\n)+)", bare))
    lines = (fenced + re.sub(r"^    ", "", indented, flags=re.MULTILINE)).replace("\\\n", " ").splitlines()
    return [shlex.join(words) for line in lines if (words := shlex.split(line, comments=True))]


def links(text: str) -> Iterator[str]:
    """Targets of links and pictures that lie within the project."""
    prose = re.sub(r"^```.*?^```\n|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(text: str) -> set[str]:
    """What ``#…`` can lead to in a document, as forges name its headings."""
    prose = re.sub(r"^```.*?^```\n", "", text, flags=re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


class Workshop:
    """A folder with the example data, where each command is run once however many documents have it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._done: set[str] = set()
        for name in ("example_data", "networks"):
            shutil.copytree(ROOT / "example_data", folder / name)
        (folder / "my-airqo-export.csv").write_text(AIRQO)
        field = (ROOT / "docs" / "field.md").read_text(encoding="utf-8")
        (folder / "riders.csv").write_text(next(body for body in blocks(field, "text") if body.startswith("rider,")))

    def run(self, line: str) -> None:
        """Do what a line of a document says; the working folder is ours."""
        line = line.replace(".venv/bin/", "")
        if line in self._done:
            return
        words = shlex.split(line)
        if words[0] == "make":
            assert words[1] in targets(), line
        elif words[0] != "calibdash":
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            subprocess.run(["sh", "-ec", line], cwd=self.folder, check=True, env={**os.environ, "PATH": path})
        elif words[1] in LONG:
            with cli.make_context("calibdash", words[1:]) as context:
                command = cli.get_command(context, words[1])
                command.make_context(words[1], words[2:], parent=context)  # complains of what it does not know
        elif words[1] == "serve":
            serve(words[2:], self.folder)
        else:
            assert run(words[1:]) == 0, line
        self._done.add(line)


def targets() -> set[str]:
    """What make can be asked for."""
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def serve(options: list[str], folder: Path) -> None:
    """The server starts, says that it is well, and ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "calibdash", "serve", *options, "--port", str(port)]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
        try:
            assert answer(f"http://127.0.0.1:{port}/health", server) == 200, (folder / "server.log").read_text()
        finally:
            server.terminate()
            server.wait(timeout=60)


def answer(address: str, server: subprocess.Popen) -> int | None:
    """The status that a server answers with once it answers; None if it never does."""
    until = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(address, timeout=10) as response:
                return response.status
        except urllib.error.HTTPError as refused:
            return refused.code
        except OSError:
            time.sleep(0.2)
    return None
