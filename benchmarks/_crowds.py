"""Small crowds of many kinds, none of them drawn from the model's prior: who labelled what, with the truth beside.

Every kind is a recipe of confusion matrices by hand (alike species, lazy and careless people, a camera), of how common
classes are, of who saw what, and of items that are hard for everybody, which the model knows nothing of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibdash.data.labels import LabelSet

EXPERT = "expert"
# how many items each of six saw of 95, and how often they were right: five naturalists and a camera
NATURALISTS = ((5, 0.95), (60, 0.93), (12, 0.95), (25, 0.84), (20, 0.80), (89, 0.70))


@dataclass(frozen=True)
class Crowd:
    """Labels of everybody, the expert's among them, and the class of every item (numbers, [I])."""

    labels: LabelSet
    truth: np.ndarray
    classes: tuple[str, ...]

    @property
    def truth_of(self) -> dict[str, str]:
        """The class of every item by name."""
        return {_id(i): self.classes[k] for i, k in enumerate(self.truth)}

    @property
    def gold(self) -> np.ndarray:
        """Items that the expert labelled and others too.   → [G] names"""
        frame = self.labels.labels
        others = set(frame.loc[frame["labeller"] != EXPERT, "item"])
        return np.array([item for item in frame.loc[frame["labeller"] == EXPERT, "item"] if item in others], object)

    def without(self, hidden: set[str]) -> LabelSet:
        """The same with the expert's labels of some items taken out."""
        frame = self.labels.labels
        shown = frame[~((frame["labeller"] == EXPERT) & frame["item"].isin(hidden))]
        return LabelSet("crowd", shown.reset_index(drop=True), self.labels.labellers)


def _id(number: int) -> str:
    return f"video {number:03d}"


def alike(rng: np.random.Generator, classes: int, right: np.ndarray, spread: float = 0.3) -> np.ndarray:
    """A matrix whose wrong answers go mostly to a class's neighbours in a random order of likeness.   right [K]"""
    place = rng.permutation(classes)
    distance = np.abs(place[:, None] - place[None, :]).astype(float)
    wrong = np.exp(-distance / spread / 2) * np.exp(0.5 * rng.standard_normal((classes, classes))) + 0.02
    np.fill_diagonal(wrong, 0.0)
    wrong /= wrong.sum(axis=1, keepdims=True)
    return np.diag(right) + (1 - right)[:, None] * wrong


def people(
    rng: np.random.Generator, classes: int, skills: list[float], shared: float = 0.7, uneven: float = 0.8
) -> np.ndarray:
    """Matrices of people who mostly share what they find alike; skill differs by class.   → [J, K, K]"""
    species = uneven * rng.standard_normal(classes)  # some species are hard for everybody
    common = np.random.default_rng(rng.integers(2**32))
    seed = common.integers(2**32)
    matrices = []
    for skill in skills:
        log_odds = np.log(skill / (1 - skill)) + species + 0.5 * rng.standard_normal(classes)
        right = 1 / (1 + np.exp(-log_odds))
        both = [alike(np.random.default_rng(seed), classes, right), alike(rng, classes, right)]
        matrices.append(shared * both[0] + (1 - shared) * both[1])
    return np.stack(matrices)


def answered(
    rng: np.random.Generator,
    truth: np.ndarray,
    matrices: np.ndarray,
    seen: np.ndarray,
    expert: float,
    hard: float = 0.0,
) -> Crowd:
    """Labels of everybody.   truth [I], matrices [J, K, K], seen [J, I] bool; expert: share of items; hard: share of
    items at which everybody errs far more often, and mostly towards the same class."""
    items, classes = len(truth), matrices.shape[1]
    names = tuple(f"species {k}" for k in range(classes))
    ids = np.array([_id(i) for i in range(items)], dtype=object)
    difficult = rng.uniform(size=items) < hard
    lure = np.array([rng.choice(classes, p=_off(matrices.mean(axis=0)[k], k)) for k in truth])
    rows = []
    for i in range(items):
        for j in np.flatnonzero(seen[:, i]):
            chance = matrices[j, truth[i]]
            if difficult[i]:
                chance = 0.5 * chance + 0.35 * np.eye(classes)[lure[i]] + 0.15 / classes
            rows.append((ids[i], f"person {j}", names[rng.choice(classes, p=chance / chance.sum())]))
    known = np.sort(rng.permutation(items)[: max(1, round(expert * items))]) if expert < 1 else np.arange(items)
    rows += [(ids[i], EXPERT, names[truth[i]]) for i in known]
    listed = pd.DataFrame({"labeller": [*(f"person {j}" for j in range(len(seen))), EXPERT]})
    listed["reference"] = listed["labeller"] == EXPERT
    frame = pd.DataFrame(rows, columns=["item", "labeller", "label"])
    return Crowd(LabelSet("crowd", frame, listed), truth, names)


def _off(row: np.ndarray, k: int) -> np.ndarray:
    wrong = np.where(np.arange(len(row)) == k, 0.0, row + 1e-9)
    return wrong / wrong.sum()


