"""Calibration functions: how raw readings and a few parameters become true levels.

A function is written once, with the namespace ``xp`` (``numpy`` or ``tf.math``) for exp, log and the like, so that
fits differentiate it and predictions need no TensorFlow. Readings and levels are in units of the network's typical
reading; ``power`` says how a parameter's unit follows from that (an offset is a level: power 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from calibdash.errors import CalibdashError

Array = Any  # a NumPy array or a tensor; both do arithmetic alike
Calibrate = Callable[[Any, Array, Sequence[Array], Mapping[str, Array]], Array]


@dataclass(frozen=True)
class Parameter:
    """One calibration parameter θ(t) = T(centre + f(t)), with f a zero-mean process of relative size ``size``."""

    name: str
    transform: str = "identity"  # or "exp"
    centre: float = 0.0
    size: float = 1.0
    power: int = 0

    def value(self, xp: Any, latent: Array) -> Array:
        """θ from the latent value, any shape."""
        shifted = latent + self.centre
        # e^±30 is beyond any sensor; the limits keep absurd trial values of an optimiser finite
        return xp.exp(xp.minimum(xp.maximum(shifted, -30.0), 30.0)) if self.transform == "exp" else shifted


@dataclass(frozen=True)
class CalibrationFunction:
    """true = ``calibrate(xp, raw, parameters, covariates)``, increasing in raw.

    respond: the inverse in raw, raw = respond(xp, true, parameters, covariates); without it Newton steps are used.
    contrast: the pair depends on the difference of the two latent values alone (a pure scale).
    """

    name: str
    parameters: tuple[Parameter, ...]
    calibrate: Calibrate
    respond: Calibrate | None = None
    covariates: tuple[str, ...] = ()
    contrast: bool = False

    def values(self, xp: Any, latents: Sequence[Array]) -> tuple[Array, ...]:
        """The parameters from their latent values."""
        return tuple(parameter.value(xp, latent) for parameter, latent in zip(self.parameters, latents, strict=True))


def _scale(_xp: Any, raw: Array, parameters: Sequence[Array], _covariates: Mapping[str, Array]) -> Array:
    return parameters[0] * raw


def _scale_back(_xp: Any, true: Array, parameters: Sequence[Array], _covariates: Mapping[str, Array]) -> Array:
    return true / parameters[0]


def _gain_offset(_xp: Any, raw: Array, parameters: Sequence[Array], _covariates: Mapping[str, Array]) -> Array:
    return parameters[0] * raw + parameters[1]


def _gain_offset_back(_xp: Any, true: Array, parameters: Sequence[Array], _covariates: Mapping[str, Array]) -> Array:
    return (true - parameters[1]) / parameters[0]


def _polynomial(_xp: Any, raw: Array, parameters: Sequence[Array], _covariates: Mapping[str, Array]) -> Array:
    return parameters[0] * raw + parameters[1] + parameters[2] * raw**2


def _polynomial_back(xp: Any, true: Array, parameters: Sequence[Array], _covariates: Mapping[str, Array]) -> Array:
    gain, offset, curvature = parameters
    # the root on the rising branch; below its turning point the reading stays at that point's
    root = xp.sqrt(xp.maximum(gain**2 + 4 * curvature * (true - offset), 1e-4 * gain**2))
    return 2 * (true - offset) / (gain + root)


def koehler(xp: Any, kappa: Array, humidity: Array) -> Array:
    """Growth of wet particles C = 1 + (κ/1.65)/(100/RH − 1), RH in % and capped at 95."""
    capped = xp.minimum(xp.maximum(humidity, 1.0), 95.0)
    return 1.0 + kappa / 1.65 / (100.0 / capped - 1.0)


def _humidity(xp: Any, raw: Array, parameters: Sequence[Array], covariates: Mapping[str, Array]) -> Array:
    return parameters[0] * raw / koehler(xp, parameters[1], covariates["humidity"])


def _humidity_back(xp: Any, true: Array, parameters: Sequence[Array], covariates: Mapping[str, Array]) -> Array:
    return true * koehler(xp, parameters[1], covariates["humidity"]) / parameters[0]


def _humidity_offset(xp: Any, raw: Array, parameters: Sequence[Array], covariates: Mapping[str, Array]) -> Array:
    return _humidity(xp, raw, parameters[:2], covariates) + parameters[2]


def _humidity_offset_back(xp: Any, true: Array, parameters: Sequence[Array], covariates: Mapping[str, Array]) -> Array:
    return _humidity_back(xp, true - parameters[2], parameters[:2], covariates)


GAIN = Parameter("gain", "exp")
# ln 0.3: hygroscopicity of urban aerosol; its spread covers dust (0.05) and sea salt (1.1)
KAPPA = Parameter("kappa", "exp", centre=-1.2, size=1.5)
OFFSET = Parameter("offset", size=0.5, power=1)
_FUNCTIONS: dict[str, CalibrationFunction] = {
    "scale": CalibrationFunction("scale", (GAIN,), _scale, _scale_back, contrast=True),
    "gain-offset": CalibrationFunction("gain-offset", (GAIN, OFFSET), _gain_offset, _gain_offset_back),
    "polynomial": CalibrationFunction(
        "polynomial", (GAIN, OFFSET, Parameter("curvature", size=0.1, power=-1)), _polynomial, _polynomial_back
    ),
    "humidity": CalibrationFunction(
        "humidity",
        (GAIN, KAPPA),
        _humidity,
        _humidity_back,
        covariates=("humidity",),
    ),
    "humidity-offset": CalibrationFunction(
        "humidity-offset",
        (GAIN, KAPPA, OFFSET),
        _humidity_offset,
        _humidity_offset_back,
        covariates=("humidity",),
    ),
}


def register(function: CalibrationFunction) -> None:
    """Make a function known by its name; a name can be used once."""
    if function.name in _FUNCTIONS:
        raise CalibdashError(f"There already is a calibration function {function.name!r}.", "Choose another name.")
    _FUNCTIONS[function.name] = function


def unregister(name: str) -> None:
    """Forget a registered function."""
    _FUNCTIONS.pop(name, None)


def names() -> tuple[str, ...]:
    """Names of all functions known."""
    return tuple(_FUNCTIONS)


def named(name: str) -> CalibrationFunction:
    """The function of that name, or an error that lists what there is."""
    if name not in _FUNCTIONS:
        close = get_close_matches(name, _FUNCTIONS, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"There are {', '.join(_FUNCTIONS)}."
        raise CalibdashError(f"There is no calibration function {name[:60]!r}.", hint)
    return _FUNCTIONS[name]
