"""The paper's experiment with labellers of changing skill, and the scores of any method on simulated labels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calibdash.data.labels import LabelSet
from calibdash.data.simulate import LabelRecipe, SimulatedLabels, simulate_labels
from calibdash.evaluation.labels_baselines import BASELINES
from calibdash.evaluation.study import Result, Task
from calibdash.models.labelling.arrays import LabelData, label_data
from calibdash.models.labelling.settings import LabelSettings

OURS: dict[str, dict[str, object]] = {
    "calibdash": {},
    "calibdash, no change": {"over.time": False},
    "calibdash, pairs as in the paper": {"form": "pairwise"},
}
ORACLE = "oracle"  # the true matrices known
METHODS = (*OURS, *BASELINES, ORACLE)
PAPER = {  # accuracy in %, summed NLPD on its one draw
    "calibdash, pairs as in the paper": (80, 53.5),
    "calibdash, no change": (77, 78.1),
    "matrix factorisation": (53, 128.1),
    "majority": (74, 81.9),
    "trust-weighted votes": (76, 81.7),
    "prior-weighted votes": (75, 92.1),
    "most common": (38, 139.5),
}


def tasks(datasets: int) -> list[Task]:
    """One task a dataset and method."""
    return [{"study": "labels", "seed": seed, "method": method} for seed in range(datasets) for method in METHODS]


def work(task: Task) -> Result:
    """Figures of one method on one dataset."""
    simulated = dataset(int(str(task["seed"])))
    return {**task, **scores(simulated, *estimate(str(task["method"]), simulated, int(str(task["seed"]))))}


def dataset(seed: int) -> SimulatedLabels:
    """300 items of three classes, labellers A, B and C, the expert on 58 %."""
    return simulate_labels(LabelRecipe(seed=seed))


def label_set(simulated: SimulatedLabels) -> LabelSet:
    """The labels as a folder would give them."""
    return LabelSet(simulated.recipe.name, simulated.labels, simulated.labellers)


def estimate(method: str, simulated: SimulatedLabels, seed: int = 0) -> tuple[LabelData, np.ndarray]:
    """The probability of each class of each item by one of :data:`METHODS`.   → [I, K]"""
    if method in OURS:
        from calibdash.models.labelling.fitting import fit_labels

        found = fit_labels(label_set(simulated), LabelSettings.from_dict(OURS[method]), seed=seed)
        return found.data, found.probability
    data = label_data(label_set(simulated))
    return data, oracle(simulated, data) if method == ORACLE else BASELINES[method](data)


def oracle(simulated: SimulatedLabels, data: LabelData) -> np.ndarray:
    """Bayes' rule with the true matrices and prevalence: the floor.   → [I, K]"""
    names = list(simulated.classes["class"])
    order = np.array([names.index(name) for name in data.classes])
    prevalence = simulated.classes["prevalence"].to_numpy()[order]
    log_weight = np.log(prevalence) + np.maximum(data.clamp, -1e9)
    people = list(simulated.labellers["labeller"])
    progress = (data.when - 1.0) / max(simulated.recipe.items - 1, 1)
    with np.errstate(divide="ignore"):
        for number, name in enumerate(data.labellers):
            mine = np.flatnonzero(data.labeller == number)
            true = simulated.confusion(people.index(name), progress[mine])[:, order][:, :, order]  # [n, K(ψ), K(y)]
            said = np.take_along_axis(true, data.label[mine][:, None, None], axis=2)[..., 0]
            np.add.at(log_weight, data.item[mine], np.maximum(np.log(said), -1e3))
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    return weight / weight.sum(axis=1, keepdims=True)


def true_classes(simulated: SimulatedLabels, data: LabelData) -> np.ndarray:
    """The number of each item's true class; −1 where nobody ever named it.   → [I]"""
    return numbers_of(data, dict(zip(simulated.items["item"], simulated.items["class"], strict=True)))


def numbers_of(data: LabelData, truth: Mapping[str, str]) -> np.ndarray:
    """The number of each item's class by its name; −1 where nobody ever named it.   → [I]"""
    number = {name: k for k, name in enumerate(data.classes)}
    return np.array([number.get(truth[item], -1) for item in data.items])


def scores(simulated: SimulatedLabels, data: LabelData, probability: np.ndarray) -> dict[str, float]:
    """Accuracy (%) and summed negative log probability of the truth, over items without an expert's label."""
    truth, test = true_classes(simulated, data), ~data.known
    given = np.where(truth[test] >= 0, probability[test, truth[test]], 0.0)
    return {
        "accuracy": 100.0 * float(np.mean(probability[test].argmax(axis=1) == truth[test])),
        "nlpd": float(-np.log(np.maximum(given, 1e-12)).sum()),
    }
