"""The tables of a network folder, column by column: the one place that names them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What the cells of a column hold."""

    TIME = "time"
    ID = "id"
    NUMBER = "number"
    FLAG = "flag"
    SENSOR_KIND = "sensor kind"
    TEXT = "text"


@dataclass(frozen=True)
class Column:
    """A column: its name, what it holds, and the bounds of its numbers."""

    name: str
    kind: Kind
    about: str
    required: bool = False
    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True)
class Schema:
    """A table: its file is called ``name.csv`` or ``name.parquet``.

    Tables with ``covariates`` take further numbers in pairs ``NAME_a, NAME_b``.
    """

    name: str
    columns: tuple[Column, ...]
    covariates: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All column names."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column | None:
        """The column of that name; a covariate ``NAME_a`` or ``NAME_b`` is made on the spot."""
        for column in self.columns:
            if column.name == name:
                return column
        if self.covariates and re.fullmatch(r"[a-z][a-z0-9_.]*_[ab]", name):
            return Column(name, Kind.NUMBER, "covariate")
        return None


def _latitude(name: str, about: str) -> Column:
    return Column(name, Kind.NUMBER, about, low=-90, high=90)


def _longitude(name: str, about: str) -> Column:
    return Column(name, Kind.NUMBER, about, low=-180, high=180)


COLOCATIONS = Schema(
    "colocations",
    (
        Column("time", Kind.TIME, "when the two sensors stood side by side", required=True),
        Column("sensor_a", Kind.ID, "id of the one", required=True),
        Column("sensor_b", Kind.ID, "id of the other", required=True),
        Column("value_a", Kind.NUMBER, "raw reading of sensor_a", required=True),
        Column("value_b", Kind.NUMBER, "raw reading of sensor_b", required=True),
    ),
    covariates=True,
)
SENSORS = Schema(
    "sensors",
    (
        Column("sensor", Kind.ID, "id, as in the other tables", required=True),
        Column("kind", Kind.SENSOR_KIND, "static or mobile", required=True),
        Column("reference", Kind.FLAG, "true for reference instruments", required=True),
        _latitude("latitude", "degrees north"),
        _longitude("longitude", "degrees east"),
        Column("type", Kind.TEXT, "make and model"),
        Column("label", Kind.TEXT, "name for people"),
        Column("weight", Kind.NUMBER, "how much its accuracy matters when visits are planned", low=0),
        _latitude("base_latitude", "where a mobile sensor's rider starts, degrees north"),
        _longitude("base_longitude", "where a mobile sensor's rider starts, degrees east"),
    ),
)
MEASUREMENTS = Schema(
    "measurements",
    (
        Column("time", Kind.TIME, "start of the averaging interval", required=True),
        Column("sensor", Kind.ID, "id, as in the other tables", required=True),
        Column("value", Kind.NUMBER, "raw reading", required=True),
        _latitude("latitude", "degrees north"),
        _longitude("longitude", "degrees east"),
        Column("humidity", Kind.NUMBER, "relative humidity, %"),
        Column("temperature", Kind.NUMBER, "°C"),
    ),
)
LABELS = Schema(
    "labels",
    (
        Column("item", Kind.ID, "what was labelled", required=True),
        Column("labeller", Kind.ID, "who labelled it", required=True),
        Column("label", Kind.ID, "the class they chose", required=True),
        Column("time", Kind.TIME, "when"),
        Column("order", Kind.NUMBER, "or the place in that labeller's own sequence"),
    ),
)
LABELLERS = Schema(
    "labellers",
    (
        Column("labeller", Kind.ID, "as in labels", required=True),
        Column("reference", Kind.FLAG, "true for experts", required=True),
    ),
)
SCHEMAS = {schema.name: schema for schema in (COLOCATIONS, SENSORS, MEASUREMENTS, LABELS, LABELLERS)}
