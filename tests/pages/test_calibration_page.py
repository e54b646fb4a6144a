"""The calibration page: sliders, preview and fit as state, plots without a browser, then a walk in one."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import param
import pytest
from playwright.sync_api import Page, expect

from calibdash.pages.band_figure import BAND, HOPS, BandFigure
from calibdash.pages.bands import Look, band, drawn, visit_hours
from calibdash.pages.compare import differences
from calibdash.pages.controls import progress
from calibdash.pages.small_bands import WIDTH, small_bands
from calibdash.pages.today import SORTED_BY, VISIT, today, today_frame
from calibdash.runs.queue import JobQueue
from calibdash.runs.snapshot import Snapshot
from calibdash.runs.store import RunStore
from calibdash.state.fitting import Fitting
from calibdash.state.folders import find_folders
from calibdash.state.session import Session
from calibdash.state.shown import Shown
from calibdash.state.truth import read_truth
from calibdash.state.tuning import Tuning
from tests.pages.test_walks import as_set


@pytest.fixture(scope="module")
def tuning(examples: Path) -> Tuning:
    return Tuning(Session(find_folders([examples])))


def test_sliders_start_where_the_data_suggest(tuning: Tuning) -> None:
    assert tuning.preview is not None
    assert 5 < tuning.noise_percent < 25
    assert tuning.preview.settings.lengthscale_static == pytest.approx(24 * tuning.static_days)


def test_a_slider_moves_the_preview(tuning: Tuning) -> None:
    before = tuning.preview
    tuning.static_days = 12.0
    assert tuning.preview is not before
    assert tuning.preview.settings.lengthscale_static == pytest.approx(288)
    hops = tuning.hops
    tuning.window_hours = 48.0
    assert tuning.hops is not hops


def test_wider_beliefs_make_wider_bands(tuning: Tuning) -> None:
    network = tuning.session.network

    def width() -> float:
        shown = band(tuning.preview, network, "aq-16")
        return float(np.mean(np.log(shown["upper"] / shown["lower"])))

    tuning.drift_percent = 5.0
    narrow = width()
    tuning.drift_percent = 80.0
    assert width() > narrow


def test_the_preview_holds_the_simulated_truth(examples: Path) -> None:
    tuning = Tuning(Session(find_folders([examples])))
    network, truth = tuning.session.network, read_truth(examples / "kampala")
    times = network.clock.times(np.arange(24.0, 24 * 118, 24.0))
    both = tuning.preview.calibration(times).merge(truth, on=["time", "sensor", "parameter"])
    inside = (both["lower"] <= both["value"]) & (both["value"] <= both["upper"])
    assert len(both) > 1000
    assert inside.mean() > 0.85


def test_today_puts_first_what_needs_attention(examples: Path) -> None:
    tuning = Tuning(Session(find_folders([examples])))
    rows = today(tuning.session.network, tuning.preview, tuning.hops).set_index("sensor")
    assert rows.index[0] == "aq-16"
    assert "uncertain" in rows.loc["aq-16", "status"]
    assert "no visit for long" in rows.loc["aq-16", "status"]
    assert rows.loc["boda-01", "path"].startswith("from aq-")
    assert not set(rows.index) & set(tuning.session.network.references)


def test_the_plot_shows_band_steps_ratios_visits_and_truth(tuning: Tuning, examples: Path) -> None:
    network = tuning.session.network
    look = Look("gain", tuning.hops, read_truth(examples / "kampala"), other=tuning.preview)
    layers = drawn(network, "aq-03", tuning.preview, look).layers
    assert all(len(columns["time"]) for columns in layers.values())
    assert set(layers) >= {"band", "other", "hops", "truth", "ratios", "reference_ratios", "visits", "reference_visits"}
    np.testing.assert_array_equal(layers["band"]["median"], layers["other"]["median"])
    inner = layers["band"]
    assert (inner["lower"] < inner["lower50"]).all()
    assert (inner["upper50"] < inner["upper"]).all()


def test_what_is_drawn_is_what_tables_say(tuning: Tuning) -> None:
    network, sensor = tuning.session.network, "aq-05"
    layers = drawn(network, sensor, tuning.preview, Look("gain", tuning.hops)).layers
    stamps = pd.to_datetime(layers["band"]["time"], unit="ms", utc=True)
    table = tuning.preview.calibration(stamps, [sensor])
    for name in ("median", "lower", "upper"):
        np.testing.assert_allclose(layers["band"][name], table[name], rtol=1e-6)
    steps = tuning.hops.calibration(None, [sensor])
    np.testing.assert_allclose(layers["hops"]["median"], steps["median"])
    assert list(pd.to_datetime(layers["hops"]["time"], unit="ms", utc=True)) == list(steps["time"].dt.round("ms"))
    colocations = network.colocations
    mine = colocations[(colocations["sensor_a"] == sensor) | (colocations["sensor_b"] == sensor)]
    others = len(layers["ratios"]["time"]) + len(layers["reference_ratios"]["time"])
    assert others == len(mine)
    assert layers["visits"]["time"][0] == mine["time"].iloc[0].timestamp() * 1e3


def test_a_figure_takes_another_sensor_in_place(tuning: Tuning) -> None:
    network = tuning.session.network
    figure = BandFigure(stamped=True)
    first = drawn(network, "aq-03", tuning.preview, Look("gain", tuning.hops))
    figure.show(first)
    assert len(figure.sources["hops"].data["time"]) > 0
    figure.show(drawn(network, "aq-16", tuning.preview, Look("gain")))
    assert figure.figure.title.text.startswith("aq-16")
    assert len(figure.sources["hops"].data["time"]) == 0
    assert (figure.figure.y_range.start, figure.figure.y_range.end) != first.limits


def test_colocations_that_follow_closely_are_one_visit() -> None:
    np.testing.assert_array_equal(visit_hours(np.array([10.5, 0.0, 0.5, 1.0, 10.0])), [0.0, 10.0])
    assert len(visit_hours(np.array([]))) == 0


def test_small_plots_come_in_the_order_asked_for(tuning: Tuning) -> None:
    rows = today(tuning.session.network, tuning.preview, None)
    assert SORTED_BY["width"](rows)["width"].is_monotonic_decreasing
    assert SORTED_BY["change"](rows)["change"].abs().is_monotonic_decreasing
    assert SORTED_BY["visit"](rows)["last visit"].is_monotonic_decreasing
    assert SORTED_BY["name"](rows)["sensor"].is_monotonic_increasing
    assert len(today_frame(rows)) == len(rows)


def test_small_plots_lie_in_their_frames_and_names_are_text(tuning: Tuning) -> None:
    network = tuning.session.network
    drawings = [
        replace(drawn(network, sensor, tuning.preview, Look(hops=tuning.hops, small=True)), title="<img src=x>")
        for sensor in network.sensors["sensor"][~network.sensors["reference"]][:3]
    ]
    markup = small_bands(network.clock, drawings)
    assert "<img" not in markup
    tree = ElementTree.fromstring(markup)
    figures = tree.findall("figure")
    assert len(figures) == 3
    for figure in figures:
        paths = figure.findall(".//path")
        assert {BAND, HOPS} <= {path.get("stroke") for path in paths}
        numbers = [float(number) for path in paths for number in re.findall(r"-?[\d.]+", path.get("d", ""))]
        assert min(numbers) >= 0
        assert max(numbers) <= WIDTH


def test_what_is_not_found_by_the_fit_is_fixed(examples: Path) -> None:
    tuning = Tuning(Session(find_folders([examples])))
    assert tuning.wanted().as_dict() == {}
    tuning.learned = ["static_days", "bias_percent"]
    wanted = tuning.wanted()
    assert wanted.lengthscale_static is None
    assert wanted.drift == pytest.approx(tuning.drift_percent / 100)
    other = Tuning(Session(find_folders([examples])))
    other.take(wanted)
    assert other.wanted() == wanted
    assert other.learned == ["static_days", "bias_percent"]


def test_humidity_is_on_offer_only_where_it_was_measured(tuning: Tuning, tmp_path: Path) -> None:
    rows = "\n".join(f"{hour},A,B,{20 + hour % 7},{30 + hour % 5},{40 + hour},{41 + hour}" for hour in range(40))
    head = "time,sensor_a,sensor_b,value_a,value_b,humidity_a,humidity_b"
    (tmp_path / "colocations.csv").write_text(f"{head}\n{rows}\n")
    assert "humidity" in Tuning(Session({"x": tmp_path})).param["function"].objects
    assert ("humidity" in tuning.session.network.covariates) == ("humidity" in tuning.param["function"].objects)


def test_a_run_differs_from_itself_in_nothing(tuning: Tuning) -> None:
    rows = differences(tuning.session.network, tuning.preview, tuning.preview)
    assert (rows["difference"] == 0).all()
    assert rows["agree"].all()


def test_a_folder_without_references_still_previews(tmp_path: Path) -> None:
    rows = "\n".join(f"{hour},A,B,{20 + hour % 7},{30 + hour % 5}" for hour in range(40))
    (tmp_path / "colocations.csv").write_text(f"time,sensor_a,sensor_b,value_a,value_b\n{rows}\n")
    tuning = Tuning(Session({"x": tmp_path}))
    assert tuning.hops is None
    assert set(today(tuning.session.network, tuning.preview, None)["status"]) == {"no reference in reach"}


def test_a_fit_goes_through_the_queue_and_comes_back(examples: Path, tmp_path: Path) -> None:
    done = threading.Event()
    tuning = Tuning(Session(find_folders([examples])))
    tuning.learned = []
    queue = JobQueue(RunStore(tmp_path / "runs"))
    fitting = Fitting(tuning, queue, lambda call: call())
    fitting.param.watch(lambda event: None if event.new else done.set(), "busy")
    fitting.start()
    assert done.wait(240)
    assert fitting.message == ""
    assert fitting.posterior is not None
    (run,) = queue.store.runs()
    assert run.status == "done"
    tuning.static_days = 33.0
    assert fitting.posterior is None
    fitting.show(run.id)
    assert fitting.posterior is not None
    assert fitting.message == ""
    shown = Shown(fitting)
    assert list(fitting.others().values()) == [run.id]
    assert shown.posterior is fitting.posterior
    shown.other_id = run.id
    assert differences(tuning.session.network, shown.posterior, shown.other)["agree"].all()
    tuning.session.references = ["aq-01"]
    fitting.show(run.id)
    assert "other colocations or references" in fitting.message
    queue.shutdown()


def test_a_cancelled_fit_says_so(examples: Path, tmp_path: Path) -> None:
    ended = threading.Event()
    started, leave = threading.Event(), threading.Event()

    def slow(request: object, folder: str, progress=None, cancel=None, checkpoint=None) -> dict:  # noqa: ARG001
        from calibdash.models.progress import check

        started.set()
        while not leave.wait(0.02):
            check(cancel)
        return {}

    fitting = Fitting(
        Tuning(Session(find_folders([examples]))), JobQueue(RunStore(tmp_path), run_job=slow), lambda f: f()
    )
    fitting.param.watch(lambda event: None if event.new else ended.set(), "busy")
    fitting.start()
    assert started.wait(60)
    fitting.cancel()
    assert ended.wait(60)
    assert fitting.posterior is None
    assert fitting.message


@pytest.mark.browser
def test_walk_to_a_fit(site: str, watched: Page) -> None:
    watched.goto(site)
    watched.get_by_role("tab", name="Calibration").click()
    expect(watched.get_by_text("Live preview of what you believe")).to_be_visible()
    expect(watched.get_by_text("from aq-", exact=False).first).to_be_visible()
    cells = watched.locator(f".tabulator-row [tabulator-field='{VISIT}']")
    for _ in range(2):  # the longest without a visit first
        watched.locator(f".tabulator-col[tabulator-field='{VISIT}'] .tabulator-col-title").click()
    expect(watched.locator(f".tabulator-col[tabulator-field='{VISIT}']")).to_have_attribute("aria-sort", "descending")
    days = [int(text) for text in cells.all_inner_texts()]
    assert days == sorted(days, reverse=True)
    third = watched.locator(".tabulator-row [tabulator-field=Sensor]").nth(2)
    third.click()  # a sorted row still shows its own sensor
    expect(watched.get_by_role("combobox").filter(has_text=third.inner_text())).to_be_visible()
    as_set(watched)
    watched.get_by_role("button", name="Fit", exact=True).click()
    expect(watched.get_by_text("Full fit. Move a slider")).to_be_visible(timeout=240_000)


def test_the_trace_of_a_fit_is_never_a_plot_of_nothing() -> None:
    class Followed(param.Parameterized):
        snapshot: Any = param.Parameter(None)
        message = param.String()

    followed = Followed()
    box, _ = progress(followed)
    source = box[2].object.renderers[0].data_source
    for trace, drawn_trace in (((), [0.0]), ((-3.0, -2.0), [-3.0, -2.0]), ((), [0.0])):
        followed.snapshot = Snapshot("x", "running", trace=trace)
        assert box.visible
        assert source.data == {"step": list(range(len(drawn_trace))), "quality": drawn_trace}
    followed.snapshot = None
    assert not box.visible
