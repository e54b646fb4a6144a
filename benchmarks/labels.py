"""Labellers: the paper's recipe, coverage, NUTS, a small crowd against every baseline, speed, scale and what next."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks.engine import gigabytes, measured
from calibdash.data.labels import LabelSet
from calibdash.data.simulate import LabelRecipe, SimulatedLabels, simulate_labels
from calibdash.evaluation.labels import METHODS, dataset, estimate, label_set, scores, true_classes
from calibdash.evaluation.labels_baselines import BASELINES
from calibdash.models.labelling.arrays import LabelData, label_data
from calibdash.models.labelling.design import Design, design, log_confusion
from calibdash.models.labelling.fitting import assemble, fit_data, fit_labels
from calibdash.models.labelling.posterior import LabelPosterior
from calibdash.models.labelling.settings import LabelSettings

QUICK = {"steps": 120, "draws": 256}
# how many items each of six people saw of 95, and how often they were right: five naturalists and a camera
CROWD = ((5, 0.97), (60, 0.93), (12, 0.97), (25, 0.84), (20, 0.8), (89, 0.7))


def paper(datasets: int) -> None:
    """The paper's table."""
    print(
        f"\nPaper's recipe, {datasets} draws (reach 81.5 %, 47.5)\nmethod                              accuracy   NLPD"
    )
    for method in METHODS:
        rows = []
        for seed in range(datasets):
            simulated = dataset(seed)
            rows.append(list(scores(simulated, *estimate(method, simulated, seed)).values()))
        accuracy, nlpd = np.mean(rows, axis=0)
        print(f"{method:35s} {accuracy:6.1f} %  {nlpd:6.1f}", flush=True)


def from_prior(
    seed: int, labellers: int, items: int = 200, classes: int = 3, seen: float = 0.6, expert: float = 0.3
) -> tuple[LabelSet, np.ndarray, np.ndarray, tuple[str, ...]]:
    """Labels whose unknowns are drawn from the prior of the static model.   → labels, P [J, K, K], class [I], names"""
    rng = np.random.default_rng(seed)
    names = tuple(f"c{k}" for k in range(classes))
    empty = pd.DataFrame({"item": ["x"] * classes, "labeller": ["L0"] * classes, "label": list(names)})
    people = [f"L{j}" for j in range(labellers)]
    listed = pd.DataFrame({"labeller": [*people, "expert"], "reference": [False] * labellers + [True]})
    model = design(label_data(LabelSet("prior", empty, listed)), LabelSettings())
    theta = rng.standard_normal((1, model.size))
    theta[:, model.places["prevalence"]] = np.log(rng.exponential(size=(1, classes)))
    P, prevalence = confusions(model, theta)
    truth = rng.choice(classes, items, p=prevalence)
    rows = []
    for j, person in enumerate(people):
        mine = np.flatnonzero(rng.uniform(size=items) < seen)
        rows += [(f"i{i:04d}", person, names[rng.choice(classes, p=P[j, truth[i]])]) for i in mine]
    rows += [(f"i{i:04d}", "expert", names[truth[i]]) for i in np.flatnonzero(rng.uniform(size=items) < expert)]
    frame = pd.DataFrame(rows, columns=["item", "labeller", "label"])
    return LabelSet("prior", frame, listed), P, truth, names


