"""Plots and tables of the page of labellers as plain columns, without a browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibdash.data.folder import load_labels
from calibdash.pages.labellers import Results, summary
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
from calibdash.pages.labellers_tables import ItemList, item_frame, item_words, next_frame
from calibdash.state.label_run import LabelRun, read_confusions
from tests.pages.label_runs import RUN, crowd, made_run, opened


@pytest.fixture(scope="module")
def bees(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> LabelRun:
    place = tmp_path_factory.mktemp("runs") / RUN
    folder = examples / "bees"
    return made_run(load_labels(folder), place, network_path=str(folder.resolve()))


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
    assert made_run(labels, tmp_path / f"{RUN}-2").history("person 01").words[0] == "no. 1"


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
