"""Starting from an earlier posterior: what it says about the latents of new colocations."""

from __future__ import annotations

import numpy as np

from calibdash.models.model import Model
from calibdash.models.posterior import Posterior


def warm_marginals(model: Model, old: Posterior) -> tuple[np.ndarray, np.ndarray] | None:
    """Marginals of this model's colocations under an earlier posterior; None where that had other latents.

    Sensors that had not met get no correlation: a start needs no more.   → mean [N, 2L], covariance [N, 2L, 2L]
    """
    L = model.hyper.latents
    if old.basis.hyper.latents != L or old.settings.function != model.settings.function:
        return None
    pairs = model.pairs
    place = {name: index for index, name in enumerate(old.sensors)}
    edges = {(int(i), int(j)): index for index, (i, j) in enumerate(old.plan.edges)}
    mean = np.zeros((len(pairs.hours), 2 * L))
    cov = np.zeros((len(pairs.hours), 2 * L, 2 * L))
    for first, last in zip(pairs.starts[:-1], pairs.starts[1:], strict=True):
        rows = slice(int(first), int(last))
        hours = pairs.hours[rows]
        numbers = []
        for side, sensor in ((0, pairs.a[first]), (1, pairs.b[first])):
            part = slice(side * L, side * L + L)
            name = pairs.sensors[sensor]
            known = name in place and not old.reference[place[name]]
            numbers.append(int(old.latent[place[name]]) if known else -1)
            if pairs.reference[sensor]:
                continue
            if known:
                mean[rows, part], cov[rows, part, part] = old.latents(name, hours)
            else:
                prior = [kernel.variance for kernel in model.hyper.kernels[int(pairs.mobile[sensor])]]
                cov[rows, part, part] = np.diag(prior)
        a, b = numbers
        edge = edges.get((min(a, b), max(a, b))) if min(a, b) >= 0 else None
        if edge is not None and not pairs.reference[pairs.b[first]]:
            cross = _cross(old, edge, a, b, hours)  # [n, L, L]
            cov[rows, :L, L:] = cross
            cov[rows, L:, :L] = cross.swapaxes(-1, -2)
    return mean, cov


def _cross(old: Posterior, edge: int, a: int, b: int, hours: np.ndarray) -> np.ndarray:
    """Covariance of the latents of two sensors that met.   hours [n] → [n, L, L]"""
    L, M = old.basis.hyper.latents, old.basis.times.shape[1]
    block = old.q.off[edge] if a < b else old.q.off[edge].T
    Aa, Ab = old.basis.design(a, hours), old.basis.design(b, hours)  # [n, L, M]
    return np.einsum("nim,imjk,njk->nij", Aa, block.reshape(L, M, L, M), Ab, optimize=True)
