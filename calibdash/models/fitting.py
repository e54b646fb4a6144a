"""Fit a network: the one door to the optimisers."""

from __future__ import annotations

import time

import numpy as np

from calibdash.data.network import Network
from calibdash.models.defaults import resolve, thinned
from calibdash.models.footprint import inducing_count, room_for_fit
from calibdash.models.model import Model, assemble, read_pairs
from calibdash.models.natural import climb, likelihood_sites, start
from calibdash.models.outcome import conclude
from calibdash.models.posterior import Posterior
from calibdash.models.progress import Cancel, Halfway, Keep, Report, check
from calibdash.models.settings import Settings
from calibdash.models.sites import Sites, marginals, posterior
from calibdash.models.threads import one_thread
from calibdash.models.warm import warm_marginals

COARSE = 10_000  # rows of a first, thinned fit that a large one starts from


def fit(
    network: Network,
    settings: Settings | None = None,
    *,
    seed: int = 0,
    progress: Report | None = None,
    cancel: Cancel | None = None,
    warm: Posterior | None = None,
    keep: Keep | None = None,
    resume: Halfway | None = None,
) -> Posterior:
    """The posterior of every sensor's calibration. Deterministic given network, settings, seed and ``warm``.

    keep hears after each iteration where natural gradients stand; a fit of the same network, settings and seed can
    resume there, and ends as it would have ended.
    """
    began = time.perf_counter()
    check(cancel)
    settings = settings or Settings()
    with one_thread():
        pairs = read_pairs(network, settings)
        hyper = resolve(settings, pairs)
        with room_for_fit(pairs, hyper.latents, inducing_count(pairs, hyper, settings), cancel):
            return fit_model(
                assemble(pairs, settings, hyper),
                seed=seed,
                progress=progress,
                cancel=cancel,
                warm=warm,
                keep=keep,
                resume=resume,
                began=began,
            )


def fit_model(
    model: Model,
    *,
    seed: int = 0,
    progress: Report | None = None,
    cancel: Cancel | None = None,
    warm: Posterior | None = None,
    keep: Keep | None = None,
    resume: Halfway | None = None,
    began: float | None = None,
) -> Posterior:
    """The same for a model that is already put together."""
    began = time.perf_counter() if began is None else began
    if model.settings.optimiser == "adam":
        from calibdash.models.adam import adam

        return adam(model, seed=seed, progress=progress, cancel=cancel, began=began)
    shape = (len(model.pairs.hours), 2 * model.hyper.latents)
    if resume is not None and resume.sites.shift.shape == shape:
        sites, earlier = resume.sites, resume.elbo
    else:
        sites, earlier = first_sites(model, warm, seed, cancel), ()
    done, trace = climb(model, sites, seed, progress, cancel, keep=keep, earlier=earlier)
    converged = len(trace) <= model.settings.iterations
    seconds = time.perf_counter() - began
    return conclude(model, done.sites, done.q, seed=seed, seconds=seconds, elbo=trace, converged=converged)


def first_sites(model: Model, warm: Posterior | None, seed: int, cancel: Cancel | None) -> Sites:
    """Where to start: an earlier posterior, a thinned fit when there is much data, or the linearised log ratio."""
    known = warm_marginals(model, warm) if warm is not None else None
    if known is not None:
        return likelihood_sites(model, *known, seed)[1]
    if len(model.pairs.hours) <= 3 * COARSE:
        return start(model)
    thin = thinned(model.pairs, COARSE)
    small = assemble(thin, model.settings, model.hyper, model.design.basis.times)
    done, _ = climb(small, start(small), seed, cancel=cancel, tolerance=1.0)
    kept = np.isin(model.pairs.rows, thin.rows)
    W = np.zeros((len(kept), *done.sites.precision.shape[1:]))
    shift = np.zeros((len(kept), done.sites.shift.shape[1]))
    W[kept], shift[kept] = done.sites.precision, done.sites.shift
    mean, cov = marginals(model.design, posterior(model.design, Sites(W, shift)))
    return likelihood_sites(model, mean, cov, seed)[1]
