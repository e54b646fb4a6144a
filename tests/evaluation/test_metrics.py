"""Figures against values worked out by hand and against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from calibdash.evaluation.metrics import coverage, mae, mean_and_error, nlpd, nmse


def test_by_hand() -> None:
    truth = np.array([1.0, 2.0, 3.0, 4.0])
    estimate = np.array([1.0, 3.0, 3.0, 2.0])
    assert mae(estimate, truth) == pytest.approx(3 / 4)
    assert nmse(estimate, truth) == pytest.approx((5 / 4) / 1.25)
    assert mean_and_error([1.0, 3.0, float("nan")]) == pytest.approx((2.0, 1.0))


def test_nlpd_is_aligned_and_normal() -> None:
    rng = np.random.default_rng(0)
    truth, mean, sd = rng.normal(size=50), rng.normal(size=50), rng.uniform(0.5, 2, 50)
    assert nlpd(truth, mean, sd) == pytest.approx(-norm.logpdf(truth, mean, sd).mean())
    order = rng.permutation(50)
    assert nlpd(truth[order], mean[order], sd[order]) == pytest.approx(nlpd(truth, mean, sd))
    assert nlpd(truth, mean[order], sd[order]) != pytest.approx(nlpd(truth, mean, sd))


def test_coverage_of_a_perfect_forecast() -> None:
    rng = np.random.default_rng(1)
    assert coverage(rng.normal(size=20_000), np.zeros(20_000), np.ones(20_000)) == pytest.approx(0.95, abs=0.005)
