"""What decides a fit of labellers: one frozen object shared by Python, command line and dashboard."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches

from calibdash.errors import CalibdashError
from calibdash.models.setting_table import Setting, Value

SETTINGS = (
    Setting(
        "form",
        "choice",
        "joint",
        0,
        0,
        "All labels of an item share one class (joint), or each pair of labels has its own (pairwise, the paper).",
        ("joint", "pairwise"),
    ),
    Setting("over.time", "switch", True, 0, 1, "Let labellers change over time or order, where the table has it."),
    Setting("lengthscale", "number", 0.3, 0.02, 100, "Time over which a labeller changes, as a share of their time."),
    Setting(
        "drift", "number", 1.4, 0.01, 10, "Typical size (sd) of the changing part of each log odds; it is learned."
    ),
    Setting("matrix.most", "count", 12, 2, 50, "Most classes for which every confusion has a log odds of its own."),
    Setting("steps", "count", 200, 20, 100000, "Most steps of each stage of the fit."),
    Setting("rate", "number", 0.05, 1e-4, 1, "Learning rate of the steps."),
    Setting("samples", "count", 8, 2, 512, "Samples of the unknowns a step."),
    Setting("exact", "switch", True, 0, 1, "Walk through the exact posterior after the bound, where it is affordable."),
    Setting("exact.most", "count", 250000, 100, 10000000, "Largest model that is walked through (see the docs)."),
    Setting("dense.most", "count", 800, 10, 5000, "Most unknowns whose correlations a Gaussian keeps (exact = false)."),
    Setting("draws", "count", 768, 64, 20000, "Draws from the posterior that are kept."),
    Setting("expert.cost", "number", 5.0, 0.1, 10000, "What an expert's label costs, in labels of others."),
)
BY_KEY = {setting.key: setting for setting in SETTINGS}
LISTS = ("fallible", "classes")


@dataclass(frozen=True)
class LabelSettings:
    """Settings of a fit of labellers, checked when made.

    fallible: references that may err: they are modelled, with a prior that they are very good, and do not fix an
    item's class. classes: classes that exist though nobody may have chosen them.
    """

    form: str = "joint"
    over_time: bool = True
    lengthscale: float = 0.3
    drift: float = 1.4
    matrix_most: int = 12
    steps: int = 200
    rate: float = 0.05
    samples: int = 8
    exact: bool = True
    exact_most: int = 250000
    dense_most: int = 800
    draws: int = 768
    expert_cost: float = 5.0
    fallible: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for setting in SETTINGS:
            object.__setattr__(self, setting.field, setting.parse(getattr(self, setting.field)))
        for name in LISTS:
            object.__setattr__(self, name, _names(name, getattr(self, name)))

    def with_values(self, values: Mapping[str, object]) -> LabelSettings:
        """A copy with keys set: ``{"lengthscale": 0.2, "form": "pairwise", "classes": ["bee", "wasp"]}``."""
        changes: dict[str, object] = {}
        for key, value in values.items():
            if key in LISTS:
                changes[key] = _names(key, value)
            elif key in BY_KEY:
                if not (value is None or isinstance(value, str | float | int | bool)):
                    raise CalibdashError(f"Setting {key} is neither text nor a number.", "Write for example 0.3.")
                checked: Value = BY_KEY[key].parse(value)
                changes[BY_KEY[key].field] = checked
            else:
                raise _unknown(key)
        return replace(self, **changes)  # type: ignore[arg-type]

    def as_dict(self) -> dict[str, object]:
        """Plain values by key, those of the defaults left out; the inverse of :meth:`from_dict`."""
        default = LabelSettings()
        plain = {
            setting.key: getattr(self, setting.field)
            for setting in SETTINGS
            if getattr(self, setting.field) != getattr(default, setting.field)
        }
        return {**plain, **{name: list(getattr(self, name)) for name in LISTS if getattr(self, name)}}

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> LabelSettings:
        """Settings from keys, as :meth:`as_dict` writes them."""
        return cls().with_values(values)

    @property
    def hash(self) -> str:
        """Twelve hex digits that change when any setting does, and stay over sessions."""
        text = json.dumps({field.name: getattr(self, field.name) for field in fields(self)}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def describe() -> tuple[Setting, ...]:
    """Every setting with its key, unit, default, range and explanation, for the docs and the dashboard."""
    return SETTINGS


def _names(key: str, value: object) -> tuple[str, ...]:
    """Names as they are given: one text, or a list of texts."""
    given = (value,) if isinstance(value, str) else value
    if not isinstance(given, Sequence) or not all(isinstance(name, str) and name for name in given):
        raise CalibdashError(f"Setting {key} is not a list of names.", f'Write for example {key} = ["Elsie"].')
    return tuple(dict.fromkeys(given))


def _unknown(key: str) -> CalibdashError:
    known = [*BY_KEY, *LISTS]
    close = get_close_matches(key, known, n=1)
    hint = f"Did you mean {close[0]}?" if close else f"The settings are {', '.join(known)}."
    return CalibdashError(f"There is no setting {key[:60]!r} of labellers.", hint)


if {setting.field for setting in SETTINGS} | set(LISTS) != {field.name for field in fields(LabelSettings)}:
    raise AssertionError("the table of settings and the fields of LabelSettings differ")
