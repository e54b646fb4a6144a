"""The live preview: the `log-ratio` scale fit, one linear solve. No TensorFlow."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from calibdash.data.network import Network
from calibdash.models.model import assemble, read_pairs
from calibdash.models.outcome import conclude
from calibdash.models.pairs import PairData
from calibdash.models.posterior import Posterior
from calibdash.models.ratios import Pooled, ratio_bound, ratio_sites, ratios
from calibdash.models.settings import Settings
from calibdash.models.sites import posterior
from calibdash.models.threads import one_thread


def preview(data: Network | PairData, settings: Settings | None = None) -> Posterior:
    """The posterior of the log gains at once; pass :func:`preview_pairs` of a network to read its table only once."""
    began = time.perf_counter()
    settings = preview_settings(settings or Settings())
    with one_thread():
        pairs = data if isinstance(data, PairData) else read_pairs(data, settings)
        model = assemble(pairs, settings)
        single = Pooled(pairs, pairs, np.arange(len(pairs.hours)))
        logs = ratios(single, model.hyper)
        sites = ratio_sites(model.design, logs)
        q = posterior(model.design, sites)
        bound = ratio_bound(model.design, logs, q.solved)
        seconds = time.perf_counter() - began
        return conclude(model, sites, q, seed=0, seconds=seconds, elbo=[bound], converged=True)


def preview_settings(settings: Settings) -> Settings:
    """These settings with the function, likelihood and noise model that need no iteration."""
    return replace(settings, function="scale", likelihood="log-ratio", noise_model="fixed")


def preview_pairs(network: Network) -> PairData:
    """The colocations that a preview uses."""
    return read_pairs(network, preview_settings(Settings()))
