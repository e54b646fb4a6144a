"""log p(y_a, y_b | x) of a colocation, by likelihood; x are the D values of :class:`calibdash.models.form.Form`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import tensorflow as tf

from calibdash.errors import CalibdashError
from calibdash.models.form import Form
from calibdash.models.functions import CalibrationFunction
from calibdash.models.level import by_information, flat_for_scales, log_level_evidence, log_normal

TINY = 1e-6
NEWTON_STEPS = 6


@dataclass(frozen=True)
class Side:
    """One sensor of a colocation at Q values of x; ``function`` None is a reference (identity).

    reading [N]; parameters C × [Q, N]; additive, proportional: noise variances [Q, N] or [N]; covariates name → [N]
    """

    function: CalibrationFunction | None
    reading: tf.Tensor
    parameters: tuple[tf.Tensor, ...]
    additive: tf.Tensor
    proportional: tf.Tensor
    covariates: Mapping[str, tf.Tensor]

    def calibrated(self, reading: tf.Tensor) -> tf.Tensor:
        """φ(reading), any shape that broadcasts with [Q, N]."""
        if self.function is None:
            return reading
        return self.function.calibrate(tf.math, reading, self.parameters, self.covariates)

    def calibrated_and_slope(self) -> tuple[tf.Tensor, tf.Tensor]:
        """φ(y) and ∂φ/∂y at the reading.   → [Q, N], [Q, N]"""
        if self.function is None:
            return self.reading, tf.ones_like(self.reading)
        with tf.GradientTape() as tape:
            reading = self.reading + tf.zeros_like(self.parameters[0])  # [Q, N]
            tape.watch(reading)
            true = self.calibrated(reading)
        return true, tape.gradient(true, reading)

    def respond(self, level: tf.Tensor) -> tf.Tensor:
        """The noise-free reading at a level: φ⁻¹.   level [.., Q, N] → [.., Q, N]"""
        if self.function is None:
            return level
        if self.function.respond is not None:
            return self.function.respond(tf.math, level, self.parameters, self.covariates)
        return _invert(self, level)


def _invert(side: Side, level: tf.Tensor) -> tf.Tensor:
    """φ⁻¹ by Newton steps; the last one carries the derivative (implicit function theorem)."""
    raw = level * tf.ones_like(side.parameters[0])
    for step in range(NEWTON_STEPS):
        raw = tf.stop_gradient(raw) if step == NEWTON_STEPS - 1 else raw
        with tf.GradientTape() as tape:
            tape.watch(raw)
            true = side.calibrated(raw)
        slope = tf.maximum(tf.stop_gradient(tape.gradient(true, raw)), 1e-2)
        raw -= (true - level) / slope
    return raw


def _reading(a: Side, b: Side, constants: tf.Tensor, censored: tf.Tensor | None) -> tf.Tensor:
    """Noise on raw readings, the level integrated out with a prior flat in its logarithm.   → [Q, N]"""
    noise = ((a.additive, b.additive), (a.proportional, b.proportional))
    respond = (a.respond, b.respond)
    pure = a.function is not None and a.function.contrast
    return log_level_evidence(
        tf.stack([a.reading, b.reading], axis=-1),
        *noise,
        respond,
        (_wide(a.calibrated(a.reading), a), _wide(b.calibrated(b.reading), a)),
        constants[0],
        flat_for_scales(constants[0]) if pure else by_information(*noise, respond),
        censored,
    )


def _wide(value: tf.Tensor, side: Side) -> tf.Tensor:
    return value + tf.zeros_like(side.parameters[0])


def _log_ratio(a: Side, b: Side, _constants: tf.Tensor, _censored: tf.Tensor | None) -> tf.Tensor:
    """Log φ(y_a) − log φ(y_b) ~ N(0, τ_a² + τ_b²), τ = (φ'/φ)·noise of the reading.   → [Q, N]"""
    difference, variance = tf.zeros_like(a.parameters[0]), tf.zeros_like(a.parameters[0])
    for side, sign in ((a, 1.0), (b, -1.0)):
        true, slope = side.calibrated_and_slope()
        true = tf.maximum(true, TINY)
        difference += sign * tf.math.log(true)
        variance += (slope / true) ** 2 * (side.additive + side.proportional * side.reading**2)
    return log_normal(difference, tf.zeros_like(difference), variance)


def _paper(a: Side, b: Side, constants: tf.Tensor, _censored: tf.Tensor | None) -> tf.Tensor:
    """Noise after calibration, level ~ N(0, γ²), Jacobian: log N(φ; 0, [[σ_a²+γ², γ²], [γ², σ_b²+γ²]]) + Σ log φ'.

    Only additive noise, as in the paper; a reference has its own.   → [Q, N]
    """
    spread = constants[1] ** 2
    (true_a, slope_a), (true_b, slope_b) = a.calibrated_and_slope(), b.calibrated_and_slope()
    noise_a = a.additive + (a.proportional if a.function is None else 0.0)
    noise_b = b.additive + (b.proportional if b.function is None else 0.0)
    # N(φ_a; 0, σ_a² + γ²)·N(φ_b | φ_a): the same density without the cancellation of a near-singular 2 × 2 matrix
    total = noise_a + spread
    mean = true_a * spread / total
    rest = noise_b + spread * noise_a / total
    jacobian = tf.math.log(tf.maximum(slope_a, TINY)) + tf.math.log(tf.maximum(slope_b, TINY))
    return log_normal(true_a, tf.zeros_like(true_a), total) + log_normal(true_b, mean, rest) + jacobian


LIKELIHOODS: dict[str, Callable[[Side, Side, tf.Tensor, tf.Tensor | None], tf.Tensor]] = {
    "reading": _reading,
    "log-ratio": _log_ratio,
    "paper": _paper,
}


def log_density(form: Form, x: tf.Tensor, data: Mapping[str, tf.Tensor]) -> tf.Tensor:
    """Log p(y_a, y_b | x).   x [Q, N, D]; data: values, additive, proportional and covariates [N, 2] → [Q, N]"""
    if form.likelihood not in LIKELIHOODS:
        raise CalibdashError(f"There is no likelihood {form.likelihood!r}.", f"Choose one of {', '.join(LIKELIHOODS)}.")
    a, b = _sides(form, tf.unstack(x, axis=-1), data)
    return LIKELIHOODS[form.likelihood](a, b, data["constants"], data["censored"] if form.censored else None)


def _sides(form: Form, x: list[tf.Tensor], data: Mapping[str, tf.Tensor]) -> tuple[Side, Side]:
    """The two sides from the D values."""
    C, noisy = form.parameters, form.noisy
    if form.contrast:
        # Half the difference to each side: the level absorbs any common factor, so this is no assumption.
        latents_a, latents_b = [0.5 * x[0]], [-0.5 * x[0]]
        noise_a, noise_b = x[1] if noisy else None, x[2] if noisy and not form.tied else None
        identity_b = False
    else:
        latents_a, latents_b = x[:C], x[C + noisy : 2 * C + noisy]
        noise_a, noise_b = x[C] if noisy else None, x[-1] if noisy and not form.tied else None
        identity_b = form.tied
    a = _side(form, data, 0, latents_a, noise_a, identity=False)
    return a, _side(form, data, 1, latents_b, noise_b, identity=identity_b)


def _side(
    form: Form,
    data: Mapping[str, tf.Tensor],
    column: int,
    latents: list[tf.Tensor],
    log_noise: tf.Tensor | None,
    *,
    identity: bool,
) -> Side:
    factor = 1.0 if log_noise is None else tf.exp(log_noise)
    return Side(
        None if identity else form.function,
        data["values"][:, column],
        () if identity else form.function.values(tf.math, latents),
        data["additive"][:, column] * factor,
        data["proportional"][:, column] * factor,
        {name: data[name][:, column] for name in form.function.covariates},
    )
