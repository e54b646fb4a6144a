"""Confusion matrices that change over the order of items: P[t, ψ, y] = p(label y | class ψ)."""

from __future__ import annotations

import numpy as np

from calibdash.data.simulate.label_recipe import LabelRecipe
from calibdash.data.simulate.waves import Waves, gp_draws


def paper_confusion(which: int, classes: int, progress: np.ndarray) -> np.ndarray:
    """Labeller A, B or C (0, 1, 2) of the paper.   progress [T] in 0…1 → [T, K, K]

    A: perfect for half of the items, then to (almost) chance. B: from chance to perfect in the first half,
    then perfect. C: cannot tell the first two classes apart, by half way the first and the last, and by the
    end (almost) any. As in the paper's experiment the *weights* of labels move linearly between these, and
    each row is then divided by its sum.
    """
    perfect, chance = np.eye(classes), np.ones((classes, classes))
    almost_chance = chance + 0.1 * perfect
    start, middle, end = (
        (perfect, perfect, almost_chance),
        (chance, perfect, perfect),
        (_confused(classes, 0, 1), _confused(classes, 0, classes - 1), almost_chance),
    )[which]
    first_half = np.clip(2 * progress, 0, 1)[:, None, None]
    second_half = np.clip(2 * progress - 1, 0, 1)[:, None, None]
    weights = start + first_half * (middle - start) + second_half * (end - middle)
    return weights / weights.sum(axis=-1, keepdims=True)


def _confused(classes: int, one: int, other: int) -> np.ndarray:
    """Weights of one who is perfect, but for two classes that look the same.   → [K, K]"""
    weights = np.eye(classes)
    weights[np.ix_([one, other], [one, other])] = 1.0
    return weights


def random_logits(recipe: LabelRecipe, rng: np.random.Generator) -> Waves:
    """Log odds of one labeller's K·K entries over progress 0…1: skill on the diagonal and an EQ GP on each."""
    entries = recipe.classes**2
    draws = gp_draws(rng, "eq", np.full(entries, recipe.drift), np.full(entries, recipe.drift_share))
    skill = recipe.skill + recipe.skill_sd * rng.standard_normal()
    return Waves(skill * np.eye(recipe.classes).ravel(), draws.trend, draws.amplitude, draws.frequency, draws.phase)


def confusion_rows(skill: Waves | int, classes: int, true: np.ndarray, progress: np.ndarray) -> np.ndarray:
    """p(label | class) for a class each; skill: log odds, or 0, 1, 2 for A, B, C.   true [N], progress [N] → [N, K]"""
    if isinstance(skill, int):
        return paper_confusion(skill, classes, progress)[np.arange(len(true)), true]
    entry = (true[:, None] * classes + np.arange(classes)).ravel()
    logits = skill.at(entry, np.repeat(progress, classes)).reshape(-1, classes)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def confusion(skill: Waves | int, classes: int, progress: np.ndarray) -> np.ndarray:
    """All of p(label | class).   progress [T] → [T, K, K]"""
    true = np.tile(np.arange(classes), len(progress))
    return confusion_rows(skill, classes, true, np.repeat(progress, classes)).reshape(-1, classes, classes)
