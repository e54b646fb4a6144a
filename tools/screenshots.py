"""Pictures of each page for the README, from the running program: ``.venv/bin/python tools/screenshots.py``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.pages.conftest import FLAGS, serving  # noqa: E402

SLOW = 240_000


def network(page: Page) -> None:
    page.locator(".tabulator-row", has_text="Kawempe market").get_by_role("checkbox").click()
    expect(page.get_by_text("aq-07 (Kawempe market)")).to_be_visible()
    page.get_by_role("tab", name="Network").scroll_into_view_if_needed()


def calibration(page: Page) -> None:
    page.get_by_role("tab", name="Calibration").click()
    expect(page.get_by_text("from aq-", exact=False).first).to_be_visible()
    expect(page.get_by_text("found by the fit").first).to_be_visible()
    switches = page.get_by_role("switch", name="found by the fit")
    for number in range(switches.count()):
        switches.nth(number).click()
    page.get_by_role("button", name="Fit", exact=True).click()
    expect(page.get_by_text("Full fit. Move a slider")).to_be_visible(timeout=SLOW)


def visits(page: Page) -> None:
    page.get_by_role("tab", name="Visits").click()
    expect(page.get_by_text("Stops in order")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("the mean band over the horizon", exact=False)).to_be_visible(timeout=SLOW)


def report(page: Page) -> None:
    page.get_by_role("tab", name="Report").click()
    page.get_by_role("button", name="Make the report").click()
    expect(page.frame_locator("iframe").get_by_text("In short")).to_be_visible(timeout=SLOW)


def labellers(page: Page) -> None:
    page.get_by_role("combobox").first.click()
    page.get_by_role("menuitem", name="bees").click()
    page.get_by_role("tab", name="Labellers").click()
    page.get_by_role("button", name="Fit", exact=True).click()
    expect(page.get_by_text("items.csv")).to_be_visible(timeout=SLOW)


def runs(page: Page) -> None:
    page.get_by_role("tab", name="Runs").click()
    expect(page.get_by_text("done").first).to_be_visible(timeout=SLOW)


def main() -> None:
    """Write a picture a page to ``assets``."""
    with serving(ROOT / "example_data") as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 1500})
        page.goto(address)
        expect(page.get_by_text("Visits over time")).to_be_visible(timeout=SLOW)
        for walk in (network, calibration, visits, report, labellers, runs):
            walk(page)
            page.wait_for_timeout(4000)  # plots fade in
            page.screenshot(path=ROOT / "assets" / f"{walk.__name__}.png")
        browser.close()


if __name__ == "__main__":
    main()
