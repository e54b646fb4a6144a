"""The dashboard in a real browser: how long pages, sliders and clicks take, alone and during fits, and its memory.

An empty Panel page, served and opened in the same way in the same run, tells how fast the machine is at the moment.
Cold is the first visit of a new browser to a server that has just started; warm is a later visit of the same browser.
The first page is there when the browser has painted its figures and graph (its own clock from the start of the visit to
the largest contentful paint); it works when the graph is Bokeh's, and is whole when the last table has its rows.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from playwright.sync_api import BrowserContext, Page, Playwright, sync_playwright
from rich.console import Console
from rich.table import Table

from tests.pages.conftest import FLAGS, address_of

EXAMPLES = Path(__file__).parents[1] / "example_data"
EMPTY = "import panel as pn, panel_material_ui as pmui; pmui.Page(main=[pmui.Typography('Nothing')]).servable()"
LARGE = """() => { for (const doc of Bokeh.documents) for (const model of doc._all_models.values())
  if (model.type === 'Figure' && model.name === 'large') return model.title.text + '|' +
    model.renderers.map(r => r.data_source.data.lower50 ? r.data_source.data.median[3] : '').join('') }"""
FOUND = """() => { const inside = root => [...root.querySelectorAll('*')].some(element =>
    CONDITION || (element.shadowRoot && inside(element.shadowRoot)));
  return document.body !== null && inside(document) }"""
EMPTY_THERE = FOUND.replace("CONDITION", "(element.children.length === 0 && element.textContent.trim() === 'Nothing')")
TABLE_THERE = FOUND.replace("CONDITION", "element.classList.contains('tabulator-row')")
# The largest thing painted so far: of the page as it is sent, figures, words and graph come in one piece.
PAINTED = """() => new Promise(done => new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime))
  .observe({type: "largest-contentful-paint", buffered: true}))"""
GRAPH_THERE = """() => { const drawn = view => (view.model.type === 'Figure' && view.model.height === 400 &&
    view.is_displayed && view.canvas_view.bbox.width > 100 && view.has_finished()) ||
    (view.child_views ?? []).some(drawn);
  return window.Bokeh !== undefined && Object.values(Bokeh.index.roots ?? Bokeh.index).some(drawn) }"""
PATIENCE = 180_000


def main(quick: bool = False) -> None:
    sessions, moves, clicks, visits = (4, 6, 10, 3) if quick else (20, 12, 30, 5)
    figures: dict[str, str] = {}
    with sync_playwright() as playwright:
        with empty_page() as address, fresh(playwright) as browser:
            nothing = [opened(browser, address, EMPTY_THERE)[1] for _ in range(1 + visits)]
        cold, warm = nothing[0], float(np.median(nothing[1:]))
        figures["an empty page, cold / warm"] = f"{cold:.2f} / {warm:.2f} s"
        with dashboard() as (address, process), fresh(playwright) as browser:
            seen = [opened(browser, address, GRAPH_THERE, TABLE_THERE) for _ in range(1 + visits)]
            (first, works, whole), (again, works_again, all_again) = seen[0], np.median(seen[1:], axis=0)
            figures["first page, cold / warm"] = f"{first:.2f} / {again:.2f} s"
            figures["  it works"] = f"{works:.2f} / {works_again:.2f} s"
            figures["  ÷ empty page"] = f"{works / cold:.1f} / {works_again / warm:.1f}"
            figures["  the whole of it"] = f"{whole:.2f} / {all_again:.2f} s"
            page = calibration(browser, address)
            figures["TensorFlow loaded before the first fit"] = "yes" if tensorflow(process) else "no"
            slider = [moved(page, step) for step in range(moves)]
            figures["slider to redrawn preview, median"] = f"{np.median(slider):.2f} s"
            alone = [clicked(page, step) for step in range(clicks)]
            figures["click to redrawn plot, p90"] = f"{np.quantile(alone, 0.9):.2f} s"
            second = calibration(browser, address)
            for each in (page, second):
                each.get_by_role("button", name="Fit", exact=True).click()
            page.bring_to_front()  # a page behind another one is drawn once a second at most
            during = []
            page.get_by_role("button", name="Cancel", exact=True).wait_for(timeout=PATIENCE)
            while page.get_by_role("button", name="Cancel", exact=True).is_visible() and len(during) < 4 * clicks:
                during.append(clicked(page, len(during)))
            figures["click during two fits, median, p90"] = (
                f"{np.median(during):.2f}, {np.quantile(during, 0.9):.2f} s of {len(during)}"
            )
            figures["  ÷ the same without fits"] = f"{np.quantile(during, 0.9) / np.quantile(alone, 0.9):.1f}"
            for each in (page, second):
                each.get_by_text("Full fit. Move a slider").wait_for(timeout=4 * PATIENCE)
            pages = [visited(browser, address, TABLE_THERE) for _ in range(sessions - 2)]
            with Memory(process) as memory:
                for each in (page, second):
                    each.get_by_role("button", name="Fit", exact=True).click()
                for each in (page, second):
                    each.get_by_role("button", name="Fit", exact=True).wait_for(timeout=4 * PATIENCE)
            figures[f"memory, {len(pages) + 2} sessions and two fits"] = f"{memory.most / 1e9:.2f} GB"
    table = Table("", "figure", title="The dashboard on the example network")
    for name, value in figures.items():
        table.add_row(name, value)
    Console().print(table)


@contextmanager
def empty_page() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "empty.py"
        file.write_text(EMPTY)
        command = [sys.executable, "-m", "panel", "serve", str(file), "--port", "5987"]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        try:
            while "running at" not in server.stderr.readline():
                pass
            yield "http://localhost:5987/empty"
        finally:
            server.terminate()
            server.wait(20)
            server.stderr.close()


@contextmanager
def dashboard() -> Iterator[tuple[str, subprocess.Popen]]:
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "calibdash", "serve", str(EXAMPLES), "--port", "0", "--data-dir", data]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            yield address_of(server), server
        finally:
            server.terminate()
            server.wait(20)
            server.stderr.close()


@contextmanager
def fresh(playwright: Playwright) -> Iterator[BrowserContext]:
    """A browser that has been nowhere yet and, as a person's does, keeps on disk what it loads and compiles."""
    with tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=shutil.which("chromium"), args=FLAGS, viewport={"width": 1280, "height": 900}
        )
        yield context
        context.close()


