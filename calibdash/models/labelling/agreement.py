"""How far people agree: pairs of them (Cohen's κ) and all together (Krippendorff's α). Experts are people here."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.sparse import coo_array

from calibdash.models.labelling.arrays import LabelData


def everybody(data: LabelData) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Item, person and label of every label; references are numbered after the others.   → [N + R] each"""
    return (
        np.concatenate([data.item, data.fixed_item]),
        np.concatenate([data.labeller, data.fixed_by + len(data.labellers)]),
        np.concatenate([data.label, data.fixed_label]),
    )


def pairs(data: LabelData) -> pd.DataFrame:
    """``first, second, items, agreement, kappa`` of every two people with items in common.

    Of somebody who labelled an item more than once the first label counts. κ = (a − e) / (1 − e) with e the agreement
    of two who answer as often so, on the items in common, but at random; NaN where e is 1.
    """
    item, person, label = everybody(data)
    _, first = np.unique(item * (person.max() + 1) + person, return_index=True)
    item, person, label = item[first], person[first], label[first]
    shape = (len(data.labellers) + len(data.references), len(data.items))
    seen = coo_array((np.ones(len(item)), (person, item)), shape).tocsr()
    common = (seen @ seen.T).toarray()  # [P, P]
    agreed, chance = np.zeros_like(common), np.zeros_like(common)
    for number in range(len(data.classes)):
        mine = label == number
        said = coo_array((np.ones(mine.sum()), (person[mine], item[mine])), shape).tocsr()
        agreed += (said @ said.T).toarray()
        often = (said @ seen.T).toarray()  # [P, P]: how often one said so on items in common with the other
        chance += often * often.T
    one, other = np.nonzero(np.triu(common > 0, 1))
    count = common[one, other]
    agreement, expected = agreed[one, other] / count, chance[one, other] / count**2
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = np.where(expected < 1, (agreement - expected) / (1 - expected), np.nan)
    names = np.array([*data.labellers, *data.references], dtype=object)
    return pd.DataFrame(
        {
            "first": names[one],
            "second": names[other],
            "items": count.astype(np.int64),
            "agreement": agreement,
            "kappa": kappa,
        }
    ).sort_values(["first", "second"], ignore_index=True)


def krippendorff(data: LabelData) -> float:
    """Krippendorff's α for classes without order.

    α = 1 − (n − 1) Σ_i Σ_k n_ik (n_i − n_ik) / (n_i − 1)  /  Σ_k n_k (n − n_k), over items with two labels or more.
    """
    item, _, label = everybody(data)
    counts = coo_array((np.ones(len(item)), (item, label)), (len(data.items), len(data.classes))).toarray()  # [I, K]
    counts = counts[counts.sum(axis=1) > 1]
    each = counts.sum(axis=1, keepdims=True)
    if not len(counts):
        return float("nan")
    observed = float(np.sum(counts * (each - counts) / (each - 1)))
    total, by_class = counts.sum(), counts.sum(axis=0)
    expected = float(np.sum(by_class * (total - by_class)))
    return 1.0 - (total - 1) * observed / expected if expected > 0 else float("nan")


def with_experts(data: LabelData) -> tuple[np.ndarray, np.ndarray]:
    """How many labels stand on items that references labelled too, and what share agrees.   → [J], [J] (NaN: none)"""
    counts = np.zeros((len(data.items), len(data.classes)))
    np.add.at(counts, (data.fixed_item, data.fixed_label), 1.0)
    total = counts.sum(axis=1)
    known = total[data.item] > 0
    share = counts[data.item[known], data.label[known]] / total[data.item[known]]
    many = np.bincount(data.labeller[known], minlength=len(data.labellers))
    agreed = np.bincount(data.labeller[known], share, minlength=len(data.labellers))
    return many, np.where(many > 0, agreed / np.maximum(many, 1), np.nan)