def _classes(rng: np.random.Generator, items: int, share: np.ndarray) -> np.ndarray:
    """A class for each item, every class at least three times, as a coordinator would have kept them.   → [I]"""
    truth = rng.choice(len(share), items, p=share)
    for k in range(len(share)):
        missing = 3 - int((truth == k).sum())
        if missing > 0:
            plenty = np.flatnonzero(truth == np.bincount(truth).argmax())
            truth[rng.choice(plenty, missing, replace=False)] = k
    return truth


def seen_by(rng: np.random.Generator, items: int, counts: list[int]) -> np.ndarray:
    """Who sees what, so many items each; what nobody would see is shown to the busiest.   → [J, I] bool"""
    seen = np.zeros((len(counts), items), dtype=bool)
    for j, count in enumerate(counts):
        seen[j, rng.choice(items, min(count, items), replace=False)] = True
    for i in np.flatnonzero(~seen.any(axis=0)):
        seen[int(np.argmax(counts)), i] = True
    return seen


def naturalists(rng: np.random.Generator, hard: float = 0.0, expert: float = 1.0, commonest: float = 0.5) -> Crowd:
    """Five naturalists and a camera name bumblebees: one species is half of all, some labelled five."""
    rest = rng.dirichlet(np.full(5, 1.5))
    truth = _classes(rng, 95, np.concatenate([[commonest], (1 - commonest) * rest]))
    matrices = people(rng, 6, [skill for _, skill in NATURALISTS])
    matrices[-1] = alike(rng, 6, np.clip(0.7 + 0.2 * rng.standard_normal(6), 0.2, 0.97))  # the camera errs otherwise
    return answered(rng, truth, matrices, seen_by(rng, 95, [count for count, _ in NATURALISTS]), expert, hard)


def hard_items(rng: np.random.Generator) -> Crowd:
    """The same, but a sixth of the videos is hard for everybody."""
    return naturalists(rng, hard=0.17)


def few_experts(rng: np.random.Generator) -> Crowd:
    """The same, and the expert has seen 30–80 %."""
    return naturalists(rng, hard=0.08, expert=float(rng.uniform(0.3, 0.8)), commonest=float(rng.uniform(0.2, 0.5)))


def careless(rng: np.random.Generator) -> Crowd:
    """One guesses, one always says the commonest class, others are good to middling; sizes differ."""
    classes, items = int(rng.integers(4, 8)), int(rng.integers(60, 140))
    truth = _classes(rng, items, rng.dirichlet(np.full(classes, 2.0)))
    skills = [*rng.uniform(0.6, 0.95, 4), 0.3, 0.5]
    matrices = people(rng, classes, skills)
    matrices[4] = 1.0 / classes
    matrices[5] = 0.02 / classes
    matrices[5][:, np.bincount(truth).argmax()] += 0.98
    counts = [*(int(c) for c in rng.integers(5, 60, 4)), int(items * 0.6), int(items * 0.5)]
    return answered(rng, truth, matrices, seen_by(rng, items, counts), float(rng.uniform(0.5, 1.0)))


def rare(rng: np.random.Generator) -> Crowd:
    """Eight classes, most of them rare, five people, four of them good at the common ones only."""
    classes, items = 8, 120
    truth = _classes(rng, items, 0.55 ** np.arange(classes) / np.sum(0.55 ** np.arange(classes)))
    matrices = people(rng, classes, list(rng.uniform(0.6, 0.92, 5)), uneven=1.2)
    return answered(
        rng, truth, matrices, seen_by(rng, items, [15, 40, 30, 70, 100]), float(rng.uniform(0.5, 1.0)), 0.05
    )


def many_people(rng: np.random.Generator) -> Crowd:
    """Twenty-five visitors with about eight labels each and two regulars; four classes."""
    items = 110
    truth = _classes(rng, items, rng.dirichlet(np.full(4, 3.0)))
    matrices = people(rng, 4, list(rng.beta(6, 2.5, 27).clip(0.2, 0.97)))
    counts = [*(int(c) for c in rng.integers(3, 14, 25)), 60, 45]
    return answered(rng, truth, matrices, seen_by(rng, items, counts), float(rng.uniform(0.4, 0.9)), 0.05)


def two_classes(rng: np.random.Generator) -> Crowd:
    """Yes or no, four people, one of them too eager."""
    truth = _classes(rng, 80, np.array([0.7, 0.3]))
    matrices = people(rng, 2, list(rng.uniform(0.65, 0.93, 4)))
    matrices[0] = np.array([[0.55, 0.45], [0.05, 0.95]])
    return answered(rng, truth, matrices, seen_by(rng, 80, [70, 40, 20, 8]), float(rng.uniform(0.5, 1.0)), 0.05)


KINDS: dict[str, Callable[[np.random.Generator], Crowd]] = {
    "naturalists and a camera": naturalists,
    "the same, hard videos": hard_items,
    "the same, expert on 30–80 %": few_experts,
    "careless people": careless,
    "rare classes": rare,
    "many visitors": many_people,
    "two classes": two_classes,
}
