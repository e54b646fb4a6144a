"""Deleted runs, kept aside until somebody empties the trash."""

from __future__ import annotations

import os
import shutil
import time
from datetime import timedelta
from pathlib import Path

from calibdash.errors import CalibdashError
from calibdash.runs.folder import PART
from calibdash.runs.index import load, stamps
from calibdash.runs.run import Run

TRASH = ".trash"


class Trash:
    """The folder ``.trash`` of a store. The caller holds the store's lock."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder = root / TRASH

    def put(self, folder: Path) -> None:
        """Move a run here; an older one of the same name makes room."""
        self._check()
        self._folder.mkdir(exist_ok=True)
        target = self._folder / folder.name
        if target.exists():
            self._remove(target)
        os.utime(folder)  # when it was deleted
        folder.rename(target)

    def take_back(self, run_id: str) -> None:
        """Move a run back to its place."""
        self._check()
        source, target = self._folder / run_id, self._root / run_id
        if run_id not in stamps_if(self._folder):
            raise CalibdashError(f"The run {run_id!r} is not in the trash.", "It may have been removed for good.")
        if target.exists():
            raise CalibdashError(f"There is another run {run_id!r} by now.", "Delete that one first.")
        source.rename(target)

    def runs(self) -> list[Run]:
        """What is here, the last deleted first."""
        self._check()
        names = sorted(stamps_if(self._folder), key=self._deleted, reverse=True)
        return [load(self._folder, name) for name in names]

    def empty(self, older_than: timedelta) -> int:
        """Remove for good; how many."""
        self._check()
        limit = time.time() - older_than.total_seconds()
        old = [name for name in stamps_if(self._folder) if self._deleted(name) <= limit]
        for name in old:
            self._remove(self._folder / name)
        for half in self._folder.glob(f".*{PART}"):  # left by a program that was killed
            shutil.rmtree(half)
        return len(old)

    def _remove(self, folder: Path) -> None:
        """Out of sight at once, then file by file: nobody can take back half a run."""
        away = folder.with_name(f".{folder.name}{PART}")
        if away.exists():
            shutil.rmtree(away)
        folder.rename(away)
        shutil.rmtree(away)

    def _deleted(self, name: str) -> float:
        return (self._folder / name).stat().st_mtime

    def _check(self) -> None:
        if self._folder.is_symlink():
            raise CalibdashError(f"{self._folder} is a link.", "Remove it: the trash must lie in the folder of runs.")


def stamps_if(folder: Path) -> dict[str, str]:
    """The runs in a folder that need not exist."""
    return stamps(folder) if folder.is_dir() else {}
