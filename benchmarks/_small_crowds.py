"""Small crowds of every kind: five folds of the expert's labels, every method on the same labels."""

from __future__ import annotations

import numpy as np

from benchmarks._crowds import KINDS, Crowd
from benchmarks._side_by_side import SideBySide
from calibdash.evaluation.labels import numbers_of
from calibdash.evaluation.labels_baselines import BASELINES
from calibdash.models.labelling.arrays import label_data

FOLDS, CHAINS, WARM, KEPT = 5, 32, 25, 12
LEAST = 1e-6  # of a probability whose logarithm counts
OURS = "calibdash"


def folds_of(crowd: Crowd, seed: int) -> dict[str, np.ndarray]:
    """Accuracy in % and NLPD of 100 held-out labels of the expert, by each method.   → [2] each"""
    gold = crowd.gold
    fold = np.random.default_rng([seed, 1]).permutation(len(gold)) % FOLDS
    bare = label_data(crowd.without(set(gold)), classes=crowd.classes)
    place = {item: number for number, item in enumerate(bare.items)}
    given = np.array([place[item] for item in gold])
    known = np.zeros((FOLDS, len(bare.items)), dtype=bool)
    for number in range(FOLDS):
        known[number, given[fold != number]] = True
    truth = numbers_of(bare, crowd.truth_of)
    found = SideBySide(bare, truth, known, chains=CHAINS, seed=seed).walk(WARM, KEPT)  # [F, I, K]
    right: dict[str, list[np.ndarray]] = {}
    chance: dict[str, list[np.ndarray]] = {}
    for number in range(FOLDS):
        hidden = gold[fold == number]
        data = label_data(crowd.without(set(hidden)), classes=crowd.classes)
        test = np.array([item in set(hidden) for item in data.items])
        expected = numbers_of(data, crowd.truth_of)[test]
        asked = given[fold == number]
        answers = [(name, method(data)[test], expected) for name, method in BASELINES.items()]
        answers.append((OURS, found[number, asked], truth[asked]))
        for name, p, true in answers:
            right.setdefault(name, []).append(p.argmax(axis=1) == true)
            chance.setdefault(name, []).append(p[np.arange(len(true)), true])
    return {
        name: np.array(
            [
                100 * np.concatenate(right[name]).mean(),
                -100 * np.log(np.maximum(np.concatenate(chance[name]), LEAST)).mean(),
            ]
        )
        for name in right
    }


def report(draws: int) -> None:
    """Print means, and by how much each method is behind with the standard error of that."""
    print(
        f"\nSmall crowds, {FOLDS} folds, {draws} draws of each: accuracy, NLPD of 100 items "
        "(behind calibdash, ± standard error)",
        flush=True,
    )
    everything: list[dict[str, np.ndarray]] = []
    for number, (kind, make) in enumerate(KINDS.items()):
        rows = [folds_of(make(np.random.default_rng([seed, number])), seed) for seed in range(draws)]
        everything += rows
        _table(kind, rows)
    _table("all kinds", everything)


def _table(kind: str, rows: list[dict[str, np.ndarray]]) -> None:
    print(kind)
    for name in sorted(rows[0], key=lambda name: np.mean([row[name][1] for row in rows])):
        mine = np.mean([row[name] for row in rows], axis=0)
        behind = np.array([row[OURS] - row[name] for row in rows])  # [n, 2]
        error = behind.std(axis=0) / np.sqrt(max(len(rows) - 1, 1))
        gap = f"({behind[:, 0].mean():+5.1f} ± {error[0]:.1f} %, {-behind[:, 1].mean():+6.1f} ± {error[1]:.1f})"
        print(f"  {name:22s} {mine[0]:5.1f} %  {mine[1]:6.1f}  {gap if name != OURS else ''}", flush=True)
