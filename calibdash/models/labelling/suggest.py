"""What to label next: which item to show to whom, by what is learned for the cost.

Gains are in items and people: 1 is the doubt about one item, or about the skill of one person, wholly removed. An
expert's label settles its item, and tells of all other items that the same people labelled (see
:mod:`calibdash.models.labelling.doubt`); expert labels are listed one after the other, each as if those before it were
given. Another's label removes some doubt about its item. And both teach about people: for each the share of the
variance of their skill that the answer is expected to explain. An expert's label tells who of those who labelled the
item was right; another's label on an item whose class is known tells how good that person is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from calibdash.models.labelling.design import log_confusion
from calibdash.models.labelling.doubt import asked

if TYPE_CHECKING:
    from calibdash.models.labelling.posterior import LabelPosterior

DRAWS = 400
PEOPLE_DRAWS = 200
PATIENCE = 10  # labels that anybody gives gladly
CANDIDATES = 300  # items looked at, the least certain ones and some that are known
NUMBERS_MOST = 10_000_000  # of an array
KNOWN_SHARE = 0.15  # of the candidates: items whose class is known, as tests of people
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
    classes = class_draws(posterior, chosen)  # [S, C, K]
    rows = []
    if experts and data.references:
        rows.append(_expert_rows(posterior, chosen, classes, settings.expert_cost))
    if data.labellers:
        rows.append(_people_rows(posterior, chosen, p, classes))
    if not rows:
        return pd.DataFrame(columns=COLUMNS)
    frame = pd.concat(rows, ignore_index=True)
    frame["gain"] = frame["item_gain"] + frame["labeller_gain"]
    frame["gain_per_cost"] = frame["gain"] / frame["cost"]
    frame = frame.sort_values("gain_per_cost", ascending=False, kind="stable", ignore_index=True).head(most)
    names = np.array([*data.labellers, data.references[0] if data.references else ""], dtype=object)
    frame["expert"] = frame["labeller"] == len(data.labellers)
    frame["labeller"] = names[frame["labeller"].to_numpy()]
    frame["item"] = np.array(data.items, dtype=object)[frame["item"].to_numpy()]
    frame["rank"] = np.arange(1, len(frame) + 1)
    return frame[COLUMNS]


def _frame(
    item: np.ndarray, who: np.ndarray | int, item_gain: np.ndarray, labeller_gain: np.ndarray, cost: np.ndarray | float
) -> pd.DataFrame:
    return pd.DataFrame(
        {"item": item, "labeller": who, "item_gain": item_gain, "labeller_gain": labeller_gain, "cost": cost}
    )


def _expert_rows(posterior: LabelPosterior, chosen: np.ndarray, classes: np.ndarray, cost: float) -> pd.DataFrame:
    """What an expert's label of each open item would tell, best first, each after those above it."""
    unknown = np.flatnonzero(~posterior.data.known[chosen])
    doubt = _doubt(posterior.probability)
    among = float(doubt[chosen[unknown]].sum())
    teaches = _expert_teaches(posterior, chosen, classes)[unknown]
    order, item_gain = asked(classes[:, unknown], teaches, wider=float(doubt.sum()) / among if among > FLOOR else 1.0)
    gain = np.minimum.accumulate(item_gain + teaches[order])  # draws are few: no row is worth more than one above it
    labeller_gain = np.minimum(teaches[order], gain)
    return _frame(chosen[unknown[order]], len(posterior.data.labellers), gain - labeller_gain, labeller_gain, cost)


