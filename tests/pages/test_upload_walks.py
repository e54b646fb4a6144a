"""Files dropped in a real browser: broken ones, a network, raw measurements, an archive, and hostile names."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from calibdash.data.files import write_table
from calibdash.data.folder import load_network
from calibdash.data.simulate import PRESETS, simulate_measurements, simulate_network, write_network
from tests.pages.conftest import address_of
from tests.pages.test_upload_files import zipped

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=document.title='hacked'>"
SLOW = 120_000  # opening a network on a loaded machine


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def door(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that has nothing to show yet."""
    nothing = tmp_path_factory.mktemp("nothing")
    command = [sys.executable, "-m", "calibdash", "serve", str(nothing), "--port", "0", "--data-dir", str(data)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    yield address_of(server)
    server.terminate()
    server.wait(timeout=20)
    server.stderr.close()


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("city")
    simulated = simulate_network(replace(PRESETS["city"], days=6, statics=6, pairs=2))
    write_network(simulated, folder)
    (folder / "network.toml").write_text('name = "Packed town"')
    (folder / "more").mkdir()
    write_table(pd.concat(simulate_measurements(simulated, days=6)), folder / "more" / "raw.csv")
    return folder


def drop(page: Page, *files: Path | dict[str, object]) -> None:
    page.locator("input[type=file]").set_input_files(list(files))


def opened(page: Page, name: str) -> None:
    """The new network is on show, and said to be."""
    expect(page.get_by_text(f"{name} was added and is open")).to_be_visible(timeout=SLOW)
    expect(page.get_by_role("combobox").first).to_contain_text(name)
    expect(page.get_by_text("Visits over time")).to_be_visible(timeout=SLOW)


def test_from_nothing_over_a_broken_file_to_a_network(door: str, data: Path, city: Path, watched: Page) -> None:
    other = watched.context.new_page()
    for page in (other, watched):
        page.bring_to_front()  # a page in the background is not drawn, and waits for it
        page.goto(door)
        expect(page.get_by_text("Add your data to begin")).to_be_visible()
    text = (city / "colocations.csv").read_text().splitlines(keepends=True)
    broken = "".join([text[0], text[1].replace(",", ",x", 3), *text[2:]])
    mended = {"name": "colocations.csv", "mimeType": "text/csv", "buffer": "".join(text).encode()}
    sensors = {**mended, "name": "sensors.csv", "buffer": (city / "sensors.csv").read_bytes()}
    drop(watched, {**mended, "buffer": broken.replace(text[2], HOSTILE + text[2]).encode()})
    expect(watched.get_by_text("What must be mended")).to_be_visible()
    expect(watched.get_by_text("Write a plain number such as 35.2", exact=False)).to_be_visible()
    expect(watched.get_by_role("button", name="Add network")).to_be_disabled()
    assert watched.locator("img[src=x]").count() == 0
    assert not (data / "networks").exists()
    drop(watched, mended, sensors)
    expect(watched.get_by_role("button", name="Add network")).to_be_enabled()
    expect(watched.get_by_text("What must be mended")).to_have_count(0)
    watched.get_by_label("Name of the network").fill("Two towns")
    watched.get_by_label("Name of the network").press("Enter")
    watched.get_by_role("button", name="Add network").click()
    opened(watched, "Two towns")
    assert len(load_network(data / "networks" / "two-towns").colocations) == len(text) - 1
    other.bring_to_front()
    other.get_by_role("combobox").first.click()
    expect(other.get_by_role("menuitem", name="Two towns")).to_be_visible()
    other.close()


def test_raw_measurements_are_searched_for_encounters(door: str, data: Path, city: Path, watched: Page) -> None:
    watched.goto(door)
    watched.get_by_role("button", name="Add data").click()
    drop(watched, city / "more" / "raw.csv", city / "sensors.csv")
    expect(watched.get_by_role("button", name="Find encounters and add")).to_be_enabled(timeout=SLOW)
    watched.get_by_label("Name of the network").fill("Raw town")
    watched.get_by_label("Name of the network").press("Enter")
    watched.get_by_role("button", name="Find encounters and add").click()
    opened(watched, "Raw town")
    assert len(load_network(data / "networks" / "raw-town").colocations) > 100
    assert not list((data / "uploads").glob("*/*"))


@pytest.mark.browser_context_args(bypass_csp=True)  # the policy would stop what must not be there to be stopped
def test_an_archive_with_a_hostile_name(door: str, city: Path, watched: Page) -> None:
    watched.goto(door)
    watched.get_by_role("button", name="Add data").click()
    packed = zipped(city)
    drop(watched, {"name": f"{HOSTILE}.zip", "mimeType": "application/zip", "buffer": packed})
    expect(watched.get_by_role("button", name="Add network")).to_be_enabled(timeout=SLOW)
    watched.get_by_role("button", name="Add network").click()
    opened(watched, "Packed town")
    assert watched.locator("img[src=x]").count() == 0
