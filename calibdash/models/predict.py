"""Reading a posterior: parameters with their bands, calibrated readings, joint draws and covariances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.linalg import cholesky
from scipy.stats import norm, qmc

from calibdash.errors import CalibdashError
from calibdash.models.factor import backward, solve
from calibdash.models.functions import Parameter
from calibdash.models.posterior import Posterior

Z95 = float(norm.ppf(0.975))
POINTS = 256
CHUNK = 20_000


def calibration(
    posterior: Posterior, times: Sequence | np.ndarray | pd.DatetimeIndex, sensors: Sequence[str] | None = None
) -> pd.DataFrame:
    """Every parameter of every sensor at every time; a reference, if asked for, is the identity."""
    chosen = [name for name, fixed in zip(posterior.sensors, posterior.reference, strict=True) if not fixed]
    hours = posterior.hours(times)
    found = {
        (sensor, name): columns
        for sensor in (chosen if sensors is None else sensors)
        for name, columns in curves(posterior, sensor, hours).items()
    }
    if not found:
        raise CalibdashError("There is no sensor to report on.", "Every sensor of the network is a reference.")
    stamps = pd.Series(posterior.clock.times(hours))
    who, what = (np.repeat(np.array(names, dtype=object), len(hours)) for names in zip(*found, strict=True))
    columns = {name: np.concatenate([part[name] for part in found.values()]) for name in next(iter(found.values()))}
    when = stamps.take(np.tile(np.arange(len(hours)), len(found))).array
    return pd.DataFrame({"time": when, "sensor": who, "parameter": what, **columns})


def curves(posterior: Posterior, sensor: str, hours: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
    """``mean, sd, median, lower, upper`` of each parameter of one sensor by its name.   hours [T] → [T] each"""
    if posterior.reference[posterior.number(sensor)]:
        return {parameter.name: _identity(parameter, len(hours)) for parameter in parameters(posterior)}
    mean, cov = posterior.latents(sensor, hours)  # [T, L], [T, L, L]
    found = {}
    for index, parameter in enumerate(parameters(posterior)):
        sd = np.sqrt(cov[:, index, index])
        if parameter.name == "noise" and posterior.settings.noise_model == "dirac":
            sd = np.zeros_like(sd)
        found[parameter.name] = summary(parameter, mean[:, index], sd, posterior.level)
    return found


def parameters(posterior: Posterior) -> tuple[Parameter, ...]:
    """The calibration parameters and, where it is modelled, the noise as a factor on its sd."""
    noise = (Parameter("noise", "exp-half"),) if posterior.settings.noise_model != "fixed" else ()
    return (*posterior.function.parameters, *noise)


def summary(parameter: Parameter, mean: np.ndarray, sd: np.ndarray, level: float) -> dict[str, np.ndarray]:
    """Mean, sd, median and 95 % bounds of θ = T(centre + f), f ~ N(mean, sd²), in the unit of the readings.   [T]"""
    unit = level**parameter.power
    middle = mean + parameter.centre
    if parameter.transform == "identity":
        return {
            "mean": unit * middle,
            "sd": unit * sd,
            "median": unit * middle,
            "lower": unit * (middle - Z95 * sd),
            "upper": unit * (middle + Z95 * sd),
        }
    if parameter.transform == "exp-half":
        middle, sd = middle / 2, sd / 2
    average = np.exp(middle + sd**2 / 2)
    return {
        "mean": unit * average,
        "sd": unit * average * np.sqrt(np.expm1(sd**2)),
        "median": unit * np.exp(middle),
        "lower": unit * np.exp(middle - Z95 * sd),
        "upper": unit * np.exp(middle + Z95 * sd),
    }


def _identity(parameter: Parameter, count: int) -> dict[str, np.ndarray]:
    value = np.full(count, 1.0 if parameter.name in ("gain", "noise") else 0.0)
    return {"mean": value, "sd": np.zeros(count), "median": value, "lower": value, "upper": value}


def calibrate(posterior: Posterior, measurements: pd.DataFrame) -> pd.DataFrame:
    """True levels behind raw readings: the median calibration, and 95 % bounds that include the reading's noise.

    ``calibration_share`` is the part of the predictive variance that comes from not knowing the calibration.
    """
    for column in ("time", "sensor", "value"):
        if column not in measurements.columns:
            raise CalibdashError(f"The measurements have no column {column!r}.", "They need time, sensor and value.")
    result = measurements[["time", "sensor", "value"]].copy()
    hours = posterior.hours(measurements["time"])
    columns = {name: np.full(len(result), np.nan) for name in ("calibrated", "lower", "upper", "calibration_share")}
    names = measurements["sensor"].astype(str).to_numpy()
    for sensor in pd.unique(names):
        rows = np.flatnonzero(names == sensor)
        for start in range(0, len(rows), CHUNK):
            piece = rows[start : start + CHUNK]
            covariates = {
                name: _covariate(posterior, measurements, name, piece) for name in posterior.function.covariates
            }
            values = measurements["value"].to_numpy(dtype=np.float64)[piece]
            for key, level in _levels(posterior, sensor, hours[piece], values, covariates).items():
                columns[key][piece] = level
    return result.assign(**columns)


def _covariate(posterior: Posterior, measurements: pd.DataFrame, name: str, rows: np.ndarray) -> np.ndarray:
    if name not in measurements.columns:
        return np.full(len(rows), posterior.fill[name])
    column = measurements[name].to_numpy(dtype=np.float64)[rows]
    return np.where(np.isfinite(column), column, posterior.fill[name])


def _levels(
    posterior: Posterior, sensor: str, hours: np.ndarray, values: np.ndarray, covariates: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Median, bounds and share of one sensor's readings.   hours, values [T] → [T] each"""
    hyper, number = posterior.basis.hyper, posterior.number(sensor)
    reading = values / posterior.level
    additive, proportional = hyper.noise(
        posterior.mobile[number : number + 1], posterior.reference[number : number + 1]
    )
    spread = np.sqrt(additive + proportional * reading**2)  # [T]
    if posterior.reference[number]:
        half = Z95 * spread * posterior.level
        return {
            "calibrated": values,
            "lower": values - half,
            "upper": values + half,
            "calibration_share": np.zeros(len(values)),
        }
    mean, cov = posterior.latents(sensor, hours)
    C = len(posterior.function.parameters)
    if hyper.noise_model != "fixed":
        spread = spread * np.exp(mean[:, C] / 2)
    points = norm.ppf(np.clip(qmc.Sobol(C + 1, seed=0).random(POINTS), 1e-6, 1 - 1e-6))  # [B, C + 1]
    chol = np.linalg.cholesky(cov[:, :C, :C] + 1e-14 * np.eye(C))  # [T, C, C]
    latents = mean[:, :C] + np.einsum("tij,bj->bti", chol, points[:, :C])  # [B, T, C]
    function = posterior.function
    parameters = function.values(np, [latents[..., c] for c in range(C)])
    known = function.values(np, [mean[:, c] for c in range(C)])
    quiet = function.calibrate(np, reading + 0.0 * parameters[0], parameters, covariates)  # [B, T]
    noisy = function.calibrate(np, reading + spread * points[:, C:], parameters, covariates)  # [B, T]
    lower, upper = np.quantile(noisy, [0.025, 0.975], axis=0)
    if posterior.settings.likelihood != "paper":  # levels are positive there
        lower, upper = np.maximum(lower, 0.0), np.maximum(upper, 0.0)
    return {
        "calibrated": posterior.level * function.calibrate(np, reading, known, covariates),
        "lower": posterior.level * lower,
        "upper": posterior.level * upper,
        "calibration_share": np.clip(quiet.var(axis=0) / np.maximum(noisy.var(axis=0), 1e-300), 0.0, 1.0),
    }


