"""Reports: complete in themselves, safe with hostile names, private, and honest about what they cannot say."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibdash.data.network import Clock, Network
from calibdash.data.simulate import PRESETS, simulate_network
from calibdash.errors import CalibdashError
from calibdash.evaluation.injected import Fault, with_fault
from calibdash.models.preview import preview
from calibdash.reports import pdf
from calibdash.reports.drawings import band_drawing, errors_drawing, map_drawing, target_drawing, time_ticks
from calibdash.reports.report import build_report
from calibdash.reports.subject import Subject, cautions
from calibdash.reports.svg import ticks
from tests.evaluation.test_faults import AS_MADE
from tests.models.networks import table

RECIPE = replace(PRESETS["city"], days=30, statics=6, mobiles=2, pairs=1, seed=3, lowest_reading=0.5)
ABOUT = {"timezone": "Africa/Kampala", "quantity": "PM2.5", "unit": "µg/m³"}
HOSTILE = "<img src=x onerror=alert(1)>\"'&"
VOID = {"meta", "br", "img", "link", "input"}


class Checker(HTMLParser):
    """Notes tags, attributes that would fetch or run something, and whether tags close."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.reaching: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.reaching += [name for name, _ in attrs if name.startswith("on") or name in ("src", "href", "action")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.reaching += [name for name, _ in attrs if name.startswith("on") or name in ("src", "href", "action")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(html: str) -> Checker:
    checker = Checker()
    checker.feed(html)
    assert not checker.open
    assert not checker.reaching
    assert not {"script", "img", "link", "iframe", "object"} & set(checker.tags)
    return checker


