"""What a fit leaves behind: the joint posterior of every sensor's calibration over time. No TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from calibdash.data.network import Clock
from calibdash.errors import CalibdashError
from calibdash.models import functions
from calibdash.models.elimination import Elimination
from calibdash.models.factor import factor, selected_inverse
from calibdash.models.functions import CalibrationFunction
from calibdash.models.inducing import Basis
from calibdash.models.settings import Settings
from calibdash.models.sites import Gaussian, Solved

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Record:
    """How a posterior came about.   elbo: the bound at every iteration; relative: sensors tied to no reference"""

    seed: int
    data_hash: str
    versions: dict[str, str]
    seconds: float
    elbo: tuple[float, ...]
    converged: bool
    colocations: int
    relative: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Posterior:
    """q over whitened inducing values, and what it takes to read it. Two posteriors are the same if they are one.

    sensors [S_all] names; mobile, reference [S_all]; latent [S_all]: number of the sensor's process, −1: reference;
    level: the typical reading, unit of everything inside; fill: what stands in for a missing covariate;
    mean [S, n], diagonal [S, n, n], off [E, n, n]: mean and precision; fitted: a row a colocation, see innovations.
    """

    settings: Settings
    record: Record
    clock: Clock
    sensors: tuple[str, ...]
    mobile: np.ndarray
    reference: np.ndarray
    latent: np.ndarray
    level: float
    fill: dict[str, float]
    basis: Basis
    plan: Elimination
    mean: np.ndarray
    diagonal: np.ndarray
    off: np.ndarray
    fitted: dict[str, np.ndarray] = field(repr=False)

    @property
    def function(self) -> CalibrationFunction:
        """The calibration function of the fit."""
        return functions.named(self.settings.function)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of what a calibration consists of; ``noise`` among them where it is modelled over time."""
        from calibdash.models.predict import parameters

        return tuple(parameter.name for parameter in parameters(self))

    @property
    def relative(self) -> tuple[str, ...]:
        """Sensors that no chain of colocations ties to a reference: only their ratios are known."""
        return self.record.relative

    @property
    def elbo(self) -> float:
        """The bound in the end."""
        return self.record.elbo[-1]

    @cached_property
    def q(self) -> Gaussian:
        """The posterior with its factor and the covariance blocks of sensors that met."""
        parts = factor(self.plan, self.diagonal, self.off)
        solved = Solved(self.mean, parts, self.diagonal, self.off, 0.0)
        return Gaussian(self.mean, parts, *selected_inverse(parts), solved)

    def number(self, sensor: str) -> int:
        """The place of a sensor in ``sensors``."""
        try:
            return self.sensors.index(sensor)
        except ValueError:
            close = get_close_matches(str(sensor), self.sensors, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"The fit knows {len(self.sensors)} other sensors."
            raise CalibdashError(f"The fit knows no sensor {str(sensor)[:60]!r}.", hint) from None

    def hours(self, times: Sequence | np.ndarray | pd.Series | pd.DatetimeIndex) -> np.ndarray:
        """Times as hours of the network's clock.   [T] → [T]"""
        stamped = self.clock.origin is not None
        return self.clock.hours(pd.DatetimeIndex(times) if stamped else np.asarray(times))  # type: ignore[arg-type]

    def latents(self, sensor: str, hours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of one sensor's latent processes at each time.   hours [T] → [T, L], [T, L, L]"""
        s = int(self.latent[self.number(sensor)])
        L, M = self.basis.hyper.latents, self.basis.times.shape[1]
        if s < 0:
            return np.zeros((len(hours), L)), np.zeros((len(hours), L, L))
        A = self.basis.design(s, hours)  # [T, L, M]
        mean = np.einsum("tlm,lm->tl", A, self.mean[s].reshape(L, M))
        blocks = self.q.diagonal[s].reshape(L, M, L, M)
        cov = np.stack(
            [
                np.stack([np.einsum("tm,tm->t", A[:, i] @ blocks[i, :, j], A[:, j]) for j in range(L)], -1)
                for i in range(L)
            ],
            axis=1,
        )  # [T, L, L]
        left = np.maximum(self.basis.prior_variance(s) - np.sum(A**2, axis=-1), 0.0)  # [T, L]
        cov[:, np.arange(L), np.arange(L)] += left
        return mean, cov

    def calibration(
        self, times: Sequence | np.ndarray | pd.DatetimeIndex, sensors: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """``time, sensor, parameter, mean, sd, median, lower, upper`` (95 %) at all times of all non-references."""
        from calibdash.models.predict import calibration

        return calibration(self, times, sensors)

    def calibrate(self, measurements: pd.DataFrame) -> pd.DataFrame:
        """``time, sensor, value, calibrated, lower, upper`` (95 %, noise included) and ``calibration_share``."""
        from calibdash.models.predict import calibrate

        return calibrate(self, measurements)

    def sample(
        self, times: Sequence | np.ndarray | pd.DatetimeIndex, sensors: Sequence[str], draws: int = 100, seed: int = 0
    ) -> np.ndarray:
        """Joint draws of calibration parameters.   → [draws, sensors, T, C]"""
        from calibdash.models.predict import sample

        return sample(self, self.hours(times), sensors, draws, seed)

    def joint(self, sensors: Sequence[str], hours: np.ndarray, parameter: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of one latent parameter over R (sensor, time) points.   → [R], [R, R]"""
        from calibdash.models.predict import joint

        return joint(self, sensors, hours, parameter)

    def innovations(self) -> pd.DataFrame:
        """How far each colocation lies from what all others say.

        ``time, sensor_a, sensor_b, observed`` (log ratio a/b; NaN if a reading is not positive), ``expected, sd, z``.
        """
        columns = self.fitted
        ids = np.array(self.sensors, dtype=object)
        table = pd.DataFrame(
            {
                "time": self.clock.times(columns["hours"]),
                "sensor_a": ids[columns["a"]],
                "sensor_b": ids[columns["b"]],
                "observed": columns["observed"],
                "expected": columns["expected"],
                "sd": columns["sd"],
                "z": (columns["observed"] - columns["expected"]) / columns["sd"],
            }
        )
        return table.sort_values(["time", "sensor_a", "sensor_b"], kind="stable", ignore_index=True)

    def save(self, folder: Path | str) -> None:
        """Write ``posterior.json`` and ``posterior.npz``; :func:`calibdash.models.store.load` reads them."""
        from calibdash.models.store import save

        save(self, folder)
