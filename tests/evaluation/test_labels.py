"""Baselines of labelling: laws, and the paper's study."""

from __future__ import annotations

import numpy as np
import pytest

from calibdash.evaluation.labels import ORACLE, dataset, estimate, label_set, scores, tasks
from calibdash.evaluation.labels_baselines import BASELINES, dawid_skene_em
from calibdash.evaluation.reproduce import labels_table
from calibdash.models.labelling.arrays import label_data
from tests.models.labelling.sets import crowd


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_give_probabilities(name: str) -> None:
    data = label_data(crowd(items=40)[0])
    p = BASELINES[name](data)
    assert p.shape == (40, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p >= 0).all()
    np.testing.assert_allclose(p[data.known].max(axis=1), 1.0)


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_work_without_an_expert(name: str) -> None:
    p = BASELINES[name](label_data(crowd(items=20, expert=0.0)[0]))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_dawid_skene_never_falls_and_finds_the_confusion() -> None:
    data = label_data(crowd(items=600, skills=(0.9, 0.5), expert=0.3)[0])
    found = dawid_skene_em(data)
    assert np.all(np.diff(found.trace) > -1e-6)
    right = np.einsum("jkk->jk", found.confusion).mean(axis=1)
    np.testing.assert_allclose(right, (0.9 + 0.1 / 3, 0.5 + 0.5 / 3), atol=0.06)


def test_oracle_beats_the_baselines_on_the_papers_recipe() -> None:
    simulated = dataset(0)
    best = scores(simulated, *estimate(ORACLE, simulated))
    for name, method in BASELINES.items():
        data = label_data(label_set(simulated))
        assert scores(simulated, data, method(data))["nlpd"] > best["nlpd"] + 10, name


def test_table_has_a_row_a_method() -> None:
    results = [{**task, "accuracy": 80.0 + int(str(task["seed"])), "nlpd": 50.0} for task in tasks(2)]
    table = labels_table(results)
    assert table.rows[0][:1] == ["calibdash"]
    assert table.rows[0][3].startswith("80.5")
