"""Hyperparameters by Bayesian optimisation on held-out colocations, as in the paper; the truth is never looked at."""

from __future__ import annotations

import numpy as np
from bayes_opt import BayesianOptimization

from calibdash.data.network import Network
from calibdash.models.learning import Objective, objective, with_hyper
from calibdash.models.model import assemble, read_pairs
from calibdash.models.natural import climb, start
from calibdash.models.pairs import PairData
from calibdash.models.predictive import log_predictive
from calibdash.models.progress import Cancel, Progress, Report, check
from calibdash.models.settings import Settings
from calibdash.models.sites import Sites, marginals, posterior
from calibdash.models.threads import one_thread

SHARE = 0.2
BLOCKS = 40
FIRST = 8


def held_out(pairs: PairData, share: float, seed: int) -> np.ndarray:
    """Rows in random blocks of time, so that a held-out row's neighbours are held out with it.   → [N] bool"""
    span = max(float(np.ptp(pairs.hours)), 1e-9)
    block = np.minimum((pairs.hours - pairs.hours.min()) / span * BLOCKS, BLOCKS - 1).astype(np.int64)
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(BLOCKS)[: max(1, round(share * BLOCKS))]
    out = np.isin(block, chosen)
    return out if 0 < out.sum() < len(out) else rng.random(len(out)) < share


def search(
    network: Network,
    settings: Settings | None = None,
    *,
    evaluations: int = 30,
    seed: int = 0,
    progress: Report | None = None,
    cancel: Cancel | None = None,
) -> Settings:
    """Settings whose fit to some periods best predicts the colocations of the others (mean log density)."""
    settings = settings or Settings()
    with one_thread():
        pairs = read_pairs(network, settings)
        goal = objective(pairs, settings, seed)
        out = held_out(pairs, SHARE, seed)
        limits = {
            name: (float(low), float(high)) for name, low, high in zip(goal.names, goal.low, goal.high, strict=True)
        }
        optimiser = BayesianOptimization(
            f=None, pbounds=limits, random_state=seed, verbose=0, allow_duplicate_points=True
        )
        first = {name: float(np.log(goal.base.main(name))) for name in goal.names}
        best = (-np.inf, np.array(list(first.values())))
        for evaluation in range(evaluations):
            check(cancel)
            point = first if evaluation == 0 else _next(optimiser, evaluation)
            theta = np.clip([point[name] for name in goal.names], goal.low, goal.high)
            score = held_out_score(goal, pairs, out, theta)
            optimiser.register(params=dict(zip(goal.names, theta.tolist(), strict=True)), target=score)
            best = max(best, (score, theta), key=lambda pair: pair[0])
            if progress is not None:
                progress(Progress("search", evaluation + 1, evaluations, best[0], 0.0, None))
    return with_hyper(settings, goal.hyper(best[1]), pairs.level)


def _next(optimiser: BayesianOptimization, evaluation: int) -> dict[str, float]:
    """A random point at first, then the one the acquisition function likes best."""
    point = optimiser.random_sample(1)[0] if evaluation < FIRST else optimiser.suggest()
    return {name: float(value) for name, value in point.items()}  # type: ignore[arg-type]


def held_out_score(goal: Objective, pairs: PairData, out: np.ndarray, theta: np.ndarray) -> float:
    """Mean log predictive density of held-out colocations under a fit to the rest.   out [N], theta [F]"""
    hyper = goal.hyper(theta)
    kept = assemble(pairs.subset(~out), goal.settings, hyper, goal.times)
    fitted, _ = climb(kept, start(kept), goal.seed, tolerance=0.1, most=15)
    whole = assemble(pairs, goal.settings, hyper, goal.times)
    # the same q seen from all colocations: pairs that only met in held-out periods need the full pattern
    W = np.zeros((len(out), *fitted.sites.precision.shape[1:]))
    shift = np.zeros((len(out), fitted.sites.shift.shape[1]))
    W[~out], shift[~out] = fitted.sites.precision, fitted.sites.shift
    mean, cov = marginals(whole.design, posterior(whole.design, Sites(W, shift)))
    return float(np.mean(log_predictive(whole, mean, cov, goal.seed)[out]))
