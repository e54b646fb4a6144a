"""What to label next: which item to show to whom, by what is learned for the cost.

Gains are in nats. A label teaches about its item: the information between the label and the item's class. And it
teaches about people: half −log(1 − R) for each, R the share of the variance of their skill that the answer is expected
to explain. An expert's label tells the class, and so who of those who labelled the item was right; another's label on
an item whose class is known tells how good that person is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from calibdash.models.labelling.design import log_confusion

if TYPE_CHECKING:
    from calibdash.models.labelling.posterior import LabelPosterior

DRAWS = 200
CANDIDATES = 400  # items looked at, the least certain ones and some that are known
NUMBERS_MOST = 40_000_000  # of an array
KNOWN_SHARE = 0.15  # of the candidates: items whose class is known, as tests of people
EXPLAINED_MOST = 0.95
FLOOR = 1e-12
COLUMNS = [
    "rank", "item", "labeller", "expert", "gain", "item_gain", "labeller_gain", "cost", "gain_per_cost",
]  # fmt: skip


def table(posterior: LabelPosterior, *, most: int, experts: bool) -> pd.DataFrame:
    """The best labels to ask for, at most one of an expert and one of another person an item."""
    data, settings = posterior.data, posterior.settings
    chosen = _candidates(posterior)
    if not len(chosen):
        return pd.DataFrame(columns=COLUMNS)
    p = posterior.probability[chosen]  # [C, K]
    classes = _class_draws(posterior, chosen)  # [S, C, K]
    rows = []
    if experts and data.references:
        unknown = ~data.known[chosen]
        item_gain = _entropy(p) * unknown
        labeller_gain = _expert_teaches(posterior, chosen, classes) * unknown
        rows.append(
            _frame(
                chosen[unknown], len(data.labellers), item_gain[unknown], labeller_gain[unknown], settings.expert_cost
            )
        )
    if data.labellers:
        rows.append(_best_person(posterior, chosen, p, classes))
    if not rows:
        return pd.DataFrame(columns=COLUMNS)
    frame = pd.concat(rows, ignore_index=True)
    frame["gain"] = frame["item_gain"] + frame["labeller_gain"]
    frame["gain_per_cost"] = frame["gain"] / frame["cost"]
    frame = frame.sort_values(["gain_per_cost", "item"], ascending=[False, True], ignore_index=True).head(most)
    names = np.array([*data.labellers, data.references[0] if data.references else ""], dtype=object)
    frame["expert"] = frame["labeller"] == len(data.labellers)
    frame["labeller"] = names[frame["labeller"].to_numpy()]
    frame["item"] = np.array(data.items, dtype=object)[frame["item"].to_numpy()]
    frame["rank"] = np.arange(1, len(frame) + 1)
    return frame[COLUMNS]


def _frame(
    item: np.ndarray, who: np.ndarray | int, item_gain: np.ndarray, labeller_gain: np.ndarray, cost: float
) -> pd.DataFrame:
    return pd.DataFrame(
        {"item": item, "labeller": who, "item_gain": item_gain, "labeller_gain": labeller_gain, "cost": float(cost)}
    )


def _candidates(posterior: LabelPosterior) -> np.ndarray:
    """The least certain items, and some whose class is known.   → [C]"""
    data = posterior.data
    known = data.known
    open_items = np.flatnonzero(~known)
    uncertain = open_items[np.argsort(-_entropy(posterior.probability[open_items]), kind="stable")]
    tests = np.flatnonzero(known)
    tests = tests[np.argsort(_entropy(posterior.probability[tests]), kind="stable")]
    room = int(KNOWN_SHARE * CANDIDATES)
    return np.concatenate([uncertain[: CANDIDATES - min(room, len(tests))], tests[:room]])


def _class_draws(posterior: LabelPosterior, chosen: np.ndarray) -> np.ndarray:
    """p(ψ | labels of the item, θ) at each draw of θ.   → [S, C, K]"""
    data, model = posterior.data, posterior.design
    place = np.full(len(data.items), -1)
    place[chosen] = np.arange(len(chosen))
    prevalence = np.log(posterior._prevalence[:DRAWS] + FLOOR)
    weight = prevalence[:, None, :] + np.maximum(data.clamp[chosen], -1e9)  # [S, C, K]
    mine = np.flatnonzero(place[data.item] >= 0)
    shared = {name: block[:DRAWS] for name, block in posterior._shared.items()}
    for number in np.unique(data.labeller[mine]):
        labels = mine[data.labeller[mine] == number]
        own = posterior._unknowns(model.mine(int(number)), 1 + int(number))[:DRAWS]
        # as many times at once as keep the array small
        several = max(1, NUMBERS_MOST // (len(own) * model.classes**2))
        for begin in range(0, len(labels), several):
            some = labels[begin : begin + several]
            table = log_confusion(model, shared, own, int(number), data.progress[some])  # [S, n, K, K]
            said = np.take_along_axis(table, data.label[some][None, :, None, None], axis=3)[..., 0]  # [S, n, K]
            np.add.at(weight.swapaxes(0, 1), place[data.item[some]], said.swapaxes(0, 1))
    weight -= weight.max(axis=-1, keepdims=True)
    weight = np.exp(weight)
    return weight / weight.sum(axis=-1, keepdims=True)


def _expert_teaches(posterior: LabelPosterior, chosen: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """What the class of an item would tell of those who labelled it, summed over them.   → [C]"""
    data = posterior.data
    place = np.full(len(data.items), -1)
    place[chosen] = np.arange(len(chosen))
    gain = np.zeros(len(chosen))
    mine = place[data.item] >= 0
    for number in np.unique(data.labeller[mine]):
        seen = np.unique(place[data.item[mine & (data.labeller == number)]])
        gain[seen] += _information(_skill_now(posterior, int(number)), classes[:, seen])
    return gain


def _best_person(posterior: LabelPosterior, chosen: np.ndarray, p: np.ndarray, classes: np.ndarray) -> pd.DataFrame:
    """For each item the person (no expert) whose label would tell most; nobody is asked about an item twice."""
    data = posterior.data
    best = np.full(len(chosen), -1.0)
    who, of_item, of_person = np.zeros(len(chosen), np.int64), np.zeros(len(chosen)), np.zeros(len(chosen))
    place = np.full(len(data.items), -1)
    place[chosen] = np.arange(len(chosen))
    seen: list[list[int]] = [[] for _ in data.labellers]
    for number, item in zip(data.labeller, data.item, strict=True):
        if place[item] >= 0:
            seen[number].append(int(place[item]))
    for number in range(len(data.labellers)):
        matrix = posterior._confusion(number, posterior.last_progress[number : number + 1])[:DRAWS, 0]  # [S, K, K]
        mean = matrix.mean(axis=0)
        answers = p @ mean  # [C, K]
        item_gain = np.maximum(_entropy(answers) - p @ _entropy(mean), 0.0)
        person_gain = _information(_skill_now(posterior, number), classes @ matrix)
        total = item_gain + person_gain
        total[seen[number]] = -1.0
        better = total > best
        best[better], who[better] = total[better], number
        of_item[better], of_person[better] = item_gain[better], person_gain[better]
    asked = best >= 0
    return _frame(chosen[asked], who[asked], of_item[asked], of_person[asked], 1.0)


def _skill_now(posterior: LabelPosterior, number: int) -> np.ndarray:
    """Draws of a labeller's skill at their last label.   → [S]"""
    return posterior._skill(number, posterior.last_progress[number : number + 1])[:DRAWS, 0]


def _information(skill: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """About a skill, in an answer whose chances vary with it: −½ log(1 − R).   skill [S], chance [S, C, K] → [C]

    R = Σ_k Cov(skill, p_k)² / (E p_k · Var skill): what knowing the answer is expected to explain of the variance.
    """
    centred = skill - skill.mean()
    variance = float(np.mean(centred**2))
    if variance < FLOOR:
        return np.zeros(chance.shape[1])
    together = np.einsum("s,sck->ck", centred, chance) / len(skill)
    explained = np.sum(together**2 / np.maximum(chance.mean(axis=0), 1e-6), axis=1) / variance
    # draws are few: about one of them in so many is explained by luck alone
    explained = np.clip(explained - chance.shape[2] / len(skill), 0.0, EXPLAINED_MOST)
    return -0.5 * np.log1p(-explained)


def _entropy(p: np.ndarray) -> np.ndarray:
    """−Σ p log p.   [.., K] → [..]"""
    return -np.sum(p * np.log(np.maximum(p, FLOOR)), axis=-1)
