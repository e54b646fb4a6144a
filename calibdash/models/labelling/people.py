"""The table of labellers: who is how good at what, and which way each goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from calibdash.models.labelling.agreement import with_experts

if TYPE_CHECKING:
    from calibdash.models.labelling.posterior import LabelPosterior

TREND_STEPS = 13
SURE = 0.95  # probability from which a trend is called one
SMALLEST_CHANGE = 0.03  # of the skill
FEW = 5  # labels below which nobody has a trend
COLUMNS = [
    "labeller", "labels", "items", "share", "expert_items", "expert_agreement", "skill", "skill_lower", "skill_upper",
    "trend", "trend_probability", "change", "since", "fallible",
]  # fmt: skip


def table(posterior: LabelPosterior) -> pd.DataFrame:
    """A row a labeller, by name.

    ``labeller, labels, items, share, expert_items, expert_agreement, skill, skill_lower, skill_upper, trend,
    trend_probability, change, since, fallible`` and ``skill_CLASS`` for each class: the probability of a right label
    now, that is at their last label.
    """
    data = posterior.data
    labels = np.bincount(data.labeller, minlength=len(data.labellers))
    items = pd.Series(data.item).groupby(data.labeller).nunique().reindex(range(len(data.labellers)), fill_value=0)
    known, agreed = with_experts(data)
    rows = []
    for name in posterior.people:
        number = posterior.number(name)
        progress = np.linspace(0.0, posterior.last_progress[number], TREND_STEPS) if data.moving else np.zeros(1)
        path = posterior._skill(number, progress)  # [S, T]
        now = posterior._confusion(number, progress[-1:])[:, 0]  # [S, K, K]
        low, high = np.quantile(path[:, -1], (0.025, 0.975))
        right = np.einsum("skk->sk", now).mean(axis=0)[posterior._class_order]
        rows.append(
            {
                "labeller": name,
                "labels": int(labels[number]),
                "items": int(items.iloc[number]),
                "share": labels[number] / max(labels.sum(), 1),
                "expert_items": int(known[number]),
                "expert_agreement": agreed[number],
                "skill": path[:, -1].mean(),
                "skill_lower": low,
                "skill_upper": high,
                **_trend(posterior, number, path, progress, int(labels[number])),
                "fallible": bool(data.fallible[number]),
                **dict(zip(skill_columns(posterior.classes), right, strict=True)),
            }
        )
    return pd.DataFrame(rows, columns=[*COLUMNS, *skill_columns(posterior.classes)])


def skill_columns(classes: tuple[str, ...]) -> list[str]:
    """``skill_CLASS`` for each class; ``skill_lower_`` for a class that is called ``lower``."""
    names: list[str] = []
    for kind in classes:
        name = f"skill_{kind}"
        while name in COLUMNS or name in names:
            name += "_"
        names.append(name)
    return names


def _trend(
    posterior: LabelPosterior, number: int, path: np.ndarray, progress: np.ndarray, labels: int
) -> dict[str, object]:
    """Words for how skill now compares with the labeller's best and worst time before.   path [S, T]"""
    if len(progress) < 2 or labels < FEW:
        return {
            "trend": "" if len(progress) < 2 else "too few labels",
            "trend_probability": np.nan,
            "change": np.nan,
            "since": "",
        }
    middle = path.mean(axis=0)
    now = path[:, -1:]
    worse = np.mean(now < path[:, :-1], axis=0)  # [T − 1]
    best, worst = int(np.argmax(middle[:-1])), int(np.argmin(middle[:-1]))
    # the later of two turns is the one that matters now
    turns = [
        (best, "worse", float(worse[best]), middle[-1] - middle[best]),
        (worst, "improving", float(1 - worse[worst]), middle[-1] - middle[worst]),
    ]
    sure = [turn for turn in turns if turn[2] >= SURE and abs(turn[3]) >= SMALLEST_CHANGE]
    if not sure:
        change = path[:, -1] - path[:, 0]
        steady = float(np.mean(np.abs(change) < 0.1))
        return {"trend": "steady", "trend_probability": steady, "change": float(change.mean()), "since": ""}
    place, word, chance, change = max(sure, key=lambda turn: turn[0])
    since = moment(posterior, number, progress[place])
    said = f"worse since {since}" if word == "worse" else "improving"
    return {"trend": said, "trend_probability": chance, "change": float(change), "since": since}


def moment(posterior: LabelPosterior, number: int, progress: float) -> str:
    """A time in words: ``June``, ``June 2024``, ``12 June`` or, by order, ``no. 150``."""
    data = posterior.data
    when = data.first[number] + progress * data.span[number]
    if data.time_name == "order":
        return f"no. {when:.0f}"
    if data.clock.origin is None:
        return f"hour {when:.0f}"
    stamp = data.clock.origin + pd.Timedelta(hours=float(when))
    hours = float(np.ptp(data.when))
    if hours < 60 * 24:
        return f"{stamp.day} {stamp:%B}"
    return f"{stamp:%B}" if hours < 330 * 24 else f"{stamp:%B %Y}"
