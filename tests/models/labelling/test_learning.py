"""Over what time people change, found from labels that are hidden."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibdash.data.labels import LabelSet
from calibdash.models.labelling.arrays import label_data
from calibdash.models.labelling.fitting import fit_data
from calibdash.models.labelling.learning import FACTORS, learn_labels, log_chances, surely_better, without
from calibdash.models.labelling.settings import LabelSettings
from calibdash.models.progress import Progress
from tests.models.labelling.sets import label_set

QUICK = LabelSettings(steps=50, samples=2, draws=64)


def turning(turns: int, items: int = 120) -> LabelSet:
    """Two classes; a person who calls them right and wrong in turn, and an expert on everything."""
    truth = np.random.default_rng(turns).integers(0, 2, items)
    rows = []
    for i in range(items):
        swapped = turns > 0 and (i * (turns + 1) // items) % 2 == 1
        rows += [(f"i{i}", "P", "xy"[truth[i] ^ swapped], float(i)), (f"i{i}", "E", "xy"[truth[i]], float(i))]
    return label_set(rows, ("E",), "order")


def test_who_turns_often_has_a_shorter_time() -> None:
    heard: list[Progress] = []
    found = learn_labels(turning(6), QUICK, progress=heard.append)
    assert found.lengthscale < QUICK.lengthscale
    assert [report.iteration for report in heard] == [*range(1, len(FACTORS) + 1)]


def test_without_time_there_is_nothing_to_learn() -> None:
    assert learn_labels(turning(6), replace(QUICK, over_time=False)) == replace(QUICK, over_time=False)


def test_what_is_set_stays_unless_another_is_surely_better() -> None:
    rng = np.random.default_rng(0)
    usual = rng.normal(-1.0, 0.5, 200)
    noise, clear = usual + rng.normal(0.0, 0.5, 200), usual + 0.2
    near = np.zeros(3)
    assert surely_better(np.stack([usual, noise, noise - 0.1]), near) == 0
    assert surely_better(np.stack([usual, noise, clear]), near) == 2
    assert surely_better(np.stack([usual, usual, usual]), near) == 0
    assert surely_better(np.stack([usual, clear, clear]), np.array([0.0, 9.0, 0.5])) == 2  # the nearer of two as good


def test_hidden_labels_are_predicted_as_the_draws_say() -> None:
    """Items the expert knows: the chance of a label is the mean entry of the person's matrix."""
    data = label_data(turning(0, 20))
    hidden = np.arange(len(data.item)) < 3
    found = fit_data(without(data, hidden), QUICK)
    number = {name: k for k, name in enumerate(found.classes)}
    truth = {data.items[i]: data.classes[k] for i, k in zip(data.fixed_item, data.fixed_label, strict=True)}
    for n, log_chance in enumerate(log_chances(found, data, hidden)):
        matrix = found.sample("P", [data.when[n]])[:, 0].mean(axis=0)  # [K, K]
        true, said = number[truth[data.items[data.item[n]]]], number[data.classes[data.label[n]]]
        np.testing.assert_allclose(np.exp(log_chance), matrix[true, said], rtol=1e-6)
