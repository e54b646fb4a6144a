"""One fit's model put together: data, hyperparameters, inducing points and the form of its likelihood."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.models import functions
from calibdash.models.defaults import resolve
from calibdash.models.form import Form
from calibdash.models.hyper import Hyper
from calibdash.models.inducing import basis, inducing_times
from calibdash.models.linear import noise_columns
from calibdash.models.pairs import PairData, pair_data
from calibdash.models.settings import Settings
from calibdash.models.sites import Design, design


@dataclass(frozen=True)
class Model:
    """Everything a fit needs but the posterior.   data: arrays of both readings [N, 2] by name, and ``constants``"""

    settings: Settings
    pairs: PairData
    hyper: Hyper
    design: Design
    free: Form
    data: dict[str, np.ndarray]

    def parts(self) -> list[tuple[Form, np.ndarray]]:
        """Rows with and without a reference, with and without a censored reading, each with its form."""
        tied = self.pairs.reference[self.pairs.b]  # [N]
        censored = self.data["censored"].any(axis=1) & (self.free.likelihood == "reading")  # [N]
        kinds = [(one, two) for one in (True, False) for two in (False, True)]
        parts = [
            (replace(self.free, tied=one, censored=two), np.flatnonzero((tied == one) & (censored == two)))
            for one, two in kinds
        ]
        return [(form, rows) for form, rows in parts if len(rows)]

    def rows(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """The data of some rows."""
        return {name: column if name == "constants" else column[rows] for name, column in self.data.items()}


def read_pairs(network: Network, settings: Settings) -> PairData:
    """The colocations that these settings can use."""
    function = functions.named(settings.function)
    if settings.likelihood == "log-ratio" and not function.contrast:
        # Its noise shrinks as calibrated levels grow, so a free offset runs away: measured 7 sds from the truth.
        raise CalibdashError(
            f"The likelihood log-ratio cannot fit the calibration function {function.name!r}.",
            "Use the likelihood reading, or the function scale.",
        )
    return pair_data(
        network,
        positive=settings.likelihood == "log-ratio",
        covariates=function.covariates,
        lowest=settings.reading_lowest,
    )


def assemble(pairs: PairData, settings: Settings, hyper: Hyper | None = None, times: np.ndarray | None = None) -> Model:
    """The model of these settings; hyperparameters and inducing times can be handed in.   times [S, M]"""
    hyper = hyper or resolve(settings, pairs)
    if times is None:
        times = inducing_times(pairs, hyper, settings.inducing_density, settings.inducing_most)
    function = functions.named(settings.function)
    form = Form(settings.likelihood, function, settings.noise_model, tied=False)
    additive, proportional = noise_columns(pairs, hyper)
    data = {
        "values": pairs.values,
        "additive": additive,
        "proportional": proportional,
        "censored": pairs.censored.astype(np.float64),
        "constants": np.array([hyper.floor, hyper.spread]),
        **{name: pairs.covariates[name] for name in function.covariates},
    }
    grid = basis(times, pairs.mobile[pairs.latent_sensors], hyper)
    return Model(settings, pairs, hyper, design(pairs, grid), form, data)
