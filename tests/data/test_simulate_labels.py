"""Simulated labels: seeded, with the skills and the numbers of the paper."""

import json
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from calibdash.data.simulate import LabelRecipe, SimulatedLabels, simulate_labels, write_labels
from calibdash.data.simulate.confusion import confusion, paper_confusion
from calibdash.errors import CalibdashError

SEEDS = range(40)


def oracle(simulated: SimulatedLabels) -> tuple[float, float]:
    """Accuracy and summed NLPD on items without an expert, every confusion matrix known."""
    count = simulated.recipe.items
    code = {name: number for number, name in enumerate(simulated.classes["class"])}
    true = simulated.items["class"].map(code).to_numpy()
    log_p = np.tile(np.log(simulated.classes["prevalence"].to_numpy()), (count, 1))
    for number, person in enumerate(simulated.labellers["labeller"][:-1]):
        said = simulated.labels[simulated.labels["labeller"] == person]
        rows = said["order"].to_numpy() - 1
        matrix = simulated.confusion(number, rows / (count - 1))
        likelihood = matrix[np.arange(len(rows)), :, said["label"].map(code).to_numpy()]
        log_p[rows] += np.log(np.maximum(likelihood, 1e-300))
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    expert = simulated.labels.loc[simulated.labels["labeller"] == "expert", "order"].to_numpy() - 1
    held = np.setdiff1d(np.arange(count), expert)
    return float((p.argmax(axis=1) == true)[held].mean()), float(-np.log(p[held, true[held]]).sum())


@pytest.fixture(scope="module")
def draws():
    return [simulate_labels(LabelRecipe(seed=seed)) for seed in SEEDS]


def test_the_same_recipe_makes_the_same_labels_and_another_seed_others():
    one, two = simulate_labels(LabelRecipe()), simulate_labels(LabelRecipe())
    pd.testing.assert_frame_equal(one.labels, two.labels)
    pd.testing.assert_frame_equal(one.confusions(), two.confusions())
    assert not simulate_labels(LabelRecipe(seed=1)).labels.equals(one.labels)


def test_numbers_of_labels_and_prevalence_are_those_of_the_paper(draws):
    counts = pd.DataFrame([draw.labels["labeller"].value_counts() for draw in draws]).mean()
    expected = {"A": 178, "B": 190, "C": 200, "expert": 173}
    assert counts.to_dict() == pytest.approx(expected, rel=0.025)
    shares = pd.concat([draw.items["class"] for draw in draws]).value_counts(normalize=True)
    assert shares.to_dict() == pytest.approx({"class 1": 0.36, "class 2": 0.30, "class 3": 0.34}, abs=0.015)
    assert all(draw.labels["item"].nunique() == 300 for draw in draws)


def test_knowing_every_matrix_is_as_good_as_it_was_measured(draws):
    accuracy, nlpd = np.mean([oracle(draw) for draw in draws], axis=0)
    assert accuracy == pytest.approx(0.84, abs=0.02)
    assert nlpd == pytest.approx(39.6, rel=0.08)


def test_skills_of_the_three_labellers():
    eye, third = np.eye(3), np.full((3, 3), 1 / 3)
    a, b, c = (paper_confusion(which, 3, np.array([0.0, 0.25, 0.5, 0.75, 1.0])) for which in range(3))
    np.testing.assert_allclose(a[:3], [eye, eye, eye])
    np.testing.assert_allclose(a[4], third, atol=0.03)
    np.testing.assert_allclose(b[0], third)
    np.testing.assert_allclose(b[2:], [eye, eye, eye])
    np.testing.assert_allclose(c[0], [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]])
    np.testing.assert_allclose(c[2], [[0.5, 0, 0.5], [0, 1, 0], [0.5, 0, 0.5]])
    np.testing.assert_allclose(c[4], third, atol=0.03)
    assert (np.diff(np.trace(a[2:], axis1=1, axis2=2)) < 0).all()
    assert (np.diff(np.trace(b[:3], axis1=1, axis2=2)) > 0).all()


def test_labels_follow_the_matrices():
    simulated = simulate_labels(
        LabelRecipe(items=60_000, labellers=4, classes=4, drift=0.0, skill_sd=0.5, paper_labellers=False)
    )
    joined = simulated.labels.merge(simulated.items[["item", "class"]], on="item")
    for number, person in enumerate("ABCD"):
        said = joined[joined["labeller"] == person]
        share = pd.crosstab(said["class"], said["label"], normalize="index").to_numpy()
        np.testing.assert_allclose(share, simulated.confusion(number, np.array([0.5]))[0], atol=0.03)
    expert = joined[joined["labeller"] == "expert"]
    assert (expert["label"] == expert["class"]).all()


def test_random_labellers_drift_and_rows_are_probabilities():
    simulated = simulate_labels(LabelRecipe(labellers=30, classes=5))
    assert len(simulated.labellers) == 31
    assert simulated.labellers["labeller"].is_unique
    progress = np.linspace(0, 1, 11)
    for number in range(30):
        matrix = simulated.confusion(number, progress)
        assert matrix.shape == (11, 5, 5)
        np.testing.assert_allclose(matrix.sum(axis=-1), 1.0)
        assert np.ptp(matrix, axis=0).max() > 0.05
    np.testing.assert_allclose(confusion(simulated.skills[9], 5, progress), simulated.confusion(9, progress))


def test_the_folder_holds_tables_and_truth(tmp_path):
    simulated = simulate_labels(LabelRecipe(items=50), classes=["x", "y", "z"], labellers=["Ann", "Bob", "Cy", "Dr E"])
    write_labels(simulated, tmp_path)
    labels = pd.read_csv(tmp_path / "labels.csv")
    assert list(labels) == ["item", "labeller", "label", "order"]
    assert set(labels["label"]) <= {"x", "y", "z"}
    labellers = (tmp_path / "labellers.csv").read_text()
    assert labellers == "labeller,reference\nAnn,false\nBob,false\nCy,false\nDr E,true\n"
    items = pd.read_csv(tmp_path / "truth" / "items.csv")
    assert len(items) == 50
    table = pd.read_csv(tmp_path / "truth" / "confusion.csv")
    sums = table.groupby(["labeller", "order", "class"])["probability"].sum()
    np.testing.assert_allclose(sums, 1.0, atol=1e-4)
    again = LabelRecipe(**json.loads((tmp_path / "truth" / "recipe.json").read_text()))
    assert again == simulated.recipe


@pytest.mark.parametrize("change", [{"items": 0}, {"classes": 1}, {"expert_share": 1.5}, {"seed": -1}, {"items": True}])
def test_recipes_that_cannot_be_made_say_why(change):
    with pytest.raises(CalibdashError, match=next(iter(change))) as problem:
        replace(LabelRecipe(), **change)
    assert problem.value.hint


@pytest.mark.parametrize("names", [["x", "y"], ["x", "x", "y"]])
def test_names_must_fit(names):
    with pytest.raises(CalibdashError, match="names for 3 classes"):
        simulate_labels(LabelRecipe(), classes=names)


def test_every_field_can_become_an_option():
    for entry in fields(LabelRecipe):
        assert entry.metadata["help"]
        assert type(entry.default) in (int, float, str, bool)
