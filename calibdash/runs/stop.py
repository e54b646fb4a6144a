"""How a job is asked to end: in its own process, or by a file in the run's folder from anywhere else."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path

from calibdash.errors import CalibdashError
from calibdash.runs.folder import PART, read_record

STOP = "stop"
LOOK_SECONDS = 0.5
REASONS = ("cancelled", "interrupted")


class Stop:
    """Whether, and why, the job of a run should end: '' goes on, else the status it will have."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reason = ""
        self._looked = 0.0
        self.attempt: Mapping[str, object] = {}

    def belongs_to(self, attempt: Mapping[str, object]) -> None:
        """End too when the record no longer says this: the run was given up, and maybe restarted elsewhere."""
        self.attempt = attempt

    def ask(self, reason: str) -> None:
        """Ask from any thread; the first reason counts."""
        self._reason = self._reason or reason

    def __call__(self) -> str:
        """The reason, with a look at the folder now and then."""
        if not self._reason and time.monotonic() - self._looked >= LOOK_SECONDS:
            self._looked = time.monotonic()
            self._reason = read_stop(self._folder) or self._given_up()
        return self._reason

    def _given_up(self) -> str:
        try:
            return "" if self.attempt.items() <= read_record(self._folder).items() else "interrupted"
        except CalibdashError:
            return "cancelled"


def read_stop(folder: Path) -> str:
    """The reason that somebody left in the run's folder."""
    try:
        text = (folder / STOP).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
    return text if text in REASONS else "cancelled"


def write_stop(folder: Path, reason: str) -> None:
    """Ask whichever process runs it."""
    part = folder / f".{STOP}{PART}"
    with contextlib.suppress(OSError):
        part.write_text(reason, encoding="utf-8")
        part.replace(folder / STOP)


def clear_stop(folder: Path) -> None:
    """Forget that anybody asked."""
    with contextlib.suppress(OSError):
        (folder / STOP).unlink()
