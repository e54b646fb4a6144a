"""The networks that users add while the server runs: kept below its data directory, offered to every session."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from calibdash.errors import CalibdashError
from calibdash.state.folders import find_folders

STALE_SECONDS = 24 * 3600.0


class Shelf:
    """``data/networks`` holds a folder a network, ``data/uploads`` what is on its way; any thread may call."""

    def __init__(self, data: Path) -> None:
        self.networks = data / "networks"
        self._uploads = data / "uploads"
        self._lock = threading.Lock()
        self._watchers: dict[object, Callable[[], None]] = {}

    def offered(self, folders: dict[str, Path]) -> dict[str, Path]:
        """These folders by name, and below them those on the shelf; no name twice, no folder twice."""
        offered = dict(folders)
        known = {path.resolve() for path in folders.values()}
        added = find_folders([self.networks]) if self.networks.is_dir() else {}
        for name, path in added.items():
            if path.resolve() in known:
                continue
            free = name if name not in offered else f"{name} ({path.name})"
            number = 2
            while free in offered:
                free, number = f"{name} ({path.name}, {number})", number + 1
            offered[free] = path
        return offered

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
        """A new folder for the files of one session; what a crash left behind a day ago is swept away."""
        try:
            self._uploads.mkdir(parents=True, exist_ok=True)
            for old in self._uploads.iterdir():
                if old.is_dir() and time.time() - old.stat().st_mtime > STALE_SECONDS:
                    shutil.rmtree(old, ignore_errors=True)
            return Path(tempfile.mkdtemp(prefix="upload-", dir=self._uploads))
        except OSError as reason:
            message = f"Files cannot be kept in {self._uploads}: {reason.strerror}."
            raise CalibdashError(message, "Check the rights and the free space of the data directory.") from reason
