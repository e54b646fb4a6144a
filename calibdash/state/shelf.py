"""Networks that users add while the server runs: kept below its data directory, offered to who may see them."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from pathlib import Path

from calibdash.errors import CalibdashError
from calibdash.runs.access import EVERYBODY, Person
from calibdash.runs.process import Process, this_process
from calibdash.state.folders import find_folders
from calibdash.state.upload.folder import publish
from calibdash.state.upload.owner import read_access, write_access
from calibdash.state.upload.work import unwritten

STALE_SECONDS = 24 * 3600.0


class Shelf:
    """``data/networks`` holds a folder a network, ``data/uploads`` what is on its way; any thread may call.

    A shelf is one person's view of it: :meth:`of` gives another's. What somebody adds is theirs alone until they share
    it; without a login it is everybody's.
    """

    def __init__(self, data: Path, person: Person = EVERYBODY) -> None:
        self.person = person
        self.networks = data / "networks"
        self._uploads = data / "uploads"
        self._lock = threading.Lock()
        self._watchers: dict[object, Callable[[], None]] = {}
        self.sweep()

    def of(self, person: Person) -> Shelf:
        """The same shelf as another person may use it."""
        other = copy(self)
        other.person = person
        return other

    def offered(self, folders: dict[str, Path]) -> dict[str, Path]:
        """These folders by name, and below them those on the shelf; no name twice, no folder twice."""
        offered = dict(folders)
        known = {path.resolve() for path in folders.values()}
        added = find_folders([self.networks]) if self.networks.is_dir() and not self.networks.is_symlink() else {}
        for name, path in added.items():
            if path.resolve() in known or not self.may_read(path):
                continue
            free = name if name not in offered else f"{name} ({path.name})"
            number = 2
            while free in offered:
                free, number = f"{name} ({path.name}, {number})", number + 1
            offered[free] = path
        return offered

    def may_read(self, folder: Path) -> bool:
        """Whether a folder is this person's to see; those that are not on the shelf are everybody's."""
        return not self._is_here(folder) or self.person.sees(*read_access(folder))

    def is_shared(self, folder: Path | None) -> bool | None:
        """Whether everybody sees a network that this person may share; None where they may not, or need not."""
        if folder is None or self.person.name is None or not self._is_here(folder):
            return None
        owner, shared = read_access(folder)
        return shared if owner and self.person.owns(owner) else None

    def share(self, folder: Path, shared: bool) -> None:
        """Let everybody see a network of this person's, or nobody else."""
        if self.is_shared(folder) is None:
            raise CalibdashError("Only who added a network can share it.", "Add it under your own name.")
        write_access(folder, read_access(folder)[0], shared)
        self.changed()

    def publish(self, folder: Path, title: str) -> Path:
        """Set a finished folder in its place among the networks, as this person's."""
        self.person.must_change()
        if self.person.name:
            write_access(folder, self.person.name, shared=False)
        return publish(folder, self.networks, title)

    def changed(self) -> None:
        """Tell every session that there is something new."""
        with self._lock:
            watchers = list(self._watchers.values())
        for watcher in watchers:
            watcher()

    def subscribe(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Have ``watcher`` called, in whichever thread, when a network has been added; returns how to end that."""
        key = object()
        with self._lock:
            self._watchers[key] = watcher

        def unsubscribe() -> None:
            with self._lock:
                self._watchers.pop(key, None)

        return unsubscribe

    def scratch(self) -> Path:
        """A new folder for the files of one session, named after this process."""
        self.person.must_change()
        try:
            self._uploads.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix=_prefix(this_process()), dir=self._uploads))
        except OSError as reason:
            raise unwritten(reason) from reason

    def _is_here(self, folder: Path) -> bool:
        return folder.resolve().parent == self.networks.resolve()

    def sweep(self) -> None:
        """Clear away what programs that were killed left of uploads, and the names they had claimed for networks."""
        with suppress(OSError):
            for old in self._uploads.iterdir():
                if old.is_dir() and not old.is_symlink() and _abandoned(old):
                    shutil.rmtree(old, ignore_errors=True)
        with suppress(OSError):
            for network in self.networks.iterdir():
                with suppress(OSError):  # not empty: a network
                    network.rmdir()


def _prefix(process: Process) -> str:
    host = hashlib.sha256(process.host.encode()).hexdigest()[:8]
    return f"upload-{host}-{process.pid}-{process.token or 'x'}-"


def _abandoned(folder: Path) -> bool:
    """Whether the process whose uploads these are is gone; of another machine's, whether it has long been silent."""
    here = this_process()
    found = re.fullmatch(r"upload-([0-9a-f]{8})-(\d{1,10})-(.+)-[^-]+", folder.name)
    if found and _prefix(here).startswith(f"upload-{found[1]}-"):
        return not Process(here.host, int(found[2]), "" if found[3] == "x" else found[3]).alive
    return time.time() - folder.stat().st_mtime > STALE_SECONDS
