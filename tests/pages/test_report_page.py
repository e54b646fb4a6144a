"""The report page: the same file as the command's, in a frame that cannot run anything."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from calibdash.pages.report import framed


def test_the_frame_holds_the_report_as_text() -> None:
    html = framed('<p title="x">\'&</p>')
    assert html.count("<") == 2
    assert 'sandbox=""' in html


@pytest.mark.browser
def test_make_and_download_a_report(watched: Page, site: str) -> None:
    watched.goto(site)
    watched.get_by_role("tab", name="Report").click()
    button = watched.get_by_role("button", name="Make the report")
    expect(button).to_be_enabled()
    button.click()
    frame = watched.frame_locator("iframe[title=Report]")
    expect(frame.get_by_role("heading", name="Calibration report: Kampala")).to_be_visible(timeout=120_000)
    expect(frame.get_by_text("Static sensors. Mobile sensors are not shown")).to_be_attached()
    with watched.expect_download() as waiting:
        watched.get_by_role("button", name="Download").click()
    assert waiting.value.suggested_filename == "report-Kampala.html"
    assert "Calibration report: Kampala" in waiting.value.path().read_text(encoding="utf-8")
