"""Learn over what time labellers change, by the bound; how much they change is learned in every fit. TensorFlow."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import tensorflow as tf

from calibdash.data.labels import LabelSet
from calibdash.models.labelling.arrays import label_data
from calibdash.models.labelling.fitting import NATURAL, assemble
from calibdash.models.labelling.settings import LabelSettings
from calibdash.models.labelling.subset import some_labellers
from calibdash.models.labelling.variational import Ascent, dense, diagonal
from calibdash.models.progress import Cancel, Progress, Report, check
from calibdash.models.threads import one_thread

FACTORS = (1 / 3, 0.6, 1.0, 1.7, 3.0, 10.0)  # of the lengthscale that is set; ten times is as good as no change
PRIOR_LOG_SD = 1.0


def learn_labels(
    labels: LabelSet,
    settings: LabelSettings | None = None,
    *,
    references: Iterable[str] | None = None,
    seed: int = 0,
    progress: Report | None = None,
    cancel: Cancel | None = None,
) -> LabelSettings:
    """Settings with the lengthscale whose bound, with a prior around the one set, is highest."""
    settings = settings or LabelSettings()
    data = label_data(
        labels,
        references=references,
        fallible=settings.fallible,
        classes=settings.classes,
        over_time=settings.over_time,
    )
    if not data.moving or not data.labellers:
        return settings
    if not assemble(data, settings).small:
        data = some_labellers(data)
    began = time.perf_counter()
    found: list[tuple[float, float]] = []
    with one_thread():
        for number, factor in enumerate(FACTORS):
            check(cancel)
            lengthscale = float(np.clip(factor * settings.lengthscale, 0.02, 100.0))
            bounds: list[float] = []
            problem = assemble(data, replace(settings, lengthscale=lengthscale))

            def tell(_: int, bound: float, bounds: list[float] = bounds) -> None:
                check(cancel)
                bounds.append(bound)

            how = Ascent(problem.density(), problem.model.places["scales"], tf.float64, seed, tell)
            q = diagonal(how, problem.model.start(), steps=settings.steps, rate=settings.rate, samples=settings.samples)
            if problem.model.size <= settings.dense_most:
                dense(how, q, iterations=NATURAL)
            found.append((bounds[-1] - 0.5 * (np.log(factor) / PRIOR_LOG_SD) ** 2, lengthscale))
            if progress is not None:
                seconds = time.perf_counter() - began
                left = seconds / (number + 1) * (len(FACTORS) - number - 1)
                progress(Progress("learn", number + 1, len(FACTORS), max(found)[0], seconds, left))
    return replace(settings, lengthscale=max(found)[1])