def confusions(model: Design, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Matrices and prevalence of one draw.   theta [1, D] → [J, K, K], [K]"""
    shared = model.shared(theta)
    P = [
        np.exp(log_confusion(model, shared, theta[:, model.mine(j)], j, np.zeros(1)))[0, 0]
        for j in range(model.labellers)
    ]
    weight = np.exp(shared["prevalence"][0])
    return np.stack(P), weight / weight.sum()


def coverage(datasets: int, form: str = "joint") -> None:
    """Of the 95 % intervals of confusion entries, static, truth from the prior."""
    print(f"\nCoverage of 95 % intervals of confusion entries, {form}, {datasets} draws of the prior (reach 0.92–0.97)")
    for labellers in (3, 6, 10):
        shares = []
        for seed in range(datasets):
            labels, P, _, names = from_prior(1000 + seed, labellers)
            found = fit_labels(
                labels, LabelSettings(classes=names).with_values({"form": form, "steps": 150}), seed=seed
            )
            shares.append(covered(found, P, names))
        error = np.std(shares) / np.sqrt(len(shares))
        print(f"{labellers:2d} labellers  {np.mean(shares):.3f} ± {error:.3f}", flush=True)


def covered(found: LabelPosterior, P: np.ndarray, names: tuple[str, ...]) -> float:
    """Share of true entries inside their intervals.   P [J, K, K] of L0, L1, …, classes in the order of names"""
    order = [names.index(name) for name in found.classes]
    inside = []
    for j in range(len(P)):
        low, high = np.quantile(found.sample(f"L{j}")[:, 0], (0.025, 0.975), axis=0)
        true = P[j][order][:, order]
        inside.append((low <= true) & (true <= high))
    return float(np.mean(inside))


def nuts(datasets: int) -> None:
    """Item probabilities against a long NUTS run on the same density."""
    print("\nAgainst NUTS on the same model: mean absolute difference of item probabilities (reach 0.02)")
    for seed in range(datasets):
        labels, _, _, names = from_prior(seed, 3, items=60, expert=0.2)
        settings = LabelSettings(classes=names)
        data = label_data(labels, classes=names)
        found = fit_data(data, settings, seed=seed)
        exact = nuts_items(data, settings, seed)
        print(f"seed {seed}: {np.mean(np.abs(found.probability - exact)):.4f}", flush=True)


def nuts_items(data: LabelData, settings: LabelSettings, seed: int, chains: int = 8, kept: int = 400) -> np.ndarray:
    """E p(class | labels) by the No-U-Turn Sampler.   → [I, K]"""
    import tensorflow as tf
    import tensorflow_probability as tfp

    from calibdash.models.labelling.fitting import _item_probability

    problem = assemble(data, settings)
    density = problem.density()
    start = np.random.default_rng(seed).normal(problem.model.start(), 0.3, (chains, problem.model.size))

    @tf.function
    def run() -> tf.Tensor:
        kernel = tfp.mcmc.NoUTurnSampler(density, step_size=tf.constant(0.2, tf.float64), max_tree_depth=8)
        kernel = tfp.mcmc.DualAveragingStepSizeAdaptation(
            kernel,
            300,
            step_size_setter_fn=lambda results, size: results._replace(step_size=size),
            step_size_getter_fn=lambda results: results.step_size,
            log_accept_prob_getter_fn=lambda results: results.log_accept_ratio,
        )
        return tfp.mcmc.sample_chain(
            kept, tf.constant(start), kernel=kernel, num_burnin_steps=400, trace_fn=None, seed=[seed, 1]
        )

    draws = run().numpy().reshape(-1, problem.model.size)
    return _item_probability(problem.model, problem.grid, problem.evidence, draws, True)


def crowd(seed: int, classes: int = 6, items: int = 95) -> SimulatedLabels:
    """A small crowd: six people of very different diligence, who take alike species for each other."""
    rng = np.random.default_rng(seed)
    base = simulate_labels(LabelRecipe(seed=seed, items=items, classes=classes, labellers=1, expert_share=1.0))
    prevalence = rng.dirichlet(np.full(classes, 1.5))
    truth = rng.choice(classes, items, p=prevalence)
    alike = rng.dirichlet(np.full(classes, 0.6), classes)
    np.fill_diagonal(alike, 0.0)
    alike /= alike.sum(axis=1, keepdims=True)
    names, ids = base.classes["class"].to_numpy(dtype=object), base.items["item"].to_numpy(dtype=object)
    rows = []
    for j, (count, skill) in enumerate(CROWD):
        right = np.clip(skill + 0.1 * rng.standard_normal(classes), 0.3, 0.99)
        for i in rng.choice(items, count, replace=False):
            other = rng.choice(classes, p=0.7 * alike[truth[i]] + 0.3 / classes)
            said = truth[i] if rng.uniform() < right[truth[i]] else other
            rows.append((ids[i], f"P{j}", names[said]))
    rows += [(ids[i], "expert", names[truth[i]]) for i in range(items)]
    labellers = pd.DataFrame({"labeller": [*(f"P{j}" for j in range(6)), "expert"], "reference": [False] * 6 + [True]})
    table = pd.DataFrame(rows, columns=["item", "labeller", "label"])
    return replace(
        base, labels=table, labellers=labellers, items=base.items.assign(**{"class": names[truth]}), skills=(0,) * 6
    )


def small_crowd(datasets: int) -> None:
    """Five folds of the expert's labels, every method."""
    print(f"\nA small crowd (6 labellers, 6 classes, 95 items), five folds, {datasets} draws")
    rows: dict[str, list[list[float]]] = {}
    for seed in range(datasets):
        simulated = crowd(seed)
        items = simulated.items["item"].to_numpy(dtype=object)
        fold = np.random.default_rng(seed).permutation(len(items)) % 5
        total: dict[str, np.ndarray] = {}
        for number in range(5):
            hidden = set(items[fold == number])
            labels = simulated.labels
            shown = labels[~((labels["labeller"] == "expert") & labels["item"].isin(hidden))]
            part = replace(simulated, labels=shown.reset_index(drop=True))
            data = label_data(label_set(part), classes=simulated.classes["class"])
            given = {name: method(data) for name, method in BASELINES.items()}
            given["calibdash"] = fit_data(data, LabelSettings(steps=150, draws=512), seed=seed).probability
            truth, test = true_classes(simulated, data), ~data.known
            for name, p in given.items():
                right = np.sum(p[test].argmax(axis=1) == truth[test])
                nlpd = -np.log(np.maximum(p[test, truth[test]], 1e-6)).sum()
                total[name] = total.get(name, np.zeros(3)) + np.array([right, nlpd, test.sum()])
        for name, (right, nlpd, count) in total.items():
            rows.setdefault(name, []).append([100 * right / count, nlpd])
    for name, values in sorted(rows.items(), key=lambda pair: np.mean(pair[1], axis=0)[1]):
        accuracy, nlpd = np.mean(values, axis=0)
        print(f"{name:25s} {accuracy:5.1f} %  {nlpd:6.1f}", flush=True)


def speed() -> None:
    """CPU seconds of a small fit."""
    print("\nTime and memory")
    simulated = dataset(0)
    fit_labels(label_set(simulated), LabelSettings.from_dict(QUICK))
    _, wall, cpu = measured(lambda: fit_labels(label_set(simulated)))
    print(f"300 items, 3 labellers: {wall:.1f} s, {cpu:.1f} CPU s (reach 20)", flush=True)


def scale(items: int) -> None:
    """Many labels of many people."""
    recipe = LabelRecipe(
        seed=1, items=items, classes=10, labellers=500, paper_labellers=False, label_share=0.01, expert_share=0.05
    )
    simulated = simulate_labels(recipe)
    found, wall, cpu = measured(lambda: fit_labels(label_set(simulated)))
    result = scores(simulated, found.data, found.probability)
    print(
        f"{len(simulated.labels):,} labels, 500 labellers, 10 classes: {wall:.0f} s, {cpu:.0f} CPU s, "
        f"{gigabytes():.1f} GB (reach 600 s, 6 GB); accuracy {result['accuracy']:.1f} %",
        flush=True,
    )


def what_next(datasets: int) -> None:
    """Expert labels needed for 95 % of the accuracy with all of them, by the list and at random."""
    print("\nExpert labels to 95 % of the final accuracy (reach: 25 % fewer by the list)")
    needed: dict[str, list[int]] = {"next list": [], "random": []}
    for seed in range(datasets):
        recipe = LabelRecipe(seed=seed, items=150, classes=4, labellers=5, paper_labellers=False, label_share=0.4)
        whole = simulate_labels(replace(recipe, expert_share=1.0, skill=1.5))
        for way, counts in needed.items():
            counts.append(labels_needed(whole, way, seed))
        print(f"seed {seed}: {needed['next list'][-1]} against {needed['random'][-1]} at random", flush=True)
    ours, random = (float(np.mean(counts)) for counts in needed.values())
    print(f"mean {ours:.0f} against {random:.0f}: {100 * (1 - ours / random):.0f} % fewer", flush=True)


def labels_needed(whole: SimulatedLabels, way: str, seed: int, batch: int = 6, first: int = 12) -> int:
    """How many items the expert labels, first some at random, until 95 % of all items are right."""
    rng = np.random.default_rng([seed, 9])
    items = whole.items["item"].to_numpy(dtype=object)
    known = list(rng.permutation(items)[:first])
    while len(known) < len(items):
        labels = whole.labels
        shown = labels[(labels["labeller"] != "expert") | labels["item"].isin(known)]
        listed = LabelSet("next", shown.reset_index(drop=True), whole.labellers)
        found = fit_labels(
            listed, LabelSettings.from_dict(QUICK | {"classes": list(whole.classes["class"])}), seed=seed
        )
        truth = true_classes(whole, found.data)
        right = np.sum(found.probability.argmax(axis=1) == truth)
        if right >= 0.95 * len(items):
            break
        left = [item for item in items if item not in set(known)]
        if way == "random":
            known += list(rng.permutation(np.array(left, dtype=object))[:batch])
        else:
            asked = found.next_labels(10_000)
            known += list(asked.loc[asked["expert"], "item"].head(batch))
    return len(known)


def main(quick: bool = False) -> None:
    """Print every table; ``quick`` takes minutes instead of an hour."""
    speed()
    paper(2 if quick else 10)
    nuts(1 if quick else 4)
    coverage(3 if quick else 20)
    if not quick:
        coverage(20, "pairwise")
    small_crowd(1 if quick else 6)
    what_next(1 if quick else 8)
    scale(4000 if quick else 20_000)


if __name__ == "__main__":
    import sys

    main("--quick" in sys.argv)
