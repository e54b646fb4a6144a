"""Doubt that answers remove, against Bayes' rule over draws, one answer at a time."""

from __future__ import annotations

import numpy as np

from calibdash.models.labelling.doubt import asked

DRAWS = 6000


def class_draws(skills: np.ndarray, of_item: list[int]) -> np.ndarray:
    """Two classes; the first is as likely as the person is able who labelled the item.   skills [S, J] → [S, C, 2]"""
    right = skills[:, of_item]
    return np.stack([right, 1 - right], axis=2)


def removed_by_bayes(classes: np.ndarray, item: int) -> float:
    """Doubt before less doubt after, over both answers, each weighing the draws anew."""
    before = np.sum(1 - np.sum(classes.mean(axis=0) ** 2, axis=1))
    after = 0.0
    for answer in range(classes.shape[2]):
        weight = classes[:, item, answer] / classes[:, item, answer].sum()  # [S]
        mean = np.einsum("s,sck->ck", weight, classes)
        doubt = 1 - np.sum(mean**2, axis=1)
        doubt[item] = 0.0
        after += classes[:, item, answer].mean() * doubt.sum()
    return float(before - after)


def test_first_answer_removes_what_bayes_says() -> None:
    rng = np.random.default_rng(0)
    classes = class_draws(rng.beta([2.0, 20.0, 3.0], [2.0, 10.0, 1.0], (DRAWS, 3)), [0, 0, 0, 1, 1, 2])
    order, doubt = asked(classes, np.zeros(6))
    expected = [removed_by_bayes(classes, item) for item in range(6)]
    assert order[0] == int(np.argmax(expected))
    np.testing.assert_allclose(doubt[0], max(expected), rtol=0.01)


def test_it_does_not_ask_for_the_same_thing_again() -> None:
    """Two people, five items each, who may be very good or know nothing: one item of each comes first."""
    rng = np.random.default_rng(1)
    skills = np.where(rng.uniform(size=(DRAWS, 2)) < 0.5, 0.99, 0.2)
    order, doubt = asked(class_draws(skills, [0] * 5 + [1] * 5), np.zeros(10))
    assert {int(order[0]) // 5, int(order[1]) // 5} == {0, 1}
    assert sorted(order) == list(range(10))
    assert (np.diff(doubt) <= 1e-6).all()


def test_what_else_speaks_for_an_item_counts() -> None:
    classes = np.full((50, 4, 2), 0.5)
    order, doubt = asked(classes, np.array([0.0, 0.0, 0.3, 0.0]))
    assert order[0] == 2
    np.testing.assert_allclose(doubt, 0.5)
