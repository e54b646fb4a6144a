"""What decides a fit: one frozen object shared by Python, command line and dashboard."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches

from calibdash.errors import CalibdashError
from calibdash.models.setting_table import BY_KEY, LEARNABLE, SETTINGS, SPECIFIC, Setting, Value

KINDS = ("static", "mobile")


@dataclass(frozen=True)
class Settings:
    """Settings of a fit, checked when made; None leaves the choice to the data.

    ``specific`` refines a kernel or noise setting by sensor kind, calibration parameter or both:
    ``("drift.mobile.gain", 0.3)``. ``bounds`` limits what learning may choose: ``("bias", 0.1, 1.0)``.
    """

    function: str = "scale"
    likelihood: str = "reading"
    kernel: str | None = None
    lengthscale_static: float | None = None
    lengthscale_mobile: float | None = None
    drift: float | None = None
    bias: float | None = None
    noise_additive: float | None = None
    noise_proportional: float | None = None
    noise_reference: float = 0.005
    noise_model: str = "fixed"
    noise_lengthscale: float = 720.0
    noise_drift: float = 0.7
    reading_lowest: float | None = None
    level_floor: float = 0.01
    level_spread: float = 10.0
    optimiser: str = "natural"
    iterations: int = 100
    tolerance: float = 1e-3
    inducing_density: float = 2.0
    inducing_most: int = 48
    quadrature_nodes: int = 7
    samples: int = 128
    adam_iterations: int = 3000
    adam_rate: float = 0.02
    adam_samples: int = 10
    adam_batch: int = 500
    adam_reference: float = 3.0
    learn_prior: float = 1.0
    learn_restarts: int = 1
    learn_most: int = 2500
    learn_steps: int = 40
    specific: tuple[tuple[str, float | str], ...] = ()
    bounds: tuple[tuple[str, float, float], ...] = ()

    def __post_init__(self) -> None:
        for setting in SETTINGS:
            object.__setattr__(self, setting.field, setting.parse(getattr(self, setting.field)))
        specific = sorted((key, _specific_setting(key).parse(value)) for key, value in self.specific)
        object.__setattr__(self, "specific", tuple(specific))
        object.__setattr__(self, "bounds", tuple(sorted(_checked_bound(*bound) for bound in self.bounds)))
        if self.noise_additive == 0 and self.noise_proportional == 0:
            raise CalibdashError("noise.additive and noise.proportional are both 0.", "Sensors need some noise.")

    def with_values(self, values: Mapping[str, Value]) -> Settings:
        """A copy with dotted keys set: ``{"lengthscale.mobile": "25d", "bounds.bias": "0.1..1"}``."""
        plain: dict[str, Value] = {}
        specific = dict(self.specific)
        bounds = {key: (low, high) for key, low, high in self.bounds}
        for key, value in values.items():
            if key in BY_KEY:
                plain[BY_KEY[key].field] = BY_KEY[key].parse(value)
            elif key.startswith("bounds."):
                bounds[key.removeprefix("bounds.")] = _parse_range(key, str(value))
            elif key == "lengthscale":
                plain |= {f"lengthscale_{kind}": BY_KEY[f"lengthscale.{kind}"].parse(value) for kind in KINDS}
            else:
                checked = _specific_setting(key).parse(value)
                specific[key] = checked  # type: ignore[assignment]
        return replace(
            self,
            **plain,  # type: ignore[arg-type]
            specific=tuple(specific.items()),
            bounds=tuple((key, low, high) for key, (low, high) in bounds.items()),
        )

    def specific_value(self, name: str, kind: str, parameter: str) -> float | str | None:
        """The most specific value given for ``name``: by kind and parameter, by parameter, then by kind."""
        given = dict(self.specific)
        for key in (f"{name}.{kind}.{parameter}", f"{name}.{parameter}", f"{name}.{kind}"):
            if key in given:
                return given[key]
        return None

    def as_dict(self) -> dict[str, object]:
        """Plain values by dotted key, those of the defaults left out; the inverse of :meth:`from_dict`."""
        default = Settings()
        plain = {
            setting.key: getattr(self, setting.field)
            for setting in SETTINGS
            if getattr(self, setting.field) != getattr(default, setting.field)
        }
        ranges = {f"bounds.{key}": f"{low!r}..{high!r}" for key, low, high in self.bounds}
        return {**plain, **dict(self.specific), **ranges}

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Settings:
        """Settings from dotted keys, as :meth:`as_dict` writes them or nested as in a settings file."""
        return cls().with_values(_flat(values))

    @property
    def hash(self) -> str:
        """Twelve hex digits that change when any setting does, and stay over sessions."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def describe() -> tuple[Setting, ...]:
    """Every setting with its key, unit, default, range and explanation, for the docs and the dashboard."""
    return SETTINGS


def _flat(values: Mapping[str, object], prefix: str = "") -> dict[str, Value]:
    flat: dict[str, Value] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        elif value is None or isinstance(value, str | float | int | bool):
            flat[f"{prefix}{key}"] = value
        else:
            raise CalibdashError(f"Setting {prefix}{key} is neither text nor a number.", "Write for example 0.3.")
    return flat


def _specific_setting(key: str) -> Setting:
    """The setting that ``drift.mobile.gain`` refines, under its own key."""
    for name in SPECIFIC:
        rest = key.removeprefix(f"{name}.")
        if key != rest and 1 <= len(rest.split(".")) <= 2 and all(rest.split(".")) and key not in BY_KEY:
            base = BY_KEY.get(name, BY_KEY["lengthscale.static"])
            return Setting(key, base.unit, base.default or 0.0, base.low, base.high, base.explanation, base.choices)
    known = [*BY_KEY, *(f"bounds.{name}" for name in LEARNABLE)]
    close = get_close_matches(key, known, n=1)
    raise CalibdashError(
        f"There is no setting {key[:60]!r}.",
        f"Did you mean {close[0]}?" if close else f"The settings are {', '.join(BY_KEY)}.",
    )


def _parse_range(key: str, text: str) -> tuple[float, float]:
    name = key.removeprefix("bounds.")
    low, dots, high = text.partition("..")
    if not dots:
        raise CalibdashError(f"{key} = {text[:60]!r} is not a range.", "Write for example 0.1..1 or 10d..50d.")
    return _checked_bound(name, low, high)[1:]


def _checked_bound(name: str, low: Value, high: Value) -> tuple[str, float, float]:
    if name not in LEARNABLE:
        raise CalibdashError(f"{name[:60]!r} is not learned.", f"Bounds may be set for {', '.join(LEARNABLE)}.")
    parsed = [BY_KEY[name].parse(end) for end in (low, high)]
    ends = [float("nan") if end is None else float(end) for end in parsed]  # None: left to the data, no bound
    if not 0 < ends[0] < ends[1]:
        raise CalibdashError(f"The bounds of {name} are not a range.", "The lower end must be positive and smaller.")
    return name, ends[0], ends[1]


if {setting.field for setting in SETTINGS} | {"specific", "bounds"} != {field.name for field in fields(Settings)}:
    raise AssertionError("the table of settings and the fields of Settings differ")
