"""Logging in with a real browser: what is whose, what can be shared, and what somebody who looks cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from calibdash.cli.main import run
from calibdash.data.simulate import PRESETS, simulate_network, write_network
from tests.pages.conftest import serving
from tests.pages.test_walks import SLOW, as_set, fit

pytestmark = pytest.mark.browser
PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("networks") / "town"
    write_network(simulate_network(replace(PRESETS["city"], name="town", days=6, statics=6, pairs=2)), folder)
    return folder


@pytest.fixture(scope="module")
def guarded(town: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    users = tmp_path_factory.mktemp("users") / "users.json"
    for name, role in (("ann", "member"), ("bob", "member"), ("vic", "viewer")):
        assert run(["user", "add", name, "--file", str(users), "--role", role, "--password", PASSWORD]) == 0
    with serving(town, options=["--basic-auth", str(users)]) as address:
        yield address


def logged_in(browser: Browser, address: str, name: str) -> Page:
    """A browser of this user's own; errors of its pages fail the test."""
    page = browser.new_context().new_page()
    page.wrong = []  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.wrong.append(str(error)))  # type: ignore[attr-defined]
    page.on("console", lambda said: page.wrong.append(said.text) if said.type == "error" else None)  # type: ignore[attr-defined]
    page.goto(address)
    expect(page).to_have_title("calibdash: log in")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text(f"Logged in as {name}")).to_be_visible(timeout=SLOW)
    return page


def runs_of(page: Page) -> None:
    page.get_by_role("tab", name="Runs").click()
    expect(page.get_by_role("button", name="Use its settings")).to_be_visible()


def test_runs_are_private_until_they_are_shared(guarded: str, browser: Browser) -> None:
    ann, bob, vic = (logged_in(browser, guarded, name) for name in ("ann", "bob", "vic"))
    ann.get_by_role("tab", name="Calibration").click()
    expect(ann.get_by_text("Live preview of what you believe")).to_be_visible(timeout=SLOW)
    as_set(ann)
    fit(ann)
    expect(ann.get_by_text("Full fit. Move a slider")).to_be_visible(timeout=SLOW)
    for page in (ann, bob, vic):
        runs_of(page)
    mine = ann.locator(".tabulator-row", has_text="ann alone")
    expect(mine).to_be_visible()
    expect(bob.locator(".tabulator-row")).to_have_count(0)
    mine.click()
    ann.get_by_role("button", name="Share with everybody").click()
    for page in (ann, bob, vic):
        row = page.locator(".tabulator-row", has_text="everybody (shared by ann)")
        expect(row).to_be_visible()
        row.click()
    bob.get_by_role("button", name="Delete", exact=True).click()
    expect(bob.get_by_text("Only ann can change this run.")).to_be_visible()
    expect(bob.get_by_role("button", name="Share with everybody")).to_have_count(0)
    expect(bob.get_by_role("button", name="Keep to yourself")).to_be_disabled()
    expect(vic.get_by_role("button", name="Delete", exact=True)).to_have_count(0)
    with vic.expect_download() as export:
        vic.get_by_role("link", name="Export").or_(vic.get_by_role("button", name="Export")).first.click()
    assert Path(export.value.path()).read_bytes()[:2] == b"PK"
    vic.get_by_role("button", name="Show", exact=True).click()
    expect(vic.get_by_text("Full fit. Move a slider")).to_be_visible(timeout=SLOW)
    expect(vic.get_by_role("button", name="Fit", exact=True)).to_be_disabled()
    expect(vic.get_by_role("button", name="Add data …")).to_be_disabled()
    expect(vic.locator("input[type=file]")).to_have_count(0)
    expect(vic.get_by_text("You may look and download here").first).to_be_visible()
    ann.get_by_role("button", name="Keep to yourself").click()
    expect(bob.locator(".tabulator-row")).to_have_count(0)
    for page in (ann, bob, vic):
        assert page.wrong == []  # type: ignore[attr-defined]
        page.context.close()


def test_added_networks_are_private_until_they_are_shared(guarded: str, town: Path, browser: Browser) -> None:
    ann, bob = (logged_in(browser, guarded, name) for name in ("ann", "bob"))
    files = {file.name: file.read_bytes() for file in town.glob("*.csv")} | {"network.toml": b'name = "Ann alone"'}
    ann.get_by_role("button", name="Add data …").click()
    ann.locator("input[type=file]").set_input_files(
        [{"name": name, "mimeType": "text/csv", "buffer": content} for name, content in files.items()]
    )
    expect(ann.locator(".tabulator-row", has_text="network.toml")).to_be_visible(timeout=SLOW)  # the last one
    add = ann.get_by_role("button", name="Add network")
    expect(add).to_be_enabled(timeout=SLOW)
    add.click()
    expect(ann.get_by_text("Ann alone was added and is open")).to_be_visible(timeout=SLOW)
    bob.get_by_role("combobox").first.click()
    expect(bob.get_by_role("menuitem", name="town")).to_be_visible()
    expect(bob.get_by_role("menuitem", name="Ann alone")).to_have_count(0)
    bob.keyboard.press("Escape")
    ann.get_by_role("switch", name="Everybody here can see this network").click()
    bob.get_by_role("combobox").first.click()
    bob.get_by_role("menuitem", name="Ann alone").click()
    expect(bob.get_by_role("combobox").first).to_have_text("Ann alone")
    expect(bob.get_by_role("switch", name="Everybody here can see this network")).to_have_count(0)
    ann.get_by_role("switch", name="Everybody here can see this network").click()
    expect(bob.get_by_role("combobox").first).not_to_have_text("Ann alone")  # it is taken off the page as well
    ann.get_by_role("link", name="Log out").or_(ann.get_by_role("button", name="Log out")).click()
    expect(ann).to_have_title("calibdash: log in")
    ann.go_back()
    ann.reload()
    expect(ann).to_have_title("calibdash: log in")
    for page in (ann, bob):
        assert page.wrong == []  # type: ignore[attr-defined]
        page.context.close()
