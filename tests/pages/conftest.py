"""A server on a free port and a real Chromium that notices every error and every foreign request."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlparse

import pytest
from playwright.sync_api import Locator, Page, expect

expect.set_options(timeout=60_000)  # a loaded machine is slow, not wrong

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, object]:
    chromium = shutil.which("chromium")
    if chromium is None and not os.environ.get("CI"):
        pytest.skip("Chromium is not installed: apt-get install chromium")
    return {"executable_path": chromium, "args": FLAGS}


@contextmanager
def serving(*folders: Path, options: Sequence[str] = ()) -> Iterator[str]:
    """The address of the real program, served on a free port, its runs in a folder of their own."""
    data = tempfile.mkdtemp(prefix="calibdash-test-")
    server = started(Path(data), *folders, options=options)
    try:
        yield address_of(server)
    finally:
        server.terminate()
        server.wait(timeout=60)
        server.stderr.close()
        shutil.rmtree(data, ignore_errors=True)


def started(data: Path, *folders: Path, options: Sequence[str] = ()) -> subprocess.Popen:
    """The real program on a free port."""
    command = [sys.executable, "-m", "calibdash", "serve", *map(str, folders), "--port", "0", "--data-dir", str(data)]
    return subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)


def address_of(server: subprocess.Popen) -> str:
    """Where a server that is starting will answer."""
    said: list[str] = []
    while not (found := re.search(r"http://localhost:\d+", "".join(said[-1:]))):
        said.append(server.stderr.readline())
        assert said[-1], f"the server stopped: {said}"
    return found[0]


def turn(page: Page, title: str) -> None:
    """Open a page of the dashboard. On a narrow screen tabs scroll, and one that moves away between press and release
    takes no click: a person clicks again.
    """
    tab = page.get_by_role("tab", name=title, exact=True)
    for _ in range(3):
        tab.click()
        with suppress(AssertionError):
            expect(tab).to_have_attribute("aria-selected", "true", timeout=20_000)
            return
    raise AssertionError(f"{title} does not open")


def pick(row: Locator) -> None:
    """Pick a row of a table. A table that has just come is laid out once more for the theme, and a click in that very
    moment is lost: a person clicks again.
    """
    box = row.get_by_role("checkbox")
    for _ in range(3):
        box.click()
        with suppress(AssertionError):
            expect(box).to_be_checked(timeout=20_000)
            return
    raise AssertionError(f"{row} cannot be picked")


@pytest.fixture(scope="session")
def site(examples: Path) -> Iterator[str]:
    with serving(examples) as address:
        yield address


@pytest.fixture
def watched(page: Page) -> Iterator[Page]:
    """A page whose errors and requests to other hosts fail the test."""
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: wrong.append(request.url) if _foreign(request.url) else None)
    yield page
    assert not wrong


def _foreign(url: str) -> bool:
    return urlparse(url).scheme in ("http", "https", "ws", "wss") and urlparse(url).hostname != "localhost"
