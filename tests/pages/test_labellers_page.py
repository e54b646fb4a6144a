"""The page of labellers: experts and fit as state, plots and tables without a browser, then walks in one."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from calibdash.data.files import write_table
from calibdash.data.folder import load_labels
from calibdash.models.labelling import LabelSettings
from calibdash.models.progress import check
from calibdash.pages.labellers import FALLIBLE_ONLY, NO_EXPERT, NOT_YET, LabellersPage, expert_warning
from calibdash.pages.labellers_cards import PER_PAGE, card_rows, cards_view
from calibdash.pages.labellers_drawn import (
    matrix_columns,
)
from calibdash.pages.labellers_tables import expert_frame, expert_table
from calibdash.runs.labels import tables
from calibdash.runs.queue import JobQueue
from calibdash.runs.store import RunStore
from calibdash.state.folders import find_folders
from calibdash.state.label_attention import attention
from calibdash.state.label_run import LabelRun
from calibdash.state.labelling import OTHER_LABELS, Labelling
from calibdash.state.session import Session
from tests.pages.conftest import address_of
from tests.pages.label_runs import HOSTILE, RUN, crowd, hostile_labels, made_run, made_up, opened


@pytest.fixture(scope="module")
def bees(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> LabelRun:
    place = tmp_path_factory.mktemp("runs") / RUN
    folder = examples / "bees"
    return made_run(load_labels(folder), place, network_path=str(folder.resolve()))


@pytest.mark.filterwarnings("ignore:Both 'variant' and 'button_style'")  # said by the download button about itself
def test_a_network_has_no_labellers(examples: Path, tmp_path: Path) -> None:
    session = Session(find_folders([examples]))
    page = LabellersPage(labelling=Labelling(session, JobQueue(RunStore(tmp_path)), lambda call: call()))
    assert page.labelling.labels is None
    assert "no labels" in page._content(None).object
    session.folder = examples / "bees"
    assert page.labelling.references == ["Dr Okello"]
    assert page.labelling.run is None
    view = page._results.view()
    assert len(view) == 1
    assert view[0][0].object == NOT_YET


def test_experts_are_chosen_and_may_err(examples: Path, tmp_path: Path) -> None:
    labelling = opened(examples, tmp_path)
    labelling.toggle_fallible("Elsie")
    assert (labelling.references, labelling.fallible) == (["Dr Okello", "Elsie"], ["Elsie"])
    assert labelling.settings().fallible == ("Elsie",)
    labelling.toggle_expert("Elsie")
    assert (labelling.references, labelling.fallible) == (["Dr Okello"], [])
    view = expert_table(labelling)
    labelling.toggle_expert("Dr Okello")
    assert not view.value["Expert"].any()


def test_without_an_expert_it_says_what_that_means() -> None:
    assert expert_warning([], []) == NO_EXPERT
    assert "only through the prior" in NO_EXPERT.replace("\n", " ")
    assert expert_warning(["a"], ["a"]) == FALLIBLE_ONLY
    assert expert_warning(["a", "b"], ["a"]) == ""


def test_the_newest_fit_of_the_folder_is_shown(examples: Path, bees: LabelRun) -> None:
    labelling = opened(examples, bees.folder.parent)
    assert labelling.run_id == RUN
    assert labelling.message == ""
    assert labelling.labeller == labelling.people["labeller"].iloc[0]
    assert labelling.moment == len(labelling.history.hours) - 1
    assert not labelling.outdated
    labelling.toggle_expert("Elsie")
    assert labelling.outdated
    labelling.toggle_expert("Elsie")
    labelling.form = "pairwise"
    assert labelling.outdated


def test_a_fit_of_other_labels_is_told(bees: LabelRun, tmp_path: Path) -> None:
    labels = crowd()
    write_table(labels.labels, tmp_path / "labels.csv")
    labelling = Labelling(Session({"x": tmp_path}), JobQueue(RunStore(bees.folder.parent)), lambda call: call())
    assert labelling.run is None
    labelling.show(RUN)
    assert labelling.message == OTHER_LABELS


def test_a_fit_goes_through_the_queue_and_comes_back(examples: Path, tmp_path: Path) -> None:
    done = threading.Event()
    asked: list[dict] = []

    def job(request: dict, folder: str, progress=None, cancel=None, checkpoint=None) -> dict:  # noqa: ARG001
        asked.append(dict(request))
        settings = LabelSettings.from_dict(request["settings"])
        posterior = made_up(load_labels(request["network_path"]), settings, references=request["references"])
        for name, frame in tables(posterior).items():
            write_table(frame, Path(folder) / f"{name}.csv")
        posterior.save(folder)
        return {}

    labelling = opened(examples, tmp_path, job)
    labelling.toggle_fallible("Elsie")
    labelling.param.update(form="pairwise", learn=True)
    labelling.param.watch(lambda event: None if event.new else done.set(), "busy")
    labelling.start()
    assert done.wait(120)
    assert labelling.message == ""
    assert asked[0]["references"] == ["Dr Okello", "Elsie"]
    assert asked[0]["settings"] == {"form": "pairwise", "fallible": ["Elsie"]}
    assert asked[0]["learn"]
    assert "Elsie" in labelling.run.posterior.people
    assert not labelling.outdated
    again = opened(examples, tmp_path)
    assert again.run_id == labelling.run_id
    assert (again.form, again.fallible, again.learn) == ("pairwise", ["Elsie"], True)


def test_a_closed_tab_does_not_lose_the_fit(examples: Path, tmp_path: Path) -> None:
    started, leave, ended = threading.Event(), threading.Event(), threading.Event()

    def slow(request: object, folder: str, progress=None, cancel=None, checkpoint=None) -> dict:  # noqa: ARG001
        started.set()
        while not leave.wait(0.02):
            check(cancel)
        return {}

    first = opened(examples, tmp_path, slow)
    first.start()
    assert started.wait(60)
    first.detach()
    second = Labelling(first.session, first._queue, lambda call: call())
    assert second.busy
    assert second.run_id == first.run_id
    second.param.watch(lambda event: None if event.new else ended.set(), "busy")
    second.cancel()
    assert ended.wait(60)
    assert second.run is None
    assert second.message


def test_a_folder_left_is_not_disturbed_by_its_fit(examples: Path, bees: LabelRun) -> None:
    session = Session(find_folders([examples]))
    labelling = Labelling(session, JobQueue(RunStore(bees.folder.parent)), lambda call: call())
    session.folder = examples / "bees"
    assert labelling.run is not None
    session.folder = examples / "kampala"
    assert labelling.run is labelling.people is labelling.history is labelling.labeller is None


def people_like(**columns: list) -> pd.DataFrame:
    count = len(next(iter(columns.values())))
    usual = {
        "labeller": [f"p{number}" for number in range(count)],
        "skill": [0.8] * count,
        "skill_lower": [0.7] * count,
        "skill_upper": [0.9] * count,
        "trend": ["steady"] * count,
        "trend_probability": [0.9] * count,
        "items": [1] * count,
        "fallible": [False] * count,
        "expert_items": [0] * count,
        "expert_agreement": [np.nan] * count,
    }
    return pd.DataFrame({**usual, **columns})


def test_who_needs_attention_comes_first() -> None:
    people = people_like(
        labeller=["good", "wide", "weak", "worse", "better"],
        skill=[0.9, 0.8, 0.4, 0.85, 0.8],
        skill_lower=[0.8, 0.5, 0.3, 0.8, 0.7],
        skill_upper=[0.95, 0.95, 0.5, 0.9, 0.9],
        trend=["steady", "too few labels", "steady", "worse since June", "improving"],
    )
    rows = attention(people)
    assert rows["labeller"].tolist() == ["worse", "weak", "wide", "better", "good"]
    assert rows["status"].tolist()[:2] == ["worse since June (90 % sure)", "below the others"]
    assert attention(people.iloc[:0]).empty
    cards = card_rows(rows)
    assert cards[0]["items"] == "1 item"
    assert cards[0]["experts"] == "no item in common with an expert"
    assert cards[0]["words"] == "85 % right"


def test_cards_come_a_page_at_a_time_and_choose(tmp_path: Path) -> None:
    labels = crowd(people=PER_PAGE + 5)
    write_table(labels.labels, tmp_path / "data" / "labels.csv")
    made_run(load_labels(tmp_path / "data"), tmp_path / "runs" / RUN, network_path=str((tmp_path / "data").resolve()))
    labelling = Labelling(Session({"x": tmp_path / "data"}), JobQueue(RunStore(tmp_path / "runs")), lambda call: call())
    find, cards, pages = cards_view(labelling)
    assert len(cards.rows) == PER_PAGE
    pages.value = 1
    assert len(cards.rows) == 5
    cards.chosen = cards.rows[2]["name"]
    assert labelling.labeller == cards.rows[2]["name"] == labelling.history.labeller
    find.value_input = "SON 16"
    assert [row["name"] for row in cards.rows] == ["person 16"]
    assert pages.count == 1


def test_hostile_names_are_kept_as_they_are(tmp_path: Path) -> None:
    labels = hostile_labels()
    run = made_run(labels, tmp_path / RUN)
    people = set(run.posterior.people)
    assert people == {HOSTILE, "=1+1", "<script>document.title='hacked'</script>"}
    assert set(run.people["labeller"]) == people
    assert set(run.next["labeller"]) <= people | {"null"}
    assert HOSTILE in set(matrix_columns(run.history("=1+1"), 0)["true"])
    assert set(expert_frame(labels, ["null"], [])["Labeller"]) == people | {"null"}


@contextmanager
def serving_runs(folder: Path, data: Path) -> Iterator[str]:
    """The address of the real program with runs that are there already."""
    command = [sys.executable, "-m", "calibdash", "serve", str(folder), "--port", "0", "--data-dir", str(data)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield address_of(server)
    finally:
        server.terminate()
        server.wait(timeout=20)
        server.stderr.close()


@pytest.mark.browser_context_args(bypass_csp=True)  # the policy would stop what must not be there to be stopped
@pytest.mark.browser
def test_hostile_names_stay_text(tmp_path: Path, page: Page) -> None:
    folder = tmp_path / "evil"
    labels = hostile_labels()
    write_table(labels.labels, folder / "labels.csv")
    write_table(labels.labellers, folder / "labellers.csv")
    run = made_run(load_labels(folder), tmp_path / "data" / "runs" / RUN, network_path=str(folder.resolve()))
    with serving_runs(folder, tmp_path / "data") as address:
        page.goto(address)
        page.get_by_role("tab", name="Labellers").click(timeout=60_000)
        cards = page.locator("button.card")
        expect(cards).to_have_count(len(run.people), timeout=60_000)
        for name in run.posterior.people:
            cards.filter(has_text=name).click()
            expect(page.get_by_text(f"What {name} calls what")).to_be_visible()
        page.locator(".tabulator-row", has_text="onerror").last.click()
        expect(page.get_by_text("What to ask next")).to_be_visible()
        assert page.title() == "calibdash"
        assert page.locator("img[src=x]").count() == 0


@pytest.mark.browser
def test_walk_to_a_fit_of_labellers(site: str, watched: Page) -> None:
    watched.goto(site)
    watched.get_by_role("combobox").first.click(timeout=60_000)
    watched.get_by_role("menuitem", name="bees").click()
    watched.get_by_role("tab", name="Labellers").click()
    expect(watched.get_by_text("Say who the experts are, then press Fit")).to_be_visible()
    elsie = watched.locator(".tabulator-row", has_text="Elsie")
    elsie.locator('[tabulator-field="May err"]').click()
    expect(elsie.locator('[tabulator-field="Expert"]')).to_have_text("☑")
    watched.get_by_role("button", name="Fit", exact=True).click()
    expect(watched.get_by_role("button", name="Cancel")).to_be_visible()
    cards = watched.locator("button.card")
    expect(cards).to_have_count(10, timeout=400_000)
    expect(cards.first).to_have_attribute("aria-pressed", "true")
    expect(cards.filter(has_text="expert who may err")).to_have_count(1)
    cards.filter(has_text="Farid").click()
    expect(watched.get_by_text("What Farid calls what, in %")).to_be_visible()
    expect(watched.get_by_text("297 of 297 items")).to_be_visible()
    watched.get_by_role("switch", name="only where labellers disagree").click()
    expect(watched.get_by_text("297 of 297 items")).to_have_count(0)
    expect(watched.locator(".tabulator-row", has_text="can help to tell").first).to_be_visible()
    with watched.expect_download(timeout=60_000) as download:
        watched.get_by_text("items.csv").click()
    assert download.value.suggested_filename == "items.csv"
    assert download.value.path().read_text().startswith("item,class,probability\n")
