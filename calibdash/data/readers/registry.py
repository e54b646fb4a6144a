"""The sources calibdash can read, and which of them a file comes from."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from calibdash.data.problems import DataError, did_you_mean, error, shorten
from calibdash.data.readers import (
    airqo,
    bam,
    labels_long,
    labels_wide,
    openaq,
    own,
    purpleair,
    sensor_community,
    thingspeak,
    zooniverse,
)
from calibdash.data.readers.source import Source
from calibdash.errors import CalibdashError

_ALL = (
    airqo.FIXED,
    airqo.MOBILE,
    openaq.SOURCE,
    purpleair.SOURCE,
    sensor_community.SOURCE,
    thingspeak.SOURCE,
    bam.SOURCE,
    zooniverse.SOURCE,
    labels_long.SOURCE,
    labels_wide.SOURCE,
    own.SOURCE,
)
SOURCES = MappingProxyType({source.name: source for source in _ALL})


def source_named(name: str) -> Source:
    """The source of that name, or an error that names a close one."""
    if name in SOURCES:
        return SOURCES[name]
    hint = did_you_mean(name, SOURCES) or f"Known sources: {', '.join(SOURCES)}."
    raise CalibdashError(f"{name[:60]!r} is not a known source.", hint)


def match(header: Sequence[str]) -> Source | None:
    """The source whose signature fits a header, the most demanding one if several do."""
    fitting = [source for source in _ALL if source.fits(header)]
    return max(fitting, key=lambda source: len(source.signature), default=None)


def detect(header: Sequence[str], file: str = "") -> Source:
    """The source a header belongs to, or an error that names the known ones."""
    source = match(header)
    if source is not None:
        return source
    seen = ", ".join(shorten(name) for name in header[:12]) + (", …" if len(header) > 12 else "")
    message = f"The columns {seen} belong to no known source."
    remedy = f"Name the source: {', '.join(SOURCES)}."
    raise DataError([error("source-unknown", message, remedy, file=file)])
