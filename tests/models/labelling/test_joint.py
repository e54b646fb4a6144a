"""The density against brute force: every class of every item, one by one, in plain loops."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import tensorflow as tf

from calibdash.models.labelling.arrays import LabelData, label_data
from calibdash.models.labelling.design import log_confusion
from calibdash.models.labelling.fitting import Problem, assemble
from calibdash.models.labelling.joint import item_log_weights
from calibdash.models.labelling.settings import LabelSettings
from calibdash.models.labelling.variational import Ascent, bound_of, dense, diagonal
from tests.models.labelling.sets import label_set

ROWS = [
    ("a", "P", "x", 0.0), ("a", "Q", "y", 1.0), ("a", "R", "x", 2.0),
    ("b", "P", "y", 3.0), ("b", "E", "z", 4.0),
    ("c", "Q", "z", 5.0), ("c", "R", "z", 6.0), ("c", "Q", "x", 7.0),
    ("d", "R", "y", 8.0),
    ("e", "P", "x", 9.0), ("e", "R", "x", 9.0), ("e", "E", "x", 9.0),
]  # fmt: skip


def data(over_time: bool) -> LabelData:
    return label_data(label_set(ROWS, ("E",), "order"), over_time=over_time)


def unknowns(problem: Problem) -> np.ndarray:
    return 0.7 * np.random.default_rng(1).standard_normal((2, problem.model.size))


def said(problem: Problem, theta: np.ndarray) -> np.ndarray:
    """log p(label | class) of every label by the NumPy path, at the centres of its cells.   → [B, N, K]"""
    model, labels = problem.model, problem.data
    shared = model.shared(theta)
    rows = []
    for who, cell, label in zip(labels.labeller, problem.grid.cell, labels.label, strict=True):
        table = log_confusion(model, shared, theta[:, model.mine(who)], who, problem.grid.progress[[cell]])
        rows.append(table[:, 0, :, label])
    return np.stack(rows, axis=1)


def log_prior(problem: Problem, theta: np.ndarray) -> np.ndarray:
    place = problem.model.places["prevalence"]
    normal = np.delete(theta, np.arange(place.start, place.stop), axis=1)
    share = theta[:, place]
    return np.sum(-0.5 * normal**2 - 0.5 * np.log(2 * np.pi), axis=1) + np.sum(share - np.exp(share), axis=1)


@pytest.mark.parametrize("over_time", [True, False])
@pytest.mark.parametrize("most", [12, 2], ids=["full", "structured"])
def test_joint_equals_enumeration(over_time: bool, most: int) -> None:
    problem = assemble(data(over_time), LabelSettings(matrix_most=most))
    theta = unknowns(problem)
    labels, terms = problem.data, said(problem, theta)
    weight = np.exp(theta[:, problem.model.places["prevalence"]])
    prevalence = weight / weight.sum(axis=1, keepdims=True)
    total = np.zeros(2)
    for classes in product(range(3), repeat=len(labels.items)):  # every way the five items can be
        possible = all(classes[i] == k for i, k in zip(labels.fixed_item, labels.fixed_label, strict=True))
        if possible:
            chance = np.prod(prevalence[:, list(classes)], axis=1)
            for n, item in enumerate(labels.item):
                chance = chance * np.exp(terms[:, n, classes[item]])
            total += chance
    expected = np.log(total) + log_prior(problem, theta)
    np.testing.assert_allclose(problem.density()(tf.constant(theta)), expected, rtol=1e-9)


@pytest.mark.parametrize("over_time", [True, False])
def test_pairwise_gives_each_pair_a_class_of_its_own(over_time: bool) -> None:
    problem = assemble(data(over_time), LabelSettings(form="pairwise"))
    theta = unknowns(problem)
    labels, terms = problem.data, said(problem, theta)
    weight = np.exp(theta[:, problem.model.places["prevalence"]])
    prevalence = weight / weight.sum(axis=1, keepdims=True)
    total = log_prior(problem, theta)
    for item in range(len(labels.items)):
        mine = np.flatnonzero(labels.item == item)
        for k, first in enumerate(mine):
            for second in mine[k + 1 :]:
                total = total + np.log(np.sum(prevalence * np.exp(terms[:, first] + terms[:, second]), axis=1))
            for known in labels.fixed_label[labels.fixed_item == item]:
                total = total + np.log(prevalence[:, known]) + terms[:, first, known]
    np.testing.assert_allclose(problem.density()(tf.constant(theta)), total, rtol=1e-9)


def test_two_times_of_a_pair_are_each_labellers_own() -> None:
    """Moving one person's label in time moves the density; a cell of another's does not."""
    settings = LabelSettings(form="pairwise")
    early = label_data(label_set([("a", "P", "x", 0.0), ("a", "Q", "x", 0.0), ("b", "P", "y", 9.0)], (), "order"))
    late = replace(early, progress=np.array([0.0, 1.0, 1.0]))
    theta = tf.constant(unknowns(assemble(early, settings)))
    densities = [assemble(part, settings).density()(theta).numpy() for part in (early, late)]
    assert not np.allclose(*densities)


def test_prevalence_is_dirichlet_one() -> None:
    """exp of the unknowns is Gamma(1): with no other label, shares of classes are uniform on the simplex."""
    draws = np.random.default_rng(0).exponential(size=(20000, 3))
    share = draws / draws.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(share.var(axis=0), 2 / 9 / 4, rtol=0.05)  # of Dirichlet(1, 1, 1)


def test_disputed_references_stay_possible() -> None:
    rows = [("a", "E", "x"), ("a", "F", "y"), ("a", "P", "y"), ("b", "E", "x"), ("b", "P", "z")]
    found = label_data(label_set(rows, ("E", "F")))
    assert any("disagree" in note for note in found.notes)
    problem = assemble(found, LabelSettings())
    weights = item_log_weights(problem.model, problem.grid, problem.evidence, tf.constant(unknowns(problem)))
    assert np.isfinite(weights.numpy()[0]).all()
    share = tf.nn.softmax(weights[1], axis=-1).numpy()  # b: both agree that it is x
    np.testing.assert_allclose(share[:, found.classes.index("x")], 1.0)


def test_bound_is_below_the_evidence_and_dense_is_above_diagonal() -> None:
    """With no label at all that tells anything, the evidence is known: the density's integral is 1."""
    found = label_data(label_set([("a", "P", "x"), ("b", "P", "x")], ()))  # one class: every label is certain
    problem = assemble(found, LabelSettings())
    heard: list[float] = []
    how = Ascent(problem.density(), problem.model.places["scales"], tf.float64, 0, lambda _, bound: heard.append(bound))
    q = diagonal(how, problem.model.start(), steps=150, rate=0.05, samples=8)
    scales = problem.model.start()[problem.model.places["scales"]]
    held = float(np.sum(-0.5 * scales**2 - 0.5 * np.log(2 * np.pi)))  # the prior of what is held
    assert bound_of(how, q, 4096) <= held + 0.02
    assert bound_of(how, q, 4096) >= held - 0.3


def test_natural_gradients_raise_the_bound() -> None:
    problem = assemble(data(False), LabelSettings())
    how = Ascent(problem.density(), problem.model.places["scales"], tf.float64, 0, lambda *_: None)
    q = diagonal(how, problem.model.start(), steps=150, rate=0.05, samples=8)
    full = dense(how, q, iterations=3)
    assert bound_of(how, full, 2048) > bound_of(how, q, 2048)
