"""Simpler ways to find the class of each item, all of one form: arrays of labels in, probabilities [I, K] out.

Items that a reference labelled are known; what the methods learn, they learn from these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from calibdash.models.labelling.arrays import LabelData

Baseline = Callable[[LabelData], np.ndarray]
LEAST = 1e-4  # the smallest probability that a method without one of its own gives
TRUST_MOST = 60  # labellers up to which weights are optimised together
SMOOTHING = (0.05, 0.2, 0.6, 1.5)  # of Dawid and Skene's matrices, to choose from
GOLD_LEAST, GOLD_MOST = 20, 5000  # known items with which it is chosen
FACTORS, EPOCHS, RATE, PENALTY = 10, 40, 0.01, 0.02


def most_common(data: LabelData) -> np.ndarray:
    """How often each class was found by references, for every item.   → [I, K]"""
    return _known(data, np.tile(_prior(data), (len(data.items), 1)))


def majority(data: LabelData) -> np.ndarray:
    """Share of votes, and a little for every class: as much as suits the known items best.   → [I, K]"""
    return _known(data, _softened(data, _votes(data, np.ones(len(data.labellers)))))


def prior_weighted(data: LabelData) -> np.ndarray:
    """Votes times how common the class is.   → [I, K]"""
    votes = _votes(data, np.ones(len(data.labellers)))
    return _known(data, _softened(data, votes, _prior(data)))


def trust_weighted(data: LabelData) -> np.ndarray:
    """Votes with a weight for each labeller, the weights that suit the known items best.   → [I, K]"""
    known, truth = _truth(data)
    count = len(data.labellers)
    if not len(known):
        return majority(data)
    hits = np.bincount(data.labeller, data.label == _class_of(data)[data.item], count)
    seen = np.bincount(data.labeller, data.known[data.item], count)
    start = (hits + 1.0) / (seen + 2.0)
    if count > TRUST_MOST:
        return _known(data, _softened(data, _votes(data, start)))

    first = np.append(np.log(start), np.log(0.2))

    def loss(unknown: np.ndarray) -> float:
        votes = _votes(data, np.exp(unknown[:-1]))[known] + np.exp(unknown[-1])
        share = votes / votes.sum(axis=1, keepdims=True)
        # with few known items, free weights go to their bounds: they are drawn to shares of right answers
        drawn = 0.5 * np.sum((unknown[:-1] - first[:-1]) ** 2)
        return float(-np.log(share[np.arange(len(known)), truth]).sum() + drawn)

    found = minimize(loss, first, method="L-BFGS-B", bounds=[(-6, 4)] * (count + 1)).x
    votes = _votes(data, np.exp(found[:-1])) + np.exp(found[-1])
    return _known(data, votes / votes.sum(axis=1, keepdims=True))


def matrix_factorisation(data: LabelData) -> np.ndarray:
    """The paper's collaborative filtering: for each class a matrix of items × people of "said so", with biases.

    The expert's column is predicted, by stochastic gradients; the classes' scores are shared out.   → [I, K]
    """
    item = np.concatenate([data.item, data.fixed_item])
    person = np.concatenate([data.labeller, np.full(len(data.fixed_item), len(data.labellers))])
    label = np.concatenate([data.label, data.fixed_label])
    said = np.eye(len(data.classes))[label]  # [N, K]
    share = np.maximum(_factorised(item, person, said, len(data.items), len(data.labellers) + 1), LEAST)
    return _known(data, share / share.sum(axis=1, keepdims=True))


def _factorised(item: np.ndarray, person: np.ndarray, said: np.ndarray, items: int, people: int) -> np.ndarray:
    """Predictions for the last person: mean + b_i + b_p + u_i·v_p, each class by itself.   said [N, K] → [I, K]"""
    rng, K = np.random.default_rng(0), said.shape[1]
    u, v = 0.1 * rng.standard_normal((items, K, FACTORS)), 0.1 * rng.standard_normal((people, K, FACTORS))
    of_item, of_person, middle = np.zeros((items, K)), np.zeros((people, K)), said.mean(axis=0)
    for _ in range(EPOCHS):
        for n in rng.permutation(len(item)):
            i, p = item[n], person[n]
            error = said[n] - (middle + of_item[i] + of_person[p] + np.sum(u[i] * v[p], axis=1))  # [K]
            of_item[i] += RATE * (error - PENALTY * of_item[i])
            of_person[p] += RATE * (error - PENALTY * of_person[p])
            step = error[:, None]
            u[i], v[p] = u[i] + RATE * (step * v[p] - PENALTY * u[i]), v[p] + RATE * (step * u[i] - PENALTY * v[p])
    return middle + of_item + of_person[-1] + np.sum(u * v[-1], axis=2)


@dataclass(frozen=True)
class DawidSkene:
    """The result of EM.   probability [I, K], confusion [J, K, K], prevalence [K], trace of the log posterior"""

    probability: np.ndarray
    confusion: np.ndarray
    prevalence: np.ndarray
    trace: tuple[float, ...]


def dawid_skene(data: LabelData) -> np.ndarray:
    """One confusion matrix a labeller by EM, the known items held; smoothed as suits known items best.   → [I, K]"""
    return dawid_skene_em(data, smoothing=_best_smoothing(data)).probability


def _best_smoothing(data: LabelData) -> float:
    """The smoothing that finds the classes of known items best, each half of them by the other."""
    known, truth = _truth(data)
    if not GOLD_LEAST <= len(known) <= GOLD_MOST:
        return SMOOTHING[1]
    half = np.random.default_rng(0).permutation(len(known)) % 2
    losses = []
    for smoothing in SMOOTHING:
        loss = 0.0
        for side in (0, 1):
            hidden, mine = known[half == side], truth[half == side]
            clamp = data.clamp.copy()
            clamp[hidden] = 0.0
            kept = ~np.isin(data.fixed_item, hidden)
            part = replace(
                data,
                clamp=clamp,
                fixed_item=data.fixed_item[kept],
                fixed_by=data.fixed_by[kept],
                fixed_label=data.fixed_label[kept],
            )
            found = dawid_skene_em(part, iterations=30, smoothing=smoothing).probability
            loss -= float(np.log(np.maximum(found[hidden, mine], 1e-12)).sum())
        losses.append(loss)
    return SMOOTHING[int(np.argmin(losses))]


def dawid_skene_em(data: LabelData, iterations: int = 200, smoothing: float = 0.2) -> DawidSkene:
    """EM for the mode under Dirichlet(1 + smoothing) priors; its log posterior never falls."""
    J, K = len(data.labellers), len(data.classes)
    clamp = np.maximum(data.clamp, -1e9)
    share = _known(data, _softened(data, _votes(data, np.ones(J))))
    trace: list[float] = []
    for _ in range(iterations):
        prevalence = share.sum(axis=0) + smoothing
        prevalence /= prevalence.sum()
        counts = np.full((J, K, K), smoothing)
        np.add.at(counts.swapaxes(1, 2), (data.labeller, data.label), share[data.item])
        confusion = counts / counts.sum(axis=2, keepdims=True)  # [J, K(ψ), K(y)]
        log_weight = np.log(prevalence) + clamp
        np.add.at(log_weight, data.item, np.log(confusion[data.labeller, :, data.label]))
        top = log_weight.max(axis=1, keepdims=True)
        weight = np.exp(log_weight - top)
        total = weight.sum(axis=1, keepdims=True)
        share = weight / total
        prior = smoothing * (np.log(prevalence).sum() + np.log(confusion).sum())
        trace.append(float(np.sum(top + np.log(total)) + prior))
        if len(trace) > 1 and trace[-1] - trace[-2] < 1e-8 * abs(trace[-1]):
            break
    return DawidSkene(share, confusion, prevalence, tuple(trace))


BASELINES: dict[str, Baseline] = {
    "majority": majority,
    "prior-weighted votes": prior_weighted,
    "trust-weighted votes": trust_weighted,
    "most common": most_common,
    "matrix factorisation": matrix_factorisation,
    "Dawid-Skene with gold": dawid_skene,
}


def _class_of(data: LabelData) -> np.ndarray:
    """The class of each known item by its references, −1 elsewhere.   → [I]"""
    return np.where(data.known, data.clamp.argmax(axis=1), -1)


def _truth(data: LabelData) -> tuple[np.ndarray, np.ndarray]:
    """Known items that others labelled too, and their classes.   → [G], [G]"""
    labelled = np.zeros(len(data.items), dtype=bool)
    labelled[data.item] = True
    known = np.flatnonzero(data.known & labelled)
    return known, _class_of(data)[known]


def _prior(data: LabelData) -> np.ndarray:
    """Shares of the classes among known items (all labels where there are none), each with one more.   → [K]"""
    label = data.fixed_label if len(data.fixed_label) else data.label
    counts = np.bincount(label, minlength=len(data.classes)) + 1.0
    return counts / counts.sum()


def _votes(data: LabelData, weight: np.ndarray) -> np.ndarray:
    """Weighted votes for each class.   weight [J] → [I, K]"""
    votes = np.zeros((len(data.items), len(data.classes)))
    np.add.at(votes, (data.item, data.label), weight[data.labeller])
    return votes


def _softened(data: LabelData, votes: np.ndarray, prior: np.ndarray | None = None) -> np.ndarray:
    """(votes + a)·prior, shared out, with the a that suits the known items best.   → [I, K]"""
    prior = np.ones(votes.shape[1]) if prior is None else prior
    known, truth = _truth(data)

    def share(log_a: float) -> np.ndarray:
        soft = (votes + np.exp(log_a)) * prior
        return soft / soft.sum(axis=1, keepdims=True)

    if not len(known):
        return share(np.log(0.2))
    found = minimize_scalar(
        lambda log_a: -np.log(share(log_a)[known, truth]).mean(), bounds=(-5.0, 3.0), method="bounded"
    )
    return share(float(found.x))


def _known(data: LabelData, probability: np.ndarray) -> np.ndarray:
    """The same, with known items certain."""
    certain = np.exp(data.clamp)
    return np.where(data.known[:, None], certain / certain.sum(axis=1, keepdims=True), probability)
