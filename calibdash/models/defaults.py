"""Hyperparameters from settings, and from the data where settings leave them open."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from calibdash.errors import CalibdashError
from calibdash.models import functions
from calibdash.models.functions import CalibrationFunction
from calibdash.models.hyper import Hyper
from calibdash.models.inducing import basis, inducing_times
from calibdash.models.kernels import Kernel
from calibdash.models.pairs import PairData
from calibdash.models.ratios import Pooled, pooled, ratio_evidence, ratio_sites, ratios, with_open_variance
from calibdash.models.setting_table import LEARNABLE, SPECIFIC
from calibdash.models.settings import KINDS, Settings
from calibdash.models.sites import design, solved

MOST_ROWS = 4000
KEPT_MOST = 64
_KEPT: dict[bytes, tuple[str, dict[str, float]]] = {}
_LOCK = threading.Lock()
# Before any data: log-normal beliefs as (median, log sd); lengthscales in spans of the record.
BELIEFS = {
    "lengthscale.static": (0.5, 0.8),
    "lengthscale.mobile": (0.2, 0.8),
    "drift": (0.35, 0.8),
    "bias": (0.3, 0.8),
    "noise.additive": (0.05, 1.5),
    "noise.proportional": (0.07, 1.0),
}


def beliefs(pairs: PairData) -> dict[str, tuple[float, float]]:
    """Median and log sd of each learned value before its data, lengthscales in hours."""
    span = max(float(pairs.hours.max() - pairs.hours.min()), 24.0)
    return {
        name: (median * span if name.startswith("lengthscale") else median, width)
        for name, (median, width) in BELIEFS.items()
    }


def given(settings: Settings, pairs: PairData) -> dict[str, float]:
    """Values that the settings fix, noise in units of the typical reading."""
    fixed = {name: getattr(settings, name.replace(".", "_")) for name in LEARNABLE}
    if fixed["noise.additive"] is not None:
        fixed["noise.additive"] /= pairs.level
    return {name: float(value) for name, value in fixed.items() if value is not None}


def bounds(settings: Settings, pairs: PairData) -> dict[str, tuple[float, float]]:
    """Bounds that the user set on learned values, noise in units of the typical reading."""
    unit = {"noise.additive": pairs.level}
    return {name: (low / unit.get(name, 1.0), high / unit.get(name, 1.0)) for name, low, high in settings.bounds}


def resolve(settings: Settings, pairs: PairData) -> Hyper:
    """All hyperparameters: what settings fix, and what the log ratios suggest for the rest."""
    fixed = given(settings, pairs)
    if settings.kernel is not None and len(fixed) == len(LEARNABLE):
        return build(settings, pairs, fixed)
    nominal = nominally_calibrated(pairs, functions.named(settings.function))
    kernel, suggested = _suggested(nominal, fixed, bounds(settings, pairs), settings.kernel)
    return build(replace(settings, kernel=kernel), pairs, {**suggested, **fixed})


def _suggested(
    pairs: PairData, fixed: dict[str, float], limits: dict[str, tuple[float, float]], kernel: str | None
) -> tuple[str, dict[str, float]]:
    """:func:`suggest`, done once for the same data and wishes: every session that opens a network asks this."""
    digest = hashlib.sha256(repr((sorted(fixed.items()), sorted(limits.items()), kernel, pairs.lowest)).encode())
    for array in (pairs.hours, pairs.a, pairs.b, pairs.values, pairs.mobile, pairs.reference, pairs.latent):
        digest.update(np.ascontiguousarray(array).tobytes())
    key = digest.digest()
    if (known := _KEPT.get(key)) is not None:
        return known
    found = suggest(pairs, fixed, limits, kernel)
    with _LOCK:
        while len(_KEPT) >= KEPT_MOST:
            _KEPT.pop(next(iter(_KEPT)))
        _KEPT[key] = found
    return found


def nominally_calibrated(pairs: PairData, function: CalibrationFunction) -> PairData:
    """Readings corrected by what the function does at the centre of its priors: with humidity, the usual growth."""
    if not function.covariates:
        return pairs
    columns = []
    for side, who in ((0, pairs.a), (1, pairs.b)):
        covariates = {name: column[:, side] for name, column in pairs.covariates.items()}
        centre = function.values(np, [np.zeros(len(who))] * len(function.parameters))
        corrected = function.calibrate(np, pairs.values[:, side], centre, covariates)
        columns.append(np.where(pairs.reference[who], pairs.values[:, side], corrected))
    return replace(pairs, values=np.stack(columns, axis=1), lowest=-np.inf)


def build(settings: Settings, pairs: PairData, values: dict[str, float]) -> Hyper:
    """Kernels and noise from the six main values and what settings say about kinds and parameters."""
    function = functions.named(settings.function)
    _check_specific(settings, function)
    rows = []
    for kind in KINDS:
        row = []
        for parameter in function.parameters:
            pick = {
                "kernel": settings.kernel,
                "lengthscale": values[f"lengthscale.{kind}"],
                "drift": values["drift"] * parameter.size,
                "bias": values["bias"] * parameter.size,
            }
            for name in pick:
                specific = settings.specific_value(name, kind, parameter.name)
                pick[name] = pick[name] if specific is None else specific
            row.append(
                Kernel(str(pick["kernel"]), *(float(pick[name] or 0.0) for name in ("lengthscale", "drift", "bias")))
            )
        if settings.noise_model != "fixed":
            row.append(Kernel("eq", settings.noise_lengthscale, settings.noise_drift, settings.noise_drift))
        rows.append(tuple(row))
    given_noise = dict(settings.specific)
    additive = [
        float(given_noise[key]) / pairs.level
        if (key := f"noise.additive.{kind}") in given_noise
        else values["noise.additive"]
        for kind in KINDS
    ]
    share = [float(given_noise.get(f"noise.proportional.{kind}", values["noise.proportional"])) for kind in KINDS]
    return Hyper(
        (rows[0], rows[1]),
        (additive[0], additive[1]),
        (max(share[0], 1e-4), max(share[1], 1e-4)),
        settings.noise_reference,
        settings.noise_model,
        settings.level_floor,
        settings.level_spread,
    )


def _check_specific(settings: Settings, function: CalibrationFunction) -> None:
    """Settings by kind and parameter must speak of kinds and parameters that there are."""
    known = (*KINDS, *(parameter.name for parameter in function.parameters))
    for key, _ in settings.specific:
        name = next(name for name in SPECIFIC if key.startswith(f"{name}."))
        for part in key.removeprefix(f"{name}.").split("."):
            if part not in known:
                raise CalibdashError(f"{key}: there is no {part[:60]!r}.", f"Choose among {', '.join(known)}.")


def suggest(
    pairs: PairData, fixed: dict[str, float], limits: dict[str, tuple[float, float]], kernel: str | None
) -> tuple[str, dict[str, float]]:
    """Kernel and values that maximise the log-ratio bound plus beliefs on a thinned record: closed form."""
    data = pooled(_whole(pairs))
    data = pooled(thinned(data.rows, MOST_ROWS)) if len(data.starts) > MOST_ROWS else data
    if kernel is not None:
        return kernel, _suggest(data, fixed, limits, kernel)[1]
    smooth = _suggest(data, fixed, limits, "eq")
    rough = _suggest(data, fixed, limits, "matern32", smooth[1])
    return ("eq", smooth[1]) if smooth[0] >= rough[0] else ("matern32", rough[1])


def _suggest(
    data: Pooled,
    fixed: dict[str, float],
    limits: dict[str, tuple[float, float]],
    kernel: str,
    near: dict[str, float] | None = None,
) -> tuple[float, dict[str, float]]:
    """The best evidence with one kernel, and the values it has there; ``near`` is where to start."""
    pairs = data.rows
    prior = beliefs(pairs)
    free = [name for name in LEARNABLE if name not in fixed]
    centres = np.log([prior[name][0] for name in free])
    widths = np.array([prior[name][1] for name in free])
    reach = 3 * widths
    low = np.array(
        [np.log(limits[name][0]) if name in limits else c - r for name, c, r in zip(free, centres, reach, strict=True)]
    )
    high = np.array(
        [np.log(limits[name][1]) if name in limits else c + r for name, c, r in zip(free, centres, reach, strict=True)]
    )
    plain = Settings(kernel=kernel)

    def loss(theta: np.ndarray) -> float:
        values = {**dict(zip(free, np.exp(theta).tolist(), strict=True)), **fixed}
        prior_loss = 0.5 * float(np.sum(((theta - centres) / widths) ** 2))
        return prior_loss - linear_evidence(data, build(plain, pairs, values))

    options = {"maxiter": 15, "maxfun": 90, "eps": 1e-4}
    first = centres if near is None else np.log([near[name] for name in free])
    inside = np.clip(first, low, high)
    if not free:
        return -loss(inside), {}
    found = minimize(loss, inside, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)), options=options)
    return -float(found.fun), dict(zip(free, np.exp(found.x).tolist(), strict=True))


def _whole(pairs: PairData) -> PairData:
    """Rows whose readings are both measured; all of them where that would leave too few."""
    whole = np.asarray(~pairs.censored.any(axis=1))
    return pairs.subset(whole) if whole.sum() > len(whole) // 2 else pairs


def linear_evidence(data: Pooled, hyper: Hyper) -> float:
    """The log evidence of pooled log ratios under a scale fit: one linear solve."""
    bins = data.bins
    grid = basis(inducing_times(bins, hyper, 1.2, 28), bins.mobile[bins.latent_sensors], hyper)
    parts = design(bins, grid)
    values = with_open_variance(parts, ratios(data, hyper))
    return ratio_evidence(values, solved(parts, ratio_sites(parts, values)))


def thinned(pairs: PairData, most: int) -> PairData:
    """At most so many rows: all with a reference first, then evenly over the rest, in the order of pairs."""
    total, tied = len(pairs.hours), pairs.tied
    if total <= most:
        return pairs
    kept_tied = min(tied, most // 2)
    keep = np.zeros(total, dtype=bool)
    if kept_tied:
        keep[np.linspace(0, tied - 1, kept_tied).astype(np.int64)] = True
    if total > tied:
        keep[np.linspace(tied, total - 1, most - kept_tied).astype(np.int64)] = True
    return pairs.subset(keep)
