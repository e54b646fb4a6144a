"""One contract suite over every calibration function and likelihood."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
import tensorflow as tf
from scipy.integrate import quad
from scipy.stats import norm

from calibdash.models import functions
from calibdash.models.expectation import cubature, expectation, grid, positive_rule, rule, sobol
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


CASES = [(*case, "fixed") for case in product(LIKELIHOODS, BUILT_IN)] + [
    ("reading", "gain-offset", "gp"),
    ("reading", "humidity-offset", "dirac"),
    ("paper", "gain-offset", "gp"),
    ("log-ratio", "scale", "gp"),
]


@pytest.mark.parametrize(("likelihood", "function", "noise"), CASES)
@pytest.mark.parametrize("tied", [True, False])
def test_contract(likelihood, function, noise, tied):
    form = Form(likelihood, functions.named(function), noise, tied)
    D = len(form.matrix())
    rng = np.random.default_rng(1)
    sizes = [p.size for p in form.function.parameters] + [1.0] * form.noisy
    size = np.abs(form.matrix()) @ np.tile(sizes, 1 if tied else 2)
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
    exact = expectation(form, mean, cov, data, grid(2, 9))[0]
    drawn = expectation(form, mean, cov, data, sobol(2, 512, 0))[0]
    assert drawn == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("dimension", range(2, 10))
def test_cubature_is_exact_to_degree_five(dimension):
    points, weights = cubature(dimension)
    assert len(weights) == 2 * dimension**2 + 1
    moments = {0: 1.0, 2: 1.0, 4: 3.0}  # of a standard normal; odd ones are 0
    for degree in range(6):
        for axes in combinations_with_replacement(range(dimension), degree):
            powers = np.bincount(np.array(axes, dtype=int), minlength=dimension)
            true = np.prod([moments.get(power, 0.0) for power in powers])
            assert weights @ np.prod(points**powers, axis=1) == pytest.approx(true, abs=1e-10)


def test_cubature_equals_a_fine_grid():
    """A wide marginal of a pair: two sensors that met only this once."""
    form = Form("reading", functions.named("gain-offset"), "fixed", tied=False)
    data = {name: np.asarray(column) for name, column in pair([1.1, 0.9], 1e-3, 3e-3).items() if name != "humidity"}
    line = np.array([1.1, 1.0, -0.9, -1.0])  # how φ_a − φ_b moves with each latent
    cov = np.linalg.inv(np.diag([25.0, 100.0, 25.0, 100.0]) + np.outer(line, line) / 0.008)[None]
    mean = np.array([[-0.05, -0.02, 0.05, 0.02]])
    ours, fine = (expectation(form, mean, cov, data, points) for points in (rule(4, 7, 8, 0), grid(4, 7)))
    spread = np.sqrt(np.diagonal(cov[0]))
    assert ours[0] == pytest.approx(fine[0], abs=0.01)
    np.testing.assert_allclose(ours[1] * spread, fine[1] * spread, atol=0.02)
    np.testing.assert_allclose(ours[2] * np.outer(spread, spread), fine[2] * np.outer(spread, spread), atol=0.05)


@pytest.mark.parametrize("dimension", [1, 3, 4, 6, 9])
def test_densities_are_averaged_with_positive_weights(dimension):
    points, weights = positive_rule(dimension, 20, 64, 0)
    assert points.shape == (len(weights), dimension)
    assert (weights > 0).all()
    assert weights.sum() == pytest.approx(1.0)
    assert weights @ points**2 == pytest.approx(np.ones(dimension), rel=0.15)