def visited(browser: BrowserContext, address: str, there: str) -> Page:
    page = browser.new_page()
    page.on("pageerror", lambda error: sys.exit(f"an error on the page: {error}"))
    page.goto(address, timeout=PATIENCE, wait_until="commit")
    page.wait_for_function(there, polling=20, timeout=PATIENCE)
    return page


def opened(browser: BrowserContext, address: str, *there: str) -> list[float]:
    """Seconds until it is painted, and until each of these is there."""
    began = time.perf_counter()
    page = visited(browser, address, there[0])
    seconds = [time.perf_counter() - began]
    seconds.insert(0, page.evaluate(PAINTED) / 1000)
    for more in there[1:]:
        page.wait_for_function(more, polling=20, timeout=PATIENCE)
        seconds.append(time.perf_counter() - began)
    page.close()
    return seconds


def calibration(browser: BrowserContext, address: str) -> Page:
    page = visited(browser, address, TABLE_THERE)
    page.get_by_role("tab", name="Calibration").click()
    page.get_by_text("Live preview of what you believe").wait_for(timeout=PATIENCE)
    page.wait_for_function(LARGE, timeout=PATIENCE)
    return page


def changed(page: Page, action: object) -> float:
    """Seconds from an action to another drawing in the large plot."""
    before = page.evaluate(LARGE)
    began = time.perf_counter()
    action()
    page.wait_for_function(f"before => ({LARGE})() !== before", arg=before, polling=5, timeout=PATIENCE)
    return time.perf_counter() - began


def moved(page: Page, step: int) -> float:
    """Seconds after the first slider is moved a step."""
    handle = page.locator("input[type=range]").first
    return changed(page, lambda: handle.press("ArrowRight" if step % 4 < 3 else "ArrowLeft"))


def clicked(page: Page, step: int) -> float:
    names = page.locator(".tabulator-row .tabulator-cell[tabulator-field=Sensor]")
    cell = names.nth(1 + step % 2)
    return changed(page, cell.click)


def tensorflow(process: subprocess.Popen) -> bool:
    return "tensorflow" in Path(f"/proc/{process.pid}/maps").read_text()


class Memory:
    """The most memory that a process and its children have at a time; the libraries that they share count once."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.most = 0.0
        self._pid = process.pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.5):
            own, shared = zip(*map(memory_of, family(self._pid)), strict=True)
            self.most = max(self.most, sum(own) + max(shared))


def family(pid: int) -> list[int]:
    """A process and all below it."""
    below = []
    with suppress(OSError):  # it, or one of its threads, has just ended
        for thread in Path(f"/proc/{pid}/task").iterdir():
            below += (thread / "children").read_text().split()
    return [pid, *(one for child in below for one in family(int(child)))]


def memory_of(pid: int) -> tuple[float, float]:
    """Bytes of its own, and of files that it maps; 0 when it has just ended."""
    try:
        lines = [line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
    except OSError:
        return 0.0, 0.0
    kilobytes = {words[0]: float(words[1]) for words in lines if words[0] in ("RssAnon:", "RssFile:")}
    return 1024 * kilobytes.get("RssAnon:", 0.0), 1024 * kilobytes.get("RssFile:", 0.0)
