"""The true level of a colocation integrated out, with a prior that is flat in its logarithm."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from calibdash.models.floats import FLOAT

STEPS = 4
STEP = 1e-5
REACH, NODES = 3.9, 29
RESPONSE = Callable[[tf.Tensor], tf.Tensor]
PRIOR = Callable[[tf.Tensor, Sequence[tf.Tensor]], tf.Tensor]  # log density of η from h and both responses to it


def _grid() -> tuple[np.ndarray, np.ndarray]:
    """Trapezoid nodes of ∫dη with η = centre + width·sinh t: dense at the mode, far-reaching in the tails."""
    t = np.linspace(-REACH, REACH, NODES)
    return np.sinh(t), np.log(np.cosh(t) * (t[1] - t[0]))


OFFSETS, LOG_WEIGHTS = _grid()


def log_normal(value: tf.Tensor, mean: tf.Tensor, variance: tf.Tensor) -> tf.Tensor:
    """Log N(value; mean, variance), any shape."""
    return -0.5 * ((value - mean) ** 2 / variance + tf.math.log(2 * np.pi * variance))


def log_below(value: tf.Tensor, mean: tf.Tensor, variance: tf.Tensor) -> tf.Tensor:
    """Log P(N(mean, variance) ≤ value), any shape; the series for the far tail keeps its gradient."""
    z = (value - mean) * tf.math.rsqrt(variance)
    near = tf.maximum(z, -5.0)
    far = tf.minimum(z, -5.0)
    tail = -0.5 * far**2 - tf.math.log(-far) - 0.5 * np.log(2 * np.pi) + tf.math.log1p(-1 / far**2 + 3 / far**4)
    return tf.where(z < -5.0, tail, tf.math.log(0.5 * tf.math.erfc(-near / np.sqrt(2.0))))


def _slope(response: RESPONSE, level: tf.Tensor, expected: tf.Tensor) -> tf.Tensor:
    """dg/d log h by a short step up from g(h) = expected; exact where g is a line.   any shape"""
    return (response(level * (1 + STEP)) - expected) / STEP


def flat_for_scales(floor: tf.Tensor) -> PRIOR:
    """Flat in log h: log h/(h + floor).

    1 for all but the lowest levels; without the floor a reading of pure noise would make every vanishing level equally
    good and the integral infinite.
    """
    return lambda level, _expected: -tf.math.log1p(floor / level)


def by_information(
    additive: tuple[tf.Tensor, tf.Tensor],
    proportional: tuple[tf.Tensor, tf.Tensor],
    respond: tuple[RESPONSE, RESPONSE],
) -> PRIOR:
    """Jeffreys' prior of the level: ½ log I(η) − ½ log I₀, I = Σ_side g'²/v + ½(v'/v)², v = σ_a² + σ_p² g².

    Where calibration also shifts, any prior that is fixed beforehand pulls gains and offsets, the more the more pairs
    there are (each pair brings its own unknown level). With this one the score of a gain or an offset has mean zero
    at the truth: for additive noise it leaves exp(−r²/2(σ_a² + g²σ_b²)), orthogonal regression; for proportional noise
    it is flat in log h. I₀, the information at the typical level with nothing to calibrate, keeps the evidence for the
    size of the noise as it is.   variances [Q, N] or [N]
    """
    sides = list(zip(additive, proportional, respond, strict=True))
    one, two = (1 / (added + share) + 2 * (share / (added + share)) ** 2 for added, share, _ in sides)
    basic = one + two  # a reference's may be [N] where the other's is [Q, N]

    def log_prior(level: tf.Tensor, expected: Sequence[tf.Tensor]) -> tf.Tensor:
        information = tf.zeros_like(level)
        for (added, share, response), middle in zip(sides, expected, strict=True):
            variance = added + share * middle**2
            shape = _slope(response, level, middle) ** 2 / variance  # g'²/v
            information += shape * (1 + 2 * share**2 * middle**2 / variance)
        return 0.5 * tf.math.log(tf.maximum(information, 1e-12)) - 0.5 * tf.math.log(basic)

    return log_prior


def log_level_evidence(
    values: tf.Tensor,
    additive: tuple[tf.Tensor, tf.Tensor],
    proportional: tuple[tf.Tensor, tf.Tensor],
    respond: tuple[RESPONSE, RESPONSE],
    first_guess: tuple[tf.Tensor, tf.Tensor],
    floor: tf.Tensor,
    log_prior: PRIOR,
    censored: tf.Tensor | None = None,
) -> tf.Tensor:
    """Log ∫ dη p(e^η) Π_side N(y; g(h), σ_a² + σ_p² g(h)²) with h = e^η and log_prior = log p, see below.

    A censored reading (censored [N, 2] > 0) contributes the probability of lying at or below its value.
    values [N, 2]; variances a side [Q, N] or [N]; respond: g of level [.., Q, N]; first_guess: two levels [Q, N]
    → [Q, N]
    """
    sides = list(zip(tf.unstack(values, axis=-1), additive, proportional, respond, strict=True))

    def log_joint(eta: tf.Tensor) -> tf.Tensor:
        level = tf.exp(eta)  # [.., Q, N]
        expected = [response(level) for *_, response in sides]
        total = log_prior(level, expected)
        for index, ((value, added, share, _), middle) in enumerate(zip(sides, expected, strict=True)):
            variance = added + share * middle**2
            density = log_normal(value, middle, variance)
            if censored is not None:
                density = tf.where(censored[:, index] > 0, log_below(value, middle, variance), density)
            total += density
        return total

    guides = sides
    if censored is not None:  # a bound says little about where the level is: let the other reading find it
        doubt = tf.unstack(1e3 * censored * (tf.reduce_sum(values**2, axis=-1, keepdims=True) + floor**2), axis=-1)
        guides = [(value, added + more, *rest) for (value, added, *rest), more in zip(sides, doubt, strict=True)]
    centre, width = _mode(guides, first_guess, floor)  # [Q, N], [Q, N]
    centre, width = tf.stop_gradient(centre), tf.stop_gradient(width)
    offsets = tf.constant(OFFSETS, FLOAT)[:, None, None]  # [K, 1, 1]
    weights = tf.constant(LOG_WEIGHTS, FLOAT)[:, None, None]  # [K, 1, 1]
    terms = log_joint(centre + width * offsets) + weights  # [K, Q, N]
    return tf.reduce_logsumexp(terms, axis=0) + tf.math.log(width)  # [Q, N]


def _mode(sides: list, first_guess: tuple[tf.Tensor, tf.Tensor], floor: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The mode of the integrand over η and its width, by scoring steps.   → [Q, N], [Q, N]"""
    lowest = 0.3 * floor
    information = numerator = tf.zeros_like(first_guess[0])
    for guess, (value, added, share, response) in zip(first_guess, sides, strict=True):
        level = tf.maximum(guess, lowest)
        slope = _slope(response, level, response(level)) / level  # dg/dh
        weight = slope**2 / (added + share * value**2)
        information += weight
        numerator += weight * guess
    spread = tf.math.rsqrt(information)
    eta = tf.math.log(tf.maximum(tf.maximum(numerator / information, 0.3 * spread), lowest))  # [Q, N]
    for _ in range(STEPS):
        score, information = _score(eta, sides)
        eta += tf.clip_by_value(score / (information + 1e-3), -1.0, 1.0)
        eta = tf.maximum(eta, tf.math.log(lowest))
    _, information = _score(eta, sides)
    return eta, tf.minimum(tf.math.rsqrt(information + 1e-12), 1.0)


def _score(eta: tf.Tensor, sides: list) -> tuple[tf.Tensor, tf.Tensor]:
    """First derivative in η of the log density of both readings, and its expected information.   [Q, N] → [Q, N] ×2"""
    score = information = tf.zeros_like(eta)
    level = tf.exp(eta)
    for value, added, share, response in sides:
        expected = response(level)
        slope = _slope(response, level, expected)
        variance = added + share * expected**2
        change = share * expected * slope / variance  # half of d log v/dη
        residual = value - expected
        score += residual * slope / variance + (residual**2 / variance - 1) * change
        information += slope**2 / variance + 2 * change**2
    return score, information