def _candidates(posterior: LabelPosterior) -> np.ndarray:
    """The least certain items, and some whose class is known.   → [C]"""
    data = posterior.data
    known = data.known
    open_items = np.flatnonzero(~known)
    uncertain = open_items[np.argsort(-_doubt(posterior.probability[open_items]), kind="stable")]
    tests = np.flatnonzero(known)
    tests = tests[np.argsort(_doubt(posterior.probability[tests]), kind="stable")]
    # with very many classes fewer items are looked at: work grows with the square of their number
    most = int(np.clip(NUMBERS_MOST // (4 * len(data.classes) ** 2), 20, CANDIDATES))
    room = int(KNOWN_SHARE * most)
    return np.concatenate([uncertain[: most - min(room, len(tests))], tests[:room]])


def class_draws(posterior: LabelPosterior, chosen: np.ndarray) -> np.ndarray:
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


def _people_rows(posterior: LabelPosterior, chosen: np.ndarray, p: np.ndarray, classes: np.ndarray) -> pd.DataFrame:
    """For each item one person (no expert) to ask; nobody is asked about an item twice.

    Who is asked often tires: a label costs twice as much once the list has asked somebody for ten more than they have
    given so far. So the best person is not asked for everything.
    """
    data = posterior.data
    item_gain, person_gain = _people_gains(posterior, p, classes)  # [C, J] each
    gain = item_gain + person_gain
    place = np.full(len(data.items), -1)
    place[chosen] = np.arange(len(chosen))
    mine = place[data.item] >= 0
    gain[place[data.item[mine]], data.labeller[mine]] = -np.inf
    first = np.where(data.fallible, posterior.settings.expert_cost, 1.0)  # an expert who may err is one all the same
    patience = PATIENCE + np.bincount(data.labeller, minlength=len(data.labellers))
    cost, rows = first.copy(), []
    for _ in range(len(chosen)):
        item, number = divmod(int(np.argmax(gain / cost)), gain.shape[1])
        if not np.isfinite(gain[item, number]):
            break
        rows.append((item, number, cost[number]))
        gain[item] = -np.inf
        cost[number] += first[number] / patience[number]
    place_of, who = np.array([row[:2] for row in rows], dtype=np.int64).reshape(-1, 2).T
    price = np.array([row[2] for row in rows])
    return _frame(chosen[place_of], who, item_gain[place_of, who], person_gain[place_of, who], price)


def _people_gains(posterior: LabelPosterior, p: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a label would remove of the doubt about its item, and about who gives it.   → [C, J], [C, J]"""
    few = classes[:PEOPLE_DRAWS]
    of_item, of_person = [], []
    for number in range(len(posterior.data.labellers)):
        now = posterior.last_progress[number : number + 1]
        matrix = posterior._confusion(number, now, PEOPLE_DRAWS)[:, 0]  # [S, K, K]
        mean = matrix.mean(axis=0)
        sure = np.sum(p**2 @ mean**2 / np.maximum(p @ mean, FLOOR), axis=1)  # [C]: E Σ p² after the answer
        of_item.append(np.maximum(_doubt(p) - (1.0 - sure), 0.0))
        skill = np.einsum("skk,sk->s", matrix, posterior._prevalence[:PEOPLE_DRAWS])
        of_person.append(_information(skill, few @ matrix))
    return np.stack(of_item, axis=1), np.stack(of_person, axis=1)


def _skill_now(posterior: LabelPosterior, number: int) -> np.ndarray:
    """Draws of a labeller's skill at their last label.   → [S]"""
    return posterior._skill(number, posterior.last_progress[number : number + 1])[:DRAWS, 0]


def _information(skill: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """About a skill, in an answer whose chances vary with it.   skill [S], chance [S, C, K] → [C]

    Σ_k Cov(skill, p_k)² / (E p_k · Var skill): what knowing the answer is expected to explain of the variance.
    """
    centred = skill - skill.mean()
    variance = float(np.mean(centred**2))
    if variance < FLOOR:
        return np.zeros(chance.shape[1])
    together = np.einsum("s,sck->ck", centred, chance) / len(skill)
    spread = chance.var(axis=0)  # [C, K]; by luck alone, covariances over few draws are of this size
    beyond = np.maximum(together**2 - variance * spread / len(skill), 0.0)
    return np.clip(np.sum(beyond / np.maximum(chance.mean(axis=0), 1e-6), axis=1) / variance, 0.0, 1.0)


def _doubt(p: np.ndarray) -> np.ndarray:
    """1 − Σ p².   [.., K] → [..]"""
    return 1.0 - np.sum(p**2, axis=-1)
