"""Some of the labellers, to find what all have in common."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibdash.models.labelling.arrays import LabelData

LABELLERS_MOST = 12
ITEMS_MOST = 1500


def some_labellers(data: LabelData) -> LabelData:
    """The labels of the twelve who gave most, on at most 1,500 items, those with most of their labels."""
    counts = np.bincount(data.labeller, minlength=len(data.labellers))
    chosen = np.argsort(-counts, kind="stable")[:LABELLERS_MOST]
    mine = np.isin(data.labeller, chosen)
    many = np.bincount(data.item[mine], minlength=len(data.items)) + 0.5 * data.known
    items = np.argsort(-many, kind="stable")[:ITEMS_MOST]
    return _of(data, chosen, items)


def _of(data: LabelData, labellers: np.ndarray, items: np.ndarray) -> LabelData:
    """The labels that some labellers gave to some items."""
    items = np.unique(items)
    labellers = np.sort(labellers)
    mine = np.isin(data.labeller, labellers) & np.isin(data.item, items)
    fixed = np.isin(data.fixed_item, items)
    return replace(
        data,
        items=tuple(data.items[item] for item in items),
        labellers=tuple(data.labellers[number] for number in labellers),
        item=np.searchsorted(items, data.item[mine]),
        labeller=np.searchsorted(labellers, data.labeller[mine]),
        label=data.label[mine],
        when=data.when[mine],
        progress=data.progress[mine],
        fixed_item=np.searchsorted(items, data.fixed_item[fixed]),
        fixed_by=data.fixed_by[fixed],
        fixed_label=data.fixed_label[fixed],
        clamp=data.clamp[items],
        first=data.first[labellers],
        span=data.span[labellers],
        fallible=data.fallible[labellers],
    )
