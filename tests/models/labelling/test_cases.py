"""People and tables at the edge: perfect, stubborn, silent, alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from calibdash.errors import CalibdashError
from calibdash.models.labelling.agreement import krippendorff, pairs
from calibdash.models.labelling.arrays import label_data
from calibdash.models.labelling.fitting import fit_labels
from tests.models.labelling.sets import QUICK, crowd, label_set

STATIC = replace(QUICK, over_time=False)


def test_one_perfect_labeller_is_believed() -> None:
    labels, truth = crowd(items=80, skills=(1.0, 0.3, 0.3), expert=0.5, seed=2)
    found = fit_labels(labels, STATIC)
    top = found.items().sort_values("probability").groupby("item").tail(1).set_index("item")["class"]
    assert all(top[item] == name for item, name in truth.items())
    assert found.labellers().set_index("labeller").loc["person 0", "skill"] > 0.93


def test_who_always_says_the_same_tells_nothing() -> None:
    labels, _ = crowd(items=80, skills=(0.9,), expert=0.5, seed=3)
    stubborn = pd.DataFrame(
        {"item": [f"item {i}" for i in range(80)], "labeller": "stubborn", "label": "class 1", "order": range(80)}
    )
    both = replace(
        labels,
        labels=pd.concat([labels.labels, stubborn], ignore_index=True),
        labellers=pd.concat([labels.labellers, pd.DataFrame({"labeller": ["stubborn"], "reference": [False]})]),
    )
    found = fit_labels(both, STATIC)
    matrix = found.sample("stubborn")[:, 0].mean(axis=0)
    assert (matrix[:, 1] > 0.85).all()
    alone = fit_labels(labels, STATIC)
    assert np.abs(found.probability - alone.probability).max() < 0.25
    assert np.abs(found.probability - alone.probability).mean() < 0.03


def test_without_an_expert_it_is_said() -> None:
    labels, truth = crowd(items=60, skills=(0.9, 0.8, 0.8), expert=0.0)
    found = fit_labels(labels, STATIC)
    assert any("only through the prior" in note for note in found.record.notes)
    top = found.items().sort_values("probability").groupby("item").tail(1).set_index("item")["class"]
    assert np.mean([top[item] == name for item, name in truth.items()]) > 0.85
    assert found.labellers()["expert_agreement"].isna().all()


def test_a_fallible_reference_can_be_overruled() -> None:
    rows = [(f"i{i}", f"P{j}", "x" if i % 2 else "y") for i in range(40) for j in range(4)]
    rows += [(f"i{i}", "E", "x" if i % 2 else "y") for i in range(1, 40)] + [("i0", "E", "x")]  # one slip
    labels = label_set(rows, ("E",))
    sure, doubted = fit_labels(labels, STATIC), fit_labels(labels, replace(STATIC, fallible=("E",)))
    assert sure.items().set_index(["item", "class"])["probability"][("i0", "x")] == pytest.approx(1.0)
    assert doubted.items().set_index(["item", "class"])["probability"][("i0", "y")] > 0.9
    assert "E" in doubted.people
    assert "E" not in sure.people


DEGENERATE = {
    "one label": [("a", "P", "x")],
    "one class": [("a", "P", "x"), ("b", "P", "x"), ("b", "Q", "x")],
    "only an expert": [("a", "E", "x"), ("b", "E", "y")],
    "same label twice": [("a", "P", "x", 1.0), ("a", "P", "x", 2.0), ("a", "P", "y", 2.0), ("b", "Q", "x", 2.0)],
    "ties in order": [("a", "P", "x", 1.0), ("b", "P", "y", 1.0), ("c", "P", "x", 1.0), ("a", "Q", "x", 3.0)],
}


@pytest.mark.parametrize("rows", DEGENERATE.values(), ids=DEGENERATE)
def test_degenerate_sets_give_an_answer(rows: list[tuple]) -> None:
    found = fit_labels(label_set(rows, ("E",) if "E" in rows[0] else (), "order" if len(rows[0]) > 3 else None), QUICK)
    np.testing.assert_allclose(found.items().groupby("item")["probability"].sum(), 1.0)
    for table in (found.confusion(), found.labellers(), found.prevalence(), found.next_labels(), found.agreement()):
        numbers = table.select_dtypes("number").drop(
            columns=["time", "kappa", "expert_agreement", "trend_probability", "change"], errors="ignore"
        )
        assert np.isfinite(numbers.to_numpy()).all()


def test_no_labels_is_an_error() -> None:
    with pytest.raises(CalibdashError, match="no labels"):
        fit_labels(label_set([]))


def test_trend_of_who_gets_worse() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for i in range(240):
        true = int(rng.integers(0, 2))
        right = rng.uniform() < (0.98 if i < 120 else 0.5)
        stamp = pd.Timestamp("2024-03-01", tz="UTC") + pd.Timedelta(days=i / 2)
        rows += [(f"i{i}", "P", "xy"[true if right else 1 - true], stamp), (f"i{i}", "E", "xy"[true], stamp)]
    table = fit_labels(label_set(rows, ("E",), "time"), QUICK).labellers()
    assert table["trend"].iloc[0].startswith("worse since ")
    assert table["since"].iloc[0] in ("March", "April", "May")
    assert table["trend_probability"].iloc[0] > 0.95


def test_kappa_and_alpha_of_a_known_table() -> None:
    first = ["a", "a", "a", "a", "b", "b", "b", "b", "c", "c"]
    second = ["a", "a", "a", "b", "b", "b", "b", "c", "c", "c"]
    rows = [(f"i{n}", "P", label) for n, label in enumerate(first)]
    rows += [(f"i{n}", "Q", label) for n, label in enumerate(second)]
    data = label_data(label_set(rows))
    table = pairs(data)
    expected = 0.4 * 0.3 + 0.4 * 0.4 + 0.2 * 0.3
    assert table["agreement"].iloc[0] == pytest.approx(0.8)
    assert table["kappa"].iloc[0] == pytest.approx((0.8 - expected) / (1 - expected))
    # 20 values: a 7, b 8, c 5; 2 disagreements of 10 pairs
    assert krippendorff(data) == pytest.approx(1 - 19 * 4 / (7 * 13 + 8 * 12 + 5 * 15))
