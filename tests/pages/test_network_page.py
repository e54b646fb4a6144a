"""The network page, first without a browser, then in one."""

from __future__ import annotations

from pathlib import Path

import panel as pn
import pytest
from playwright.sync_api import Page, expect

from calibdash.data.folder import check_folder, load_network
from calibdash.pages.network import NetworkPage, problem_table
from calibdash.pages.plots import sensor_map, visits_raster
from calibdash.state.choice import Choice, find_folders
from tests.pages.conftest import serving

HOSTILE = "<img src=x onerror=document.title='hacked'>"


def test_folders_are_found_networks_first(examples: Path) -> None:
    folders = find_folders([examples])
    assert [path.name for path in folders.values()] == ["kampala", "bees"]
    assert list(find_folders([examples / "kampala"]).values()) == [examples / "kampala"]


def test_choosing_a_folder_loads_it(examples: Path) -> None:
    choice = Choice(find_folders([examples]))
    assert choice.checked.network is not None
    choice.folder = examples / "bees"
    assert choice.checked.network is None
    assert choice.checked.labels is not None


def test_no_folder_is_said(tmp_path: Path) -> None:
    choice = Choice(find_folders([tmp_path]))
    assert choice.checked is None
    assert "no network" in choice.failure


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "colocations.csv"
    file.write_text("time,sensor_a,sensor_b,value_a,value_b\n0,A,B,1,2\n")
    assert len(Choice({"x": tmp_path}).checked.network.colocations) == 1
    file.write_text(file.read_text() + "1,A,B,1,2\n")
    assert len(Choice({"x": tmp_path}).checked.network.colocations) == 2


def test_plots_show_every_sensor(examples: Path) -> None:
    network = load_network(examples / "kampala")
    shown = {sensor for layer in sensor_map(network) for sensor in layer["sensor"]}
    assert shown == set(network.sensors.dropna(subset=["latitude"])["sensor"])
    raster = {sensor for layer in visits_raster(network) for sensor in layer["sensor"]}
    assert raster == set(network.colocations["sensor_a"]) | set(network.colocations["sensor_b"])


def test_no_map_without_positions(tmp_path: Path) -> None:
    (tmp_path / "colocations.csv").write_text("time,sensor_a,sensor_b,value_a,value_b\n0,A,B,1,2\n")
    checked = check_folder(tmp_path)
    assert sensor_map(checked.network) is None
    assert list(problem_table(checked.problems).value["File"]) == ["sensors.csv", "sensors.csv"]
    assert isinstance(NetworkPage(choice=Choice({"x": tmp_path})).__panel__(), pn.Column)


@pytest.mark.browser
def test_walk(site: str, watched: Page) -> None:
    watched.goto(site)
    expect(watched.get_by_text("Colocations", exact=True)).to_be_visible(timeout=30_000)
    expect(watched.get_by_text("Who met whom, when")).to_be_visible()
    watched.get_by_role("button", name="Toggle theme").click()
    watched.get_by_role("combobox").first.click()
    watched.get_by_role("menuitem", name="bees").click()
    expect(watched.get_by_text("Labels by labeller")).to_be_visible()
    expect(watched.get_by_text("Dr Okello")).to_be_visible()


@pytest.mark.browser
def test_hostile_names_stay_text(tmp_path: Path, page: Page) -> None:
    folder = tmp_path / "evil"
    folder.mkdir()
    (folder / "network.toml").write_text(f'name = "{HOSTILE}"')
    (folder / "colocations.csv").write_text(
        f"time,sensor_a,sensor_b,value_a,value_b,{HOSTILE}\n0,{HOSTILE},B,1,2,3\n1,B,{HOSTILE}2,1,-2,3\n"
    )
    (folder / "labels.csv").write_text(f"item,labeller,label\n{HOSTILE},{HOSTILE},{HOSTILE}\n1,2,3\n")
    with serving(tmp_path) as address:
        page.goto(address)
        expect(page.get_by_text("All sensors")).to_be_visible(timeout=30_000)
        expect(page.get_by_text(HOSTILE).first).to_be_visible()
        assert page.title() == "calibdash"
        assert page.locator("img[src=x]").count() == 0
