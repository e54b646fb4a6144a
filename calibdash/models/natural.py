"""Natural gradients (conjugate-computation VI): Gaussian sites refined until the bound no longer rises."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from calibdash.models.expectation import contracted, expectation, rule
from calibdash.models.factor import factor
from calibdash.models.form import Form
from calibdash.models.linear import linear_sites
from calibdash.models.model import Model
from calibdash.models.progress import Cancel, Halfway, Keep, Progress, Report, check, iterations_left
from calibdash.models.sites import Gaussian, Sites, marginals, posterior

FEWEST_STEP = 1 / 64
LINEARISATIONS = 3


@dataclass(frozen=True)
class Fitted:
    """Where a fit stands: sites, the posterior they make, its bound, and the sites its gradients ask for."""

    sites: Sites
    q: Gaussian
    elbo: float
    target: Sites
    slopes: list[tuple[np.ndarray, np.ndarray]]  # dE/dμ [n, D] and dE/dΣ [n, D, D] of each part of the model


def start(model: Model) -> Sites:
    """Sites of the linearised log ratio; a function that is not linear in its latents is linearised again."""
    sites = linear_sites(model.pairs, model.hyper, model.free)
    if not model.free.function.contrast:
        for _ in range(LINEARISATIONS):
            mean, _ = marginals(model.design, posterior(model.design, sites))
            sites = linear_sites(model.pairs, model.hyper, model.free, mean)
    return sites


def evaluate(model: Model, sites: Sites, seed: int) -> Fitted:
    """The bound of the posterior that the sites make, and the sites that a natural-gradient step of 1 would set."""
    q = posterior(model.design, sites)
    mean, cov = marginals(model.design, q)
    likelihood, target, slopes = likelihood_sites(model, mean, cov, seed, definite=False)
    return Fitted(sites, q, likelihood - divergence(model, q), target, slopes)


def divergence(model: Model, q: Gaussian) -> float:
    """KL[q ‖ prior]; of point-estimated noise only the prior's −log density counts (½mᵀm, up to a constant)."""
    if model.hyper.noise_model != "dirac":
        return q.kl()
    points = model.design.basis.times.shape[1]
    noise = slice(q.mean.shape[1] - points, None)
    diagonal, off = q.solved.diagonal, q.solved.off
    part = factor(model.design.plan, diagonal[:, noise, noise], off[:, noise, noise])
    trace = float(np.einsum("sii->", q.diagonal[:, noise, noise]))
    size = q.mean.shape[0] * points
    return q.kl() - (0.5 * (trace - size) + part.half_logdet)


def likelihood_sites(
    model: Model, mean: np.ndarray, cov: np.ndarray, seed: int, *, definite: bool = True
) -> tuple[float, Sites, list[tuple[np.ndarray, np.ndarray]]]:
    """Σ_i E log p(y_i), sites W = −2 dE/dΣ and b = Wμ + dE/dμ, and those gradients.

    definite: keep every W positive semi-definite, so that any step is safe. Along a direction that single colocations
    hardly inform, such as gain against offset, the part that is cut away there and then has mean zero over many:
    cutting it makes bands too narrow, so steps try the whole curvature first.   mean [N, 2L], cov [N, 2L, 2L]
    """
    latents = mean.shape[1]
    total, slopes = 0.0, []
    W, shift = np.zeros((len(mean), latents, latents)), np.zeros((len(mean), latents))
    for form, rows in model.parts():
        J = form.matrix()
        x_mean, x_cov = contracted(form, mean[rows], cov[rows])
        quadrature = rule(len(J), model.settings.quadrature_nodes, model.settings.samples, seed)
        value, gradient, curvature = expectation(form, x_mean, x_cov, model.rows(rows), quadrature)
        total += float(value.sum())
        slopes.append((gradient, curvature))
        x_W = _curvature(form, -2.0 * curvature)  # [n, D, D]
        if definite or len(J) == 1:
            x_W = _semi_definite(x_W)
        x_shift = np.einsum("nij,nj->ni", x_W, x_mean) + gradient  # [n, D]
        width = J.shape[1]
        W[rows[:, None, None], np.arange(width)[:, None], np.arange(width)] = J.T @ x_W @ J
        shift[rows[:, None], np.arange(width)] = x_shift @ J
    return total, Sites(W, shift), slopes


