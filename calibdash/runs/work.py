"""The worker's door: take a queued run, do its job, and write how it ended, whatever happens."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic

from calibdash.errors import CalibdashError
from calibdash.models.progress import FitCancelledError, Progress
from calibdash.runs.checkpoint import CHECKPOINT
from calibdash.runs.folder import holds, now, status_in, update_record
from calibdash.runs.job import Job
from calibdash.runs.process import this_process
from calibdash.runs.request import JobRequest
from calibdash.runs.run import number
from calibdash.runs.snapshot import PROGRESS, Snapshot, Tracker, write_snapshot
from calibdash.runs.stop import Stop, clear_stop

REPORT_SECONDS = 0.25
BEAT_SECONDS = 10.0
ENDINGS = {
    "cancelled": ("The run was cancelled.", "Nothing was lost but time: it can be started again."),
    "interrupted": (
        "The program stopped before this run was done.",
        "Restart it: it goes on from its last checkpoint, with the same settings and seed.",
    ),
}
Tell = Callable[[Snapshot], None]
log = logging.getLogger(__name__)


def work(folder: Path, job: Job, *, tell: Tell | None = None, stop: Stop | None = None, worker: str = "") -> str:
    """Run the queued job of a folder in this thread; returns the status it ended with, '' if it was not queued.

    tell hears of every change of status, and of progress at most four times a second.
    """
    stop = stop or Stop(folder)
    begin: dict[str, object] = {"status": "running", "started": now(), "process": this_process(worker).as_dict()}
    record = update_record(folder, begin, status_in("queued"))
    if record is None:
        return ""
    stop.belongs_to(begin)
    log.info("A run begins.", extra={"run": folder.name})
    began, last = monotonic(), 0.0
    tracker = Tracker(folder.name, bool(record.get("learn")))

    def show(snapshot: Snapshot) -> None:
        write_snapshot(folder, snapshot)
        if tell is not None:
            tell(snapshot)

    def report(progress: Progress) -> None:
        nonlocal last
        snapshot = tracker.add(progress)
        if monotonic() - last >= REPORT_SECONDS:
            last = monotonic()
            show(snapshot)

    show(tracker.snapshot)
    with beating(folder):
        changes = _outcome(folder, record, job, report, stop)
    changes = {"seconds": round(monotonic() - began, 3), **changes, "ended": now()}
    status = _close(folder, begin, changes, tracker.snapshot, tell)
    log.info("A run ends.", extra={"run": folder.name, "status": status, "seconds": changes["seconds"]})
    return status


def _outcome(
    folder: Path, record: dict[str, object], job: Job, report: Callable[[Progress], None], stop: Stop
) -> dict[str, object]:
    """What the record gains by the job: its results, or why there are none."""
    try:
        if stop():
            raise FitCancelledError
        results = job(JobRequest.from_dict(record).as_dict(), str(folder), report, lambda: bool(stop()))
        return {**results, "status": "done", "message": "", "hint": ""}
    except FitCancelledError:
        return ending(stop() or "cancelled")
    except BaseException as reason:  # a thread of the server, or of the cluster: nothing may pass
        return failure(folder.name, reason)


def failure(run_id: str, reason: BaseException) -> dict[str, object]:
    """What the record of a run says that failed for this reason; call it while the exception is handled."""
    if isinstance(reason, CalibdashError):
        message, hint = reason.message, reason.hint
    elif isinstance(reason, MemoryError) or type(reason).__name__ == "ResourceExhaustedError":
        message = "There was not enough memory for this run."
        hint = "Use fewer inducing points (inducing.most), a shorter period, or a machine with more memory."
    else:
        log.exception("A run failed.", extra={"run": run_id})
        message = f"This is a bug in calibdash ({type(reason).__name__}: {str(reason)[:300]})."
        hint = "Please report it; the log of the server has the details."
    return {"status": "failed", "message": message, "hint": hint, "ended": now()}


def ending(status: str, message: str = "", hint: str = "") -> dict[str, object]:
    """What the record of a run that was stopped says."""
    usual = ENDINGS[status]
    return {"status": status, "message": message or usual[0], "hint": hint or usual[1], "ended": now()}


def _close(
    folder: Path, begin: dict[str, object], changes: dict[str, object], last: Snapshot, tell: Tell | None
) -> str:
    """Write the end of the attempt that began so, unless it was given up in the meantime."""
    status = str(changes["status"])
    try:
        if update_record(folder, changes, holds(begin)) is None:
            told = "A run was ended by another process; what was calculated here is not kept."
            log.warning(told, extra={"run": folder.name})
            return ""
    except CalibdashError as reason:  # the disk is full, or the folder was taken away
        log.error("The end of a run (%s) cannot be written: %s", status, reason.message, extra={"run": folder.name})
        status = "failed"
        changes = {"message": reason.message, "hint": reason.hint}
    elbo = changes.get("elbo")
    final = replace(
        last,
        status=status,
        elbo=number(elbo[-1]) if isinstance(elbo, list) and elbo else last.elbo,
        remaining=None,
        share=1.0 if status == "done" else last.share,
        message=str(changes["message"]),
        hint=str(changes["hint"]),
    )
    clear_stop(folder)
    if status == "done":
        for name in (PROGRESS, CHECKPOINT):
            with contextlib.suppress(OSError):
                (folder / name).unlink()
    else:
        write_snapshot(folder, final)
    if tell is not None:
        tell(final)
    return status


@contextlib.contextmanager
def beating(folder: Path) -> Iterator[None]:
    """Touch ``progress.json`` now and then, for those who cannot see this process."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT_SECONDS):
            with contextlib.suppress(OSError):
                os.utime(folder / PROGRESS)

    thread = threading.Thread(target=beat, name=f"beat-{folder.name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
