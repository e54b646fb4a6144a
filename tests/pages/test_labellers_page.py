"""The page of labellers: experts and fit as state, plots and tables without a browser, then walks in one."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from calibdash.data.files import write_table
from calibdash.data.folder import load_labels
from calibdash.data.labels import LabelSet
from calibdash.models.labelling import LabelPosterior, LabelRecord, LabelSettings
from calibdash.models.labelling.arrays import label_data
from calibdash.models.labelling.design import design
from calibdash.models.progress import check
from calibdash.pages.labellers import FALLIBLE_ONLY, NO_EXPERT, NOT_YET, LabellersPage, Results, expert_warning, summary
from calibdash.pages.labellers_cards import PER_PAGE, card_rows, cards_view
from calibdash.pages.labellers_drawn import (
    EMPTY,
    EXTRA_MOST,
    MATRIX_MOST,
    RIGHT,
    entry_layers,
    matrix_columns,
    mixed,
    sheet,
    short_names,
    true_entries,
)
from calibdash.pages.labellers_figures import EntriesFigure, MatrixFigure
from calibdash.pages.labellers_tables import ItemList, expert_frame, expert_table, item_frame, item_words, next_frame
from calibdash.runs.folder import write_run
from calibdash.runs.labels import record, tables
from calibdash.runs.queue import JobQueue
from calibdash.runs.store import RunStore
from calibdash.state.folders import find_folders
from calibdash.state.label_attention import attention
from calibdash.state.label_run import LabelRun, read_confusions, read_label_run
from calibdash.state.labelling import OTHER_LABELS, Labelling
from calibdash.state.session import Session
from tests.pages.conftest import address_of

HOSTILE = "<img src=x onerror=document.title='hacked'>"
RUN = "20260101-000000-made"


def made_up(labels: LabelSet, settings: LabelSettings | None = None, **options: object) -> LabelPosterior:
    """A posterior as a fit would leave it, its unknowns drawn at random: pages need no better one."""
    settings = settings or LabelSettings()
    data = label_data(labels, fallible=settings.fallible, **options)
    start = design(data, settings).start()
    mean = start + 0.5 * np.random.default_rng(0).standard_normal(len(start))
    votes = np.full((len(data.items), len(data.classes)), 0.2)
    np.add.at(votes, (data.item, data.label), 1.0)
    np.add.at(votes, (data.fixed_item, data.fixed_label), 50.0)
    about = LabelRecord(
        0, data.hash, {}, 1.0, (-2.0, -1.0), "diagonal", len(mean), len(data.item), None, None, data.notes
    )
    chances = votes / votes.sum(axis=1, keepdims=True)
    spread = np.full(len(mean), 0.2)
    return LabelPosterior(settings, about, data, chances, np.zeros((0, len(mean))), mean, spread)


def made_run(labels: LabelSet, folder: Path, **about: object) -> LabelRun:
    posterior = made_up(labels)
    write_run(
        folder, {**record(labels, posterior.settings, posterior, False), **about}, tables(posterior), posterior.save
    )
    return read_label_run(folder.name, folder)


def crowd(people: int = 5, classes: int = 3, *, order: bool = True) -> LabelSet:
    """A crowd without an expert but the first."""
    rng = np.random.default_rng(4)
    count = 40 * people
    frame = pd.DataFrame(
        {
            "item": [f"item-{item:03d}" for item in rng.integers(30, size=count)],
            "labeller": [f"person {who:02d}" for who in np.arange(count) % people],
            "label": [f"kind {kind:02d}" for kind in rng.integers(classes, size=count)],
        }
    ).drop_duplicates(["item", "labeller"])
    if order:
        frame["order"] = np.arange(len(frame), dtype=float)
    names = sorted(frame["labeller"].unique())
    return LabelSet(
        "crowd", frame, pd.DataFrame({"labeller": names, "reference": [name == names[0] for name in names]})
    )


@pytest.fixture(scope="module")
def bees(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> LabelRun:
    place = tmp_path_factory.mktemp("runs") / RUN
    folder = examples / "bees"
    return made_run(load_labels(folder), place, network_path=str(folder.resolve()))


def opened(examples: Path, runs: Path, run_job: Callable[..., dict] | None = None) -> Labelling:
    """The state of a session that looks at the bees."""
    queue = JobQueue(RunStore(runs), **({"run_job": run_job} if run_job else {}))
    return Labelling(Session(find_folders([examples / "bees"])), queue, lambda call: call())


@pytest.mark.filterwarnings("ignore:Both 'variant' and 'button_style'")  # said by the download button about itself
def test_a_network_has_no_labellers(examples: Path, tmp_path: Path) -> None:
    session = Session(find_folders([examples]))
    page = LabellersPage(session=session, queue=JobQueue(RunStore(tmp_path)))
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


def test_the_matrix_has_every_cell_and_its_rows_sum_to_one(bees: LabelRun) -> None:
    history = bees.history("Hanne")
    K = len(history.classes)
    columns = matrix_columns(history, 3)
    assert {len(values) for values in columns.values()} == {K * K}
    cells = pd.DataFrame(columns)
    np.testing.assert_allclose(cells.groupby("true")["mean"].sum(), 100.0)
    assert (cells["lower"] <= cells["mean"]).all()
    assert (cells["mean"] <= cells["upper"]).all()
    right = cells[cells["true"] == cells["label"]]
    assert (right["x"] == K - 1 - right["y"]).all()
    assert mixed(RIGHT, 0.0) == EMPTY
    assert mixed(RIGHT, 1.0) == RIGHT


def test_the_matrix_agrees_with_the_table_of_the_run(bees: LabelRun) -> None:
    history = bees.history("Hanne")
    cell = pd.DataFrame(matrix_columns(history, 24)).set_index(["true", "label"])["mean"]
    table = pd.read_csv(bees.folder / "confusion.csv")
    last = table[table["labeller"] == "Hanne"].groupby(["true_class", "label"])["mean"].last()
    np.testing.assert_allclose(cell.loc[last.index], 100 * last)


def test_small_plots_lie_in_their_frames_and_hold_the_truth(bees: LabelRun, examples: Path) -> None:
    history = bees.history("Hanne")
    truth = true_entries(read_confusions(examples / "bees"), history, bees.posterior.data.clock)
    layers = entry_layers(history, sheet(history), truth)
    K = len(history.classes)
    assert len(layers["bands"]["xs"]) == len(layers["truths"]["xs"]) == K * K
    assert len(layers["points"]["x"]) == K * K * len(history.hours)
    for layer in ("bands", "lines", "truths"):
        for number, (xs, ys) in enumerate(zip(layers[layer]["xs"], layers[layer]["ys"], strict=True)):
            assert layers["frames"]["left"][number] - 1e-6 <= min(xs)
            assert max(xs) <= layers["frames"]["right"][number] + 1e-6
            assert layers["frames"]["bottom"][number] <= min(ys)
            assert max(ys) <= layers["frames"]["top"][number]
    stranger = replace(history, labeller="nobody")
    assert true_entries(read_confusions(examples / "bees"), stranger, bees.posterior.data.clock) is None
    assert read_confusions(examples / "kampala") is None


def test_many_classes_show_the_right_answers_and_the_commonest_confusions(tmp_path: Path) -> None:
    run = made_run(crowd(classes=MATRIX_MOST + 2), tmp_path / RUN)
    history = run.history("person 03")
    panels = sheet(history).panels
    K = MATRIX_MOST + 2
    assert [(panel.true, panel.label) for panel in panels[:K]] == [(k, k) for k in range(K)]
    others = [history.mean.mean(axis=0)[panel.true, panel.label] for panel in panels[K:]]
    assert 0 < len(others) <= EXTRA_MOST
    assert others == sorted(others, reverse=True)
    hidden = history.mean.mean(axis=0)[~np.eye(K, dtype=bool)]
    assert others[0] == hidden.max()
    assert len({(panel.column, panel.row) for panel in panels}) == len(panels)


def test_figures_take_another_labeller_and_moment_in_place(bees: LabelRun) -> None:
    matrix, entries = MatrixFigure(), EntriesFigure()
    one, two = bees.history("Hanne"), bees.history("Ben")
    matrix.show(one, 0)
    before = list(matrix.source.data["mean"])
    matrix.show(one, 20)
    assert list(matrix.source.data["mean"]) != before
    entries.show(one, None)
    entries.show_moment(one, 0)
    assert entries.sources["now"].data["x0"][0] == 0.0
    entries.show(two, None)
    entries.show_moment(two, len(two.hours) - 1)
    assert entries.sources["now"].data["x0"][0] == pytest.approx(1.0)
    assert set(entries.sources["points"].data["when"]) == set(two.words)


def test_the_slider_moves_the_matrix(examples: Path, bees: LabelRun) -> None:
    labelling = opened(examples, bees.folder.parent)
    results = Results(labelling)
    labelling.moment = 0
    np.testing.assert_allclose(results.matrix.source.data["mean"], 100 * labelling.history.mean[0].ravel())
    labelling.choose("Ben")
    assert labelling.moment == 24
    np.testing.assert_allclose(results.matrix.source.data["mean"], 100 * labelling.history.mean[24].ravel())


def test_without_times_there_is_one_matrix_and_nothing_over_time(tmp_path: Path) -> None:
    run = made_run(crowd(order=False), tmp_path / RUN)
    history = run.history("person 01")
    assert not history.moving
    assert len(history.hours) == 1
    assert true_entries(pd.DataFrame({"labeller": []}), history, run.posterior.data.clock) is None
    MatrixFigure().show(history, 0)


def test_times_are_said_as_people_say_them(tmp_path: Path) -> None:
    labels = crowd()
    stamps = pd.Timestamp("2024-05-30", tz="UTC") + pd.to_timedelta(labels.labels["order"] * 6, unit="h")
    stamped = replace(labels, labels=labels.labels.drop(columns="order").assign(time=stamps))
    words = made_run(stamped, tmp_path / RUN).history("person 01").words
    assert words[0] == "30 May 2024"
    assert made_run(labels, tmp_path / f"{RUN}-2").history("person 01").words[0] == "order 1"


def test_items_come_most_uncertain_first_and_are_filtered(bees: LabelRun) -> None:
    frame = item_frame(bees)
    assert len(frame) == len(bees.posterior.data.items)
    assert frame["Sure %"].is_monotonic_increasing
    assert (frame["Sure %"] >= frame["Else %"]).all()
    disputed = item_frame(bees, disputed=True)
    assert 0 < len(disputed) < len(frame)
    assert disputed["Labels"].str.contains(":").all()
    kind = bees.posterior.classes[2]
    assert set(item_frame(bees, kind=kind)["Most likely"]) == {kind.removeprefix("Bombus ")}
    top = frame["Item"].iloc[0]
    said = load_labels(Path(__file__).parents[2] / "example_data" / "bees").labels
    for name, label in said.loc[said["item"] == top, ["labeller", "label"]].itertuples(index=False):
        assert f"{name} said {label}" in item_words(bees, top)


def test_the_list_of_items_follows_its_filters(examples: Path, bees: LabelRun) -> None:
    items = ItemList(opened(examples, bees.folder.parent))
    whole = len(items.view.value)
    items.disputed.value = True
    assert len(items.view.value) < whole
    items.kind.value = bees.posterior.classes[0]
    assert len(items.view.value) == len(item_frame(bees, disputed=True, kind=bees.posterior.classes[0]))
    items.pick(0)
    assert str(items.view.value["Item"].iloc[0]) in items.picked.object
    assert items.view.pagination == "remote"


def test_the_next_list_says_item_person_and_why(bees: LabelRun) -> None:
    frame = next_frame(bees)
    assert frame["#"].tolist() == list(range(1, len(frame) + 1))
    assert frame["Worth"].is_monotonic_decreasing
    assert frame["Worth"].iloc[0] == 100
    experts = frame["Ask"] == "Dr Okello"
    assert frame.loc[experts, "Why"].str.contains("expert").all()
    assert next_frame(replace(bees, next=bees.next.iloc[:0])).empty


def test_names_lose_the_words_they_share() -> None:
    assert short_names(("Bombus hortorum", "Bombus pascuorum"), 20) == ("hortorum", "pascuorum")
    assert short_names(("class 1", "class 2"), 20) == ("class 1", "class 2")
    assert short_names(("bee",), 20) == ("bee",)
    assert short_names(("a very long name indeed", "b"), 8) == ("a very …", "b")


def test_a_summary_counts_what_the_fit_stands_on(bees: LabelRun) -> None:
    words = summary(bees)
    assert words.startswith("1,194 labels of 297 items by 10 people and one expert")


def hostile_labels() -> LabelSet:
    """Names that are markup, formulas, missing values, separators."""
    rng = np.random.default_rng(1)
    kinds = [HOSTILE, "<b>bold</b>", "NA", "$$x$$", 'a,"b";c']
    people = [HOSTILE, "=1+1", "null", "<script>document.title='hacked'</script>"]
    count = 120
    frame = pd.DataFrame(
        {
            "item": [f"{HOSTILE}{item}" for item in rng.integers(30, size=count)],
            "labeller": rng.choice(np.array(people, dtype=object), count),
            "label": rng.choice(np.array(kinds, dtype=object), count),
            "order": np.arange(count, dtype=float),
        }
    ).drop_duplicates(["item", "labeller"])
    return LabelSet("evil", frame, pd.DataFrame({"labeller": people, "reference": [name == "null" for name in people]}))


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
    watched.get_by_role("button", name="Fit", exact=True).click()
    expect(watched.get_by_role("button", name="Cancel")).to_be_visible()
    cards = watched.locator("button.card")
    expect(cards).to_have_count(10, timeout=400_000)
    expect(cards.first).to_have_attribute("aria-pressed", "true")
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
