"""All runs below one folder. The folders are the truth; the index beside them is a fast list of what they say."""

from __future__ import annotations

import io
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

from calibdash.data.folder import open_folder
from calibdash.errors import CalibdashError
from calibdash.runs.export import write_zip
from calibdash.runs.folder import PART, RECORD, holds, read_record, status_in, told, update_record, write_run
from calibdash.runs.index import Index, load
from calibdash.runs.lock import locked
from calibdash.runs.process import this_process
from calibdash.runs.request import JobRequest
from calibdash.runs.run import RESTARTABLE, Run, check_id, new_id
from calibdash.runs.snapshot import LONGEST_TRACE, PROGRESS, Snapshot, read_snapshot
from calibdash.runs.stop import clear_stop
from calibdash.runs.trash import Trash
from calibdash.runs.work import ending

SILENT_SECONDS = {"running": 120.0, "queued": 24 * 3600.0}  # when a process elsewhere is taken for gone
SCRATCH_SECONDS = 24 * 3600.0
WAITING = {"status": "queued", "started": "", "ended": "", "message": "", "hint": ""}
MOST_CRASHES = 3  # of a program while it worked on a run, after which the run waits for somebody to look at it
AGAIN = "The program stopped while this run was not done; it has been started again from its last checkpoint."
TOO_OFTEN = (
    f"The program died {MOST_CRASHES} times while this run was under way.",
    "It may need more memory than there is. Restart it by hand, with a shorter period or fewer inducing points.",
)


