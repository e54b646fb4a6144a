"""What must hold whatever the data: units, references, partners, names, hops and time."""

from dataclasses import replace

import numpy as np
import pytest

from calibdash.data.network import Network
from calibdash.models.bayesopt import search
from calibdash.models.defaults import resolve
from calibdash.models.fitting import fit
from calibdash.models.learning import learn, objective
from calibdash.models.model import read_pairs
from calibdash.models.progress import FitCancelledError
from calibdash.models.settings import Settings
from calibdash.models.sites import Sites
from calibdash.models.store import load
from tests.models.networks import KNOWN, coverage, simulated

HOURS = np.array([100.0, 500.0, 900.0])


@pytest.fixture(scope="module")
def paper():
    return simulated("paper", seed=7, days=45, noise=8.0)


@pytest.fixture(scope="module")
def fitted(paper):
    return fit(paper[1])


def latent_names(posterior):
    return [name for name in posterior.sensors if posterior.latent[posterior.number(name)] >= 0]


def with_table(network: Network, **columns) -> Network:
    return replace(network, colocations=network.colocations.assign(**columns))


@pytest.mark.parametrize("factor", [2.0, 1e-9, 1e9])
def test_units_do_not_matter(paper, fitted, factor):
    network = paper[1]
    columns = {name: network.colocations[name] * factor for name in ("value_a", "value_b")}
    other = fit(with_table(network, **columns))
    for name in latent_names(fitted):
        ours, theirs = fitted.latents(name, HOURS), other.latents(name, HOURS)
        np.testing.assert_allclose(theirs[0], ours[0], atol=0.01)
        np.testing.assert_allclose(np.sqrt(theirs[1]), np.sqrt(ours[1]), rtol=0.05)


def test_without_references_gains_are_unknown_and_ratios_stay(paper, fitted):
    network = paper[1].with_references(())
    loose = fit(network, Settings().with_values(KNOWN | {"bias": 0.5}))
    assert set(latent_names(fitted)) <= set(loose.relative)
    assert not fitted.relative
    first, second = latent_names(fitted)[-2:]
    wide = np.sqrt(loose.latents(first, HOURS)[1][:, 0, 0])
    assert (wide > 2 * np.sqrt(fitted.latents(first, HOURS)[1][:, 0, 0])).all()
    _, cov = loose.joint([first, second], np.array([500.0, 500.0]))
    assert cov[0, 0] + cov[1, 1] - 2 * cov[0, 1] < 0.5 * cov[0, 0]


def test_permuting_partners_worsens_the_fit(paper):
    network = paper[1]
    settings = Settings().with_values(KNOWN | {"noise.additive": 8.0})
    shuffled = np.random.default_rng(0).permutation(network.colocations["value_b"].to_numpy())
    assert fit(with_table(network, value_b=shuffled), settings).elbo < fit(network, settings).elbo - 100


def test_names_and_sides_do_not_matter(paper, fitted):
    network = paper[1]
    table, sensors = network.colocations, network.sensors
    rename = {name: f"x{number}" for number, name in enumerate(reversed(list(sensors["sensor"])))}
    turned = table.rename(
        columns={"sensor_a": "sensor_b", "sensor_b": "sensor_a", "value_a": "value_b", "value_b": "value_a"}
    )
    turned = turned.assign(sensor_a=turned["sensor_a"].map(rename), sensor_b=turned["sensor_b"].map(rename))
    renamed = sensors.assign(sensor=sensors["sensor"].map(rename)).iloc[::-1].reset_index(drop=True)
    other = fit(replace(network, colocations=turned, sensors=renamed))
    assert other.elbo == pytest.approx(fitted.elbo, abs=0.2)
    for name in latent_names(fitted):
        np.testing.assert_allclose(other.latents(rename[name], HOURS)[0], fitted.latents(name, HOURS)[0], atol=0.01)


def test_bands_widen_with_hops_and_outside_the_data():
    _, network = simulated("chain", seed=3, days=60, hops=5)
    settings = Settings().with_values(KNOWN | {"noise.additive": 10.0})
    posterior = fit(network, settings)
    hours = np.linspace(100, 1300, 20)
    widths = [np.mean(posterior.latents(name, hours)[1][:, 0, 0]) for name in latent_names(posterior)]
    assert widths[0] == min(widths)
    assert widths[0] < widths[2] < widths[4]
    name = latent_names(posterior)[0]
    far = posterior.latents(name, np.array([700.0, 1600.0, 1e5]))[1][:, 0, 0]
    assert far[0] < far[1] < far[2]
    assert np.sqrt(far[2]) == pytest.approx(np.sqrt(0.4**2 + 0.2**2), rel=0.15)


def test_coverage_over_seeds():
    shares = []
    for seed in range(6):
        truth, network = simulated(
            "chain",
            seed=seed,
            days=90,
            hops=5,
            drift="eq",
            static_drift_hours=720.0,
            mobile_drift_hours=720.0,
            drift_spread=0.0,
            gain_drift=0.4,
            gain_bias=0.2,
        )
        shares.append(
            coverage(
                truth,
                fit(
                    network,
                    Settings().with_values(
                        KNOWN | {"noise.additive": 10.0, "noise.proportional": 0.001, "lengthscale.mobile": "30d"}
                    ),
                ),
            )
        )
    assert 0.88 <= np.mean(shares) <= 0.99


