"""Hyperparameters by empirical Bayes: maximise the bound plus log priors; the truth is never looked at.

The bound is at its maximum over q, so its gradient in a hyperparameter is the partial one at fixed (whitened) q.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from calibdash.data.network import Network
from calibdash.models.defaults import beliefs, bounds, given, resolve, thinned
from calibdash.models.expectation import contracted, noise_gradients, rule
from calibdash.models.footprint import LEARNING_POINTS, room_for_fit
from calibdash.models.hyper import Hyper
from calibdash.models.inducing import basis, inducing_times
from calibdash.models.kernels import SHAPES
from calibdash.models.model import Model, assemble, read_pairs
from calibdash.models.natural import Fitted, climb, start
from calibdash.models.pairs import PairData
from calibdash.models.progress import Cancel, Progress, Report, check
from calibdash.models.setting_table import LEARNABLE
from calibdash.models.settings import Settings
from calibdash.models.sites import Sites, design, marginals
from calibdash.models.threads import one_thread

STEP = 1e-4
INNER_TOLERANCE = 0.005
INNER_MOST = 15
ENOUGH = 0.5  # nats


@dataclass(frozen=True)
class Objective:
    """Bound plus log priors as a function of the logarithms θ of the values that are free.

    times [S, M]: inducing times, kept while learning; centres, widths, low, high [F]: priors and bounds of θ.
    """

    pairs: PairData
    settings: Settings
    base: Hyper
    times: np.ndarray
    names: tuple[str, ...]
    centres: np.ndarray
    widths: np.ndarray
    low: np.ndarray
    high: np.ndarray
    seed: int

    def hyper(self, theta: np.ndarray) -> Hyper:
        """The hyperparameters at θ."""
        hyper = self.base
        for name, value in zip(self.names, np.exp(theta).tolist(), strict=True):
            hyper = hyper.with_main(name, value)
        return hyper

    def value_and_gradient(self, theta: np.ndarray, sites: Sites | None) -> tuple[float, np.ndarray, Fitted]:
        """Bound + log prior, its gradient in θ, and the fit it stands on.   theta [F] → [], [F]"""
        model = assemble(self.pairs, self.settings, self.hyper(theta), self.times)
        fitted = self._fitted(model, sites)
        away = (theta - self.centres) / self.widths
        gradient = self._bound_gradient(theta, model, fitted) - away / self.widths
        return fitted.elbo - 0.5 * float(away @ away), gradient, fitted

    def _fitted(self, model: Model, sites: Sites | None) -> Fitted:
        """A fit from the sites of another θ; afresh where those do not suit: single ones need not be definite."""
        if sites is not None:
            with contextlib.suppress(np.linalg.LinAlgError):
                fitted, _ = climb(model, sites, self.seed, tolerance=INNER_TOLERANCE, most=INNER_MOST)
                if np.isfinite(fitted.elbo):
                    return fitted
        return climb(model, start(model), self.seed, tolerance=INNER_TOLERANCE, most=INNER_MOST)[0]

    def _bound_gradient(self, theta: np.ndarray, model: Model, fitted: Fitted) -> np.ndarray:
        """∂ELBO/∂θ at fixed q: kernels through the marginals, noise through the likelihood.   → [F]"""
        mean, cov = marginals(model.design, fitted.q)
        by_kernel = [name for name in self.names if not name.startswith("noise")]
        moved = {name: self._moved_marginals(theta, model, fitted, name) for name in by_kernel}
        gradient = dict.fromkeys(self.names, 0.0)
        for (form, rows), (slope, curve) in zip(model.parts(), fitted.slopes, strict=True):
            x_mean, x_cov = contracted(form, mean[rows], cov[rows])
            quadrature = rule(slope.shape[1], model.settings.quadrature_nodes, model.settings.samples, self.seed)
            for name in by_kernel:
                (up_mean, up_cov), (down_mean, down_cov) = (
                    contracted(form, some_mean[rows], some_cov[rows]) for some_mean, some_cov in moved[name]
                )
                change = np.sum(slope * (up_mean - down_mean)) + np.sum(curve * (up_cov - down_cov))
                gradient[name] += float(change) / (2 * STEP)
            additive, proportional = noise_gradients(form, x_mean, x_cov, model.rows(rows), quadrature)
            # dσ²/d log σ = 2σ²; a reference's noise is not learned
            learned = ~self.pairs.reference[np.stack([self.pairs.a[rows], self.pairs.b[rows]], axis=1)]
            for name, by in (("noise.additive", additive), ("noise.proportional", proportional)):
                if name in gradient:
                    gradient[name] += float(np.sum(2 * model.data[name.split(".")[1]][rows] * by * learned))
        return np.array([gradient[name] for name in self.names])

    def _moved_marginals(
        self, theta: np.ndarray, model: Model, fitted: Fitted, name: str
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Marginals of the same q a little above and below one value of θ."""
        results = []
        for sign in (1.0, -1.0):
            shifted = theta + sign * STEP * (np.array(self.names) == name)
            old = model.design
            grid = basis(old.basis.times, old.basis.mobile, self.hyper(shifted))
            results.append(marginals(design(model.pairs, grid, old.plan), fitted.q))
        return results