def subject(network: Network, **more: object) -> Subject:
    posterior = preview(network, AS_MADE)
    record = {"id": "the-run", "kind": "fit", "data_hash": posterior.record.data_hash, "settings": AS_MADE.as_dict()}
    return Subject(network, posterior, record, ABOUT, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def network() -> Network:
    return simulate_network(RECIPE).network()


@pytest.fixture(scope="module")
def html(network: Network) -> str:
    statics = network.sensors.loc[(network.sensors["kind"] == "static") & ~network.sensors["reference"], "sensor"]
    return build_report(subject(with_fault(network, Fault(str(statics.iloc[1]), "step", 360.0, 0.8))))


def test_everything_is_there_and_nothing_is_fetched(network: Network, html: str) -> None:
    checker = checked(html)
    assert checker.tags.count("svg") > len(network.sensors) - len(network.references)
    for words in ("In short", "The network", "Alarms", "Accuracy beside references", "Calibration of each sensor"):
        assert words in html
    for words in (
        "Colocations of mobile sensors",
        "How this was made",
        "the-run",
        "lengthscale.static",
        "@media print",
    ):
        assert words in html
    assert preview(network, AS_MADE).record.data_hash not in html  # the fault changed the data
    assert re.search(r"data [0-9a-f]{12}", html)
    assert not re.search(r"https?://", html)


def test_the_fault_is_in_it(html: str) -> None:
    alarms = html.split("<h2>Alarms</h2>")[1].split("<h2>")[0]
    assert "% more than before since" in alarms
    assert "<svg" in alarms


def test_no_coordinates_of_mobile_sensors(network: Network) -> None:
    sensors = network.sensors.assign(latitude=0.31234567, longitude=32.58765432)
    sensors.loc[sensors["kind"] == "static", "latitude"] = np.linspace(0.3, 0.4, (sensors["kind"] == "static").sum())
    sensors = sensors.assign(base_latitude=0.31234567, base_longitude=32.58765432)
    html = build_report(subject(replace(network, sensors=sensors)))
    assert "0.3123" not in html
    assert "32.5876" not in html
    drawn = map_drawing(replace(network, sensors=sensors))
    assert drawn is not None
    assert drawn.count("<circle") == (sensors["kind"] == "static").sum() + 2  # two in the legend
    assert ">M1<" not in drawn


def test_hostile_names_stay_text(network: Network) -> None:
    names = {name: f"{HOSTILE}{name}" for name in network.sensors["sensor"]}
    swap = {column: network.colocations[column].map(names) for column in ("sensor_a", "sensor_b")}
    sensors = network.sensors.assign(sensor=network.sensors["sensor"].map(names), label=HOSTILE, type=HOSTILE)
    hostile = Network(HOSTILE, network.colocations.assign(**swap), sensors, network.clock)
    found = subject(hostile)
    record = {**found.record, "notes": [HOSTILE], "versions": {HOSTILE: HOSTILE}, "settings": {HOSTILE: HOSTILE}}
    record |= {"problems": [{"message": HOSTILE, "file": HOSTILE, "count": 2}], "id": HOSTILE}
    html = build_report(replace(found, record=record))
    checked(html)
    assert "&lt;img src=x" in html


@pytest.mark.parametrize(
    ("references", "words"),
    [((), "only ratios between sensors are known"), (("R1",), "nothing can check it")],
)
def test_few_references(network: Network, references: tuple[str, ...], words: str) -> None:
    html = build_report(subject(network.with_references(references)))
    checked(html)
    assert words in html
    assert ("Not assessable: there is no reference" in html) == (not references)


def test_two_days_of_data() -> None:
    html = build_report(subject(simulate_network(replace(RECIPE, days=2)).network()))
    checked(html)
    assert "cannot be seen in it" in html
    assert "ot assessable" in html
    assert "would not show in fewer than 5 visits" in html


def test_settings_found_from_the_data_are_listed(network: Network) -> None:
    open_settings = replace(subject(network), record={"id": "the-run", "settings": {"kernel": "eq"}})
    html = build_report(open_settings).split("<h3>Settings</h3>")[1]
    for cell in ("lengthscale.mobile", "50d", "noise.additive", "1.5", "from the data"):
        assert f"<td>{cell}</td>" in html


def test_the_belief_behind_the_probabilities_is_stated(network: Network) -> None:
    plain = subject(network)
    assert "a sensor has 2 faults a year" in build_report(plain)
    stated = replace(plain, about={**ABOUT, "fault_rate": "1"})
    assert "a sensor has 1 fault a year" in build_report(stated)
    with pytest.raises(CalibdashError, match="faults a sensor-year"):
        build_report(replace(plain, about={**ABOUT, "fault_rate": "many"}))


def test_hours_without_a_calendar_and_all_references(network: Network) -> None:
    hours = network.colocations.assign(time=network.clock.hours(network.colocations["time"]))
    checked(build_report(subject(replace(network, colocations=hours, clock=Clock(None)))))
    pair = table([(0.0, "A", "B", 20.0, 21.0), (9.0, "A", "R", 20.0, 21.0)], ("R", "B"))
    sensors = pair.sensors.assign(latitude=np.nan, longitude=np.nan, label="", type="")
    html = build_report(subject(replace(pair, sensors=sensors)))
    checked(html)
    assert "No map" in html


def test_cautions_name_the_lonely_the_stale_and_the_changed(network: Network) -> None:
    hours = network.clock.hours(network.colocations["time"])
    mine = (network.colocations["sensor_a"] == "S3") | (network.colocations["sensor_b"] == "S3")
    far = network.colocations.assign(time=network.clock.times(np.where(mine, hours, hours + 24 * 70)))
    said = " ".join(cautions(subject(replace(network, colocations=far.sort_values("time")), changed=True)))
    assert "last 30 days of the record: S3." in said
    assert "have changed since" in said
    lone = replace(network, sensors=pd.concat([network.sensors, network.sensors.tail(1).assign(sensor="Z9")]))
    assert "ties Z9 to a reference" in " ".join(cautions(subject(lone)))


def test_drawings_survive_what_is_missing() -> None:
    clock = Clock(None)
    band = pd.DataFrame({"hours": [0.0, 1.0, 2.0], "median": [1.0, np.nan, 1.0], "lower": 0.9, "upper": 1.1})
    assert band_drawing(clock, band, None).count("M") >= 2
    unknown = band.assign(median=np.nan, lower=np.nan, upper=np.nan)
    assert "not known" in band_drawing(clock, unknown, None)
    assert errors_drawing([]).startswith("<svg")
    assert "nan" not in target_drawing([("<x>", (500.0, 20.0), (-3.0, 900.0))], {"fixed": 25.0})


def test_names_on_the_map_keep_apart() -> None:
    network = table([(0.0, "here", "R", 20.0, 21.0), (9.0, "there", "R", 20.0, 21.0)], ("R",))
    places = {"here": (0.3, 32.5), "there": (0.3, 32.50001), "R": (0.4, 32.6)}
    sensors = network.sensors.assign(
        kind="static",
        latitude=[places[name][0] for name in network.sensors["sensor"]],
        longitude=[places[name][1] for name in network.sensors["sensor"]],
    )
    drawing = map_drawing(replace(network, sensors=sensors)) or ""
    spots = {
        words: place for place, words in re.findall(r'<text (.*?) font-size="10"[^>]*>(here|there)</text>', drawing)
    }
    assert len(set(spots.values())) == 2


def test_ticks_are_round_and_few() -> None:
    assert ticks(0.0, 10.0) == pytest.approx([0, 2.5, 5, 7.5, 10])
    assert all(len(ticks(0.0, high)) <= 6 for high in np.geomspace(1e-6, 1e6, 50))
    assert ticks(1.0, 1.0) == [1.0]
    labels = time_ticks(Clock(pd.Timestamp("2024-01-01", tz="UTC")), 5.0, 24.0 * 400)
    assert 2 <= len(labels) <= 5


def test_pdf_needs_a_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pdf, "find_browser", lambda: None)
    with pytest.raises(CalibdashError, match="no browser"):
        pdf.write_pdf(tmp_path / "a.html", tmp_path / "a.pdf")


def test_pdf_of_a_report(html: str, tmp_path: Path) -> None:
    if pdf.find_browser() is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    (tmp_path / "a.html").write_text(html, encoding="utf-8")
    pdf.write_pdf(tmp_path / "a.html", tmp_path / "a.pdf")
    data = (tmp_path / "a.pdf").read_bytes()
    assert data.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", data)) >= 2 or len(data) > 30_000
