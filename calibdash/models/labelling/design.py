"""Where each unknown of the model stands, and how unknowns become log odds. NumPy only.

Log odds that labeller j says y of class ψ at progress t:

    f_j[ψ, y](t) = (d0 + boost_j + s_skill·skill_j)·1[y = ψ] + s_pop·population[ψ, y] + s_habit·habit_j[y]
                   + s_own·own_j[ψ, y] + s_drift·Σ_m A(t)_m move_jm[ψ, y]

All unknowns but the prevalence's are whitened: N(0, 1) a priori; d0 = 2 + 1.5·u. A scale is half-normal because its
unknown is normal and its sign has no meaning (it goes into unknowns that are symmetric): unlike a logarithm it has no
tail that a Gaussian q cannot follow. The drift's is 1.4·exp(u/2). For more classes than
``matrix.most`` own and move have no value for each pair of classes but one for each right answer (the diagonal) and
one for each answer whatever the class (rank one): 2K values instead of K².
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibdash.models.kernels import Kernel
from calibdash.models.labelling.arrays import LabelData
from calibdash.models.labelling.settings import LabelSettings

D0_MEAN, D0_SD = 2.0, 1.5
FALLIBLE_BOOST = 3.0  # log odds by which a fallible reference is expected to be better than others
SCALES = ("skill", "population", "habit", "own", "drift")
LEFT_OUT = 1e-3  # of the variance of a process, by the directions that are not kept
SPACING = 0.5  # of inducing points, in lengthscales
FINEST = 200
DRIFT_LOG_SD = 0.5
FIRST_SCALE = 0.5


@dataclass(frozen=True)
class TimeBasis:
    """f(t) = A(t)·v, v ~ N(0, I): inducing points [Z] on 0 … 1, leading directions of their covariance [Z, M]."""

    lengthscale: float
    points: np.ndarray
    directions: np.ndarray

    @property
    def size(self) -> int:
        """M, the number of directions; 0 for labellers who do not change."""
        return int(self.directions.shape[1])

    def at(self, progress: np.ndarray) -> np.ndarray:
        """A(t) of a process of variance 1.   progress [T] → [T, M]"""
        if not self.size:
            return np.zeros((len(progress), 0))
        return _kernel(self.lengthscale).matrix(np.asarray(progress, dtype=np.float64), self.points) @ self.directions


def time_basis(lengthscale: float | None) -> TimeBasis:
    """The basis of an EQ process on 0 … 1; None: of no change at all."""
    if lengthscale is None:
        return TimeBasis(1.0, np.zeros(0), np.zeros((0, 0)))
    count = int(np.clip(np.ceil(1.0 / (SPACING * lengthscale)) + 1, 3, FINEST))
    points = np.linspace(0.0, 1.0, count)
    Kzz = _kernel(lengthscale).matrix(points, points)  # [Z, Z]
    values, vectors = np.linalg.eigh(Kzz)
    order = np.argsort(values)[::-1]
    share = np.cumsum(values[order]) / values.sum()
    kept = order[: int(np.searchsorted(share, 1.0 - LEFT_OUT)) + 1]
    signs = np.sign(vectors[np.argmax(np.abs(vectors[:, kept]), axis=0), kept])  # eigh leaves the sign open
    return TimeBasis(lengthscale, points, vectors[:, kept] * signs / np.sqrt(values[kept]))


def _kernel(lengthscale: float) -> Kernel:
    return Kernel("eq", lengthscale, 1.0, 0.0)


@dataclass(frozen=True)
class Design:
    """Sizes of a model: J labellers, K classes; full: a log odds for each pair of classes. boost [J]"""

    labellers: int
    classes: int
    full: bool
    drift: float
    basis: TimeBasis
    boost: np.ndarray

    @property
    def scales(self) -> tuple[str, ...]:
        """Names of the scales."""
        return SCALES if self.basis.size else SCALES[:-1]

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Blocks of unknowns in their order; a labeller's blocks begin with J."""
        J, K, parts = self.labellers, self.classes, 1 + self.basis.size
        mine = (K, K) if self.full else (2, K)  # structured: the right answers, then any answer
        return {
            "d0": (1,),
            "scales": (len(self.scales),),
            "prevalence": (K,),
            "population": (K, K),
            "skill": (J,),
            "habit": (J, K),
            "own": (J, parts, *mine),
        }

    @cached_property
    def places(self) -> dict[str, slice]:
        """Where each block stands among all unknowns."""
        places, begin = {}, 0
        for name, shape in self.shapes.items():
            places[name] = slice(begin, begin + int(np.prod(shape)))
            begin = places[name].stop
        return places

    @property
    def size(self) -> int:
        """D, the number of unknowns."""
        return self.places["own"].stop

    def start(self) -> np.ndarray:
        """Where the fit begins: the prior's centre, with scales above 0.   → [D]"""
        theta = np.zeros(self.size)
        theta[self.places["scales"]] = FIRST_SCALE
        theta[self.places["prevalence"]] = -0.5
        if self.basis.size:
            theta[self.places["scales"].stop - 1] = 0.0
        return theta

    def scale_values(self, unknown: np.ndarray) -> dict[str, np.ndarray]:
        """Scales by name, but for their sign.   unknown [S, scales] → [S] each"""
        values = dict(zip(self.scales, unknown.T, strict=True))
        if self.basis.size:
            values["drift"] = self.drift * np.exp(DRIFT_LOG_SD * values["drift"])
        return values

    def shared(self, draws: np.ndarray) -> dict[str, np.ndarray]:
        """Unknowns that all labellers share.   draws [S, ≥ shared] → [S, …] each"""
        names = ("d0", "scales", "prevalence", "population")
        return {name: draws[:, self.places[name]].reshape(-1, *self.shapes[name]) for name in names}

    def mine(self, number: int) -> np.ndarray:
        """Places of the unknowns of one labeller: skill, habit, own.   → [1 + K + own]"""
        parts = []
        for name in ("skill", "habit", "own"):
            each = int(np.prod(self.shapes[name][1:]))
            begin = self.places[name].start + number * each
            parts.append(np.arange(begin, begin + each))
        return np.concatenate(parts)


