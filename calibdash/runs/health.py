"""Whether a server can do its work: what a monitor asks, without a word about anybody's data."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from calibdash import __version__
from calibdash.runs.queue import JobQueue

LEAST_FREE = 200_000_000  # bytes: a fit writes some megabytes, an upload up to 300


@dataclass(frozen=True)
class Health:
    """waiting, running: runs of this server; free_bytes: of the disk with the data directory, None: not known."""

    waiting: int
    running: int
    accepting: bool
    data_writable: bool
    free_bytes: int | None
    version: str = field(default=__version__)

    @property
    def wrong(self) -> list[str]:
        """What keeps the server from its work, in words."""
        reasons = []
        if not self.accepting:
            reasons.append("no runs are taken: the server is stopping, or the cluster does not answer")
        if not self.data_writable:
            reasons.append("the data directory cannot be written to")
        if self.free_bytes is not None and self.free_bytes < LEAST_FREE:
            reasons.append("the disk is nearly full")
        return reasons

    def as_dict(self) -> dict[str, object]:
        """Plain values by name, ``status`` first."""
        return {"status": "failing" if self.wrong else "ok", "wrong": self.wrong, **asdict(self)}


def health(queue: JobQueue) -> Health:
    """How a queue and the disk below its runs are; writes and removes one small file."""
    waiting, running = queue.counts()
    root = queue.store.root
    return Health(waiting, running, queue.accepting, writable(root), free_bytes(root))


def writable(folder: Path) -> bool:
    """Whether a file can be written there; tried, since rights, read-only mounts, quotas and full disks all count."""
    try:
        with tempfile.NamedTemporaryFile(prefix=".health.", suffix=".part", dir=folder, buffering=0) as file:
            file.write(b"x" * 512)
    except OSError:
        return False
    return True


def free_bytes(folder: Path) -> int | None:
    """What a user without special rights may still write."""
    try:
        return shutil.disk_usage(os.fspath(folder)).free
    except OSError:
        return None
