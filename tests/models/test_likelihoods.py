"""One contract suite over every calibration function and likelihood."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.integrate import quad
from scipy.stats import norm

from calibdash.models import functions
from calibdash.models.expectation import expectation, rule
from calibdash.models.form import Form
from calibdash.models.likelihoods import LIKELIHOODS, log_density

BUILT_IN = ("scale", "gain-offset", "polynomial", "humidity", "humidity-offset")


def pair(values, additive=0.01, proportional=0.01, censored=(0.0, 0.0)):
    data = {
        "values": [values],
        "additive": [[additive, additive]],
        "proportional": [[proportional, proportional]],
        "censored": [list(censored)],
        "humidity": [[60.0, 70.0]],
        "constants": [0.01, 10.0],
    }
    return {name: tf.constant(column, tf.float64) for name, column in data.items()}


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("function", BUILT_IN)
@pytest.mark.parametrize("tied", [True, False])
def test_contract(likelihood, function, tied):
    form = Form(likelihood, functions.named(function), "fixed", tied)
    D = len(form.matrix())
    rng = np.random.default_rng(1)
    size = np.abs(form.matrix()) @ np.tile([p.size for p in form.function.parameters], 1 if tied else 2)
    size = np.minimum(size, 1.0)  # [D]
    mean, cov = 0.1 * size * rng.standard_normal((3, D)), np.tile(np.diag(0.02 * size**2), (3, 1, 1))
    data = {
        name: np.tile(column, (3, 1)) if name != "constants" else column for name, column in pair([1.1, 0.9]).items()
    }
    data = {name: np.asarray(column) for name, column in data.items() if name != "humidity" or form.function.covariates}
    points = rule(D, 5, 64, 0)
    value, slope, curve = expectation(form, mean, cov, data, points)
    for array, shape in ((value, (3,)), (slope, (3, D)), (curve, (3, D, D))):
        assert array.shape == shape
        assert np.isfinite(array).all()
    step = 1e-5
    for d in range(D):
        up, down = mean.copy(), mean.copy()
        up[:, d] += step
        down[:, d] -= step
        numeric = (expectation(form, up, cov, data, points)[0] - expectation(form, down, cov, data, points)[0]) / (
            2 * step
        )
        np.testing.assert_allclose(slope[:, d], numeric, atol=2e-3 * (1 + np.abs(numeric).max()))
        wide, narrow = cov.copy(), cov.copy()
        small = 1e-3 * cov[0, d, d]
        wide[:, d, d] += small
        narrow[:, d, d] -= small
        numeric = (
            expectation(form, mean, wide, data, points)[0] - expectation(form, mean, narrow, data, points)[0]
        ) / (2 * small)
        np.testing.assert_allclose(curve[:, d, d], numeric, atol=2e-3 * (1 + np.abs(numeric).max()))


@pytest.mark.parametrize("function", BUILT_IN)
def test_respond_inverts_calibrate(function):
    chosen = functions.named(function)
    latents = [np.full(4, 0.1)] * len(chosen.parameters)
    parameters = chosen.values(np, latents)
    covariates = {"humidity": np.array([20.0, 50.0, 80.0, 99.0])}
    raw = np.array([0.3, 1.0, 2.0, 4.0])
    true = chosen.calibrate(np, raw, parameters, covariates)
    np.testing.assert_allclose(chosen.respond(np, true, parameters, covariates), raw, rtol=1e-9)


@pytest.mark.parametrize("values", [(1.2, 0.8), (0.05, -0.1), (3.0, 2.0)])
@pytest.mark.parametrize("noise", [(0.04, 0.0), (0.2, 0.02), (1e-4, 0.01)])
@pytest.mark.parametrize("censored", [(0.0, 0.0), (1.0, 0.0)])
def test_level_quadrature_equals_brute_force(values, noise, censored):
    additive, proportional = noise
    form = Form("reading", functions.named("scale"), "fixed", tied=False, censored=bool(censored[0]))
    difference = 0.3

    def density(eta):
        total = np.exp(eta) / (np.exp(eta) + 0.01)
        for value, shift, cut in zip(values, (-0.5, 0.5), censored, strict=True):
            mean = np.exp(eta + shift * difference)
            sd = np.sqrt(additive + proportional * mean**2)
            total *= norm.cdf(value, mean, sd) if cut else norm.pdf(value, mean, sd)
        return total

    grid = np.linspace(-14, 4, 200_001)
    brute = np.log(np.trapezoid([density(eta) for eta in grid[::20]], grid[::20]))
    ours = log_density(form, tf.constant([[[difference]]], tf.float64), pair(values, additive, proportional, censored))
    assert float(ours[0, 0]) == pytest.approx(brute, abs=0.02)


def test_outer_quadrature_equals_brute_force():
    form = Form("reading", functions.named("scale"), "fixed", tied=False)
    data = {name: np.asarray(column) for name, column in pair([1.2, 0.8], 0.02).items() if name != "humidity"}
    value, _, _ = expectation(form, np.array([[-0.2]]), np.array([[[0.05]]]), data, rule(1, 7, 0, 0))
    fine, _, _ = expectation(form, np.array([[-0.2]]), np.array([[[0.05]]]), data, rule(1, 40, 0, 0))
    assert value[0] == pytest.approx(fine[0], abs=1e-3)

    def integrand(z):
        x = tf.constant([[[-0.2 + np.sqrt(0.05) * z]]], tf.float64)
        return norm.pdf(z) * float(
            log_density(form, x, {name: tf.constant(column) for name, column in data.items()})[0, 0]
        )

    assert value[0] == pytest.approx(quad(integrand, -6, 6, epsabs=1e-5, limit=40)[0], abs=2e-3)


def test_paper_likelihood_equals_the_two_by_two_gaussian():
    form = Form("paper", functions.named("scale"), "fixed", tied=False)
    x = np.array([0.2, -0.1])
    data = pair([1.1, 0.9], 0.01, 0.0)
    ours = float(log_density(form, tf.constant(x[None, None]), data)[0, 0])
    calibrated = np.exp(x) * [1.1, 0.9]
    cov = 100.0 * np.ones((2, 2)) + 0.01 * np.eye(2)
    exact = -0.5 * (calibrated @ np.linalg.solve(cov, calibrated) + np.linalg.slogdet(2 * np.pi * cov)[1]) + x.sum()
    assert ours == pytest.approx(exact, abs=1e-6)


def test_samples_agree_with_quadrature():
    form = Form("reading", functions.named("gain-offset"), "fixed", tied=True)
    data = {name: np.asarray(column) for name, column in pair([1.2, 0.8]).items() if name != "humidity"}
    mean, cov = np.array([[0.1, 0.05]]), np.array([[[0.02, 0.005], [0.005, 0.01]]])
    grid = expectation(form, mean, cov, data, rule(2, 9, 0, 0))[0]
    sobol = rule(5, 0, 512, 0)
    drawn = expectation(form, mean, cov, data, (sobol[0][:, :2], sobol[1]))[0]
    assert drawn == pytest.approx(grid, abs=0.02)
