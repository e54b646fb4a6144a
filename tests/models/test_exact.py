"""The engine against exact Gaussian processes and against dense linear algebra."""

import numpy as np
import pytest

from calibdash.models.expectation import contracted, expectation, rule, sobol
from calibdash.models.fitting import fit, fit_model
from calibdash.models.linear import log_ratio_noise
from calibdash.models.model import assemble, read_pairs
from calibdash.models.natural import climb, start
from calibdash.models.preview import preview
from calibdash.models.settings import Settings
from calibdash.models.sites import marginals
from tests.models.networks import KNOWN, random_table, simulated

CONJUGATE = Settings().with_values(KNOWN | {"likelihood": "log-ratio", "noise.additive": 1.0})


def exact(model, hours, sensor):
    """Log gain of one sensor and the log evidence of all log ratios, from the full covariance of the observations."""
    pairs, kernel = model.pairs, model.hyper.kernels[0][0]
    readings, noise = log_ratio_noise(pairs, model.hyper)
    ratio = np.log(readings[:, 0] / readings[:, 1])
    line = np.zeros((len(ratio), len(pairs.latent_sensors)))  # ratio = −line·f
    for row, (a, b) in enumerate(zip(pairs.latent[pairs.a], pairs.latent[pairs.b], strict=True)):
        line[row, a] = 1.0
        if b >= 0:
            line[row, b] = -1.0
    K = kernel.matrix(pairs.hours, pairs.hours) * (line @ line.T) + np.diag(noise.sum(axis=1))
    cross = kernel.matrix(hours, pairs.hours) * line[:, sensor]
    mean = -cross @ np.linalg.solve(K, ratio)
    variance = kernel.variance - np.einsum("tn,nt->t", cross, np.linalg.solve(K, cross.T))
    evidence = -0.5 * (ratio @ np.linalg.solve(K, ratio) + np.linalg.slogdet(2 * np.pi * K)[1])
    return mean, variance, evidence


@pytest.fixture(scope="module")
def small():
    return random_table(np.random.default_rng(3))


def test_inducing_points_at_the_data_give_the_exact_process(small):
    pairs = read_pairs(small, CONJUGATE)
    times = np.tile(np.unique(pairs.hours), (len(pairs.latent_sensors), 1))
    model = assemble(pairs, CONJUGATE, times=times)
    posterior = fit_model(model)
    hours = np.linspace(-300, 1500, 25)
    for name, number in (("S0", 0), ("S3", 3)):
        sensor = int(posterior.latent[posterior.number(name)])
        mean, variance, evidence = exact(model, hours, sensor)
        ours, cov = posterior.latents(name, hours)
        np.testing.assert_allclose(ours[:, 0], mean, atol=2e-4)
        np.testing.assert_allclose(cov[:, 0, 0], variance, atol=2e-4)
        assert number >= 0
    assert posterior.elbo <= evidence + 1e-6
    assert posterior.elbo == pytest.approx(evidence, abs=0.01)


def test_gaussian_case_needs_one_step_and_the_bound_stays_below_the_evidence(small):
    pairs = read_pairs(small, CONJUGATE)
    model = assemble(pairs, CONJUGATE)
    posterior = fit_model(model)
    assert len(posterior.record.elbo) == 2
    assert posterior.record.elbo[1] == pytest.approx(posterior.record.elbo[0], abs=1e-6)
    few = assemble(pairs, CONJUGATE, times=model.design.basis.times[:, ::3])
    evidence = exact(model, np.zeros(1), 0)[2]
    assert fit_model(few).elbo < posterior.elbo <= evidence


def test_preview_equals_the_log_ratio_fit(small):
    fitted, seen = fit(small, CONJUGATE), preview(small, CONJUGATE)
    np.testing.assert_allclose(seen.mean, fitted.mean, atol=1e-6)
    assert seen.elbo == pytest.approx(fitted.elbo, abs=1e-6)


def test_joint_covariance_and_draws_agree_with_marginals(small):
    posterior = fit(small, CONJUGATE)
    hours = np.array([100.0, 400.0, 2500.0])
    mean, cov = posterior.joint(["S0", "S1", "S0"], hours)
    assert np.linalg.eigvalsh(cov).min() > -1e-9
    for place, name in enumerate(("S0", "S1", "S0")):
        one, own = posterior.latents(name, hours[place : place + 1])
        assert mean[place] == pytest.approx(one[0, 0], abs=1e-9)
        assert cov[place, place] == pytest.approx(own[0, 0, 0], abs=1e-7)
    draws = np.log(posterior.sample(hours, ["S0", "S1"], draws=4000, seed=1)[..., 0])  # [draws, 2, T]
    empirical = np.cov(draws[:, 0, 0], draws[:, 1, 1])
    expected = cov[:2, :2]
    np.testing.assert_allclose(empirical, expected, atol=4 * np.abs(expected).max() / np.sqrt(4000) + 1e-6)


def test_the_bound_never_falls():
    _, network = simulated("paper", seed=5, days=40, noise=15.0)
    trace = np.array(fit(network, Settings().with_values(KNOWN | {"noise.additive": 15.0})).record.elbo)
    assert len(trace) > 2
    assert (np.diff(trace) >= 0).all()


@pytest.mark.parametrize(("function", "kappa"), [("humidity-offset", 0.3), ("polynomial", 0.0)])
def test_the_optimum_is_none_of_the_cubature_alone(function, kappa):
    """Sparse data, wide marginals: at the best sites another rule finds the same likelihood."""
    _, network = simulated("offset", seed=4, days=8, kappa=kappa)
    settings = Settings(function=function, tolerance=0.01).with_values(KNOWN | {"bias": 0.3})
    model = assemble(read_pairs(network, settings), settings)
    done, trace = climb(model, start(model), 0)
    assert (np.diff(trace) >= 0).all()
    mean, cov = marginals(model.design, done.q)
    form, rows = model.parts()[-1]
    place = contracted(form, mean[rows], cov[rows])
    ours, other = (
        expectation(form, *place, model.rows(rows), points)[0].sum() for points in (rule(6, 7, 8, 0), sobol(6, 512, 0))
    )
    assert ours == pytest.approx(other, abs=0.5)


def test_both_optimisers_reach_the_same_bound():
    _, network = simulated("chain", seed=1, days=40, hops=2)
    settings = Settings().with_values(KNOWN | {"noise.additive": 10.0, "inducing.most": 8})
    natural = fit(network, settings)
    options = {"optimiser": "adam", "adam.iterations": 1200, "adam.rate": 0.05, "adam.batch": 100, "adam.samples": 5}
    adam = fit(network, settings.with_values(options))
    assert adam.elbo <= natural.elbo + 1e-3
    assert adam.elbo == pytest.approx(natural.elbo, abs=1.0)
    sensor = next(name for name in natural.sensors if natural.latent[natural.number(name)] >= 0)
    hours = np.array([200.0, 500.0])
    np.testing.assert_allclose(adam.latents(sensor, hours)[0], natural.latents(sensor, hours)[0], atol=0.05)
