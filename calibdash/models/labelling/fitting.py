"""Fit labellers: the one door to the model. TensorFlow.

Size = log odds in all cells of time + labels × classes. Up to ``exact.most``: a diagonal Gaussian q, then a walk
through the exact posterior. Above: the scales are found on some of the labellers in that way and held, and q is
diagonal.
Without the walk (``exact = false``) q has all correlations up to ``dense.most`` unknowns.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import tensorflow as tf

from calibdash.data.labels import LabelSet
from calibdash.models.labelling.arrays import LabelData, label_data
from calibdash.models.labelling.design import Design, design
from calibdash.models.labelling.joint import (
    Cells,
    Evidence,
    LogJoint,
    cells,
    confusion_table,
    item_log_weights,
    joint_evidence,
    log_joint,
    pairwise_evidence,
)
from calibdash.models.labelling.posterior import LabelPosterior
from calibdash.models.labelling.record import LabelRecord, versions
from calibdash.models.labelling.refine import Walk, moves_needed, walk
from calibdash.models.labelling.settings import LabelSettings
from calibdash.models.labelling.subset import some_labellers
from calibdash.models.labelling.variational import Ascent, Gaussian, dense, diagonal
from calibdash.models.progress import Cancel, Progress, Report, check
from calibdash.models.room import room_for
from calibdash.models.threads import one_thread

tf.get_logger().setLevel(logging.ERROR)  # every fit traces its own density, which TensorFlow warns of as a mistake
NATURAL = 3  # natural-gradient steps
SLOW = 10  # ordinary steps that a slow one counts as, in reports
FEW_NUMBERS = 30_000
LONGER = 2  # times the steps, of large fits: their samples are few
DISAGREE = 1.2  # of chains, from which their walk is not to be trusted
ITEM_BATCH = 64
WORKING = 150_000_000  # bytes: what TensorFlow compiles
STAGES = 10  # arrays of the model's size that a step and its gradient hold, measured
REMEDY = "Leave out labellers with few labels, join rare classes, or use a machine with more memory."


def fit_labels(
    labels: LabelSet,
    settings: LabelSettings | None = None,
    *,
    references: Iterable[str] | None = None,
    seed: int = 0,
    progress: Report | None = None,
    cancel: Cancel | None = None,
) -> LabelPosterior:
    """The posterior of every item's class and every labeller's confusion matrix. Deterministic given the seed.

    references: whose labels are right; None: those that the labellers' table marks.
    """
    settings = settings or LabelSettings()
    data = label_data(
        labels,
        references=references,
        fallible=settings.fallible,
        classes=settings.classes,
        over_time=settings.over_time,
    )
    with one_thread():
        return fit_data(data, settings, seed=seed, progress=progress, cancel=cancel)


@dataclass
class Steps:
    """Counts steps and tells of them."""

    total: int
    progress: Report | None
    cancel: Cancel | None
    done: int = 0
    began: float = field(default_factory=time.perf_counter)
    trace: list[float] = field(default_factory=list)

    def __call__(self, steps: int, bound: float) -> None:
        """After some more steps."""
        check(self.cancel)
        self.done += steps
        if np.isfinite(bound):
            self.trace.append(bound)
        seconds = time.perf_counter() - self.began
        if self.progress is not None:
            left = seconds / max(self.done, 1) * max(self.total - self.done, 0)
            last = self.trace[-1] if self.trace else float("nan")
            self.progress(Progress("fit", self.done, self.total, last, seconds, left))


@dataclass(frozen=True)
class Problem:
    """A model of some labels, ready to be fitted; evidence: one group an item, whatever the form."""

    data: LabelData
    settings: LabelSettings
    model: Design
    grid: Cells
    evidence: Evidence

    @property
    def size(self) -> int:
        """Log odds in all cells, and labels × classes."""
        model = self.model
        return model.classes * (model.labellers * len(self.grid.progress) * model.classes + len(self.data.item))

    @property
    def chains(self) -> int:
        """Of the walk: fewer where each is dear."""
        return 64 if self.size <= FEW_NUMBERS else 32

    @property
    def small(self) -> bool:
        """Whether the scales can be freed."""
        return self.size <= self.settings.exact_most

    @property
    def bytes(self) -> int:
        """About how much memory a fit holds at most, beside TensorFlow: samples at a time, each in several stages."""
        at_once = max(8 * self.settings.samples, 4 * self.chains) if self.small else 4 * 2
        kept = 3 * 8 * self.model.size * max(ITEM_BATCH, self.settings.draws if self.small else 0)
        return WORKING + STAGES * at_once * self.size + kept

    def density(self) -> LogJoint:
        """Log p(y, θ)."""
        pairwise = self.settings.form == "pairwise"
        model, grid = self.model, self.grid
        return log_joint(model, grid, pairwise_evidence(self.data, grid, model.classes) if pairwise else self.evidence)

    def right(self, theta: tf.Tensor) -> tf.Tensor:
        """Log chances of right answers at the beginning, middle and end.   theta [B, D] → [B, J·3·K]"""
        few = Cells(np.linspace(0.0, 1.0, 3 if self.model.basis.size else 1), self.grid.cell)
        return tf.reshape(tf.linalg.diag_part(confusion_table(self.model, few, theta)), [tf.shape(theta)[0], -1])


def assemble(data: LabelData, settings: LabelSettings) -> Problem:
    """The model of these labels under these settings."""
    model = design(data, settings)
    grid = cells(data, model)
    return Problem(data, settings, model, grid, joint_evidence(data, grid, model.classes))


def fit_data(
    data: LabelData,
    settings: LabelSettings,
    *,
    seed: int = 0,
    progress: Report | None = None,
    cancel: Cancel | None = None,
) -> LabelPosterior:
    """The same, from arrays."""
    check(cancel)
    problem = assemble(data, settings)
    with room_for(problem.bytes, "This fit", lambda _: REMEDY, cancel):
        return _fit_problem(problem, seed, progress, cancel)


def _fit_problem(problem: Problem, seed: int, progress: Report | None, cancel: Cancel | None) -> LabelPosterior:
    data, settings = problem.data, problem.settings
    if problem.small:
        return _fit_small(problem, seed, Steps(_work(problem), progress, cancel))
    part = assemble(some_labellers(data), replace(settings, exact_most=problem.size, draws=min(settings.draws, 384)))
    steps = Steps(_work(part) + LONGER * settings.steps * SLOW, progress, cancel)
    return _fit_large(problem, part, seed, steps)


def _work(problem: Problem) -> int:
    """Steps of a fit, a move of the walk counting as several."""
    settings = problem.settings
    return settings.steps + SLOW * (moves_needed(settings.draws, problem.chains) if settings.exact else NATURAL)


def _fit_small(problem: Problem, seed: int, steps: Steps) -> LabelPosterior:
    settings, model, density = problem.settings, problem.model, problem.density()
    how = Ascent(density, model.places["scales"], tf.float64, seed, steps)
    q = diagonal(how, model.start(), steps=settings.steps, rate=settings.rate, samples=settings.samples)
    if not settings.exact:
        q = dense(how, q, iterations=NATURAL) if model.size <= settings.dense_most else q
        draws = q.draws(settings.draws, np.random.default_rng([seed, 5]))
        return _conclude(problem, draws, q, seed, steps, None)

    def moved(_: int, bound: float) -> None:
        steps(SLOW, bound)

    walked = walk(
        density,
        q,
        problem.right,
        chains=problem.chains,
        draws=settings.draws,
        seed=seed,
        dtype=tf.float32,
        tell=moved,
    )
    return _conclude(problem, walked.draws, q, seed, steps, walked)


def _fit_large(problem: Problem, part: Problem, seed: int, steps: Steps) -> LabelPosterior:
    settings, model, density = problem.settings, problem.model, problem.density()
    found = _fit_small(part, seed, steps)
    start = model.start()
    start[model.places["scales"]] = typical_scales(part.model, found.draws[:, part.model.places["scales"]])
    steps.trace.clear()  # the bound of other data

    def stepped(count: int, bound: float) -> None:
        steps(SLOW * count, bound)

    how = Ascent(density, model.places["scales"], tf.float32, seed, stepped)
    q = diagonal(how, start, steps=LONGER * settings.steps, rate=settings.rate, samples=2)
    return _conclude(problem, np.zeros((0, 0)), q, seed, steps, None)


def typical_scales(model: Design, draws: np.ndarray) -> np.ndarray:
    """The root mean square of each scale; the mean where the unknown is a logarithm.   draws [S, scales] → [scales]"""
    values = np.sqrt(np.mean(draws**2, axis=0))
    if model.basis.size:
        values[-1] = draws[:, -1].mean()
    return values


def _item_probability(model: Design, grid: Cells, evidence: Evidence, draws: np.ndarray, small: bool) -> np.ndarray:
    """E_θ p(ψ_i | labels of i, θ).   draws [S, D] → [I, K]"""

    @tf.function(reduce_retracing=True)
    def shares(theta: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.nn.softmax(item_log_weights(model, grid, evidence, theta), axis=-1), axis=1)  # [I, K]

    batch, dtype = (ITEM_BATCH, tf.float64) if small else (2, tf.float32)
    total = np.zeros((len(evidence.clamp), model.classes))
    for begin in range(0, len(draws), batch):
        total += shares(tf.constant(draws[begin : begin + batch], dtype)).numpy()
    return total / total.sum(axis=1, keepdims=True)


def _conclude(
    problem: Problem, draws: np.ndarray, q: Gaussian, seed: int, steps: Steps, walked: Walk | None
) -> LabelPosterior:
    data = problem.data
    used = draws if len(draws) else q.draws(ITEM_BATCH, np.random.default_rng([seed, 5]))
    probability = _item_probability(problem.model, problem.grid, problem.evidence, used, problem.small)
    notes = list(data.notes)
    if walked is not None and walked.disagreement > DISAGREE:
        notes.append(
            "The posterior has parts between which the fit hardly moves: intervals may be too narrow. More draws "
            "(--set draws=3000) or an expert's labels would help."
        )
    family = "exact" if walked else ("dense" if len(draws) else "diagonal")
    spread = q.factor if q.factor.ndim == 1 else np.sqrt((q.factor**2).sum(axis=1))
    record = LabelRecord(
        seed,
        data.hash,
        dict(versions()),
        round(time.perf_counter() - steps.began, 3),
        tuple(round(value, 4) for value in steps.trace),
        family,
        len(q.mean),
        len(data.item) + len(data.fixed_item),
        walked.accepted if walked else None,
        walked.disagreement if walked else None,
        tuple(notes),
    )
    return LabelPosterior(problem.settings, record, data, probability, draws.astype(np.float32), q.mean, spread)
