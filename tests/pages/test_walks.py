"""Walks through the whole dashboard in a real browser: what operators do, and what goes wrong on the way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from calibdash.cli.main import run
from calibdash.data.simulate import PRESETS, simulate_network, write_network
from calibdash.pages.head import BUNDLE
from calibdash.pages.site import PAGES
from calibdash.state.tuning import SLIDERS
from tests.pages.conftest import address_of, pick, serving, started, turn

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=document.title='hacked'>"
SLOW = 240_000


def calibration(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_role("tab", name="Calibration").click()
    expect(page.get_by_text("Live preview of what you believe")).to_be_visible(timeout=120_000)


def as_set(page: Page) -> None:
    """Let the fit take every value as it is: quick."""
    switches = page.get_by_role("switch", name="found by the fit")
    expect(switches).to_have_count(len(SLIDERS))
    for number in range(switches.count()):
        switches.nth(number).click()
    expect(page.get_by_text("takes every value below as it is set")).to_be_visible()


def fit(page: Page) -> None:
    page.get_by_role("button", name="Fit", exact=True).click()


def test_an_operators_morning(site: str, watched: Page, tmp_path: Path) -> None:
    watched.goto(site)
    pick(watched.locator(".tabulator-row", has_text="Kansanga church"))
    watched.get_by_role("button", name="Mark or unmark as reference").click()
    expect(watched.locator(".tabulator-row", has_text="Kansanga church")).to_contain_text("reference")
    watched.get_by_role("tab", name="Calibration").click()
    expect(watched.get_by_text("Live preview of what you believe")).to_be_visible(timeout=120_000)
    first = watched.locator("input[type=range]").first
    before = first.input_value()
    first.press("ArrowRight")
    expect(first).not_to_have_value(before)
    as_set(watched)
    fit(watched)
    expect(watched.get_by_text("Full fit. Move a slider")).to_be_visible(timeout=SLOW)
    with watched.expect_download() as download:
        watched.get_by_role("link", name="Download").or_(watched.get_by_role("button", name="Download")).first.click()
    download.value.save_as(tmp_path / "calibration.csv")
    table = pd.read_csv(tmp_path / "calibration.csv")
    assert list(table.columns) == ["time", "sensor", "parameter", "mean", "sd", "median", "lower", "upper"]
    assert "aq-15" not in set(table["sensor"])


def test_the_browser_itself_loads_the_components_once(site: str, watched: Page) -> None:
    """Not as text, by a script: then it would compile them anew at every visit."""
    watched.goto(site)
    expect(watched.get_by_role("tab", name="Calibration")).to_be_visible()
    resources = watched.evaluate("performance.getEntriesByType('resource').map(one => [one.name, one.initiatorType])")
    how = [kind for address, kind in resources if BUNDLE in address]
    assert len(how) == 1
    assert "fetch" not in how


def test_a_closed_tab_loses_nothing_and_a_run_can_be_cancelled(examples: Path, page: Page) -> None:
    with serving(examples) as address:
        calibration(page, address)
        fit(page)
        expect(page.get_by_role("button", name="Cancel", exact=True)).to_be_visible()
        again = page.context.new_page()
        page.close()
        again.goto(address)
        again.get_by_role("tab", name="Runs").click()
        row = again.locator(".tabulator-row", has_text="Kampala")
        status = row.locator("[tabulator-field=Status]")
        expect(status).to_have_text("running")
        row.click()
        again.get_by_role("button", name="Cancel", exact=True).click()
        expect(status).to_have_text("cancelled", timeout=SLOW)


def test_a_run_of_a_server_that_was_killed_goes_on_by_itself(examples: Path, page: Page, tmp_path: Path) -> None:
    server = started(tmp_path, examples)
    try:
        calibration(page, address_of(server))
        as_set(page)
        fit(page)
        expect(page.get_by_role("button", name="Cancel", exact=True)).to_be_visible()
    finally:
        server.kill()
        server.wait()
        server.stderr.close()
    server = started(tmp_path, examples)
    try:
        page.goto(address_of(server))
        page.get_by_role("tab", name="Runs").click()
        row = page.locator(".tabulator-row", has_text="Kampala")
        status = row.locator("[tabulator-field=Status]")
        expect(status).to_have_text("done", timeout=SLOW)
        row.click()
        page.get_by_role("button", name="Show", exact=True).click()
        expect(page.get_by_text("Full fit. Move a slider")).to_be_visible(timeout=60_000)
    finally:
        server.terminate()
        server.wait(timeout=20)
        server.stderr.close()


def test_dark_and_narrow(site: str, watched: Page) -> None:
    watched.set_viewport_size({"width": 800, "height": 900})
    watched.goto(site)
    expect(watched.get_by_text("Visits over time")).to_be_visible()
    watched.get_by_role("button", name="Toggle theme").click()
    expect(watched.locator("body")).to_have_css("background-color", "rgb(18, 18, 18)")
    for title, _ in PAGES:
        turn(watched, title)
    assert watched.evaluate("document.documentElement.scrollWidth") <= 800


def hostile_folder(folder: Path) -> None:
    """A network in which every name is markup that would run, or a formula."""
    folder.mkdir()
    (folder / "network.toml").write_text(f'name = "{HOSTILE}"\nunit = "{HOSTILE}"\nquantity = "{HOSTILE}"')
    hours = range(0, 400, 5)
    rows = [f"{hour},{HOSTILE},B{HOSTILE},{20 + hour % 7},{21 + hour % 5}" for hour in hours]
    rows += [f"{hour + 1},M{HOSTILE},B{HOSTILE},{20 + hour % 7},{21 + hour % 5}" for hour in hours]
    head = "time,sensor_a,sensor_b,value_a,value_b"
    (folder / "colocations.csv").write_text("\n".join([head, *rows]) + "\n")
    sensors = [f"{name}{HOSTILE},{kind},{ref},{HOSTILE},0.3{ref},32.5{ref},{HOSTILE}"
               for name, kind, ref in (("", "static", 1), ("B", "static", 0), ("M", "mobile", 0))]  # fmt: skip
    columns = "sensor,kind,reference,label,latitude,longitude,type"
    (folder / "sensors.csv").write_text("\n".join([columns, *sensors]) + "\n")
    labels = [f"{HOSTILE}{item},{who}{HOSTILE},{HOSTILE}{item % 2}" for item in range(8) for who in "AB"]
    (folder / "labels.csv").write_text("\n".join(["item,labeller,label", *labels]) + "\n")


@pytest.mark.browser_context_args(bypass_csp=True)  # the policy would stop what must not be there to be stopped
def test_hostile_names_stay_text_on_every_page(tmp_path: Path, page: Page) -> None:
    """Names of a network, its sensors, labellers and classes, of runs and of the user; fits, reports and messages."""
    hostile_folder(tmp_path / "evil")
    users = tmp_path / "users.json"
    assert run(["user", "add", "--file", str(users), "--password", "correct horse", "--", HOSTILE]) == 0
    ran: list[str] = []
    page.on("request", lambda request: ran.append(request.url) if request.url.endswith("/x") else None)

    def nothing_ran() -> None:
        assert not ran  # an image was made of a name, at any time
        assert page.locator("img[src=x]").count() == 0
        assert page.title() == "calibdash"

    with serving(tmp_path, options=["--basic-auth", str(users)]) as address:
        page.goto(f"{address}/login?next={HOSTILE}")
        page.get_by_label("Name").fill(HOSTILE)
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_text("do not belong together")).to_be_visible()
        page.get_by_label("Password").fill("correct horse")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_text(f"Logged in as {HOSTILE}")).to_be_visible(timeout=SLOW)
        for title, _ in PAGES:
            turn(page, title)
            page.wait_for_load_state("networkidle", timeout=SLOW)
            nothing_ran()
        turn(page, "Network")
        pick(page.locator(".tabulator-row", has_text="onerror").first)
        page.locator(".bk-Figure, .bk-Canvas").first.hover()
        nothing_ran()
        turn(page, "Calibration")
        expect(page.get_by_text("Today", exact=True)).to_be_visible(timeout=SLOW)
        as_set(page)
        fit(page)
        expect(page.get_by_text("Full fit. Move a slider")).to_be_visible(timeout=SLOW)
        page.get_by_role("combobox").filter(has_text=f"B{HOSTILE}").first.click()
        expect(page.get_by_role("menuitem").first).to_be_visible()
        page.keyboard.press("Escape")
        nothing_ran()
        turn(page, "Labellers")
        fit(page)
        expect(page.get_by_text("items.csv")).to_be_visible(timeout=SLOW)
        nothing_ran()
        turn(page, "Visits")
        turn(page, "Report")
        page.get_by_role("button", name="Make the report").click()
        expect(page.frame_locator("iframe").get_by_text("In short")).to_be_visible(timeout=SLOW)
        nothing_ran()
        turn(page, "Runs")
        row = page.locator(".tabulator-row", has_text="labels").first
        expect(row).to_contain_text(f"{HOSTILE} alone")
        row.click()
        page.get_by_role("button", name="Share with everybody").click()
        expect(row).to_contain_text(f"shared by {HOSTILE}")
        page.get_by_role("button", name="Use its settings").click()  # a message in passing
        expect(page.get_by_text("Only fits of sensors have sliders.")).to_be_visible()
        nothing_ran()


def test_500_sensors_stay_usable(tmp_path: Path, watched: Page) -> None:
    recipe = replace(PRESETS["city"], name="large", statics=480, references=5, mobiles=15, days=60, pairs=10)
    write_network(simulate_network(recipe), tmp_path / "large")
    with serving(tmp_path) as address:
        watched.goto(address)
        expect(watched.get_by_text("Visits over time")).to_be_visible(timeout=60_000)
        pick(watched.locator(".tabulator-row").nth(7))
        expect(watched.get_by_role("button", name="Clear selection")).to_be_enabled()
        watched.get_by_role("tab", name="Calibration").click()
        expect(watched.get_by_text("Live preview of what you believe")).to_be_visible(timeout=120_000)
