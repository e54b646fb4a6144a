"""The dashboard in a real browser: how long pages, sliders and clicks take, alone and during fits, and its memory.

An empty Panel page, served and opened in the same way in the same run, tells how fast the machine is at the moment.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.table import Table

from tests.pages.conftest import FLAGS, address_of

EXAMPLES = Path(__file__).parents[1] / "example_data"
EMPTY = "import panel as pn, panel_material_ui as pmui; pmui.Page(main=[pmui.Typography('Nothing')]).servable()"
LARGE = """() => { for (const doc of Bokeh.documents) for (const model of doc._all_models.values())
  if (model.type === 'Figure' && model.name === 'large') return model.title.text + '|' +
    model.renderers.map(r => r.data_source.data.lower50 ? r.data_source.data.median[3] : '').join('') }"""
PATIENCE = 180_000


def main(quick: bool = False) -> None:
    sessions, moves, clicks = (4, 4, 8) if quick else (20, 12, 30)
    figures: dict[str, str] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        with empty_page() as address:
            cold, warm = opened(browser, address, "Nothing"), opened(browser, address, "Nothing")
        figures["an empty page, cold / warm"] = f"{cold:.2f} / {warm:.2f} s"
        with dashboard() as (address, process):
            first, again = opened(browser, address, "Visits over time"), opened(browser, address, "Visits over time")
            figures["first page, cold / warm"] = f"{first:.2f} / {again:.2f} s"
            figures["  ÷ empty page"] = f"{first / cold:.1f} / {again / warm:.1f}"
            page = calibration(browser, address)
            figures["TensorFlow loaded before the first fit"] = "yes" if tensorflow(process) else "no"
            slider = [moved(page, step) for step in range(moves)]
            figures["slider to redrawn preview, median"] = f"{np.median(slider):.2f} s"
            alone = [clicked(page, step) for step in range(clicks)]
            figures["click to redrawn plot, p90"] = f"{np.quantile(alone, 0.9):.2f} s"
            second = calibration(browser, address)
            for each in (page, second):
                each.get_by_role("button", name="Fit", exact=True).click()
            during = []
            while page.get_by_role("button", name="Cancel", exact=True).first.is_visible() and len(during) < 4 * clicks:
                during.append(clicked(page, len(during)))
            figures["click during two fits, p90"] = f"{np.quantile(during, 0.9):.2f} s of {len(during)}"
            figures["  ÷ the same without fits"] = f"{np.quantile(during, 0.9) / np.quantile(alone, 0.9):.1f}"
            for each in (page, second):
                each.get_by_text("Full fit. Move a slider").wait_for(timeout=4 * PATIENCE)
            pages = [visited(browser, address) for _ in range(sessions - 2)]
            for each in (page, second):
                each.get_by_role("button", name="Fit", exact=True).click()
            for each in (page, second):
                each.get_by_role("button", name="Fit", exact=True).wait_for(timeout=4 * PATIENCE)
            figures[f"memory, {len(pages) + 2} sessions and two fits"] = f"{most_memory(process) / 1e9:.2f} GB"
        browser.close()
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


def visited(browser: Browser, address: str, text: str = "Visits over time") -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on("pageerror", lambda error: sys.exit(f"an error on the page: {error}"))
    page.goto(address, timeout=PATIENCE)
    page.get_by_text(text).first.wait_for(timeout=PATIENCE)
    return page


def opened(browser: Browser, address: str, text: str) -> float:
    began = time.perf_counter()
    page = visited(browser, address, text)
    seconds = time.perf_counter() - began
    page.close()
    return seconds


def calibration(browser: Browser, address: str) -> Page:
    page = visited(browser, address)
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


def most_memory(process: subprocess.Popen) -> float:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return 1024 * float(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
