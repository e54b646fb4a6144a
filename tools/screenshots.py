"""Pictures of each page for the README, from the running program: ``.venv/bin/python tools/screenshots.py``."""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.pages.conftest import FLAGS, serving  # noqa: E402


def network(page: Page) -> None:
    page.locator(".tabulator-row", has_text="Kawempe market").get_by_role("checkbox").click()
    expect(page.get_by_text("aq-07 (Kawempe market)")).to_be_visible()


def calibration(page: Page) -> None:
    page.get_by_role("tab", name="Calibration").click()
    expect(page.get_by_text("from aq-", exact=False).first).to_be_visible()
    page.get_by_role("switch").click()
    page.get_by_role("button", name="Fit").click()
    expect(page.get_by_text("Full fit. Move a slider")).to_be_visible(timeout=240_000)
    expect(page.get_by_role("button", name="Fit")).to_be_visible()


def main() -> None:
    """Write ``assets/network.png`` and ``assets/calibration.png``."""
    with serving(ROOT / "example_data") as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 1500})
        page.goto(address)
        expect(page.get_by_text("Visits over time")).to_be_visible()
        for name, walk in (("network", network), ("calibration", calibration)):
            walk(page)
            page.wait_for_timeout(4000)  # plots fade in
            page.screenshot(path=ROOT / "assets" / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
