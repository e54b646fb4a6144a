"""What one sensor would show where another shows a reading: their calibrations back to back."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibdash.models.posterior import Posterior


def translate(
    posterior: Posterior, a: str, b: str, time: object, readings: np.ndarray, draws: int = 200, seed: int = 0
) -> pd.DataFrame:
    """``reading`` of sensor a and ``median, lower, upper`` (95 %) of what b would read at one time, without its noise.

    r_b = φ_b⁻¹(φ_a(r_a)), over joint draws of both calibrations. Empty where the function has no inverse.
    readings [R] → R rows
    """
    function = posterior.function
    if function.respond is None:
        return pd.DataFrame(columns=["reading", "median", "lower", "upper"], dtype=float)
    drawn = posterior.sample([time], [a, b], draws, seed)[:, :, 0]  # [B, 2, C]
    units = np.array([posterior.level**parameter.power for parameter in function.parameters])
    (first, second) = np.moveaxis(drawn / units, 1, 0)[..., None]  # [B, C, 1] each
    covariates = {name: posterior.fill[name] for name in function.covariates}
    raw = readings / posterior.level
    level = function.calibrate(np, raw, tuple(first[:, c] for c in range(len(units))), covariates)  # [B, R]
    other = posterior.level * function.respond(np, level, tuple(second[:, c] for c in range(len(units))), covariates)
    lower, median, upper = np.quantile(other, [0.025, 0.5, 0.975], axis=0)
    return pd.DataFrame({"reading": readings, "median": median, "lower": lower, "upper": upper})
