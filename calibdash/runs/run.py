"""A run as lists and pages show it, and the names runs may have."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from calibdash.errors import CalibdashError
from calibdash.runs.process import Process
from calibdash.runs.request import KINDS

ACTIVE = frozenset({"queued", "running"})
RESTARTABLE = frozenset({"failed", "cancelled", "interrupted"})
STATUSES = ACTIVE | RESTARTABLE | {"done"}
LONGEST_ID = 120


@dataclass(frozen=True)
class Run:
    """What ``run.json`` says, in short. Times are UTC text, '' where there is none yet; seconds of the whole run.

    id: the name of the folder; network_path: '' where unknown; share: how much is done, 0 … 1; elbo: the last bound;
    owner: who alone sees it unless it is shared, '' = everybody.
    """

    id: str
    name: str
    kind: str
    status: str
    owner: str
    network: str
    network_path: str
    settings: Mapping[str, object]
    seed: int
    learn: bool
    created: str
    started: str
    ended: str
    seconds: float | None
    share: float
    elbo: float | None
    message: str
    hint: str
    process: Process | None
    shared: bool = False

    @property
    def active(self) -> bool:
        """Whether it waits or runs."""
        return self.status in ACTIVE

    def as_dict(self) -> dict[str, object]:
        """Plain values by name."""
        return asdict(self)

    @classmethod
    def from_record(cls, run_id: str, record: Mapping[str, object], changed: float) -> Run:
        """A run from its record, whoever wrote it; ``changed`` is the time (seconds) its file was written."""
        status = _text(record, "status")
        known = status in STATUSES
        settings = record.get("settings")
        started, ended = _text(record, "started"), _text(record, "ended")
        elbo = record.get("elbo")
        kind = _text(record, "kind")
        return cls(
            id=run_id,
            name=_text(record, "name") or run_id,
            kind=kind if kind in KINDS else "fit",
            status=status if known else "failed",
            owner=_text(record, "owner"),
            network=_text(record, "network"),
            network_path=_text(record, "network_path"),
            settings=settings if isinstance(settings, Mapping) else {},
            seed=seed if isinstance(seed := record.get("seed"), int) else 0,
            learn=bool(record.get("learn") or record.get("learned") or record.get("searched")),
            created=_text(record, "created") or _stamp(changed),
            started=started,
            ended=ended if status not in ACTIVE else "",
            seconds=_between(started, ended) or number(record.get("seconds")),
            share=1.0 if status == "done" else 0.0,
            elbo=number(elbo[-1] if isinstance(elbo, list) and elbo else elbo),
            message=_text(record, "message") or ("" if known else "The record of this run is damaged."),
            hint=_text(record, "hint") or ("" if known else "Delete it and run the calculation again."),
            process=Process.from_dict(record.get("process")),
            shared=record.get("shared") is True,
        )


def new_id() -> str:
    """A name that sorts by time and that no other process gives at the same moment."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}-{secrets.token_hex(4)}"


def valid_id(run_id: str) -> bool:
    """Whether this can be the name of a run's folder: one plain, visible, printable part of a path."""
    return (
        isinstance(run_id, str)
        and 0 < len(run_id) <= LONGEST_ID
        and run_id.isprintable()
        and not run_id.startswith(".")
        and not set(run_id) & set('/\\:*?"<>|')
    )


def check_id(run_id: str) -> str:
    """The same name, or an error."""
    if not valid_id(run_id):
        raise CalibdashError(f"{str(run_id)[:60]!r} is not the name of a run.", "Choose one from the list of runs.")
    return run_id


def number(value: object) -> float | None:
    """A finite number, or None."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _text(record: Mapping[str, object], key: str) -> str:
    value = record.get(key)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _between(first: str, last: str) -> float | None:
    try:
        return max(0.0, (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds())
    except (ValueError, TypeError):
        return None
