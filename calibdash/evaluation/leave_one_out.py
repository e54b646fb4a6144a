"""Leave one reference out: how well the rest of the network recovers it, by the pair model and by multi-hop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from calibdash.data.folder import load_network
from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.evaluation.folds import Fold, fold_names, make_fold
from calibdash.evaluation.methods import Gains, Points, multihop_gains, posterior_gains
from calibdash.evaluation.metrics import Z95, coverage, mae, nlpd, nmse
from calibdash.evaluation.study import Result, Task
from calibdash.models.multihop import Multihop, multihop
from calibdash.models.multihop_search import search
from calibdash.models.outcome import data_hash
from calibdash.models.pairs import pair_data
from calibdash.models.posterior import Posterior
from calibdash.models.settings import Settings

NONE, HOPS, PAIRS = METHODS = ("none", "multi-hop", "pair model")
FIGURES = ("points", "mae", "rmse", "nmse", "bias", "nlpd", "coverage", "without_path")


@dataclass(frozen=True)
class Request:
    """What is evaluated, as plain values. drift: last factor on a left-out reference's readings, None: as they are."""

    network_path: str
    zone: str | None
    references: tuple[str, ...] | None
    settings: Mapping[str, object]
    drift: float | None = None
    seed: int = 0

    def network(self) -> Network:
        """The network as asked for."""
        return load_network(Path(self.network_path), self.zone, self.references)


def tasks(request: Request, network: Network) -> list[Task]:
    """One task a fold and method that has something to calculate; none where nothing can be held out."""
    if request.drift is not None and not 0.05 <= request.drift <= 20:
        raise CalibdashError(f"A drift to {request.drift} times is none.", "Give a factor such as 1.83.")
    names = fold_names(network)
    if not names:
        return []
    plain = {
        "network_path": request.network_path,
        "zone": request.zone,
        "references": None if request.references is None else list(request.references),
        "settings": dict(request.settings),
        "drift": request.drift,
        "seed": request.seed,
        "data": data_hash(pair_data(network)),
    }
    return [{**plain, "fold": name, "method": method} for name in names for method in (HOPS, PAIRS)]


def work(task: Task) -> Result:
    """Gains of one method on one fold: ``fold, method, log_gain, sd`` (None: no answer), in plain values."""
    references = task["references"]
    request = Request(
        str(task["network_path"]),
        None if task["zone"] is None else str(task["zone"]),
        tuple(references) if isinstance(references, list) else None,
        task["settings"] if isinstance(task["settings"], dict) else {},
        None if task["drift"] is None else float(str(task["drift"])),
        int(str(task["seed"])),
    )
    fold = make_fold(request.network(), str(task["fold"]), request.drift)
    gains = estimate(str(task["method"]), fold, Settings.from_dict(request.settings), request.seed)
    return {
        "fold": task["fold"],
        "method": task["method"],
        "log_gain": _plain(gains.log_gain),
        "sd": _plain(gains.sd),
    }


def estimate(method: str, fold: Fold, settings: Settings, seed: int = 0) -> Gains:
    """Log gains at a fold's points, with the sd of what they are held against."""
    points = fold.points
    if method == NONE:
        return Gains(np.zeros(len(points.hours)), np.full(len(points.hours), np.nan))
    if method == HOPS:
        result = _hops(fold.network)
        gains = multihop_gains(result, points)
        noise = result.noise if fold.noisy else 0.0
        return Gains(gains.log_gain, np.hypot(gains.sd, noise))
    from calibdash.models.fitting import fit  # TensorFlow is loaded here, where the fit runs

    posterior = fit(fold.network, settings, seed=seed)
    gains = posterior_gains(posterior, points) if posterior.function.contrast else _effective(posterior, fold)
    lost = np.isin(points.sensor.astype(str), posterior.relative)
    sd = np.hypot(gains.sd, _reading_noise(posterior, points)) if fold.noisy else gains.sd
    return Gains(np.where(lost, np.nan, gains.log_gain), np.where(lost, np.nan, sd))


def _hops(network: Network) -> Multihop:
    """Multi-hop, its window and weight found on the references that are left; the defaults where they are too few."""
    try:
        return multihop(network, search(network).settings)
    except CalibdashError:
        return multihop(network)


def _reading_noise(posterior: Posterior, points: Points) -> np.ndarray:
    """Log sd of each reading's own noise.   → [N]"""
    numbers = np.array([posterior.number(str(sensor)) for sensor in points.sensor])
    hyper = posterior.basis.hyper
    additive, proportional = hyper.noise(posterior.mobile[numbers], posterior.reference[numbers])
    reading = np.maximum(points.value / posterior.level, 1e-3)
    return np.sqrt(proportional + additive / reading**2 + hyper.noise_reference**2)


