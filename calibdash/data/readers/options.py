"""What a user may say about the files being read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from calibdash.data.parse import check_zone
from calibdash.data.problems import did_you_mean
from calibdash.errors import CalibdashError

POLLUTANTS = ("pm2_5", "pm10")
VARIANTS = ("cf_1", "atm")
HOUR_STAMPS = ("start", "end")


@dataclass(frozen=True)
class ReadOptions:
    """Choices that a file cannot make for itself.

    zone: where naive local stamps were written (Met One BAM always, others if their stamps lack an offset).
    pollutant: ``pm2_5`` or ``pm10``.
    sensor: the id of a file's only sensor, where the file holds none (ThingSpeak, BAM); else the file's name.
    variant: PurpleAir's ``cf_1`` or ``atm`` columns; unset, ``cf_1`` if there is one.
    fields: ThingSpeak columns that hold the value, one or two; unset, AirQo's.
    hour_stamp: whether a BAM stamps the ``start`` or the ``end`` of its hour; times inside are starts.
    item, reference: the item column and the true column (or labeller) of label tables.
    workflow, task: which of several to take from a Zooniverse export (workflow by id or name).
    """

    zone: str | None = None
    pollutant: str = "pm2_5"
    sensor: str | None = None
    variant: str | None = None
    fields: tuple[str, ...] = ()
    hour_stamp: str = "start"
    item: str | None = None
    reference: str | None = None
    workflow: str | None = None
    task: str | None = None

    def __post_init__(self) -> None:
        if self.zone is not None:
            check_zone(self.zone)
        _one_of("pollutant", self.pollutant, POLLUTANTS)
        _one_of("hour_stamp", self.hour_stamp, HOUR_STAMPS)
        if self.variant is not None:
            _one_of("variant", self.variant, VARIANTS)
        if len(self.fields) > 2:
            raise CalibdashError(f"fields names {len(self.fields)} columns.", "Name one column, or the two to average.")
        if self.sensor is not None and not self.sensor.strip():
            raise CalibdashError("The sensor's id is empty.", "Give a name, or leave it out to use the file's.")


def _one_of(option: str, value: str, known: Iterable[str]) -> None:
    known = tuple(known)
    if value not in known:
        hint = did_you_mean(str(value), known) or f"Use one of {', '.join(known)}."
        raise CalibdashError(f"{option} {str(value)[:60]!r} is not known.", hint)
