"""Every setting of a fit: its key, unit, default, range and meaning."""

from __future__ import annotations

import math
from dataclasses import dataclass

from calibdash.errors import CalibdashError
from calibdash.units import parse_hours

Value = str | float | int | bool | None
FROM_DATA = {"auto", "data", "none", ""}


@dataclass(frozen=True)
class Setting:
    """One setting; ``default`` None means that the data decide."""

    key: str
    unit: str  # "hours", "number", "count", "switch" or "choice"
    default: Value
    low: float
    high: float
    explanation: str
    choices: tuple[str, ...] = ()

    @property
    def field(self) -> str:
        """The attribute that holds it: ``lengthscale.mobile`` → ``lengthscale_mobile``."""
        return self.key.replace(".", "_")

    def parse(self, value: Value) -> Value:
        """A checked value from text or a number."""
        if value is None or (isinstance(value, str) and value.strip().lower() in FROM_DATA):
            if self.default is None:
                return None
            raise CalibdashError(f"{self.key} cannot be left to the data.", f"Its default is {self.default}.")
        if self.unit == "choice":
            return self._choice(str(value).strip())
        if self.unit == "switch":
            return self._switch(value)
        number = parse_hours(value) if self.unit == "hours" else self._number(value)
        if not self.low <= number <= self.high:
            raise CalibdashError(
                f"{self.key} = {value} is out of range.", f"It must lie between {self.low:g} and {self.high:g}."
            )
        return int(number) if self.unit == "count" else number

    def _choice(self, text: str) -> str:
        if self.choices and text not in self.choices:
            raise CalibdashError(f"{self.key} cannot be {text[:60]!r}.", f"Choose one of {', '.join(self.choices)}.")
        return text

    def _switch(self, value: Value) -> bool:
        text = str(value).strip().lower()
        if text not in ("true", "false", "yes", "no", "on", "off", "1", "0"):
            raise CalibdashError(f"{self.key} cannot be {text[:60]!r}.", "Write true or false.")
        return text in ("true", "yes", "on", "1")

    def _number(self, value: Value) -> float:
        text = str(value).strip()
        try:
            number = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        except ValueError:
            raise CalibdashError(f"{self.key} = {text[:60]!r} is not a number.", "Write for example 0.3.") from None
        if not math.isfinite(number) or (self.unit == "count" and number != round(number)):
            raise CalibdashError(f"{self.key} = {text[:60]!r} is not a usable number.", "Write for example 3.")
        return number


SETTINGS = (
    Setting("function", "choice", "scale", 0, 0, "How a raw reading becomes a true level."),
    Setting(
        "likelihood",
        "choice",
        "reading",
        0,
        0,
        "Where the noise sits: on the raw reading, on the log ratio of a pair, or after calibration (the paper).",
        ("reading", "log-ratio", "paper"),
    ),
    Setting("kernel", "choice", None, 0, 0, "Smooth (eq) or rough (matern32) drift.", ("eq", "matern32")),
    Setting("lengthscale.static", "hours", None, 1, 1e6, "Time over which a static sensor's calibration changes."),
    Setting("lengthscale.mobile", "hours", None, 1, 1e6, "Time over which a mobile sensor's calibration changes."),
    Setting("drift", "number", None, 1e-4, 20, "Size (sd) of the changing part of the log gain."),
    Setting("bias", "number", None, 1e-4, 20, "Size (sd) of the constant part of the log gain."),
    Setting("noise.additive", "number", None, 0, 1e12, "Noise sd of a raw reading, in the unit of the readings."),
    Setting("noise.proportional", "number", None, 0, 2, "Noise sd of a raw reading as a share of the level."),
    Setting("noise.reference", "number", 0.005, 1e-4, 1, "Noise sd of a reference, as a share of the level."),
    Setting(
        "noise.model",
        "choice",
        "fixed",
        0,
        0,
        "Noise over time: fixed, a point estimate per sensor and time (dirac), or a full process (gp).",
        ("fixed", "dirac", "gp"),
    ),
    Setting("noise.lengthscale", "hours", 720.0, 1, 1e6, "Time over which a sensor's noise changes."),
    Setting("noise.drift", "number", 0.7, 1e-3, 5, "Size (sd) of changes of the log noise variance."),
    Setting(
        "reading.lowest",
        "number",
        None,
        -1e12,
        1e12,
        "What a sensor reports when its reading is lower still; found where many readings equal the smallest.",
    ),
    Setting("level.floor", "number", 0.01, 1e-6, 1, "Share of the typical reading below which levels blur into zero."),
    Setting("level.spread", "number", 10.0, 0.1, 1e4, "Prior sd of the level in typical readings (likelihood paper)."),
    Setting("optimiser", "choice", "natural", 0, 0, "Natural gradients, or Adam with samples.", ("natural", "adam")),
    Setting("iterations", "count", 100, 1, 10000, "Most iterations of natural gradients."),
    Setting("tolerance", "number", 1e-3, 1e-9, 10, "Stop when the bound rises by less than this many nats."),
    Setting("inducing.density", "number", 2.0, 0.5, 10, "Inducing points a lengthscale."),
    Setting("inducing.most", "count", 48, 3, 500, "Most inducing points a sensor."),
    Setting("quadrature.nodes", "count", 7, 3, 40, "Quadrature nodes over one latent value."),
    Setting("samples", "count", 128, 8, 4096, "Samples where there are too many latent values for quadrature."),
    Setting("adam.iterations", "count", 3000, 1, 1000000, "Iterations of Adam."),
    Setting("adam.rate", "number", 0.02, 1e-6, 1, "Learning rate of Adam."),
    Setting("adam.samples", "count", 10, 1, 1000, "Samples of the latent functions an iteration."),
    Setting("adam.batch", "count", 500, 1, 1000000, "Colocations a minibatch."),
    Setting("adam.reference", "number", 3.0, 1, 100, "How much more often colocations with a reference are drawn."),
    Setting("learn.prior", "number", 1.0, 0.05, 10, "Width (log sd) of the priors around the defaults."),
    Setting("learn.restarts", "count", 1, 1, 20, "Starting points of learning."),
    Setting("learn.most", "count", 2500, 50, 100000, "Most colocations that learning looks at."),
    Setting("learn.steps", "count", 40, 1, 1000, "Most steps of learning."),
)
BY_KEY = {setting.key: setting for setting in SETTINGS}
SPECIFIC = ("lengthscale", "drift", "bias", "kernel", "noise.additive", "noise.proportional")
LEARNABLE = ("lengthscale.static", "lengthscale.mobile", "drift", "bias", "noise.additive", "noise.proportional")