def _curvature(form: Form, W: np.ndarray) -> np.ndarray:
    """W made symmetric; a point estimate does not correlate with the rest.   [n, D, D]"""
    if form.noise_model == "dirac":
        places = form.noise_places()
        rest = np.setdiff1d(np.arange(W.shape[-1]), places)
        W[:, places[:, None], rest] = 0.0
        W[:, rest[:, None], places] = 0.0
    return 0.5 * (W + W.swapaxes(-1, -2))


def _semi_definite(W: np.ndarray) -> np.ndarray:
    """The nearest positive semi-definite matrices.   [n, D, D]"""
    if W.shape[-1] == 1:
        return np.maximum(W, 0.0)
    values, vectors = np.linalg.eigh(W)
    return np.einsum("nij,nj,nkj->nik", vectors, np.maximum(values, 0.0), vectors)


def climb(
    model: Model,
    sites: Sites,
    seed: int,
    report: Report | None = None,
    cancel: Cancel | None = None,
    tolerance: float | None = None,
    most: int | None = None,
    keep: Keep | None = None,
    earlier: tuple[float, ...] = (),
) -> tuple[Fitted, list[float]]:
    """Steps towards the target sites, halved until the bound rises; ends when it rises no more.   → fit, trace

    keep hears of every iteration where it stands; earlier: the bound up to these sites, where a climb goes on.
    """
    tolerance = model.settings.tolerance if tolerance is None else tolerance
    most = model.settings.iterations if most is None else most
    began = time.perf_counter()
    now = evaluate(model, sites, seed)
    trace, gains = [*earlier[:-1], now.elbo], []
    for iteration in range(len(trace), most + 1):
        check(cancel)
        better = _step(model, now, seed)
        if better is None:
            break
        gains.append(better.elbo - now.elbo)
        now = better
        trace.append(now.elbo)
        if report is not None:
            report(_progress(iteration, most, now.elbo, time.perf_counter() - began, gains, tolerance))
        if keep is not None:
            keep(Halfway(now.sites, tuple(trace)))
        if gains[-1] < tolerance:
            break
    return now, trace


def _step(model: Model, now: Fitted, seed: int) -> Fitted | None:
    """The first of ever shorter steps that raises the bound: with the whole curvature, then with its definite part."""
    better = _shorter_steps(model, now, now.target, seed)
    if better is not None or all(len(form.matrix()) == 1 for form, _ in model.parts()):
        return better
    mean, cov = marginals(model.design, now.q)
    return _shorter_steps(model, now, likelihood_sites(model, mean, cov, seed)[1], seed)


def _shorter_steps(model: Model, now: Fitted, target: Sites, seed: int) -> Fitted | None:
    step = 1.0
    while step >= FEWEST_STEP:
        W = (1 - step) * now.sites.precision + step * target.precision
        shift = (1 - step) * now.sites.shift + step * target.shift
        try:
            moved = evaluate(model, Sites(W, shift), seed)
        except np.linalg.LinAlgError:  # too long a step along an indefinite curvature
            moved = None
        if moved is not None and np.isfinite(moved.elbo) and moved.elbo >= now.elbo:
            return moved
        step /= 2
    return None


def _progress(iteration: int, most: int, elbo: float, seconds: float, gains: list[float], tolerance: float) -> Progress:
    left = iterations_left(gains, tolerance)
    remaining = None if left is None else left * seconds / len(gains)
    return Progress(
        "fit", iteration, min(most, iteration + left) if left is not None else most, elbo, seconds, remaining
    )
