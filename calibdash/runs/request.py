"""What is asked of the worker: plain values that go into ``run.json`` and to any thread, process or cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from calibdash.errors import CalibdashError
from calibdash.models.labelling.settings import LabelSettings
from calibdash.models.multihop_graph import MultihopSettings
from calibdash.models.settings import Settings
from calibdash.runs.fit import GRID_HOURS

KINDS = ("fit", "multihop", "labels")


@dataclass(frozen=True)
class JobRequest:
    """One fit, multi-hop calculation or fit of labellers, checked when made.

    learn: learn what the settings leave open (multi-hop: search window and weight). references None: as the network's
    table has them. warm_run: an earlier run to start from. period: the hours to use, None: all. owner: who alone sees
    the run; '' = everybody.
    """

    network_path: str
    settings: Mapping[str, object]
    kind: str = "fit"
    learn: bool = False
    seed: int = 0
    references: tuple[str, ...] | None = None
    zone: str | None = None
    owner: str = ""
    name: str = ""
    warm_run: str | None = None
    grid_hours: float = GRID_HOURS
    period: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise CalibdashError(f"There is no kind of run {self.kind[:60]!r}.", f"The kinds are {', '.join(KINDS)}.")
        object.__setattr__(self, "settings", self._checked())
        if not 0 < self.grid_hours < float("inf"):
            raise CalibdashError(f"A step of {self.grid_hours} hours is none.", "Give a positive number of hours.")
        if self.references is not None:
            object.__setattr__(self, "references", tuple(self.references))
        if self.period is not None:
            first, last = (float(hour) for hour in self.period)
            if not first <= last:
                raise CalibdashError(f"A period from hour {first} to {last} is none.", "Give the earlier hour first.")
            object.__setattr__(self, "period", (first, last))

    def _checked(self) -> dict[str, object]:
        if self.kind == "labels":
            return self.label_settings.as_dict()
        if self.kind == "fit":
            return self.fit_settings.as_dict()
        return dict(self.multihop_settings.as_dict())

    @property
    def label_settings(self) -> LabelSettings:
        """The settings of a fit of labellers."""
        return LabelSettings.from_dict(self.settings)

    @property
    def fit_settings(self) -> Settings:
        """The settings of a fit."""
        return Settings.from_dict(self.settings)

    @property
    def multihop_settings(self) -> MultihopSettings:
        """The settings of a multi-hop calculation."""
        known = {field.name for field in fields(MultihopSettings)}
        if unknown := sorted(self.settings.keys() - known):
            raise CalibdashError(
                f"There is no setting {unknown[0][:60]!r} of multi-hop.", f"They are {', '.join(known)}."
            )
        return MultihopSettings(**self.settings)  # type: ignore[arg-type]

    def as_dict(self) -> dict[str, object]:
        """Plain values by name, as ``run.json`` holds them; the inverse of :meth:`from_dict`."""
        return {**asdict(self), "references": None if self.references is None else list(self.references)}

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> JobRequest:
        """The request in a record; keys of other things are passed over."""
        given = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        given.setdefault("learn", bool(values.get("learned") or values.get("searched")))
        if not given.get("network_path") or not isinstance(given.get("settings"), Mapping):
            raise CalibdashError(
                "The run does not say which network folder it is of.", "Choose the network and start a new run."
            )
        try:
            return cls(**given)  # type: ignore[arg-type]
        except (TypeError, AttributeError) as reason:
            raise CalibdashError("The request in run.json is damaged.", "Start a new run.") from reason