def objective(pairs: PairData, settings: Settings, seed: int) -> Objective:
    """The objective of these settings, started from what the log ratios suggest."""
    fixed = given(settings, pairs)
    base = resolve(settings, pairs)
    names = tuple(name for name in LEARNABLE if name not in fixed)
    prior, limits = beliefs(pairs), bounds(settings, pairs)
    centres = np.log([prior[name][0] for name in names])
    widths = settings.learn_prior * np.array([prior[name][1] for name in names])
    low = np.array([np.log(limits[name][0]) if name in limits else -np.inf for name in names])
    high = np.array([np.log(limits[name][1]) if name in limits else np.inf for name in names])
    low, high = np.maximum(low, centres - 2.5 * widths), np.minimum(high, centres + 2.5 * widths)
    # Inducing points stay while lengthscales move, so there are enough for somewhat shorter ones.
    times = inducing_times(pairs, base, LEARNING_POINTS * settings.inducing_density, settings.inducing_most)
    return Objective(pairs, settings, base, times, names, centres, widths, low, np.maximum(low, high), seed)


def learn(
    network: Network,
    settings: Settings | None = None,
    *,
    seed: int = 0,
    progress: Report | None = None,
    cancel: Cancel | None = None,
) -> Settings:
    """Settings with every value that was left to the data filled in; values that were set stay."""
    settings = settings or Settings()
    with one_thread():
        pairs = read_pairs(network, settings)
        thin = thinned(pairs, settings.learn_most)
        found = [
            learn_hyper(thin, replace(settings, kernel=shape), seed=seed, progress=progress, cancel=cancel)
            for shape in _shapes(settings, pairs, thinned_out=len(thin.hours) < len(pairs.hours))
        ]
    best = max(found, key=lambda pair: pair[0])[1]
    return with_hyper(settings, best, pairs.level)


def _shapes(settings: Settings, pairs: PairData, *, thinned_out: bool) -> list[str]:
    """Kernels to try. Whether drift is rough shows in what thinning takes away: there the whole record decides."""
    if settings.kernel is not None:
        return [settings.kernel]
    return [resolve(settings, pairs).kernels[0][0].shape] if thinned_out else list(SHAPES)


def with_hyper(settings: Settings, hyper: Hyper, level: float) -> Settings:
    """The settings that fix these hyperparameters."""
    values = {name: hyper.main(name) for name in LEARNABLE}
    values["noise.additive"] *= level
    fields = {name.replace(".", "_"): value for name, value in values.items()}
    left = {name: value for name, value in fields.items() if getattr(settings, name) is None}
    return replace(settings, kernel=hyper.kernels[0][0].shape, **left)  # type: ignore[arg-type]


def learn_hyper(
    pairs: PairData, settings: Settings, *, seed: int, progress: Report | None = None, cancel: Cancel | None = None
) -> tuple[float, Hyper]:
    """The best bound plus log prior over all restarts, and its hyperparameters."""
    goal = objective(pairs, settings, seed)
    with room_for_fit(pairs, goal.base.latents, goal.times.shape[1], cancel):
        return _best(goal, settings.learn_restarts, seed, progress, cancel)


def _best(
    goal: Objective, restarts: int, seed: int, progress: Report | None, cancel: Cancel | None
) -> tuple[float, Hyper]:
    rng = np.random.default_rng(seed)
    began = time.perf_counter()
    first = np.log([goal.base.main(name) for name in goal.names])
    best: tuple[float, np.ndarray] = (-np.inf, first)
    for restart in range(restarts):
        point = first if restart == 0 else goal.centres + goal.widths * rng.standard_normal(len(first))
        value, theta = _ascend(goal, np.clip(point, goal.low, goal.high), began, progress, cancel)
        best = max(best, (value, theta), key=lambda pair: pair[0])
    return best[0], goal.hyper(best[1])


def _ascend(
    goal: Objective, first: np.ndarray, began: float, progress: Report | None, cancel: Cancel | None
) -> tuple[float, np.ndarray]:
    """L-BFGS from one point, every fit started from the last one's sites.   → value, θ [F]"""
    state: dict[str, Sites | None] = {"sites": None}
    trail: list[tuple[float, np.ndarray]] = []

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        check(cancel)
        value, gradient, fitted = goal.value_and_gradient(theta, state["sites"])
        state["sites"] = fitted.sites
        trail.append((value, theta.copy()))
        if progress is not None:
            seconds, total = time.perf_counter() - began, goal.settings.learn_steps
            left = seconds / len(trail) * max(0, total - len(trail))
            progress(Progress("learn", len(trail), total, value, seconds, left))
        return -value, -gradient

    if not goal.names:
        return -loss(first)[0], first
    limits = list(zip(goal.low, goal.high, strict=True))
    steps = goal.settings.learn_steps
    while len(trail) < steps:
        begin = max(trail, key=lambda pair: pair[0]) if trail else (-np.inf, first)
        options = {"maxfun": steps - len(trail), "ftol": 1e-6, "gtol": 0.1}
        minimize(loss, begin[1], jac=True, method="L-BFGS-B", bounds=limits, options=options)
        # Sites carried over make the bound a little rough; a line search that trips over it starts afresh.
        if max(trail, key=lambda pair: pair[0])[0] - begin[0] < ENOUGH:
            break
    return max(trail, key=lambda pair: pair[0])
