"""What every fit of labellers promises, over forms, clocks and structures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibdash.data.labels import LabelSet
from calibdash.errors import CalibdashError
from calibdash.models.labelling.fitting import fit_labels
from calibdash.models.labelling.posterior import LabelPosterior
from calibdash.models.labelling.settings import LabelSettings
from calibdash.models.progress import FitCancelledError, Progress
from tests.models.labelling.sets import QUICK, crowd, label_set

CASES = {
    "joint over time": QUICK,
    "pairwise static": replace(QUICK, form="pairwise", over_time=False),
    "many classes": replace(QUICK, matrix_most=2, classes=("never", "seen")),
    "Gaussian": replace(QUICK, exact=False, over_time=False),
    "large": replace(QUICK, exact_most=100),
}


@pytest.fixture(scope="module", params=CASES)
def found(request: pytest.FixtureRequest) -> LabelPosterior:
    return fit_labels(crowd()[0], CASES[request.param], seed=1)


def test_probabilities_sum_to_one(found: LabelPosterior) -> None:
    items = found.items()
    assert set(items["item"]) == {f"item {i}" for i in range(60)}
    assert all(tuple(mine) == found.classes for _, mine in items.groupby("item")["class"])
    np.testing.assert_allclose(items.groupby("item")["probability"].sum(), 1.0)
    assert items["probability"].between(0, 1).all()
    table = found.confusion()
    np.testing.assert_allclose(table.groupby(["labeller", "time", "true_class"], dropna=False)["mean"].sum(), 1.0)
    assert (table["lower"] <= table["mean"] + 1e-9).all()
    assert (table["mean"] <= table["upper"] + 1e-9).all()


def test_the_expert_is_right(found: LabelPosterior) -> None:
    known = found.data.known
    assert known.any()
    np.testing.assert_allclose(found.probability[known].max(axis=1), 1.0)


def test_better_people_have_more_skill(found: LabelPosterior) -> None:
    table = found.labellers().set_index("labeller")
    assert list(table.index) == ["person 0", "person 1", "person 2"]
    assert table["skill"].is_monotonic_decreasing
    assert (table["skill_lower"] < table["skill"]).all()
    assert (table["skill"] < table["skill_upper"]).all()
    assert table["labels"].eq(60).all()


def test_it_is_kept_and_opened(found: LabelPosterior, tmp_path: Path) -> None:
    found.save(tmp_path)
    again = LabelPosterior.load(tmp_path)
    for name in ("items", "confusion", "labellers", "agreement", "prevalence", "next_labels"):
        pd.testing.assert_frame_equal(getattr(again, name)(), getattr(found, name)())
    assert again.record == found.record
    assert again.settings == found.settings


def test_next_list_asks_about_open_items(found: LabelPosterior) -> None:
    table = found.next_labels(1000)
    assert table["gain_per_cost"].is_monotonic_decreasing
    assert (table["gain"] >= 0).all()
    experts = table[table["expert"]]
    assert set(experts["labeller"]) == {"expert"}
    assert set(experts["item"]) == set(np.array(found.data.items)[~found.data.known])
    assert table[~table["expert"]].empty  # everybody has labelled everything


def test_names_change_nothing() -> None:
    labels, _ = crowd(items=20)
    names = {"class 0": "zebra", "class 1": "<b>", "class 2": "alpha"}
    people = {"person 0": "Z", "person 1": "A", "person 2": "M", "expert": "B"}
    renamed = LabelSet(
        "other",
        labels.labels.assign(
            label=labels.labels["label"].map(names),
            labeller=labels.labels["labeller"].map(people),
            item="x" + labels.labels["item"].str[::-1],
        ),
        labels.labellers.assign(labeller=labels.labellers["labeller"].map(people)),
    )
    first, second = (fit_labels(some, QUICK, seed=3) for some in (labels, renamed))
    np.testing.assert_array_equal(first.probability, second.probability)
    here, there = first.items(), second.items()
    there = there.set_index(["item", "class"])["probability"]
    for row in here.itertuples():
        assert there[("x" + str(row.item)[::-1], names[str(row[2])])] == row.probability


def test_seed_decides() -> None:
    labels, _ = crowd(items=12)
    first, again, other = (fit_labels(labels, QUICK, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.draws, again.draws)
    assert not np.array_equal(first.draws, other.draws)
    np.testing.assert_allclose(first.probability, other.probability, atol=0.1)


def test_progress_and_cancel() -> None:
    labels, _ = crowd(items=12)
    heard: list[Progress] = []
    fit_labels(labels, replace(QUICK, over_time=False), progress=heard.append)
    assert [report.iteration for report in heard] == sorted(report.iteration for report in heard)
    assert heard[-1].iteration == heard[-1].total
    with pytest.raises(FitCancelledError):
        fit_labels(labels, QUICK, progress=heard.append, cancel=lambda: True)


def test_settings_round_trip_and_refuse() -> None:
    settings = LabelSettings().with_values({"form": "pairwise", "lengthscale": "0.2", "fallible": ["a, b", "c"]})
    assert LabelSettings.from_dict(settings.as_dict()) == settings
    assert settings.hash != LabelSettings().hash
    for values in ({"forn": "joint"}, {"form": "both"}, {"lengthscale": -1}, {"fallible": [3]}, {"steps": "x"}):
        with pytest.raises(CalibdashError):
            LabelSettings.from_dict(values)


def test_unknown_reference_is_named() -> None:
    with pytest.raises(CalibdashError, match="Nobody"):
        fit_labels(label_set([("a", "P", "x")]), references=["Nobody"])


def test_nobody_is_asked_for_everything() -> None:
    """One person is best at all, but tires; an expert who may err costs what an expert costs."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 80)
    rows = [(f"i{i}", "E", "xy"[truth[i]]) for i in range(20)]
    rows += [(f"i{i}", "best", "xy"[truth[i]]) for i in range(20)]
    for who in ("good", "doctor"):
        rows += [(f"i{i}", who, "xy"[truth[i] ^ (rng.uniform() < 0.08)]) for i in range(20)]
    rows += [(f"i{i}", "visitor", "xy"[rng.integers(0, 2)]) for i in range(80)]
    labels = label_set(rows, ("E",))
    found = fit_labels(labels, replace(QUICK, fallible=("doctor",)))
    table = found.next_labels(1000)
    people = table[~table["expert"]]
    assert people["labeller"].iloc[0] == "best"
    assert {"best", "good"} <= set(people["labeller"])
    assert people[people["labeller"] == "best"]["cost"].is_monotonic_increasing
    assert (people.loc[people["labeller"] == "doctor", "cost"] >= 5).all()
    assert not set(zip(people["item"], people["labeller"], strict=True)) & {(item, who) for item, who, _ in rows}
