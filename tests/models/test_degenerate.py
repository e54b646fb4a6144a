"""Odd input gives an answer or a clear error, never NaN."""

import numpy as np
import pytest

from calibdash.errors import CalibdashError
from calibdash.models import functions
from calibdash.models.fitting import fit
from calibdash.models.functions import CalibrationFunction, Parameter
from calibdash.models.settings import Settings
from tests.models.networks import KNOWN, random_table, simulated, table

ODD = {
    "one colocation": table([(0, "A", "R", 40, 50)]),
    "all at one time": table([(5, "A", "R", 40, 50), (5, "A", "B", 41, 30), (5, "B", "A", 29, 41)]),
    "duplicated rows": table([(1, "A", "R", 40, 50)] * 50),
    "never visited": table([(0, "A", "R", 40, 50), (10, "A", "R", 42, 50)], extra=("Z",)),
    "tiny": table([(0, "A", "R", 4e-9, 5e-9), (9, "A", "R", 3e-9, 5e-9)]),
    "huge": table([(0, "A", "R", 4e9, 5e9), (9, "A", "R", 3e9, 5e9)]),
    "no reference": table([(0, "A", "B", 40, 50), (9, "A", "B", 30, 50)], references=()),
    "zero and negative": table([(0, "A", "R", 0, 50), (5, "A", "R", -3, 1), (9, "A", "R", 30, 50)]),
    "all zero": table([(0, "A", "B", 0, 0)], references=()),
    "far apart": table([(0, "A", "R", 1e-3, 1e3), (9, "A", "R", 1e-3, 1e3)]),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("settings", [Settings(), Settings(likelihood="log-ratio"), Settings(likelihood="paper")])
def test_odd_networks(name, settings):
    try:
        posterior = fit(ODD[name], settings)
    except CalibdashError:
        return
    result = posterior.calibration(np.array([-50.0, 0.0, 5.0, 1000.0]))
    assert np.isfinite(result[["mean", "sd", "median", "lower", "upper"]].to_numpy()).all()
    assert (result["sd"] > 0).all()


def test_only_references_is_a_clear_error():
    with pytest.raises(CalibdashError, match="no colocation"):
        fit(table([(0, "Q", "R", 40, 50)], references=("Q", "R")))


def test_an_unknown_sensor_is_named():
    with pytest.raises(CalibdashError, match="Did you mean S0"):
        fit(random_table(np.random.default_rng(0)), Settings().with_values(KNOWN)).latents("S00", np.zeros(1))


@pytest.mark.parametrize("model", ["dirac", "gp"])
def test_noise_over_time_is_found(model):
    rng = np.random.default_rng(0)
    hours = np.sort(rng.uniform(0, 2000, 400))
    sd = np.where(hours < 1000, 0.02, 0.3)
    network = table([(t, "A", "R", 50 * np.exp(s * rng.standard_normal()), 50) for t, s in zip(hours, sd, strict=True)])
    known = KNOWN | {"noise.additive": 0.5, "noise.proportional": 0.1, "noise.lengthscale": "20d", "noise.drift": 1.5}
    posterior = fit(network, Settings().with_values(known | {"noise.model": model}))
    found = posterior.calibration(np.array([300.0, 1700.0])).set_index("parameter").loc["noise", "median"].to_numpy()
    assert found[1] > 3 * found[0]
    assert (np.diff(posterior.record.elbo) >= 0).all()


def test_offsets_are_recovered():
    truth, network = simulated("offset", seed=2, days=40, kappa=0.0)
    known = {
        "lengthscale": "2000h",
        "kernel": "eq",
        "drift": 0.2,
        "bias": 0.2,
        "noise.additive": 2,
        "noise.proportional": 0.05,
    }
    posterior = fit(network, Settings(function="gain-offset", tolerance=0.1).with_values(known))
    hours = np.array([500.0])
    for number in np.flatnonzero(~truth.scene.reference):
        gain, offset = truth.scene.calibration(np.array([number]), hours)
        mean, cov = posterior.latents(posterior.sensors[number], hours)
        sd = np.sqrt(np.diagonal(cov[0]))
        assert abs(mean[0, 0] - np.log(gain[0])) < 4 * sd[0]
        assert abs(mean[0, 1] - offset[0] / posterior.level) < 4 * sd[1]


def test_a_registered_function_is_fitted_and_inverted_by_newton():
    def bend(xp, raw, parameters, covariates):
        del covariates
        return parameters[0] * raw + parameters[0] * xp.tanh(raw)

    functions.register(CalibrationFunction("bend", (Parameter("gain", "exp"),), bend))
    try:
        with pytest.raises(CalibdashError, match="already"):
            functions.register(CalibrationFunction("bend", (Parameter("gain", "exp"),), bend))
        rng = np.random.default_rng(0)
        raw = rng.uniform(20, 80, 60)
        unit = np.median(raw)
        rows = [(t, "A", "R", y, unit * 0.6 * (y / unit + np.tanh(y / unit))) for t, y in enumerate(raw)]
        posterior = fit(table(rows), Settings(function="bend").with_values(KNOWN | {"noise.additive": 0.5}))
        ratio = unit / posterior.level
        result = posterior.calibration(np.array([30.0]))
        assert result["median"][0] == pytest.approx(0.6, rel=0.15 * max(1.0, abs(np.log(ratio))) + 0.1)
    finally:
        functions.unregister("bend")


def test_a_fit_that_is_not_to_be_trusted_says_so():
    _, network = simulated("offset", seed=2, days=10, kappa=0.0)
    quick = Settings(likelihood="paper", iterations=2).with_values(KNOWN)
    for function, cautions in (("scale", 0), ("gain-offset", 1)):
        notes = fit(network, quick.with_values({"function": function})).record.notes
        assert sum("not to be trusted with offset" in note for note in notes) == cautions
    assert not fit(network, quick.with_values({"function": "gain-offset", "likelihood": "reading"})).record.notes


def test_log_ratio_refuses_what_it_cannot_fit():
    with pytest.raises(CalibdashError, match="cannot fit"):
        fit(random_table(np.random.default_rng(0)), Settings(function="gain-offset", likelihood="log-ratio"))
