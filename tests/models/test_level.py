"""The prior of the level: with many pairs, each with a level of its own, it must not pull gains or offsets."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from calibdash.models.level import by_information, flat_for_scales, log_level_evidence

PAIRS = 30_000
FLOOR = tf.constant(0.01, tf.float64)


def scores(prior: str, noise: tuple[float, float], beside_reference: bool) -> tuple[np.ndarray, np.ndarray]:
    """Score of (log gain, offset) of sensor a at the truth, summed up as bias and its standard error.   [2], [2]"""
    rng = np.random.default_rng(5)
    level = 1 + 0.4 * np.sin(rng.uniform(0, 2 * np.pi, PAIRS))
    truth = np.array([np.log(1.2), 0.07, np.log(0.85), -0.05])
    noises = (noise, (0.0, 0.005) if beside_reference else noise)

    def read(gain: float, offset: float, sd: tuple[float, float]) -> np.ndarray:
        raw = (level - offset) / gain
        return raw + rng.normal(size=PAIRS) * np.hypot(sd[0], sd[1] * raw)

    y_b = read(1.0, 0.0, noises[1]) if beside_reference else read(0.85, -0.05, noises[1])
    values = tf.constant(np.stack([read(1.2, 0.07, noises[0]), y_b], axis=-1))
    additive = tuple(tf.constant(np.full((1, PAIRS), sd[0] ** 2)) for sd in noises)
    proportional = tuple(tf.constant(np.full((1, PAIRS), sd[1] ** 2)) for sd in noises)

    def evidence(theta: np.ndarray) -> np.ndarray:
        log_a, offset_a, log_b, offset_b = theta
        gain_b, shift_b = (1.0, 0.0) if beside_reference else (np.exp(log_b), offset_b)
        respond = (lambda h: (h - offset_a) / np.exp(log_a), lambda h: (h - shift_b) / gain_b)
        guess = (np.exp(log_a) * values[None, :, 0] + offset_a, gain_b * values[None, :, 1] + shift_b)
        log_prior = by_information(additive, proportional, respond) if prior == "info" else flat_for_scales(FLOOR)
        return log_level_evidence(values, additive, proportional, respond, guess, FLOOR, log_prior).numpy()[0]

    step = 1e-4
    free = 2 if beside_reference else 4
    moves = [step * np.eye(4)[i] for i in range(free)]
    rows = np.array([(evidence(truth + move) - evidence(truth - move)) / (2 * step) for move in moves])  # [free, N]
    information = rows @ rows.T / PAIRS
    bias = np.linalg.lstsq(information, rows.mean(axis=1), rcond=1e-8)[0]
    error = np.sqrt(np.diag(np.linalg.pinv(information)) / PAIRS)
    return bias, error


@pytest.mark.parametrize("beside_reference", [True, False])
@pytest.mark.parametrize("noise", [(0.05, 0.001), (0.005, 0.06), (0.033, 0.05)])
def test_gain_and_offset_are_not_pulled(noise: tuple[float, float], beside_reference: bool) -> None:
    bias, error = scores("info", noise, beside_reference)
    assert np.all(np.abs(bias) < 4 * error)


def test_a_prior_flat_in_log_would_pull_offsets() -> None:
    bias, error = scores("flat", (0.033, 0.05), beside_reference=False)
    assert np.any(np.abs(bias) > 20 * error)