def design(data: LabelData, settings: LabelSettings) -> Design:
    """The model of these labels under these settings."""
    return Design(
        len(data.labellers),
        len(data.classes),
        len(data.classes) <= settings.matrix_most,
        settings.drift,
        time_basis(settings.lengthscale if data.moving else None),
        FALLIBLE_BOOST * data.fallible,
    )


def log_confusion(
    model: Design, shared: dict[str, np.ndarray], own: np.ndarray, number: int, progress: np.ndarray
) -> np.ndarray:
    """Log p(y | ψ) of one labeller.   own [S, 1 + K + …] (as :meth:`Design.mine`), progress [T] → [S, T, K(ψ), K(y)]"""
    K = model.classes
    scale = {name: values[:, None, None, None] for name, values in model.scale_values(shared["scales"]).items()}
    eye = np.eye(K)
    skill, habit = own[:, 0, None, None, None], own[:, None, None, 1 : K + 1]
    values = own[:, K + 1 :].reshape(len(own), *model.shapes["own"][1:])  # [S, 1 + M, K, K] or [S, 1 + M, 2, K]
    if not model.full:
        values = values[:, :, 0, :, None] * eye + values[:, :, 1, None, :]  # [S, 1 + M, K, K]
    right = D0_MEAN + D0_SD * shared["d0"][:, :, None, None] + model.boost[number] + scale["skill"] * skill
    logits = right * eye + scale["population"] * shared["population"][:, None] + scale["habit"] * habit
    logits = logits + scale["own"] * values[:, :1]
    if model.basis.size:
        logits = logits + scale["drift"] * np.einsum("tm,smab->stab", model.basis.at(progress), values[:, 1:])
    else:
        logits = np.broadcast_to(logits, (len(own), len(progress), K, K))
    top = logits.max(axis=-1, keepdims=True)
    return logits - top - np.log(np.exp(logits - top).sum(axis=-1, keepdims=True))
