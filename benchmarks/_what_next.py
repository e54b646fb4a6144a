"""How many labels of an expert the "next" list saves, counted as a coordinator would.

A crowd has labelled 150 items. The expert can be asked about the *pool*, 60 % of them; the rest stands for all that the
expert will never see. Once the whole pool is labelled, accuracy has its *final* value: on the catalogue (all items, the
pool's are right then) and on the unseen items (through what is then known of the people). Counted is how many labels
of the expert it takes to 95 % of the final accuracy, the first six at random, then six at a time. The list is made
anew after each six. Between two batches the count is interpolated.

The catalogue is what a coordinator publishes, so its count is the one that matters; an item that the expert labelled
counts as right there, because it is. The unseen items show what remains when the expert's own items are left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks._crowds import Crowd, answered, people
from benchmarks._side_by_side import SideBySide
from calibdash.evaluation.labels import numbers_of
from calibdash.models.labelling.arrays import label_data

ITEMS, POOL, FIRST, BATCH, ENOUGH = 150, 0.6, 6, 6, 0.95
WAYS = ("next list", "least certain first", "random", "random again")
CHAINS, WARM, AGAIN, KEPT = 24, 25, 10, 8


def middling(rng: np.random.Generator) -> Crowd:
    """Five people of middling skill, four classes, mistakes in common."""
    truth = rng.choice(4, ITEMS, p=rng.dirichlet(np.full(4, 4.0)))
    matrices = people(rng, 4, list(rng.uniform(0.45, 0.85, 5)), shared=0.6)
    return answered(rng, truth, matrices, rng.uniform(size=(5, ITEMS)) < 0.45, 1.0)


def careless(rng: np.random.Generator) -> Crowd:
    """Six people, one of whom guesses and one always says the same; five classes."""
    truth = rng.choice(5, ITEMS, p=rng.dirichlet(np.full(5, 3.0)))
    matrices = people(rng, 5, [0.85, 0.7, 0.6, 0.5, 0.5, 0.8])
    matrices[3] = 0.2
    matrices[4] = 0.004
    matrices[4][:, 0] += 0.98
    return answered(rng, truth, matrices, rng.uniform(size=(6, ITEMS)) < 0.4, 1.0)


def swapped(rng: np.random.Generator) -> Crowd:
    """Two of four people take two of four classes for each other, wholly."""
    truth = rng.choice(4, ITEMS, p=rng.dirichlet(np.full(4, 4.0)))
    matrices = people(rng, 4, [0.85, 0.75, 0.8, 0.7])
    for j in (1, 3):
        matrices[j] = matrices[j][:, [1, 0, 2, 3]]
    return answered(rng, truth, matrices, rng.uniform(size=(4, ITEMS)) < 0.5, 1.0)


KINDS: dict[str, Callable[[np.random.Generator], Crowd]] = {
    "middling people": middling,
    "careless people": careless,
    "two classes swapped": swapped,
}


def needed(crowd: Crowd, seed: int) -> dict[str, np.ndarray]:
    """Labels of the expert by each way, and the final accuracies.   → {way: [catalogue, unseen]}"""
    rng = np.random.default_rng([seed, 9])
    everything = set(crowd.labels.labels["item"])
    data = label_data(crowd.without(everything), classes=crowd.classes)
    truth = numbers_of(data, crowd.truth_of)
    order = rng.permutation(len(data.items))
    pool = np.zeros(len(order), dtype=bool)
    pool[order[: round(POOL * len(order))]] = True
    known = np.zeros((len(WAYS) + 1, len(order)), dtype=bool)
    known[:, order[:FIRST]] = True
    known[-1] = pool
    side = SideBySide(data, truth, known, chains=CHAINS, seed=seed)
    counts, reached = [], []
    while True:
        right = side.walk(AGAIN if counts else WARM, KEPT).argmax(axis=2) == truth  # [G, I]
        counts.append(int(side.known[0].sum()))
        reached.append(np.stack([right.mean(axis=1), right[:, ~pool].mean(axis=1)], axis=1))  # [G, 2]
        if counts[-1] + BATCH > pool.sum():
            break
        known = side.known.copy()
        for group, way in enumerate(WAYS):
            known[group, _chosen(side, group, way, pool, rng)] = True
        side.learn(known)
    curves = np.stack(reached)  # [T, G, 2]
    final = curves[:, -1].mean(axis=0)  # [2]
    found = {way: _count(np.array(counts), curves[:, group], final) for group, way in enumerate(WAYS)}
    return {**found, "final": final, "first": curves[0, : len(WAYS)].mean(axis=0)}


def _chosen(side: SideBySide, group: int, way: str, pool: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The next items to ask about.   → [BATCH]"""
    open_items = np.flatnonzero(pool & ~side.known[group])
    if way.startswith("random"):
        return rng.permutation(open_items)[:BATCH]
    if way == "next list":
        table = side.posterior(group).next_labels(10_000)
        number = {name: n for n, name in enumerate(side.data.items)}
        asked = [number[item] for item in table.loc[table["expert"], "item"]]
        return np.array([item for item in asked if pool[item]][:BATCH])
    p = side.probability[group, open_items]
    return open_items[np.argsort(p.max(axis=1), kind="stable")[:BATCH]]


def _count(counts: np.ndarray, curve: np.ndarray, final: np.ndarray) -> np.ndarray:
    """How many labels until each accuracy is enough; all of the pool where never.   counts [T], curve [T, 2] → [2]"""
    found = []
    for column in range(2):
        short = ENOUGH * final[column] - curve[:, column]  # [T]
        if short[0] <= 0:
            found.append(float(counts[0]))
            continue
        after = np.flatnonzero(short <= 0)
        if not len(after):
            found.append(float(counts[-1]))
            continue
        k = int(after[0])
        found.append(float(counts[k - 1] + (counts[k] - counts[k - 1]) * short[k - 1] / (short[k - 1] - short[k])))
    return np.array(found)


def report(draws: int) -> None:
    """Print counts and savings by kind of crowd and in all."""
    print(
        f"\nLabels of an expert to {ENOUGH:.0%} of the final accuracy, {draws} draws of each crowd "
        "(reach: 25 % fewer by the list)\ncrowd                  accuracy: first, final   "
        "list   least certain   random   fewer than random",
        flush=True,
    )
    whole = []
    for kind, make in KINDS.items():
        rows = [needed(make(np.random.default_rng([seed, 5])), seed) for seed in range(draws)]
        whole += rows
        _line(kind, rows)
    _line("all", whole)


def _line(name: str, rows: list[dict[str, np.ndarray]]) -> None:
    for column, what in enumerate(("catalogue", "unseen")):
        ours, least, one, other = (np.array([row[way][column] for row in rows]) for way in WAYS)
        chance = (one + other) / 2
        first, final = (100 * np.mean([row[key][column] for row in rows]) for key in ("first", "final"))
        saved = 1 - ours.mean() / chance.mean()
        error = np.std(ours - chance * ours.mean() / chance.mean()) / np.sqrt(len(rows)) / chance.mean()
        print(
            f"{name:20s}  {what:9s} {first:5.1f} % {final:5.1f} %   {ours.mean():5.1f}  {least.mean():5.1f}  "
            f"{chance.mean():5.1f}   {100 * saved:3.0f} ± {100 * error:.0f} %",
            flush=True,
        )
