"""Targets of agencies for air sensors: US EPA, EU data quality objectives, and criteria in the style of CEN/TS 17660.

y is the sensor, x the reference, both as means over the same hours or days.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

EPA_DAYS = 23  # three quarters of the 30 days of an EPA base test
EU_DAYS = 40  # pairs of daily means that a demonstration of equivalence takes
LIMIT_DIRECTIVE, LIMIT_CEN = 25.0, 30.0  # µg/m³ of PM2.5 at which uncertainty is judged
Range = tuple[float, float]


@dataclass(frozen=True)
class EpaTarget:
    """What EPA asks of a pollutant; nrmse in per cent, NaN where it is not asked for."""

    slope: Range
    intercept: float
    r2: float
    rmse: float
    nrmse: float = float("nan")


_WIDE, _NARROW = (0.65, 1.35), (0.8, 1.2)
EPA = {
    "PM2.5": EpaTarget(_WIDE, 5.0, 0.70, 7.0, 30.0),
    "PM10": EpaTarget(_WIDE, 10.0, 0.70, 14.0, 30.0),
    "O3": EpaTarget(_NARROW, 5.0, 0.80, 5.0),
    "NO2": EpaTarget(_WIDE, 5.0, 0.70, 15.0),
    "SO2": EpaTarget(_WIDE, 5.0, 0.70, 15.0),
    "CO": EpaTarget(_NARROW, 0.05, 0.80, 0.15),
}
EU_OBJECTIVES = {  # per cent, PM2.5
    "2008/50/EC, fixed": 25.0,
    "2008/50/EC, indicative": 50.0,
    "2008/50/EC, objective estimation": 100.0,
    "2024/2881, 24 h, fixed": 25.0,
    "2024/2881, 24 h, indicative": 35.0,
}


@dataclass(frozen=True)
class CenClass:
    """Criteria of one class for PM2.5: U_r at 30 µg/m³ [%], slope, |intercept| [µg/m³], data capture [%]."""

    uncertainty: float
    slope: Range
    intercept: float
    capture: float


CEN = {
    1: CenClass(50.0, (0.78, 1.29), 3.0, 90.0),
    2: CenClass(100.0, (0.60, 1.67), 5.0, 50.0),
    3: CenClass(200.0, (0.43, 2.33), 7.0, 0.0),
}


@dataclass(frozen=True)
class Figures:
    """Agreement of y with x: ordinary and orthogonal regression, and errors; nrmse in per cent."""

    count: int
    slope: float
    intercept: float
    r2: float
    rmse: float
    nrmse: float
    bias: float
    mae: float
    b1: float
    b0: float
    residual: float  # RSS/(n − 2) of the orthogonal line


def figures(y: np.ndarray, x: np.ndarray) -> Figures:
    """All figures of pairs; NaN where there are too few or they do not vary.   y, x [N]"""
    y, x = np.asarray(y, dtype=np.float64), np.asarray(x, dtype=np.float64)
    n, nan = len(x), float("nan")
    if n == 0:
        return Figures(0, *(nan,) * 10)
    error = y - x
    rmse = float(np.sqrt(np.mean(error**2)))
    mean = float(np.mean(x))
    nrmse = 100 * rmse / mean if mean > 0 else nan
    bias, mae = float(np.mean(error)), float(np.mean(np.abs(error)))
    dx, dy = x - mean, y - np.mean(y)
    sxx, syy, sxy = float(dx @ dx), float(dy @ dy), float(dx @ dy)
    if n < 3 or sxx <= 0 or syy <= 0:
        return Figures(n, nan, nan, nan, rmse, nrmse, bias, mae, nan, nan, nan)
    slope = sxy / sxx
    b1, b0, residual = orthogonal(y, x)
    return Figures(
        n, slope, float(np.mean(y)) - slope * mean, sxy**2 / (sxx * syy), rmse, nrmse, bias, mae, b1, b0, residual
    )


def orthogonal(y: np.ndarray, x: np.ndarray) -> tuple[float, float, float]:
    """Slope b1, intercept b0 and RSS/(n − 2) of y = b0 + b1·x by orthogonal regression.   y, x [N], N ≥ 3"""
    dx, dy = x - x.mean(), y - y.mean()
    sxx, syy, sxy = float(dx @ dx), float(dy @ dy), float(dx @ dy)
    if sxy == 0:
        b1 = 0.0 if sxx >= syy else float("nan")  # the best line is level, or has no slope
    else:
        b1 = (syy - sxx + float(np.hypot(syy - sxx, 2 * sxy))) / (2 * sxy)
    b0 = float(y.mean()) - b1 * float(x.mean())
    return b1, b0, float(np.sum((y - b0 - b1 * x) ** 2)) / (len(x) - 2)


def expanded_uncertainty(found: Figures, level: float, reference_sd: float = 0.0) -> tuple[float, float, float]:
    """U_r at a level in per cent, and its two parts: by chance and by bias (with its sign).

    U_r = 100·√( (2·√max(RSS/(n−2) − u²(RM), 0)/x)² + (2·(b0/x + b1 − 1))² ), x = level, u(RM) = reference_sd
    """
    chance = 200 * float(np.sqrt(np.maximum(found.residual - reference_sd**2, 0.0))) / level
    bias = 200 * (found.b0 / level + found.b1 - 1)
    return float(np.hypot(chance, bias)), chance, bias


def epa_met(found: Figures, pollutant: str) -> dict[str, bool]:
    """Each of EPA's targets: slope, intercept, R² and error; PM passes on RMSE or NRMSE."""
    target = EPA[pollutant]
    return {
        "slope": target.slope[0] <= found.slope <= target.slope[1],
        "intercept": abs(found.intercept) <= target.intercept,
        "R²": found.r2 >= target.r2,
        "RMSE": found.rmse <= target.rmse or found.nrmse <= target.nrmse,
    }


def cen_class(found: Figures, capture: float) -> int | None:
    """The best class all of whose criteria are met, None: not even those of class 3.   capture in per cent"""
    uncertainty = expanded_uncertainty(found, LIMIT_CEN)[0]
    for number, criteria in CEN.items():
        if (
            uncertainty <= criteria.uncertainty
            and criteria.slope[0] <= found.b1 <= criteria.slope[1]
            and abs(found.b0) <= criteria.intercept
            and capture >= criteria.capture
        ):
            return number
    return None


def cen_words(number: int | None) -> str:
    """How a result is to be called: the standard itself excludes sensors that are part of a network."""
    return "no class's criteria met" if number is None else f"Class-{number}-style criteria met"
