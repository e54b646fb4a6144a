"""The page of visits: wishes and plans as state, map, list and sheets without a browser, then a walk in one."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from calibdash.pages.visits import PlanView, VisitsPage
from calibdash.pages.visits_figures import BandsFigure, EffortFigure, band_rows
from calibdash.pages.visits_further import site_frame, useless_frame
from calibdash.pages.visits_list import csv_bytes, stop_frame
from calibdash.pages.visits_map import VisitsMap, chosen_tours, map_layers, rider_chips
from calibdash.pages.visits_print import day_words, rider_sheets
from calibdash.planning import Promise, gpx_text
from calibdash.runs.queue import JobQueue
from calibdash.runs.store import RunStore
from calibdash.state.background import Background
from calibdash.state.fitting import Fitting
from calibdash.state.folders import find_folders
from calibdash.state.planning import Planning
from calibdash.state.session import Session
from calibdash.state.shown import Shown
from calibdash.state.tuning import Tuning
from tests.pages.conftest import serving

HOSTILE = "<img src=x onerror=document.title='hacked'>"
LONG = 240


def shown_of(folders: dict[str, Path], scratch: Path) -> Shown:
    return Shown(Fitting(Tuning(Session(folders)), JobQueue(RunStore(scratch)), lambda call: call()))


def planned(planning: Planning) -> Planning:
    """The same, once all it was asked for is there."""
    planning._plans.thread.join(LONG)
    assert not planning.busy
    return planning


@pytest.fixture(scope="module")
def shown(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    return shown_of(find_folders([examples]), tmp_path_factory.mktemp("runs"))


@pytest.fixture
def planning(shown: Shown) -> Planning:
    made = planned(Planning(shown, lambda call: call(), days=3))
    yield made
    made.close()


def write_network(folder: Path, *, sensors: str = "", names: tuple[str, str, str] = ("A", "B", "M")) -> Path:
    """Two statics and a mobile that meet in turn; the first static is the reference if ``sensors`` says so."""
    one, two, mobile = (f'"{name}"' for name in names)
    rows = [f"{hour},{one if hour % 2 else two},{mobile},{20 + hour % 7},{24 + hour % 5}" for hour in range(60)]
    folder.mkdir(exist_ok=True)
    (folder / "colocations.csv").write_text("\n".join(["time,sensor_a,sensor_b,value_a,value_b", *rows, ""]))
    if sensors:
        (folder / "sensors.csv").write_text(sensors)
    return folder


def places(names: tuple[str, str, str] = ("A", "B", "M")) -> str:
    head = "sensor,kind,reference,latitude,longitude,base_latitude,base_longitude,label"
    one, two, mobile = (f'"{name}"' for name in names)
    return "\n".join(
        [
            head,
            f"{one},static,true,0.30,32.50,,,{one}",
            f"{two},static,false,0.35,32.60,,,{two}",
            f"{mobile},mobile,false,,,0.123456,32.654321,",
            "",
        ]
    )


def test_a_plan_comes_back_and_says_what_it_was_made_from(planning: Planning) -> None:
    assert len(planning.plan.stops) > 0
    assert planning.plan.ground.settings.effort == "full"
    assert planning.plan.ground.settings.zone == "Africa/Kampala"
    assert planning.source == "the live preview"
    assert not planning.message
    assert [rider.name for rider in planning.riders] == ["boda-01", "boda-02", "boda-03"]


def test_a_dropped_stop_stays_away_until_undone(planning: Planning) -> None:
    before = planning.plan
    visit = before.visits[0]
    planning.drop(visit)
    assert visit not in planned(planning).plan.visits
    planning.keep(planning.plan.visits[0])
    kept = planned(planning).fixed
    planning.drop(planning.plan.visits[-1])
    assert kept[0] in planned(planning).plan.visits
    assert visit not in planning.plan.visits
    for _ in range(3):
        planning.undo()
    planned(planning)
    assert planning.plan is before
    assert (planning.fixed, planning.dropped, planning.can_undo) == ((), (), False)


def test_a_promise_is_kept_and_can_be_taken_back(planning: Planning) -> None:
    ground = planning.plan.ground
    promise = Promise(ground.days[-1].label, "boda-02", "aq-03")
    assert promise not in planning.plan.visits
    planning.keep(promise)
    assert promise in planned(planning).plan.visits
    planning.release(promise)
    assert planned(planning).fixed == ()


def test_what_cannot_be_is_a_sentence_and_the_plan_stays(planning: Planning) -> None:
    before = planning.plan
    planning.keep(Promise("1999-01-01", "boda-01", "aq-07"))
    assert "no such day" in planned(planning).message
    assert planning.plan is before
    planning.undo()
    planning.change_rider(0, "From", "tomorrow")
    assert "not a time of day" in planning.message
    assert planning.refused == 1
    planning.set_budget("a lot")
    assert "no budget" in planning.message
    assert planning.budget is None


def test_a_sensor_is_important_then_ignored_then_ordinary(planning: Planning) -> None:
    planning.next_mark("aq-07")
    assert planning.marks == {"aq-07": "important"}
    weights = planned(planning).plan.bands.set_index("sensor")["weight"]
    assert weights["aq-07"] == 9.0  # three times the 3 of the sensors table
    planning.next_mark("aq-07")
    assert planned(planning).plan.bands.set_index("sensor")["weight"]["aq-07"] == 0.0
    assert "aq-07" not in band_rows(planning.plan)["sensor"]
    planning.next_mark("aq-07")
    assert planned(planning).marks == {}


def test_limits_are_respected(planning: Planning) -> None:
    target = planning.plan.visits[0].sensor
    planning.allow(target, allowed=False)
    assert target not in set(planned(planning).plan.stops["sensor"])
    planning.set_budget("3")
    assert len(planned(planning).plan.stops) <= 3
    planning.change_rider(1, "From", "10:30")
    planning.change_rider(1, "Days", "Mon")
    stops = planned(planning).plan.stops
    assert (stops.loc[stops["rider"] == "boda-02", "arrive"] >= "10:30").all()
    assert planning.riders[1].days == ("mon",)
    planning.take_riders("riders.csv", b"rider,latitude,longitude,cost_per_stop\nAli,0.31,32.58,2\n")
    assert set(planned(planning).plan.stops["rider"]) <= {"Ali"}
    planning.add_rider()
    assert [rider.name for rider in planned(planning).riders] == ["Ali", "Rider 1"]
    assert planning.riders[1].sensor != planning.riders[0].sensor
    planning.remove_rider(0)
    planned(planning).remove_rider(0)
    assert "at least one rider" in planning.message


def test_another_calibration_makes_a_plan_stale_until_asked_again(shown: Shown) -> None:
    planning = planned(Planning(shown, lambda call: call(), days=2))
    tuning = shown.fitting.tuning
    before, usual = planning.plan, tuning.drift_percent
    tuning.drift_percent = 60.0
    assert planning.stale
    assert planning.plan is before
    planning.again()
    assert not planned(planning).stale
    assert planning.plan is not before
    planning.close()
    tuning.drift_percent = usual


def test_only_the_last_question_is_answered() -> None:
    first, leave = threading.Event(), threading.Event()
    heard, ended = [], threading.Event()
    asked: Background[str] = Background(lambda call: call(), heard.append, lambda _: ended.set())

    def slow():
        first.set()
        assert leave.wait(LONG)
        yield "old"

    asked.ask(slow)
    old = asked.thread
    assert first.wait(LONG)
    asked.ask(lambda: iter(["new"]))
    assert ended.wait(LONG)
    leave.set()
    old.join(LONG)
    assert heard == ["new"]


def test_a_bug_in_the_background_is_a_sentence(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []
    asked: Background[int] = Background(lambda call: call(), print, told.append)
    asked.ask(lambda: iter([1 // 0 for _ in "x"]))
    asked.thread.join(LONG)
    assert "went wrong" in told[0]
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(
    ("sensors", "sentence"),
    [
        ("sensor,kind,reference\nA,static,true\nB,static,false\nM,static,false\n", "no mobile sensor"),
        ("sensor,kind,reference\nA,static,true\nB,static,false\nM,mobile,false\n", "No positions are known"),
        ("sensor,kind,reference\nA,static,false\nB,static,false\nM,mobile,false\n", "No sensor is a reference"),
    ],
)
def test_what_is_missing_is_said(tmp_path: Path, sensors: str, sentence: str) -> None:
    folder = write_network(tmp_path / "net", sensors=sensors)
    page = VisitsPage(shown=shown_of({"net": folder}, tmp_path / "runs"))
    planning = planned(page.planning)
    said = [planning.message, *(planning.plan.notes if planning.plan else ())]
    assert any(sentence in text for text in said)


def test_another_folder_gets_a_plan_of_its_own(examples: Path, tmp_path: Path) -> None:
    folders = find_folders([examples])
    shown = shown_of(folders, tmp_path)
    page = VisitsPage(shown=shown)
    first = planned(page.planning)
    network, labels = folders.values()
    shown.session.folder = labels
    assert page.planning is None
    shown.session.folder = network
    assert planned(page.planning) is not first
    assert page.planning.plan is not None


def test_the_map_shows_tours_weights_and_closed_sensors(planning: Planning) -> None:
    plan, network = planning.plan, planning.session.network
    day = plan.visits[0].day
    tours = chosen_tours(plan, day, "")
    layers = map_layers(network, plan, {"aq-07": "important", "aq-08": "ignored"}, ["aq-09"], tours)
    markers = dict(zip(layers["sensors"]["sensor"], layers["sensors"]["marker"], strict=True))
    assert (markers["aq-01"], markers["aq-07"], markers["aq-04"]) == ("diamond", "star", "circle")
    assert not set(markers) & {"boda-01", "boda-02", "boda-03"}
    assert len(layers["forbidden"]["x"]) == 1
    assert len(layers["stops"]["text"]) == sum(visit.day == day for visit in plan.visits)
    assert all(len(x) == len(tour.stops) + 2 for x, tour in zip(layers["tours"]["xs"], tours, strict=True))
    counted = map_layers(network, plan, {}, [], chosen_tours(plan, "", ""))["stops"]["text"]
    assert sum(int(text.rstrip("×")) for text in counted) == len(plan.stops)


def test_a_click_on_the_map_picks_a_sensor_but_no_reference(planning: Planning) -> None:
    picked: list[str] = []
    drawn = VisitsMap(picked.append)
    drawn.show(map_layers(planning.session.network, planning.plan, {}, [], []))
    names = drawn.sources["sensors"].data["sensor"].tolist()
    drawn.sources["sensors"].selected.indices = [names.index("aq-02"), names.index("aq-03")]
    assert picked == ["aq-03"]
    drawn.sources["sensors"].selected.indices = [names.index("aq-01")]
    assert picked == ["aq-03"]
    assert drawn.sources["sensors"].selected.indices == []


def test_bands_stand_in_the_order_of_what_they_gain(planning: Planning) -> None:
    rows = band_rows(planning.plan)
    assert (np.diff(rows["before"] - rows["after"]) <= 1e-12).all()
    figure = BandsFigure()
    figure.show(planning.plan)
    assert figure.target.location == pytest.approx(10.0)
    assert next(iter(figure.figure.yaxis[0].major_label_overrides.values())) == rows["sensor"][0]
    figure.show(None)
    assert len(figure.source.data["row"]) == 0


def test_looking_further_brings_effort_references_and_useless_meetings(planning: Planning) -> None:
    planning.look_further()
    planning._looks.thread.join(LONG)
    assert not planning.looking
    further = planning.further
    figure = EffortFigure()
    figure.show(further.effort)
    assert (np.diff(figure.source.data["worst"]) <= 1e-9).all()
    assert len(site_frame(further)) == 3
    assert len(useless_frame(further)) == further.useless["useless"].sum()
    planning.days = 2
    assert planned(planning).further is None


def test_the_list_says_what_is_kept(planning: Planning) -> None:
    plan, network = planning.plan, planning.session.network
    frame = stop_frame(plan, network, range(len(plan.stops)), [plan.visits[1]])
    assert list(frame["Keep"].iloc[:2]) == ["keep", "kept ✓"]
    assert frame["Stop"].iloc[0].startswith(f"{plan.visits[0].sensor}, ")
    assert plan.stops["reason"].iloc[0] in frame["Stop"].iloc[0]
    view = PlanView(planning=planning)
    view.day = plan.visits[-1].day
    view._list.act(0, "Drop")
    assert next(visit for visit in plan.visits if visit.day == plan.visits[-1].day) in planned(planning).dropped


def test_no_home_is_in_any_file_and_no_name_is_markup(tmp_path: Path) -> None:
    names = (HOSTILE, "B", f"{HOSTILE}2")
    folder = write_network(tmp_path / "net", sensors=places(names), names=names)
    planning = planned(Planning(shown_of({"net": folder}, tmp_path / "runs"), lambda call: call()))
    for sensor in names[:2]:
        planning.keep(Promise("1", names[2], sensor))
    plan, network = planned(planning).plan, planning.session.network
    assert planning.riders[0].latitude == pytest.approx(0.123456)
    assert set(plan.stops["sensor"]) == set(names[:2])
    sheets = rider_sheets(plan, network)
    for text in (sheets, gpx_text(plan), csv_bytes(plan).decode()):
        assert "0.1234" not in text
        assert "32.6543" not in text
    for markup in (sheets, rider_chips(plan, plan.tours)):
        assert "<img" not in markup
        assert "&lt;img" in markup
    planning.close()


def test_a_sheet_has_every_stop_of_one_rider_in_order(planning: Planning) -> None:
    plan = planning.plan
    rider, day = plan.visits[-1].rider, plan.visits[-1].day
    sheet = rider_sheets(plan, planning.session.network, day, rider)
    mine = plan.stops[(plan.stops["rider"] == rider) & (plan.stops["day"] == day)]
    assert re.findall(r'class="time">([\d:]+)<', sheet) == mine["arrive"].tolist()
    assert sheet.count("<section") == 1
    assert "http" not in sheet
    assert day_words(day) in sheet
    assert rider_sheets(plan, planning.session.network).count("<section") == len(plan.tours)
    assert day_words("12") == "day 12"


@pytest.fixture
def quiet_site(examples: Path) -> Iterator[str]:
    """A server of its own: one that other walks have used may still be at work on their fits."""
    with serving(examples) as address:
        yield address


@pytest.mark.browser
def test_walk(quiet_site: str, watched: Page) -> None:
    watched.goto(quiet_site)
    watched.get_by_role("tab", name="Visits").click()
    expect(watched.get_by_text("Made from the live preview")).to_be_visible(timeout=LONG * 1000)
    rows = watched.locator(".tabulator-row", has=watched.locator('[tabulator-field="Drop"]'))
    expect(rows.first).to_be_visible()
    summary = watched.get_by_text(re.compile(r"^\d+ stops? by"))
    before = summary.text_content()
    rows.first.locator('[tabulator-field="Drop"]').click()
    expect(watched.get_by_text("left out", exact=True)).to_be_visible()
    expect(summary).not_to_have_text(before)
    watched.get_by_role("button", name="Undo").click()
    expect(summary).to_have_text(before)
    with watched.expect_download() as download:
        watched.get_by_role("button", name="Sheets to print").click()
    assert "<ol>" in Path(download.value.path()).read_text()


@pytest.mark.browser_context_args(bypass_csp=True)  # the policy would stop what must not be there to be stopped
@pytest.mark.browser
def test_hostile_names_stay_text(tmp_path: Path, page: Page) -> None:
    names = (f"{HOSTILE}1", HOSTILE, f"{HOSTILE}2")
    folder = write_network(tmp_path / "net", sensors=places(names), names=names)
    with serving(folder) as address:
        page.goto(address)
        page.get_by_role("tab", name="Visits").click()
        expect(page.get_by_text("Made from the live preview")).to_be_visible(timeout=LONG * 1000)
        expect(page.get_by_text("Stops in order")).to_be_visible()
        page.locator('.tabulator-cell[tabulator-field="Carries"]').first.click()
        expect(page.locator(".tabulator-edit-list-item").first).to_have_text(names[2])
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Promise this visit").click()
        page.get_by_label("Rider").first.click()
        page.keyboard.press("Escape")
        assert page.locator("img[src=x]").count() == 0
        assert "hacked" not in page.title()