def test_learning_finds_the_noise_and_raises_the_bound(paper):
    network = paper[1]
    reports = []
    settings = learn(network, Settings(kernel="eq", drift=0.5, learn_steps=12), progress=reports.append)
    assert settings.drift == 0.5
    assert 6.0 < settings.noise_additive < 10.0
    assert max(report.elbo for report in reports) > reports[0].elbo
    assert fit(network, settings).elbo > fit(network, Settings(kernel="eq", drift=0.5)).elbo - 1.0


def test_the_kernel_is_chosen_on_the_whole_record(paper):
    reports = []
    settings = learn(paper[1], Settings(learn_most=100, learn_steps=2), progress=reports.append)
    assert [report.iteration for report in reports] == list(range(1, len(reports) + 1))  # one kernel was tried
    assert settings.kernel == resolve(Settings(), read_pairs(paper[1], Settings())).kernels[0][0].shape


def test_learning_starts_afresh_where_the_last_sites_do_not_suit(paper):
    goal = objective(read_pairs(paper[1], Settings()), Settings(kernel="eq"), seed=0)
    theta = np.log([goal.base.main(name) for name in goal.names])
    fresh, slope, fitted = goal.value_and_gradient(theta, None)
    for share in (-1.0, np.nan):  # indefinite, and nothing at all
        again, other, _ = goal.value_and_gradient(theta, Sites(share * fitted.sites.precision, fitted.sites.shift))
        assert again == fresh
        np.testing.assert_array_equal(other, slope)


def test_bounds_hold_while_learning(paper):
    settings = Settings(kernel="eq", learn_steps=4).with_values({"bounds.lengthscale.mobile": "50d..60d"})
    learned = learn(paper[1], settings)
    assert 1200.0 - 1e-6 <= learned.lengthscale_mobile <= 1440.0 + 1e-6


def test_same_seed_same_posterior_and_saving_keeps_it(paper, fitted, tmp_path):
    again = fit(paper[1])
    np.testing.assert_array_equal(again.mean, fitted.mean)
    fitted.save(tmp_path / "run")
    loaded = load(tmp_path / "run")
    assert loaded.settings == fitted.settings
    assert loaded.record == fitted.record
    times = fitted.clock.times(HOURS)
    for column in ("mean", "sd", "lower", "upper"):
        np.testing.assert_allclose(loaded.calibration(times)[column], fitted.calibration(times)[column], rtol=1e-9)
    assert not list((tmp_path / "run").glob(".*"))


def test_warm_start_needs_fewer_iterations(paper, fitted):
    warm = fit(paper[1], warm=fitted)
    assert warm.elbo == pytest.approx(fitted.elbo, abs=0.01)
    assert len(warm.record.elbo) <= len(fitted.record.elbo)


def test_a_fit_that_resumes_ends_as_if_never_stopped(paper):
    settings = Settings(tolerance=1e-6).with_values(KNOWN)
    stands, more = [], []
    whole = fit(paper[1], settings, keep=stands.append)
    assert [stand.elbo for stand in stands] == [whole.record.elbo[: n + 2] for n in range(len(stands))]
    middle = stands[len(stands) // 2]
    resumed = fit(paper[1], settings, keep=more.append, resume=middle)
    assert len(more) == len(stands) - len(stands) // 2 - 1
    assert resumed.record.elbo == whole.record.elbo
    np.testing.assert_array_equal(resumed.mean, whole.mean)
    fewer = replace(paper[1], colocations=paper[1].colocations.iloc[:-5])
    assert fit(fewer, settings, resume=middle).record.elbo == fit(fewer, settings).record.elbo


def test_progress_and_cancel(paper):
    reports = []
    fit(paper[1], Settings().with_values(KNOWN), progress=reports.append)
    assert [report.iteration for report in reports] == list(range(1, len(reports) + 1))
    assert all(np.isfinite(report.elbo) for report in reports)
    with pytest.raises(FitCancelledError):
        fit(paper[1], Settings().with_values(KNOWN), cancel=lambda: True)


def test_calibrated_readings_and_innovations(paper, fitted):
    truth, network = paper
    table = network.colocations
    measurements = table.rename(columns={"sensor_a": "sensor", "value_a": "value"})[["time", "sensor", "value"]]
    result = fitted.calibrate(measurements)
    level = truth.truth["level"].to_numpy()
    cheap = ~result["sensor"].isin(network.references).to_numpy() & (result["value"] > 1).to_numpy()
    inside = (result["lower"] <= level) & (level <= result["upper"])
    assert 0.88 < inside[cheap].mean() < 0.995
    assert result["calibration_share"].between(0, 1).all()
    z = fitted.innovations()["z"].dropna()
    assert 0.6 < z.std() < 1.3


def test_bayesian_optimisation_predicts_held_out_colocations_no_worse(paper):
    network = paper[1]
    reports = []
    settings = search(network, Settings(kernel="eq", bias=0.2), evaluations=10, progress=reports.append)
    assert settings.bias == 0.2
    assert settings.noise_additive is not None
    assert len(reports) == 10
    assert reports[-1].elbo >= reports[0].elbo
