"""How far a run is: one frozen value, kept in memory and in ``progress.json`` beside ``run.json``."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from calibdash.models.progress import Progress
from calibdash.runs.folder import PART
from calibdash.runs.run import Run, number

PROGRESS = "progress.json"
LONGEST_TRACE = 400
LEARNING = 0.8  # share of a run that learning takes, where it does


@dataclass(frozen=True)
class Snapshot:
    """Where a run stands.

    share: 0 … 1, never falls; remaining: seconds left in this stage, None: not known; trace: the bound at the
    iterations of this stage, thinned evenly to at most ``LONGEST_TRACE`` values; message, hint: why it failed.
    """

    id: str
    status: str
    stage: str = ""
    iteration: int = 0
    total: int = 0
    elbo: float | None = None
    seconds: float = 0.0
    remaining: float | None = None
    share: float = 0.0
    trace: tuple[float, ...] = ()
    message: str = ""
    hint: str = ""


class Tracker:
    """Turns reports of a job into snapshots."""

    def __init__(self, run_id: str, learn: bool) -> None:
        self.snapshot = Snapshot(run_id, "running")
        self._learn = learn
        self._trace: list[float] = []
        self._every = 1
        self._count = 0

    def add(self, report: Progress) -> Snapshot:
        """The snapshot after one more report."""
        last = self.snapshot
        if report.stage != last.stage or report.iteration <= last.iteration:  # learning begins anew for each kernel
            self._trace, self._every, self._count = [], 1, 0
        if math.isfinite(report.elbo):
            self._keep(report.elbo)
        self.snapshot = replace(
            last,
            stage=report.stage,
            iteration=report.iteration,
            total=report.total,
            elbo=number(report.elbo),
            seconds=report.seconds,
            remaining=number(report.remaining),
            share=max(last.share, self._share(report)),
            trace=tuple(self._trace),
        )
        return self.snapshot

    def _keep(self, elbo: float) -> None:
        if self._count % self._every == 0:
            self._trace.append(elbo)
        self._count += 1
        if len(self._trace) >= LONGEST_TRACE:
            self._trace = self._trace[::2]
            self._every *= 2

    def _share(self, report: Progress) -> float:
        if (left := number(report.remaining)) is not None:
            inner = report.seconds / max(report.seconds + left, 1e-9)
        else:
            inner = report.iteration / max(report.total, 1)
        inner = min(max(inner, 0.0), 1.0)
        if report.stage == "learn":
            return LEARNING * inner
        return LEARNING + (1 - LEARNING) * inner if self._learn and report.stage == "fit" else inner


def write_snapshot(folder: Path, snapshot: Snapshot) -> None:
    """Replace ``progress.json`` at once. What cannot be written is let go: progress must not stop a job."""
    part = folder / f".{PROGRESS}{PART}"
    with contextlib.suppress(OSError):
        part.write_text(json.dumps(asdict(snapshot)), encoding="utf-8")
        part.replace(folder / PROGRESS)


def read_snapshot(folder: Path, run: Run) -> Snapshot:
    """Where a run stands by its files: the status of its record, the numbers of ``progress.json``."""
    try:
        values = json.loads((folder / PROGRESS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        values = None
    if not isinstance(values, Mapping):
        values = {}
    trace = values.get("trace")
    trace = trace if isinstance(trace, list) else []
    return Snapshot(
        run.id,
        run.status,
        str(values.get("stage", "")),
        int(number(values.get("iteration")) or 0),
        int(number(values.get("total")) or 0),
        run.elbo if run.elbo is not None else number(values.get("elbo")),
        number(values.get("seconds")) or run.seconds or 0.0,
        number(values.get("remaining")) if run.status == "running" else None,
        max(run.share, min(number(values.get("share")) or 0.0, 1.0)),
        tuple(float(value) for value in trace[:LONGEST_TRACE] if number(value) is not None),
        run.message,
        run.hint,
    )
