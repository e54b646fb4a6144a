"""Learn over what time labellers change, by labels that are hidden; how much they change is learned in every fit.

A fifth of the labels is hidden and predicted from the others, once for each lengthscale. Another one than that which is
set is taken only if it predicts better by more than two standard errors of the difference: where the labels cannot
tell, nothing changes. A bound would do for few unknowns, but a Gaussian without correlations takes change for noise.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from calibdash.data.labels import LabelSet
from calibdash.models.labelling.arrays import LabelData, label_data
from calibdash.models.labelling.design import log_confusion
from calibdash.models.labelling.fitting import assemble, fit_data
from calibdash.models.labelling.posterior import LabelPosterior
from calibdash.models.labelling.settings import LabelSettings
from calibdash.models.labelling.subset import some_labellers
from calibdash.models.labelling.suggest import class_draws
from calibdash.models.progress import Cancel, Progress, Report, check
from calibdash.models.threads import one_thread

FACTORS = (1.0, 1 / 3, 0.6, 1.7, 3.0, 10.0)  # of the lengthscale that is set; ten times is as good as no change
PRIOR_LOG_SD = 1.0
HIDDEN = 5  # one label in so many
SURE = 2.0  # standard errors: of five others, one is often better by one of them by luck alone
DRAWS_MOST = 256


def learn_labels(
    labels: LabelSet,
    settings: LabelSettings | None = None,
    *,
    references: Iterable[str] | None = None,
    seed: int = 0,
    progress: Report | None = None,
    cancel: Cancel | None = None,
) -> LabelSettings:
    """Settings with the lengthscale that predicts hidden labels best, or as they are where none is surely better."""
    settings = settings or LabelSettings()
    data = label_data(
        labels,
        references=references,
        fallible=settings.fallible,
        classes=settings.classes,
        over_time=settings.over_time,
    )
    if not data.moving or len(data.item) < HIDDEN:
        return settings
    problem = assemble(data, settings)
    if not problem.small:
        data = some_labellers(data)
    quick = replace(settings, draws=min(settings.draws, DRAWS_MOST), exact_most=max(settings.exact_most, problem.size))
    hidden = np.random.default_rng([seed, 21]).permutation(len(data.item)) % HIDDEN == 0
    began = time.perf_counter()
    tried: list[float] = []
    predicted: list[np.ndarray] = []
    with one_thread():
        for number, factor in enumerate(FACTORS):
            tried.append(float(np.clip(factor * settings.lengthscale, 0.02, 100.0)))
            found = fit_data(without(data, hidden), replace(quick, lengthscale=tried[-1]), seed=seed, cancel=cancel)
            predicted.append(log_chances(found, data, hidden))
            check(cancel)
            if progress is not None:
                seconds = time.perf_counter() - began
                left = seconds / (number + 1) * (len(FACTORS) - number - 1)
                best = max(float(chances.sum()) for chances in predicted)
                progress(Progress("learn", number + 1, len(FACTORS), best, seconds, left))
    return replace(settings, lengthscale=tried[surely_better(np.stack(predicted), np.log(FACTORS))])


def surely_better(predicted: np.ndarray, log_factor: np.ndarray) -> int:
    """Which row predicts best, the first unless another is surely better.

    predicted [F, n]: log chances of the hidden labels; log_factor [F]: how far each is from what is set.
    """
    gain = predicted - predicted[0]  # [F, n]
    total = gain.sum(axis=1) - 0.5 * (log_factor / PRIOR_LOG_SD) ** 2
    sure = total > SURE * gain.std(axis=1) * np.sqrt(predicted.shape[1])
    return int(np.argmax(np.where(sure, total, -np.inf))) if sure.any() else 0


def without(data: LabelData, hidden: np.ndarray) -> LabelData:
    """The same labels but those that are hidden; items, people and their times stay.   hidden [N] bool"""
    names = ("item", "labeller", "label", "when", "progress")
    return replace(data, **{name: getattr(data, name)[~hidden] for name in names})


def log_chances(found: LabelPosterior, data: LabelData, hidden: np.ndarray) -> np.ndarray:
    """Log E_θ Σ_ψ p(ψ | the item's other labels, θ) p(y | ψ, θ) of every hidden label.   hidden [N] bool → [n]"""
    items, place = np.unique(data.item[hidden], return_inverse=True)
    classes = class_draws(found, items)  # [S, C, K]
    shared = {name: block[: len(classes)] for name, block in found._shared.items()}
    who, label, progress = data.labeller[hidden], data.label[hidden], data.progress[hidden]
    chances = np.zeros(len(who))
    for number in np.unique(who):
        mine = np.flatnonzero(who == number)
        own = found._unknowns(found.design.mine(int(number)), 1 + int(number))[: len(classes)]
        for some in np.array_split(mine, -(-len(mine) // 50)):  # a few at a time keep the array small
            table = log_confusion(found.design, shared, own, int(number), progress[some])  # [S, n, K, K]
            said = np.exp(np.take_along_axis(table, label[some][None, :, None, None], axis=3)[..., 0])  # [S, n, K]
            chances[some] = np.sum(said * classes[:, place[some]], axis=2).mean(axis=0)
    return np.log(np.maximum(chances, 1e-12))
