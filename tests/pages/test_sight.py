"""What is seen before the page works: the same as afterwards, whoever named the sensors, however many there are."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html import escape
from io import BytesIO
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from calibdash.data.folder import Checked
from calibdash.data.network import Network
from calibdash.data.problems import error, note, warning
from calibdash.data.simulate import PRESETS, simulate_network
from calibdash.pages.head import ID
from calibdash.pages.problems import problem_markup
from calibdash.pages.sight import MOST_EDGES, graph, sight
from calibdash.pages.site import PAGES, seen
from calibdash.runs.access import Person
from calibdash.state.folders import read_folder
from calibdash.state.places import layout
from tests.models.networks import table
from tests.pages.conftest import serving

HOSTILE = "<img src=x onerror=document.title='hacked'>"
TITLES = [title for title, _ in PAGES]
GONE = f"() => document.getElementById('{ID}') === null"


@pytest.fixture
def kampala(examples: Path) -> Checked:
    return read_folder(examples / "kampala")


def numbers(markup: str, name: str) -> np.ndarray:
    """The percentages of an attribute.   → [N]"""
    return np.array(re.findall(rf'{name}="(-?[\d.]+)%"', markup), dtype=float)


def test_figures_and_titles_are_those_of_the_page(kampala: Checked) -> None:
    shown = sight(TITLES, kampala)
    assert all(f"<span>{title}</span>" in shown for title in TITLES)
    assert re.findall(r"<b>([\d,]+)</b>(\w+)", shown)[:3] == [
        ("20", "Sensors"),
        ("2", "References"),
        ("5,840", "Colocations"),
    ]
    assert shown.count("<line") == 52  # the pairs that met


def test_marks_stand_where_they_do_in_the_layout(kampala: Checked) -> None:
    """Percentages are one straight line of the layout's places, ends at 5 % of the range from its edges."""
    network: Network = kampala.network
    sensors = network.sensors.sort_values("reference", kind="stable")["sensor"]  # references are drawn above the others
    places = np.array([layout(network)[sensor] for sensor in sensors])
    for name, place, sign in (("cx", places[:, 0], 1), ("cy", places[:, 1], -1)):
        percent = np.array(re.findall(rf'{name}="([\d.]+)%"[^>]*r="5.5"', graph(network)), dtype=float)
        assert len(percent) == len(place)
        assert np.corrcoef(percent, sign * place)[0, 1] == pytest.approx(1, abs=1e-6)
        assert (percent.min(), percent.max()) == pytest.approx((50 - 50 / 1.1, 50 + 50 / 1.1), abs=0.01)


def test_lines_end_at_marks(kampala: Checked) -> None:
    drawn = graph(kampala.network)
    marks = set(zip(numbers(drawn, "cx"), numbers(drawn, "cy"), strict=True))
    for end in "12":
        assert set(zip(numbers(drawn, f"x{end}"), numbers(drawn, f"y{end}"), strict=True)) <= marks


def test_a_large_network_is_drawn_with_its_strongest_lines() -> None:
    network = simulate_network(replace(PRESETS["city"], days=30, statics=460, references=10, mobiles=30)).network()
    met = Counter(frozenset(pair) for pair in network.colocations[["sensor_a", "sensor_b"]].itertuples(index=False))
    assert len(met) > MOST_EDGES
    drawn = graph(network)
    strongest = sorted(met.values())[-MOST_EDGES:]
    widths = sorted(map(float, re.findall(r'<line[^>]*stroke-width="([\d.]+)"', drawn)))
    assert widths == pytest.approx(0.6 + 1.1 * np.log10(strongest), abs=0.005)
    assert drawn.count('r="5.5"') == len(network.sensors)
    assert len(drawn) < 400_000


def test_a_network_of_one_place_is_drawn_in_the_middle() -> None:
    drawn = graph(table([], references=("A",), extra=("A",)))
    assert set(numbers(drawn, "cx")) == set(numbers(drawn, "cy")) == {50.0}
    assert "<line" not in drawn


def test_a_folder_of_labels_has_its_figures(examples: Path) -> None:
    shown = sight(TITLES, read_folder(examples / "bees"))
    assert "Labellers</div>" in shown
    assert "<svg" not in shown


def test_problems_come_first_and_nothing_of_users_is_markup(kampala: Checked) -> None:
    found = (note("n", f"`{HOSTILE}` was taken", "", file=HOSTILE), warning("w", "W", "do"), error("e", "E", HOSTILE))
    shown = sight([HOSTILE, *TITLES], replace(kampala, problems=found))
    assert "<img" not in shown
    assert shown.count(escape(HOSTILE)) == 4
    assert shown.index("What we noticed") < shown.index("<b>20</b>")
    severities = re.findall(r'<td class="(\w+)">', problem_markup(found))
    assert severities == ["error", "warning", "note"]
    assert f"<code>{escape(HOSTILE)}</code>" in shown


def test_a_folder_that_cannot_be_read_shows_nothing_in_advance(tmp_path: Path) -> None:
    assert seen({"gone": tmp_path / "gone"}, None, Person(None, lambda: "member")) == ""


def picture(page: Page) -> np.ndarray:
    return np.asarray(Image.open(BytesIO(page.screenshot())).convert("RGB")).astype(int)


def coloured(image: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    """Where an image has a colour.   [H, W, 3] → [H, W]"""
    return np.abs(image - np.array(colour)).max(axis=2) < 40


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 1700])
def test_nothing_moves_when_the_page_begins_to_work(site: str, watched: Page, width: int) -> None:
    watched.set_viewport_size({"width": width, "height": 900})
    watched.goto(site)  # from the second visit on it comes before the page is made
    watched.wait_for_function(GONE)
    held = watched.context.new_page()
    held.set_viewport_size({"width": width, "height": 900})
    held.route_web_socket("**/*", lambda _: None)  # a server that says nothing
    held.goto(site)
    expect(held.locator(f"#{ID}")).to_be_visible()
    before = picture(held)
    held.close()
    watched.goto(site)
    watched.wait_for_function(GONE)
    after = picture(watched)
    graph_place = np.s_[380:900, 300 : 280 + (width - 280) // 2 - 60]  # without the tools of the figure
    for colour in ((30, 136, 229), (230, 81, 0), (67, 160, 71)):
        one, other = coloured(before[graph_place], colour), coloured(after[graph_place], colour)
        assert one.sum() > 20
        assert (one & other).sum() > 0.7 * max(one.sum(), other.sum()), colour
    figures = np.s_[125:240, 300:1000]
    assert (np.abs(before[figures] - after[figures]).max(axis=2) > 100).mean() < 0.005


@pytest.mark.browser
def test_whoever_loses_the_server_is_told(site: str, page: Page) -> None:
    page.route_web_socket("**/*", lambda socket: socket.close(code=1011))
    page.goto(site)
    expect(page.get_by_role("alert")).to_contain_text("no connection with the server")


@pytest.mark.browser
def test_hostile_names_do_nothing_in_advance(watched: Page, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "colocations.csv").write_text(
        f"time,sensor_a,sensor_b,value_a,value_b\n0,{HOSTILE},B,1,2\n1,B,{HOSTILE},x{HOSTILE},2\n2,B,{HOSTILE},3,2\n"
    )
    with serving(folder) as address:
        for _ in range(2):
            assert escape(HOSTILE) in urlopen(address, timeout=60).read().decode()
            watched.goto(address)
            watched.wait_for_function(GONE)
            expect(watched).to_have_title("calibdash")
