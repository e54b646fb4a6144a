"""From sites to a posterior object: the last step of every optimiser. No TensorFlow."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.metadata import version

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from calibdash.models.linear import linearised, log_ratio_noise
from calibdash.models.model import Model
from calibdash.models.pairs import PairData
from calibdash.models.posterior import Posterior, Record
from calibdash.models.sites import Gaussian, Sites, marginals

PACKAGES = ("calibdash", "numpy", "scipy", "tensorflow", "tensorflow-probability")


def conclude(
    model: Model, sites: Sites, q: Gaussian, *, seed: int, seconds: float, elbo: list[float], converged: bool
) -> Posterior:
    """The posterior that these sites make, with the record of its fit."""
    pairs = model.pairs
    record = Record(
        seed,
        data_hash(pairs),
        dict(versions()),
        round(seconds, 3),
        tuple(elbo),
        converged,
        len(pairs.hours),
        relative_sensors(pairs),
        (*pairs.dropped, *cautions(model)),
    )
    posterior = Posterior(
        model.settings,
        record,
        pairs.clock,
        pairs.sensors,
        pairs.mobile,
        pairs.reference,
        pairs.latent,
        pairs.level,
        {name: float(np.median(column)) for name, column in pairs.covariates.items()},
        model.design.basis,
        q.factor.plan,
        q.mean,
        q.solved.diagonal,
        q.solved.off,
        leave_one_out(model, sites, q),
    )
    posterior.__dict__["q"] = q  # already factored: spare the cached property its work
    return posterior


def cautions(model: Model) -> tuple[str, ...]:
    """What whoever reads the result should know about the settings it was made with."""
    form = model.free
    shifts = [parameter.name for parameter in form.function.parameters if parameter.power > 0]
    if form.likelihood == "paper" and shifts:
        # Its level is nearly flat in h, not in log h, so that every pair without a reference asks for larger gains.
        what = " and ".join(shifts)
        return (f"The likelihood paper is not to be trusted with {what}: gains come out too large. Use reading.",)
    return ()


@lru_cache(maxsize=1)
def versions() -> tuple[tuple[str, str], ...]:
    """Versions of what a fit stands on."""
    return tuple((name, version(name)) for name in PACKAGES)


def data_hash(pairs: PairData) -> str:
    """Twelve hex digits of everything the fit reads from its data."""
    digest = hashlib.sha256(repr((pairs.sensors, pairs.level)).encode())
    for array in (
        pairs.hours,
        pairs.a,
        pairs.b,
        pairs.values,
        pairs.mobile,
        pairs.reference,
        *pairs.covariates.values(),
    ):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:12]


def relative_sensors(pairs: PairData) -> tuple[str, ...]:
    """Non-references that no chain of colocations ties to a reference."""
    count = len(pairs.sensors)
    first = pairs.starts[:-1]
    graph = coo_array((np.ones(len(first)), (pairs.a[first], pairs.b[first])), shape=(count, count))
    _, component = connected_components(graph, directed=False)
    tied = np.isin(component, component[pairs.reference])
    return tuple(np.array(pairs.sensors, dtype=object)[~tied].tolist())


def leave_one_out(model: Model, sites: Sites, q: Gaussian) -> dict[str, np.ndarray]:
    """The log ratio a/b of each colocation against what the fit expects without its own site.   [N] each"""
    pairs = model.pairs
    mean, cov = marginals(model.design, q)
    readings, noise = log_ratio_noise(pairs, model.hyper)
    residual, slopes, variance = linearised(pairs, model.hyper, model.free, mean)
    shift, spread = _without_site(model, mean, cov, sites, slopes)
    residual = residual + shift
    if model.free.noisy:
        log_noise = mean[:, [model.hyper.latents - 1, -1]]  # a reference's stays 0
        variance = variance * np.sum(noise * np.exp(log_noise), axis=1) / noise.sum(axis=1)
    variance = variance + spread
    ratio = np.log(readings[:, 0] / readings[:, 1])
    sign = np.where(pairs.swapped, -1.0, 1.0)  # back to the sides of the table
    return {
        "hours": pairs.hours,
        "a": np.where(pairs.swapped, pairs.b, pairs.a),
        "b": np.where(pairs.swapped, pairs.a, pairs.b),
        "observed": np.where((pairs.values > 0).all(axis=1), sign * ratio, np.nan),
        "expected": sign * (ratio - residual),
        "sd": np.sqrt(variance),
    }


def _without_site(
    model: Model, mean: np.ndarray, cov: np.ndarray, sites: Sites, slopes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How slopes·f moves, and its variance, when a colocation's own site is taken away.   → [N], [N]

    Cavity covariance (Σ⁻¹ − W)⁻¹ = Σ(I − WΣ)⁻¹, cavity mean = m + cavity·(Wm − b).
    """
    pull = np.einsum("nij,nj->ni", sites.precision, mean) - sites.shift  # [N, 2L]
    if model.free.contrast and not model.free.noisy:  # one number each, along the difference of log gains
        variance = np.einsum("ni,nij,nj->n", slopes, cov, slopes)
        left = np.maximum(1.0 - sites.precision[:, 0, 0] * variance, 1e-6)
        return variance / left * pull[:, 0], variance / left
    inner = np.linalg.inv(np.eye(mean.shape[1]) - sites.precision @ cov)  # [N, 2L, 2L]
    cavity = cov @ inner  # [N, 2L, 2L]
    shift = np.einsum("ni,nij,nj->n", slopes, cavity, pull)
    return shift, np.maximum(np.einsum("ni,nij,nj->n", slopes, cavity, slopes), 0.0)
