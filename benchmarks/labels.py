"""Labellers: the paper's recipe, coverage, NUTS, a small crowd against every baseline, speed, scale and what next."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks import _small_crowds, _what_next
from benchmarks._crowds import Crowd, answered, people, seen_by
from benchmarks.engine import gigabytes, measured
from calibdash.data.labels import LabelSet
from calibdash.data.simulate import LabelRecipe, simulate_labels
from calibdash.evaluation.labels import METHODS, dataset, estimate, label_set, numbers_of, scores
from calibdash.evaluation.labels_baselines import BASELINES
from calibdash.models.labelling.arrays import LabelData, label_data
from calibdash.models.labelling.design import Design, design, log_confusion
from calibdash.models.labelling.fitting import assemble, fit_data, fit_labels
from calibdash.models.labelling.posterior import LabelPosterior
from calibdash.models.labelling.settings import LabelSettings

QUICK = {"steps": 120, "draws": 256}
# classes, items, labels of each person, share of items that the expert labelled
SIZES = (
    (2, 400, (3, *[60] * 7), 0.3),
    (50, 1500, (3, 10, *[280] * 18), 0.35),
    (4, 30_000, (3, 30_000, *[200] * 8), 0.02),
)


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


def sizes(quick: bool) -> None:
    """Two and fifty classes, one of which nobody used; people with 3 labels and with thousands."""
    print("\nOther sizes: accuracy and NLPD of 100 items without an expert's label; coverage of right answers")
    two = SIZES[:1] if quick else SIZES
    for classes, items, counts, expert in two:
        rng = np.random.default_rng(classes)
        matrices = people(rng, classes, list(rng.uniform(0.5, 0.92, len(counts))))
        truth = rng.choice(classes, items, p=rng.dirichlet(np.ones(classes)))
        crowd = answered(rng, truth, matrices, seen_by(rng, items, list(counts)), expert, 0.03)
        data = label_data(crowd.labels, classes=(*crowd.classes, "never used"))
        found, wall, cpu = measured(lambda data=data: fit_data(data, LabelSettings()))
        covered_right = right_covered(found, crowd, matrices)
        print(
            f"{classes} classes, {len(data.item):,} labels by {len(counts)} people ({min(counts)} to {max(counts):,}): "
            f"{wall:.0f} s, {cpu:.0f} CPU s, {found.record.family}; coverage {covered_right:.3f}"
        )
        expected, test = numbers_of(data, crowd.truth_of), ~data.known
        answers = {"calibdash": found.probability}
        answers |= {name: method(data) for name, method in BASELINES.items() if name != "matrix factorisation"}
        for name, p in answers.items():
            share = np.mean(p[test].argmax(axis=1) == expected[test])
            nlpd = -np.log(np.maximum(p[test, expected[test]], 1e-6)).mean()
            print(f"  {name:22s} {100 * share:5.1f} %  {100 * nlpd:6.1f}", flush=True)


def right_covered(found: LabelPosterior, crowd: Crowd, matrices: np.ndarray) -> float:
    """Share of the chances of right answers that lie inside their 95 % intervals.   matrices [J, K, K]"""
    order = [found.classes.index(name) for name in crowd.classes]
    inside = []
    for number, true in enumerate(matrices):
        draws = np.einsum("skk->sk", found.sample(f"person {number}")[:, 0])[:, order]  # [S, K]
        low, high = np.quantile(draws, (0.025, 0.975), axis=0)
        inside.append((low <= np.diag(true)) & (np.diag(true) <= high))
    return float(np.mean(inside))


def main(quick: bool = False) -> None:
    """Print every table; ``quick`` takes minutes instead of an hour."""
    speed()
    paper(2 if quick else 10)
    nuts(1 if quick else 4)
    coverage(3 if quick else 20)
    if not quick:
        coverage(20, "pairwise")
    _small_crowds.report(1 if quick else 12)
    _what_next.report(1 if quick else 8)
    sizes(quick)
    scale(4000 if quick else 20_000)


if __name__ == "__main__":
    import sys

    main("--quick" in sys.argv)
