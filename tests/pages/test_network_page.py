"""The network page, first without a browser, then in one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import panel as pn
import pytest
from playwright.sync_api import Page, expect

from calibdash.data.network import meetings
from calibdash.models.preview import preview
from calibdash.pages.network import NetworkPage, NetworkViews
from calibdash.pages.plots import EDGES, PATH, edge_kind, edge_looks, graph_edges, mercator, sensor_rows, visits_raster
from calibdash.pages.problems import problem_markup
from calibdash.pages.tables import COLUMN, TABLE, sensor_table, table
from calibdash.pages.today import today, today_frame
from calibdash.state.folders import find_folders
from calibdash.state.session import Session
from tests.pages.conftest import pick, serving

HOSTILE = "<img src=x onerror=document.title='hacked'>"


def test_folders_are_found_networks_first(examples: Path) -> None:
    folders = find_folders([examples])
    assert [path.name for path in folders.values()] == ["kampala", "bees"]
    assert list(find_folders([examples / "kampala"]).values()) == [examples / "kampala"]


def test_choosing_a_folder_loads_it(examples: Path) -> None:
    session = Session(find_folders([examples]))
    assert session.network is not None
    session.select(["aq-05"])
    session.folder = examples / "bees"
    assert session.network is None
    assert session.selected == []
    assert session.checked.labels is not None


def test_no_folder_is_said(tmp_path: Path) -> None:
    session = Session(find_folders([tmp_path]))
    assert session.checked is None
    assert "no network" in session.failure


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "colocations.csv"
    file.write_text("time,sensor_a,sensor_b,value_a,value_b\n0,A,B,1,2\n")
    assert len(Session({"x": tmp_path}).network.colocations) == 1
    file.write_text(file.read_text() + "1,A,B,1,2\n")
    assert len(Session({"x": tmp_path}).network.colocations) == 2


def test_references_are_marked_and_unmarked(examples: Path) -> None:
    session = Session(find_folders([examples]))
    before = session.network.references
    session.select(["aq-05", "aq-06"])
    session.toggle_references()
    assert set(session.network.references) == {*before, "aq-05", "aq-06"}
    session.toggle_references()
    assert set(session.network.references) == set(before)


def test_the_period_filters_everything(examples: Path) -> None:
    session = Session(find_folders([examples]))
    session.period = (0.0, 240.0)
    hours = session.network.clock.hours(session.network.colocations["time"])
    assert 0 < len(hours) < len(session.checked.network.colocations)
    assert hours.max() <= 240
    assert sensor_rows(session.network)["colocations"].sum() == 2 * len(hours)


def test_the_best_path_leads_from_a_reference_to_the_picked_sensor(examples: Path) -> None:
    session = Session(find_folders([examples]))
    path = session.best_path(["aq-05"])
    assert path[0] in session.network.references
    assert path[-1] == "aq-05"
    assert session.best_path(["aq-05", "aq-06"]) == []
    session.references = []
    assert session.best_path(["aq-05"]) == []


def test_plots_show_every_sensor_in_the_order_of_the_table(examples: Path) -> None:
    session = Session(find_folders([examples]))
    views = NetworkViews(session, lambda: None)
    network = session.network
    for marks in (views.graph.marks, views.map.marks):
        assert list(marks.source.data["sensor"]) == list(network.sensors["sensor"])
        assert (marks.source.data["ring"] > 0).sum() == len(network.references)
    edges = graph_edges(network, session.layout())
    assert len(edges) == meetings(network.colocations, network.sensors).number_of_edges()
    assert (edge_looks(edges, ["aq-01", "boda-01"])["colour"] == PATH).sum() == 1
    assert set(edges["kind"]) <= set(EDGES)
    raster = visits_raster(network)
    assert set(raster["sensor"]) == set(network.colocations["sensor_a"]) | set(network.colocations["sensor_b"])


def test_picking_anywhere_picks_everywhere(examples: Path) -> None:
    session = Session(find_folders([examples]))
    views = NetworkViews(session, lambda: None)
    views.sections()  # without a browser what comes later comes at once
    views.map.marks.source.selected.indices = [6]
    assert session.selected == [session.network.sensors["sensor"].iloc[6]]
    assert views.graph.marks.source.selected.indices == [6]
    shown = {views.raster.source.data["sensor"][place] for place in views.raster.source.selected.indices}
    assert shown == set(session.selected)
    mark = list(views.raster.source.data["sensor"]).index("aq-03")
    views.raster.source.selected.indices = [mark]
    assert session.selected == ["aq-03"]
    assert len(views.raster.source.selected.indices) > 1  # all its visits stand out
    assert len(views.map.marks.source.selected.indices) == 1
    session.references = ["aq-03"]
    assert (views.graph.marks.source.data["ring"] > 0).sum() == 1


def test_picking_a_line_puts_its_two_sensors_side_by_side(examples: Path) -> None:
    session = Session(find_folders([examples]))
    views = NetworkViews(session, lambda: None)
    views.graph.edges.selected.indices = [3]
    pair = {views.graph.edges.data["one"][3], views.graph.edges.data["other"][3]}
    assert set(session.pair) == pair


def test_streets_are_there_only_when_asked_for(examples: Path) -> None:
    views = NetworkViews(Session(find_folders([examples])), lambda: None)
    before = len(views.map.figure.renderers)
    views.map.show_streets(True)
    assert len(views.map.figure.renderers) == before + 1
    views.map.show_streets(False)
    assert len(views.map.figure.renderers) == before


def test_kinds_of_meetings() -> None:
    assert edge_kind("mobile", "reference") == "with a reference"
    assert edge_kind("static", "mobile") == edge_kind("mobile", "static") == "static and mobile"
    assert edge_kind("static", "static") == "two static"


def test_a_map_has_the_right_places() -> None:
    x, y = mercator([180.0, 0.0, float("nan")], [0.0, 60.0, 1.0])
    assert x[0] == pytest.approx(20_037_508.34, abs=0.01)
    assert y[1] == pytest.approx(8_399_737.89, abs=0.01)
    assert x[2] != x[2]


def test_one_bare_table_still_makes_a_page(tmp_path: Path) -> None:
    (tmp_path / "colocations.csv").write_text("time,sensor_a,sensor_b,value_a,value_b\n0,A,B,1,2\n")
    session = Session({"x": tmp_path})
    assert problem_markup(session.checked.problems).count("<td>sensors.csv</td>") == 2
    assert isinstance(NetworkPage(session=session).__panel__(), pn.Column)
    assert list(sensor_table(session).value["Last visit"]) == [0.0, 0.0]


def test_tables_sort_last_visits_by_time(examples: Path) -> None:
    session = Session({"x": examples / "kampala"})
    last = dict(sensor_table(session).value[["Sensor", "Last visit"]].to_numpy())
    hours = dict(sensor_rows(session.network)[["sensor", "at"]].to_numpy())
    assert sorted(last, key=lambda sensor: (last[sensor], sensor)) == sorted(
        last, key=lambda sensor: (hours[sensor].floor("min"), sensor)
    )
    rows = today(session.network, preview(session.network), None)
    shown = today_frame(rows)
    assert shown["30 days"].to_numpy() == pytest.approx(rows["change"] / 100, abs=0.0051)
    assert not np.signbit(shown["30 days"][shown["30 days"] == 0]).any()


def test_the_table_and_the_session_pick_together(examples: Path) -> None:
    session = Session(find_folders([examples]))
    view = sensor_table(session)
    view.selection = [4]
    assert session.selected == [session.network.sensors["sensor"].iloc[4]]
    session.select(["aq-01"])
    assert view.selection == [0]


@pytest.mark.browser
def test_walk(site: str, watched: Page) -> None:
    watched.goto(site)
    expect(watched.get_by_text("Colocations", exact=True).first).to_be_visible()
    expect(watched.get_by_text("Visits over time")).to_be_visible()
    pick(watched.locator(".tabulator-row", has_text="Kawempe market"))
    expect(watched.get_by_text("aq-07 (Kawempe market)")).to_be_visible()
    watched.get_by_role("button", name="Mark or unmark as reference").click()
    expect(watched.locator(".tabulator-row", has_text="Kawempe market")).to_contain_text("reference")
    watched.get_by_role("button", name="Toggle theme").click()
    watched.get_by_role("combobox").first.click()
    watched.get_by_role("menuitem", name="bees").click()
    expect(watched.get_by_text("Labels by labeller")).to_be_visible()
    expect(watched.get_by_text("Dr Okello")).to_be_visible()


@pytest.mark.browser_context_args(bypass_csp=True)  # the policy would stop what must not be there to be stopped
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
        expect(page.get_by_text("Visits over time")).to_be_visible()
        expect(page.get_by_text(HOSTILE).first).to_be_visible()
        assert page.title() == "calibdash"
        assert page.locator("img[src=x]").count() == 0


def test_columns_stay_wide_enough_to_be_read() -> None:
    frame = pd.DataFrame({"free": ["x"], "shared": ["y"], "set": ["z"]})
    made = table(frame, selectable="checkbox", widths={"shared": "20%", "set": 34}).get_root()
    least = [column.get("minWidth") for column in made.configuration["columns"] if column.get("field") != "index"]
    assert least == [None, COLUMN, TABLE // 5, None]  # the boxes first