def joint(
    posterior: Posterior, sensors: Sequence[str], hours: np.ndarray, parameter: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of one latent parameter over R points; a reference is known (0).   → [R], [R, R]

    A P⁻¹ Aᵀ over whatever sensors there are, plus what inducing values leave open within each sensor.
    """
    hours = np.asarray(hours, dtype=np.float64)
    numbers = np.array([posterior.latent[posterior.number(sensor)] for sensor in sensors], dtype=np.int64)
    S, n = posterior.mean.shape
    M = posterior.basis.times.shape[1]
    place = slice(parameter * M, (parameter + 1) * M)
    rows = np.zeros((S, n, len(hours)))
    left = np.zeros((len(hours), len(hours)))
    for s in np.unique(numbers[numbers >= 0]):
        mine = np.flatnonzero(numbers == s)
        A = posterior.basis.design(s, hours[mine])[:, parameter]  # [r, M]
        rows[s, place, mine] = A
        left[np.ix_(mine, mine)] = posterior.basis.kernel(s, parameter).matrix(hours[mine], hours[mine]) - A @ A.T
    spread = solve(posterior.q.factor, rows)  # [S, n, R]
    cov = np.einsum("snr,snk->rk", rows, spread) + left
    mean = np.einsum("snr,sn->r", rows, posterior.mean)
    return mean, 0.5 * (cov + cov.T)


def sample(posterior: Posterior, hours: np.ndarray, sensors: Sequence[str], draws: int, seed: int) -> np.ndarray:
    """Joint draws of calibration parameters across sensors and times.   hours [T] → [draws, sensors, T, C]"""
    rng = np.random.default_rng(seed)
    S, n = posterior.mean.shape
    L, M = posterior.basis.hyper.latents, posterior.basis.times.shape[1]
    whitened = posterior.mean[..., None] + backward(posterior.q.factor, rng.standard_normal((S, n, draws)))
    function = posterior.function
    out = np.zeros((draws, len(sensors), len(hours), len(function.parameters)))
    for place, sensor in enumerate(sensors):
        s = int(posterior.latent[posterior.number(sensor)])
        if s < 0:
            for index, parameter in enumerate(function.parameters):
                out[:, place, :, index] = _identity(parameter, len(hours))["mean"]
            continue
        A = posterior.basis.design(s, hours)  # [T, L, M]
        v = whitened[s].reshape(L, M, draws)
        for index, parameter in enumerate(function.parameters):
            kernel = posterior.basis.kernel(s, index)
            left = kernel.matrix(hours, hours) - A[:, index] @ A[:, index].T  # [T, T]
            jitter = 1e-7 * kernel.variance * np.eye(len(hours))
            noise = cholesky(left + jitter, lower=True) @ rng.standard_normal((len(hours), draws))  # [T, draws]
            latent = A[:, index] @ v[index] + noise  # [T, draws]
            out[:, place, :, index] = posterior.level**parameter.power * parameter.value(np, latent).T
    return out
