"""Simulated labels: items with a true class, and labellers who see it through changing confusion matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibdash.data.simulate.confusion import confusion, confusion_rows, random_logits
from calibdash.data.simulate.label_recipe import LabelRecipe
from calibdash.data.simulate.waves import Waves
from calibdash.errors import CalibdashError

PAPER_PREVALENCE = (0.36, 0.30, 0.34)
PAPER_SHARES = (178 / 300, 190 / 300, 0.61)  # C: 0.61 and what neither A nor B labels make 200 of 300
EXPERT = "expert"


@dataclass(frozen=True)
class SimulatedLabels:
    """Tables of simulated labels and the truth behind them.

    labels: ``item, labeller, label, order``; labellers: ``labeller, reference``; items: ``item, class, order``;
    classes: ``class, prevalence``; skills: one a labeller but the expert: log odds, or 0, 1, 2 for A, B, C.
    """

    recipe: LabelRecipe
    labels: pd.DataFrame
    labellers: pd.DataFrame
    items: pd.DataFrame
    classes: pd.DataFrame
    skills: tuple[Waves | int, ...]

    def confusion(self, labeller: int, progress: np.ndarray) -> np.ndarray:
        """True p(label | class) of the n-th labeller.   progress [T] in 0…1 → [T, K, K]"""
        return confusion(self.skills[labeller], self.recipe.classes, progress)

    def confusions(self) -> pd.DataFrame:
        """``labeller, order, class, label, probability`` at ``truth_steps`` + 1 orders."""
        progress = np.linspace(0, 1, self.recipe.truth_steps + 1)
        names = self.classes["class"].to_numpy(dtype=object)
        people = self.labellers["labeller"].to_numpy(dtype=object)
        steps, count = len(progress), len(names)
        order = np.round(1 + progress * (self.recipe.items - 1), 3)
        return pd.concat(
            [
                pd.DataFrame(
                    {
                        "labeller": people[number],
                        "order": np.repeat(order, count * count),
                        "class": np.tile(np.repeat(names, count), steps),
                        "label": np.tile(names, steps * count),
                        "probability": np.round(self.confusion(number, progress).ravel(), 5),
                    }
                )
                for number in range(self.recipe.labellers)
            ],
            ignore_index=True,
        )


def simulate_labels(
    recipe: LabelRecipe, classes: Sequence[str] | None = None, labellers: Sequence[str] | None = None
) -> SimulatedLabels:
    """The labels of a recipe; names of classes and labellers (the expert last) can be given."""
    names = _names("classes", classes, [f"class {number}" for number in range(1, recipe.classes + 1)])
    people = _names("labellers", labellers, [*(_letters(number) for number in range(recipe.labellers)), EXPERT])
    truth_rng, skill_rng, label_rng = np.random.default_rng(recipe.seed).spawn(3)
    prevalence = np.array(PAPER_PREVALENCE) if recipe.classes == 3 else truth_rng.dirichlet(np.full(recipe.classes, 10))
    true = truth_rng.choice(recipe.classes, recipe.items, p=prevalence)  # [I]
    progress = np.linspace(0, 1, recipe.items)
    skills = tuple(
        number if recipe.paper_labellers and number < 3 else random_logits(recipe, skill_rng)
        for number in range(recipe.labellers)
    )
    width = len(str(recipe.items))
    items = np.array([f"item-{number:0{width}d}" for number in range(1, recipe.items + 1)], dtype=object)
    tables = []
    for person, skill, seen in zip(people, (*skills, None), _seen(recipe, skills, label_rng), strict=True):
        said = true[seen]
        if skill is not None:
            said = _draw(label_rng, confusion_rows(skill, recipe.classes, said, progress[seen]))
        tables.append(pd.DataFrame({"item": items[seen], "labeller": person, "label": names[said], "order": seen + 1}))
    # in the order of the list, so that a row's place says nothing about its labeller
    labels = pd.concat(tables, ignore_index=True).sort_values(["order", "labeller"], ignore_index=True)
    return SimulatedLabels(
        recipe,
        labels,
        pd.DataFrame({"labeller": people, "reference": np.arange(len(people)) == recipe.labellers}),
        pd.DataFrame({"item": items, "class": names[true], "order": np.arange(1, recipe.items + 1)}),
        pd.DataFrame({"class": names, "prevalence": np.round(prevalence, 6)}),
        skills,
    )


def _seen(recipe: LabelRecipe, skills: tuple[Waves | int, ...], rng: np.random.Generator) -> list[np.ndarray]:
    """Which items each labeller, then the expert, labels; C takes those that A and B left out too."""
    shares = [PAPER_SHARES[skill] if isinstance(skill, int) else recipe.label_share for skill in skills]
    seen = rng.uniform(size=(len(skills) + 1, recipe.items)) < np.array([*shares, recipe.expert_share])[:, None]
    if len(skills) > 2 and recipe.paper_labellers:
        seen[2] |= ~(seen[0] | seen[1])
    return [np.flatnonzero(row) for row in seen]


def _draw(rng: np.random.Generator, probabilities: np.ndarray) -> np.ndarray:
    """One class a row.   probabilities [N, K] → [N]"""
    threshold = rng.uniform(size=(len(probabilities), 1))
    return (np.cumsum(probabilities, axis=1)[:, :-1] < threshold).sum(axis=1)


def _letters(number: int) -> str:
    """A … Z, AA, AB, … as columns of a spreadsheet."""
    return (_letters(number // 26 - 1) if number >= 26 else "") + chr(ord("A") + number % 26)


def _names(what: str, given: Sequence[str] | None, default: list[str]) -> np.ndarray:
    if given is not None and len(set(given)) != len(default):
        raise CalibdashError(f"{len(given)} names for {len(default)} {what}.", "Give each its own name.")
    return np.array(list(given or default), dtype=object)