class RunStore:
    """The runs below ``root``, for any number of threads and processes at a time."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root).resolve()
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as reason:
            raise CalibdashError(
                f"Cannot keep runs in {self.root}: {reason.strerror}.", "Give a folder that can be written to."
            ) from reason
        self._index = Index(self.root)
        self._trash = Trash(self.root)
        self._sweep()
        self.recover()

    def runs(self, viewer: str | None = None) -> list[Run]:
        """All runs, newest first; with a viewer only those that are theirs, shared or everybody's."""
        return [self._live(run) if run.status == "running" else run for run in self._index.runs(viewer)]

    def get(self, run_id: str) -> Run:
        """One run as it is now."""
        self.path(run_id)
        return self._live(load(self.root, run_id))

    def path(self, run_id: str) -> Path:
        """The folder of a run; never one outside the store."""
        folder = self.root / check_id(run_id)
        if folder.is_symlink() or (folder / RECORD).is_symlink() or not (folder / RECORD).is_file():
            raise self.missing(run_id)
        return folder

    def missing(self, run_id: str) -> CalibdashError:
        """What is said of a run that is not here."""
        return CalibdashError(f"There is no run {run_id!r}.", "It may have been deleted; look at the list of runs.")

    def exists(self, run_id: str) -> bool:
        """Whether there is such a run."""
        return (self.root / check_id(run_id) / RECORD).is_file()

    def record(self, run_id: str) -> dict[str, object]:
        """All that ``run.json`` says."""
        return read_record(self.path(run_id))

    def request(self, run_id: str) -> JobRequest:
        """What was asked for: to be asked again, or with ``dataclasses.replace`` something like it."""
        return JobRequest.from_dict(self.record(run_id))

    def snapshot(self, run_id: str) -> Snapshot:
        """Where a run stands by its files, whichever process works on it."""
        snapshot = read_snapshot(self.path(run_id), self.get(run_id))
        elbo = self.record(run_id).get("elbo")
        if not isinstance(elbo, list):
            return snapshot
        return replace(snapshot, trace=tuple(elbo[:: 1 + len(elbo) // LONGEST_TRACE]))

    def create(self, request: JobRequest) -> str:
        """A new queued run of this process; its id."""
        network = open_folder(Path(request.network_path))
        if request.warm_run is not None:
            self.path(request.warm_run)
        run_id = new_id()
        record = {
            **request.as_dict(),
            "network_path": str(network.path.resolve()),
            "network": network.name,
            **WAITING,
            "process": this_process().as_dict(),
        }
        write_run(self.root / run_id, record, {})
        return run_id

    def requeue(self, run_id: str, *, by_hand: bool = True) -> None:
        """Make a run that did not finish wait again, now of this process; its checkpoint stays.

        By hand: whatever happened to it before is forgotten. Else it must be interrupted, and says that it was.
        """
        self.request(run_id)  # complains where there is nothing to restart from
        changes = {
            **WAITING,
            "process": this_process().as_dict(),
            **({"crashes": 0} if by_hand else {"message": AGAIN}),
        }
        if not self.update(run_id, changes, status_in(*(RESTARTABLE if by_hand else {"interrupted"}))):
            status = self.get(run_id).status
            raise CalibdashError(f"The run is {status}.", "Only runs that did not finish can be restarted.")
        clear_stop(self.root / run_id)
        (self.root / run_id / PROGRESS).unlink(missing_ok=True)

    def update(self, run_id: str, changes: Mapping[str, object], when: Callable[[Mapping[str, object]], bool]) -> bool:
        """Change a record at once if it is as ``when`` wants it; whether it was."""
        return update_record(self.path(run_id), changes, when) is not None

    def share(self, run_id: str, shared: bool) -> None:
        """Let everybody see a run, or only its owner."""
        self.update(run_id, {"shared": shared}, lambda _: True)

    def recover(self) -> list[str]:
        """Mark runs as interrupted whose process is gone; their ids."""
        lost = [run for run in self._index.runs() if run.active and self.is_orphan(run)]
        return [run.id for run in lost if self._interrupt(run)]

    def interrupted(self) -> list[str]:
        """Runs that wait to be taken up again, the oldest first; those that took the program down are left alone."""
        found = []
        for run in reversed(self._index.runs()):
            if run.status == "interrupted":
                if _crashes(self.record(run.id)) < MOST_CRASHES:
                    found.append(run.id)
                elif run.message != TOO_OFTEN[0]:
                    self.update(run.id, ending("interrupted", *TOO_OFTEN), status_in("interrupted"))
        return found

    def is_orphan(self, run: Run) -> bool:
        """Whether the process that an active run waits for is gone."""
        if run.process is None:
            return True
        if run.process.here:
            return not run.process.alive
        folder = self.root / run.id
        signs = [path.stat().st_mtime for path in (folder / RECORD, folder / PROGRESS) if path.exists()]
        return time.time() - max(signs, default=0.0) > SILENT_SECONDS[run.status]

    def delete(self, run_id: str) -> None:
        """Put a run into the trash, from where :meth:`restore` takes it back."""
        folder = self.path(run_id)
        with told(folder), locked(self.root):
            run = load(self.root, run_id)
            if run.active and not self.is_orphan(run):
                raise CalibdashError(f"The run {run.name!r} is {run.status}.", "Cancel it first.")
            self._trash.put(folder)

    def restore(self, run_id: str) -> None:
        """Undo :meth:`delete`."""
        with told(self.root / check_id(run_id)), locked(self.root):
            self._trash.take_back(run_id)

    def trash(self) -> list[Run]:
        """Deleted runs that can be restored, the last deleted first."""
        return self._trash.runs()

    def empty_trash(self, older_than: timedelta = timedelta(0)) -> int:
        """Remove for good what was deleted at least so long ago; how many runs that were."""
        with told(self.root), locked(self.root):
            return self._trash.empty(older_than)

    def export(self, run_id: str, file: BinaryIO | None = None) -> bytes:
        """The run as a zip archive without any path of this machine: written to ``file``, or returned."""
        target = file or io.BytesIO()
        write_zip(self.path(run_id), target)
        return target.getvalue() if isinstance(target, io.BytesIO) else b""

    def _live(self, run: Run) -> Run:
        """With the numbers of a run under way, which its record does not hold."""
        if run.status != "running":
            return run
        snapshot = read_snapshot(self.root / run.id, run)
        return replace(run, share=snapshot.share, elbo=snapshot.elbo, seconds=snapshot.seconds)

    def _interrupt(self, run: Run) -> bool:
        """Unless another process restarts or ends it at this moment."""
        same = {"status": run.status, "process": None if run.process is None else run.process.as_dict()}
        with suppress(CalibdashError):
            crashes = _crashes(self.record(run.id)) + (run.status == "running")
            changes = {**ending("interrupted"), "crashes": crashes}
            return self.update(run.id, changes, holds(same))
        return False

    def _sweep(self) -> None:
        """Clear away what writers that were killed left behind."""
        with suppress(OSError), os.scandir(self.root) as entries:
            for entry in entries:
                ours = re.fullmatch(rf"\..+{re.escape(PART)}", entry.name) and entry.is_dir(follow_symlinks=False)
                if ours and time.time() - entry.stat().st_mtime > SCRATCH_SECONDS:
                    shutil.rmtree(entry.path, ignore_errors=True)


def _crashes(record: Mapping[str, object]) -> int:
    """How often a program died while it worked on a run, since somebody last started it."""
    count = record.get("crashes")
    return count if isinstance(count, int) else 0
