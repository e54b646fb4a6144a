"""What a simulated network is made of, as plain values, and the recipes that have a name."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd

from calibdash.data.simulate.fields import check_fields, setting
from calibdash.errors import CalibdashError


@dataclass(frozen=True)
class NetworkRecipe:
    """A network of sensors, how they drift, where they meet and how noisy they are; defaults are the paper's."""

    name: str = setting("paper", "name of the network")
    seed: int = setting(0, "seed of every random number", low=0)
    start: str = setting("2024-01-01T00:00:00Z", "time of the first hour, ISO 8601 with offset")
    days: int = setting(180, "length of the record", "days", low=1, high=36_500)
    statics: int = setting(10, "static sensors, references among them", low=0, high=100_000)
    references: int = setting(4, "static sensors that are references", low=0, high=100_000)
    mobiles: int = setting(4, "mobile sensors", low=0, high=100_000)
    hops: int = setting(0, "links of a chain in place of statics and mobiles (0: none)", low=0, high=10_000)
    area_km: float = setting(10.0, "side of the square the sensors stand in", "km", low=0.1, high=1000)
    latitude: float = setting(0.32, "latitude of its centre", "°N", low=-85, high=85)
    longitude: float = setting(32.58, "longitude of its centre", "°E", low=-180, high=180)
    timezone: str = setting("Africa/Kampala", "zone of the local clock")
    reference_visits: float = setting(0.5, "visits to a reference, each mobile", "per day", low=0, high=1000)
    other_visits: float = setting(2.5, "visits to other statics, each mobile", "per day", low=0, high=1000)
    readings_per_visit: int = setting(1, "most readings in a visit (uniform from 1)", low=1, high=1000)
    reading_minutes: float = setting(10.0, "time between readings of a visit or a pair", "min", low=0.1, high=1440)
    pairs: int = setting(0, "permanently colocated pairs of statics, the first beside a reference", low=0)
    pair_uptime: float = setting(0.27, "share of days on which a permanent pair reports", low=0, high=1)
    noise: float = setting(10.0, "sd of the noise added to raw readings of non-references", "µg/m³", low=0, high=1e6)
    proportional_noise: float = setting(0.0, "sd of that noise as a share of the reading", low=0, high=10)
    lowest_reading: float = setting(-1e6, "what a sensor reports when its reading is lower", "µg/m³")
    drift: str = setting("sinusoid", "how calibrations move", choices=("sinusoid", "eq", "matern32"))
    static_drift_hours: float = setting(3070.0, "median period, or GP lengthscale, of statics", "h", low=1)
    mobile_drift_hours: float = setting(1007.0, "median period, or GP lengthscale, of mobiles", "h", low=1)
    drift_spread: float = setting(0.35, "sd of the log of that period or lengthscale over sensors", low=0, high=3)
    gain_drift: float = setting(0.505, "amplitude (sinusoid) or sd (GP) of the moving log gain", low=0, high=3)
    gain_bias: float = setting(0.0, "sd of each sensor's constant log gain", low=0, high=3)
    offset_drift: float = setting(0.0, "amplitude or sd of the moving offset", "µg/m³", low=0, high=1000)
    offset_bias: float = setting(0.0, "sd of each sensor's constant offset", "µg/m³", low=0, high=1000)
    level: str = setting("sinusoid", "how the true level moves", choices=("sinusoid", "diurnal"))
    level_mean: float = setting(50.0, "mean true level", "µg/m³", low=1, high=1e5)
    level_amplitude: float = setting(
        30.0, "amplitude of a sinusoidal level (half of it is added locally)", "µg/m³", low=0
    )
    weather: bool = setting(False, "give each side humidity and temperature")
    kappa: float = setting(0.0, "hygroscopicity κ of the aerosol (needs weather)", low=0, high=2)
    truth_hours: float = setting(6.0, "step of the table of true calibrations", "h", low=0.01, high=1e5)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.references > self.statics:
            raise CalibdashError(
                f"{self.references} of {self.statics} statics cannot be references.",
                "Add statics.",
            )
        if self.pairs and (not self.references or 2 * self.pairs - 1 > self.statics - self.references):
            raise CalibdashError(
                f"{self.pairs} permanent pairs need a reference and {2 * self.pairs - 1} other statics.",
                "Add statics and references, or ask for fewer pairs.",
            )
        if self.pairs and self.hops:
            raise CalibdashError("A chain has no permanent pairs.", "Set pairs or hops to 0.")
        if self.kappa and not self.weather:
            raise CalibdashError("kappa without weather: there is no humidity to act on.", "Set weather too.")
        try:
            zoned = pd.Timestamp(self.start).tz is not None and bool(pd.Timestamp(0, tz=self.timezone))
        except (ValueError, KeyError, TypeError) as problem:
            raise CalibdashError(
                f"start = {self.start!r} or timezone = {self.timezone!r} cannot be read.",
                "Write for example 2024-01-01T00:00:00Z and Africa/Kampala.",
            ) from problem
        if not zoned:
            raise CalibdashError(f"start = {self.start!r} has no offset.", "End it with Z or with an offset: +03:00.")

    @property
    def origin(self) -> pd.Timestamp:
        """The first hour, in UTC."""
        return pd.Timestamp(self.start).tz_convert("UTC")

    @property
    def hours(self) -> float:
        """Length of the record in hours."""
        return 24.0 * self.days


_PAPER = NetworkRecipe()
_CITY = replace(
    _PAPER,
    name="city",
    start="2020-07-15T00:00:00Z",
    days=203,
    statics=47,
    references=2,
    mobiles=4,
    reference_visits=0.15,
    other_visits=2.0,
    readings_per_visit=9,
    pairs=4,
    noise=2.0,
    proportional_noise=0.12,
    drift="matern32",
    static_drift_hours=2400.0,
    mobile_drift_hours=1200.0,
    gain_drift=0.25,
    gain_bias=0.2,
    level="diurnal",
    level_mean=55.0,
    lowest_reading=1.0,
    weather=True,
)
_CHAIN = replace(
    _PAPER, name="chain", hops=5, statics=0, references=0, mobiles=0, other_visits=2.0, reference_visits=2.0
)
_OFFSET = replace(
    _PAPER,
    name="offset",
    noise=2.0,
    proportional_noise=0.05,
    drift="eq",
    static_drift_hours=2000.0,
    mobile_drift_hours=1000.0,
    gain_drift=0.2,
    gain_bias=0.2,
    offset_drift=2.0,
    offset_bias=3.0,
    level_mean=60.0,
    level_amplitude=25.0,
    readings_per_visit=3,
    weather=True,
    kappa=0.3,
)
PRESETS: dict[str, NetworkRecipe] = {recipe.name: recipe for recipe in (_PAPER, _CITY, _CHAIN, _OFFSET)}
