"""How a session wants its network fitted: sliders as plain values, the settings they make, and the live preview."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import param

from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.models.multihop import Multihop, MultihopSettings, multihop
from calibdash.models.pairs import PairData
from calibdash.models.posterior import Posterior
from calibdash.models.preview import preview, preview_pairs
from calibdash.models.settings import Settings
from calibdash.state.once import once
from calibdash.state.session import Session

# slider: (setting, unit of the slider in units of the setting)
SLIDERS = {
    "static_days": ("lengthscale.static", 24.0),
    "mobile_days": ("lengthscale.mobile", 24.0),
    "drift_percent": ("drift", 0.01),
    "bias_percent": ("bias", 0.01),
    "noise_percent": ("noise.proportional", 0.01),
    "noise_units": ("noise.additive", 1.0),
}
FUNCTIONS = {
    "a factor": "scale",
    "a factor and an offset": "gain-offset",
    "a factor, an offset and a bend": "polynomial",
    "a factor, and humidity": "humidity",
    "a factor, an offset, and humidity": "humidity-offset",
}
CHOICES = {"function": "function", "likelihood": "likelihood", "kernel": "kernel", "noise_model": "noise.model"}


class Tuning(param.Parameterized):
    """What the sliders say; ``preview`` and ``hops`` follow the network and the sliders."""

    session: Any = param.ClassSelector(class_=Session, allow_None=False)
    static_days = param.Number(
        60.0, bounds=(1, 730), doc="How long a static sensor's calibration stays about the same."
    )
    mobile_days = param.Number(
        30.0, bounds=(1, 730), doc="How long a mobile sensor's calibration stays about the same."
    )
    drift_percent = param.Number(25.0, bounds=(1, 300), doc="Usual size of the changes over such a time.")
    bias_percent = param.Number(25.0, bounds=(1, 300), doc="Usual error of a new sensor, which stays.")
    noise_percent = param.Number(10.0, bounds=(0.1, 100), doc="Noise of a reading, as a share of it.")
    noise_units = param.Number(2.0, bounds=(0.01, 100), doc="Noise of a reading whatever its size, in its unit.")
    learned: Any = param.ListSelector(
        default=list(SLIDERS), objects=list(SLIDERS), doc="Values that the full fit finds itself, from the data alone."
    )
    function: Any = param.Selector(default="scale", objects=FUNCTIONS, doc="What may be wrong with a reading.")
    likelihood: Any = param.Selector(
        default="reading",
        objects={"on each reading": "reading", "on the ratio of a pair": "log-ratio", "as in the paper": "paper"},
        doc="Where the noise sits.",
    )
    kernel: Any = param.Selector(
        default=None, objects={"as the data say": None, "smooth": "eq", "rough": "matern32"}, doc="How gains wander."
    )
    noise_model: Any = param.Selector(
        default="fixed",
        objects={"no": "fixed", "yes, a best guess": "dirac", "yes, with its uncertainty": "gp"},
        doc="Whether the noise of a sensor changes over time.",
    )
    window_hours = param.Number(24.0, bounds=(1, 2000), doc="Meetings within so long count as one.")
    time_weight = param.Number(0.21, bounds=(0.01, 5), doc="What a step back of one window costs, in meetings.")
    preview: Any = param.ClassSelector(class_=Posterior, doc="The one-solve fit of what the sliders say.")
    hops: Any = param.ClassSelector(class_=Multihop, doc="The multi-hop calibration.")
    failure = param.String(doc="Why there is no preview.")

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(session=session, **params)
        self._network: Network | None = None
        self._drawn: tuple[Network, Settings] | None = None  # what the preview is of
        self._start()

    @param.depends("session.network", watch=True)
    def _start(self) -> None:
        """A new network: values from its data, then the preview."""
        network = self.session.network
        whole = self.session.checked.network if self.session.checked else None
        if network is not None and whole is not self._network:
            self._network = whole
            dry = "humidity" not in network.covariates
            self.param["function"].objects = {k: v for k, v in FUNCTIONS.items() if not (dry and "humidity" in v)}
            self.function = self.function if self.function in self.param["function"].objects else "scale"
            self._suggest(network)
        self._refresh()
        if network is not None and self.preview is not None:
            first_previews(network).setdefault(self.stated(), self.preview)
        self._hop()

    def _suggest(self, network: Network) -> None:
        try:
            values = suggested(network)
        except CalibdashError:
            return
        with param.parameterized.batch_call_watchers(self):
            for name, value in values.items():
                setattr(self, name, self._inside(name, value))

    @param.depends(*SLIDERS, "kernel", watch=True)
    def _refresh(self) -> None:
        network = self.session.network
        if network is None or network.colocations.empty:
            self._drawn = None
            self.param.update(preview=None, failure="There is no colocation to fit.")
            return
        try:
            settings = self.stated()
            if self._drawn is not None and self._drawn[0] is network and self._drawn[1] == settings:
                return
            found = first_previews(network).get(settings) or preview(pairs_of(network), settings)
            self._drawn = (network, settings)
            self.param.update(preview=found, failure="")
        except CalibdashError as problem:
            self._drawn = None
            self.param.update(preview=None, failure=str(problem))

    @param.depends("window_hours", "time_weight", watch=True)
    def _hop(self) -> None:
        network = self.session.network
        try:
            settings = MultihopSettings(window_hours=self.window_hours, time_weight=self.time_weight)
            self.hops = hops_of(network, settings) if network is not None else None
        except CalibdashError:
            self.hops = None

    def stated(self) -> Settings:
        """The settings that fix every slider's value."""
        return self._settings(())

    def wanted(self) -> Settings:
        """The settings of the full fit: what is to be learned is left open."""
        return self._settings(self.learned)

    def _settings(self, left_open: Sequence[str]) -> Settings:
        values = {key: getattr(self, name) * unit for name, (key, unit) in SLIDERS.items() if name not in left_open}
        return Settings().with_values({**values, **{key: getattr(self, name) for name, key in CHOICES.items()}})

    def take(self, settings: Settings) -> None:
        """Set everything as these settings have it; what they leave open is to be learned."""
        known = {key: getattr(settings, key.replace(".", "_")) for key, _ in SLIDERS.values()}
        sliders = {name: known[key] / unit for name, (key, unit) in SLIDERS.items() if known[key] is not None}
        choices = {name: getattr(settings, key.replace(".", "_")) for name, key in CHOICES.items()}
        values = {name: self._inside(name, value) for name, value in sliders.items()}
        for name, value in choices.items():
            if value not in self.param[name].objects:
                raise CalibdashError(f"{value} is not on offer for this network.", "Choose another run's settings.")
        self.param.update(**values, **choices, learned=[name for name in SLIDERS if name not in sliders])

    def _inside(self, name: str, value: float) -> float:
        low, high = self.param[name].bounds
        return min(max(value, low), high)


@once
def pairs_of(network: Network) -> PairData:
    """The colocations that previews use."""
    return preview_pairs(network)


@once
def first_previews(network: Network) -> dict[Settings, Posterior]:  # noqa: ARG001 (kept for it)
    """What sessions show first, by their settings: every one that opens the network can have the same."""
    return {}


@once
def hops_of(network: Network, settings: MultihopSettings) -> Multihop:
    """The multi-hop result."""
    return multihop(network, settings)


@once
def suggested(network: Network) -> dict[str, float]:
    """What the data themselves say, in units of the sliders."""
    found = preview(pairs_of(network), Settings())
    hyper = found.basis.hyper
    static, mobile = hyper.kernels[0][0], hyper.kernels[1][0]
    return {
        "static_days": static.lengthscale / 24,
        "mobile_days": mobile.lengthscale / 24,
        "drift_percent": 100 * static.drift,
        "bias_percent": 100 * static.bias,
        "noise_percent": 100 * float(hyper.noise_proportional[0]),
        "noise_units": float(hyper.noise_additive[0] * found.level),
    }