def _effective(posterior: Posterior, fold: Fold) -> Gains:
    """Gains of a function with more than a gain: log of calibrated ÷ raw, and its sd, from draws."""
    from calibdash.evaluation.assessment import Pairs, calibrated, calibrated_draws

    points = fold.points
    mean, sd = np.empty(len(points.hours)), np.empty(len(points.hours))
    for sensor in pd.unique(points.sensor):
        rows = np.flatnonzero(points.sensor == sensor)
        times = pd.DatetimeIndex(posterior.clock.times(points.hours[rows]))
        covariates = {name: column[rows] for name, column in fold.covariates.items()}
        pairs = Pairs(str(sensor), "", "", times, points.value[rows], points.level[rows], covariates)
        middle, drawn = calibrated(posterior, pairs), calibrated_draws(posterior, pairs)
        mean[rows] = np.log(np.maximum(middle, 1e-6) / points.value[rows])
        sd[rows] = np.log(np.maximum(drawn, 1e-6) / points.value[rows]).std(axis=0)
    return Gains(mean, sd)


def predictions(network: Network, request: Request, results: Sequence[Result]) -> pd.DataFrame:
    """``fold, method, time, sensor, value, truth, calibrated, lower, upper, log_gain, sd, true_log_gain``."""
    frames = []
    for name in fold_names(network):
        fold = make_fold(network, name, request.drift)
        mine = {str(result["method"]): result for result in results if result["fold"] == name}
        for method in METHODS:
            if method == NONE:
                gains = estimate(NONE, fold, Settings())
            else:
                gains = Gains(*(_array(mine[method][key]) for key in ("log_gain", "sd")))
            frames.append(_rows(network, fold, method, gains))
    return pd.concat(frames, ignore_index=True)


def _rows(network: Network, fold: Fold, method: str, gains: Gains) -> pd.DataFrame:
    points = fold.points
    return pd.DataFrame(
        {
            "fold": fold.name,
            "method": method,
            "time": network.clock.times(points.hours),
            "sensor": points.sensor.astype(str),
            "value": points.value,
            "truth": points.level,
            "calibrated": np.exp(gains.log_gain) * points.value,
            "lower": np.exp(gains.log_gain - Z95 * gains.sd) * points.value,
            "upper": np.exp(gains.log_gain + Z95 * gains.sd) * points.value,
            "log_gain": gains.log_gain,
            "sd": gains.sd,
            "true_log_gain": points.log_gain,
        }
    )


def metrics(table: pd.DataFrame) -> pd.DataFrame:
    """``fold, method`` and :data:`FIGURES` of each fold, and of all readings together (fold ``all``).

    Readings without an answer count raw in the errors; NLPD and coverage are of the log gain, where there is one.
    """
    rows = []
    parts = [*table.groupby(["fold", "method"], sort=False)]
    parts += [(("all", method), part) for method, part in table.groupby("method", sort=False)]
    for key, part in parts:
        rows.append({"fold": key[0], "method": key[1], **figures(part)})
    return pd.DataFrame(rows, columns=["fold", "method", *FIGURES])


def figures(part: pd.DataFrame) -> dict[str, float]:
    """Figures of some predictions."""
    truth, value = part["truth"].to_numpy(), part["value"].to_numpy()
    answer = part["calibrated"].to_numpy()
    calibrated = np.where(np.isfinite(answer), answer, value)
    known = (np.isfinite(part["sd"]) & np.isfinite(part["log_gain"])).to_numpy()
    columns = [part[name].to_numpy()[known] for name in ("true_log_gain", "log_gain", "sd")]
    enough = len(truth) > 1 and float(np.var(truth)) > 0
    return {
        "points": len(part),
        "mae": mae(calibrated, truth) if len(truth) else np.nan,
        "rmse": float(np.sqrt(np.mean((calibrated - truth) ** 2))) if len(truth) else np.nan,
        "nmse": nmse(calibrated, truth) if enough else np.nan,
        "bias": float(np.mean(calibrated - truth)) if len(truth) else np.nan,
        "nlpd": nlpd(*columns) if known.any() else np.nan,
        "coverage": coverage(*columns) if known.any() else np.nan,
        "without_path": float(np.mean(~np.isfinite(answer))) if len(truth) else np.nan,
    }


def _plain(values: np.ndarray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def _array(values: object) -> np.ndarray:
    listed = values if isinstance(values, list) else []
    return np.array([np.nan if value is None else value for value in listed], dtype=np.float64)
