"""What is wrong with a file, said so that its owner can mend it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

import numpy as np

from calibdash.errors import CalibdashError

PLACES_KEPT = 20
VALUE_LENGTH = 60


class Severity(StrEnum):
    """An error stops; a warning says what was left out; a note says what was assumed."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Place:
    """A row as a spreadsheet counts it (the header is row 1) and the value that stands there."""

    row: int
    value: str


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, in one column of one file, wherever it occurs."""

    severity: Severity
    code: str
    message: str
    remedy: str
    file: str = ""
    column: str = ""
    count: int = 1
    places: tuple[Place, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Plain values for ``--json``; ``row`` and ``value`` are those of the first place."""
        first = self.places[0] if self.places else None
        return {
            "severity": str(self.severity),
            "code": self.code,
            "file": self.file,
            "column": self.column,
            "row": first.row if first else None,
            "value": first.value if first else None,
            "count": self.count,
            "message": self.message,
            "remedy": self.remedy,
            "places": [{"row": place.row, "value": place.value} for place in self.places],
        }


class DataError(CalibdashError):
    """A file, or a folder of them, that cannot be used; carries every problem found."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        errors = [problem for problem in problems if problem.severity is Severity.ERROR]
        first = (errors or list(problems))[0]
        where = "".join(
            (
                f"{first.file}: " if first.file else "",
                f"row {first.places[0].row}: " if first.places else "",
            )
        )
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        super().__init__(f"{where}{first.message}{more}", first.remedy)


def error(code: str, message: str, remedy: str, **where: object) -> Problem:
    """A problem that stops."""
    return Problem(Severity.ERROR, code, message, remedy, **where)  # type: ignore[arg-type]


def warning(code: str, message: str, remedy: str, **where: object) -> Problem:
    """A problem that costs some rows or some trust, but does not stop."""
    return Problem(Severity.WARNING, code, message, remedy, **where)  # type: ignore[arg-type]


def note(code: str, message: str, remedy: str, **where: object) -> Problem:
    """Something that was assumed on the user's behalf."""
    return Problem(Severity.NOTE, code, message, remedy, **where)  # type: ignore[arg-type]


def worst_first(problems: Iterable[Problem]) -> list[Problem]:
    """Errors, then warnings, then notes."""
    order = list(Severity)
    return sorted(problems, key=lambda problem: order.index(problem.severity))


def places(bad: np.ndarray, rows: np.ndarray, values: Iterable[object]) -> dict[str, object]:
    """``count`` and the first ``places`` where the mask ``bad`` holds.   bad [N], rows [N], values [N]"""
    where = np.flatnonzero(np.asarray(bad))
    values = np.asarray(values, dtype=object)
    kept = tuple(Place(int(rows[i]), shorten(values[i])) for i in where[:PLACES_KEPT])
    return {"count": len(where), "places": kept}


def shorten(value: object) -> str:
    """A value short enough, and on one line, for a message."""
    text = "" if value is None else str(value)[: VALUE_LENGTH * 4]
    text = " ".join(text.replace("\0", "␀").split())
    return text if len(text) <= VALUE_LENGTH else text[: VALUE_LENGTH - 1] + "…"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``Did you mean `sensor_b`?``, or nothing when no known word is close."""
    lower = {name.lower(): name for name in known}
    close = get_close_matches(word.strip().lower()[:80], list(lower), n=1, cutoff=0.6)
    return f"Did you mean `{lower[close[0]]}`?" if close else ""


def has_errors(problems: Iterable[Problem]) -> bool:
    """Whether any of them stops."""
    return any(problem.severity is Severity.ERROR for problem in problems)


def raise_errors(problems: Sequence[Problem]) -> None:
    """Raise :class:`DataError` with all problems if any of them is an error."""
    if has_errors(problems):
        raise DataError(problems)
