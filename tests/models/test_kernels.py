import numpy as np
import pytest
import tensorflow_probability as tfp

from calibdash.models.kernels import SHAPES, Kernel

psd = tfp.math.psd_kernels
FROM_TFP = {"eq": psd.ExponentiatedQuadratic, "matern32": psd.MaternThreeHalves}


@pytest.mark.parametrize("shape", SHAPES)
def test_kernels_equal_tfp(shape):
    times = np.sort(np.random.default_rng(0).uniform(0, 100, 30))
    ours = Kernel(shape, 20.0, 0.7, 0.3).matrix(times, times[:5])
    changing = FROM_TFP[shape](np.float64(0.7), np.float64(20.0))
    theirs = changing.matrix(times[:, None], times[:5, None]).numpy() + 0.3**2
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_kernels_are_positive_definite_and_fade(shape):
    kernel = Kernel(shape, 20.0, 0.7, 0.3)
    times = np.linspace(0, 50, 12)
    matrix = kernel.matrix(times, times)
    np.testing.assert_allclose(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix).min() > 0
    assert np.diag(matrix) == pytest.approx(kernel.variance)
    assert kernel.matrix(np.zeros(1), np.array([1e4]))[0, 0] == pytest.approx(0.3**2)
