"""How a session wants its network fitted: sliders as plain values, the settings they make, and the live preview."""

from __future__ import annotations

from typing import Any

import param

from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.models.multihop import Multihop, MultihopSettings, multihop
from calibdash.models.pairs import PairData
from calibdash.models.posterior import Posterior
from calibdash.models.preview import preview, preview_pairs
from calibdash.models.settings import Settings
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


class Tuning(param.Parameterized):
    """What the sliders say; ``preview`` and ``hops`` follow the network and the sliders."""

    session: Any = param.ClassSelector(class_=Session, allow_None=False)
    static_days = param.Number(60.0, bounds=(1, 730), doc="Days over which a static sensor's calibration changes.")
    mobile_days = param.Number(30.0, bounds=(1, 730), doc="Days over which a mobile sensor's calibration changes.")
    drift_percent = param.Number(25.0, bounds=(1, 300), doc="Usual size of those changes, in percent.")
    bias_percent = param.Number(25.0, bounds=(1, 300), doc="Usual lasting error of a new sensor, in percent.")
    noise_percent = param.Number(10.0, bounds=(0.1, 100), doc="Noise of a reading, in percent of it.")
    noise_units = param.Number(2.0, bounds=(0.01, 100), doc="Noise of a reading whatever its size, in its unit.")
    function: Any = param.Selector(
        default="scale", objects=["scale", "gain-offset"], doc="What may be wrong with a reading."
    )
    likelihood: Any = param.Selector(
        default="reading",
        objects={"on the reading": "reading", "on the ratio": "log-ratio"},
        doc="Where the noise sits.",
    )
    learn = param.Boolean(True, doc="Let the full fit find these values itself, from the data alone.")
    window_hours = param.Number(24.0, bounds=(1, 2000), doc="Multi-hop: length of a window, in hours.")
    time_weight = param.Number(0.21, bounds=(0.01, 5), doc="Multi-hop: cost of going back one window, in meetings.")
    preview: Any = param.ClassSelector(class_=Posterior, doc="The one-solve fit of what the sliders say.")
    hops: Any = param.ClassSelector(class_=Multihop, doc="The multi-hop calibration.")
    failure = param.String(doc="Why there is no preview.")

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(session=session, **params)
        self._pairs: tuple[Network, PairData] | None = None
        self._network: Network | None = None
        self._start()

    @param.depends("session.network", watch=True)
    def _start(self) -> None:
        """A new network: values from its data, then the preview."""
        network = self.session.network
        whole = self.session.checked.network if self.session.checked else None
        if network is not None and whole is not self._network:
            self._network = whole
            self._suggest(network)
        self._refresh()
        self._hop()

    def _suggest(self, network: Network) -> None:
        try:
            found = preview(self._read(network), Settings())
        except CalibdashError:
            return
        hyper = found.basis.hyper
        static, mobile = hyper.kernels[0][0], hyper.kernels[1][0]
        values = {
            "static_days": static.lengthscale / 24,
            "mobile_days": mobile.lengthscale / 24,
            "drift_percent": 100 * static.drift,
            "bias_percent": 100 * static.bias,
            "noise_percent": 100 * hyper.noise_proportional[0],
            "noise_units": hyper.noise_additive[0] * found.level,
        }
        with param.parameterized.batch_call_watchers(self):
            for name, value in values.items():
                low, high = self.param[name].bounds
                setattr(self, name, float(min(max(value, low), high)))

    def _read(self, network: Network) -> PairData:
        if self._pairs is None or self._pairs[0] is not network:
            self._pairs = (network, preview_pairs(network))
        return self._pairs[1]

    @param.depends(*SLIDERS, watch=True)
    def _refresh(self) -> None:
        network = self.session.network
        if network is None or network.colocations.empty:
            self.param.update(preview=None, failure="There is no colocation to fit.")
            return
        try:
            self.param.update(preview=preview(self._read(network), self.stated()), failure="")
        except CalibdashError as problem:
            self.param.update(preview=None, failure=str(problem))

    @param.depends("window_hours", "time_weight", watch=True)
    def _hop(self) -> None:
        network = self.session.network
        try:
            settings = MultihopSettings(window_hours=self.window_hours, time_weight=self.time_weight)
            self.hops = multihop(network, settings) if network is not None else None
        except CalibdashError:
            self.hops = None

    def stated(self) -> Settings:
        """The settings that fix every slider's value."""
        values = {key: getattr(self, name) * unit for name, (key, unit) in SLIDERS.items()}
        return Settings().with_values({**values, "function": self.function, "likelihood": self.likelihood})

    def wanted(self) -> Settings:
        """The settings of the full fit: what is to be learned is left open."""
        if not self.learn:
            return self.stated()
        return Settings().with_values({"function": self.function, "likelihood": self.likelihood})
