"""A fast list of runs: an SQLite file beside them that follows the folders and can be thrown away at any time."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from calibdash.errors import CalibdashError
from calibdash.runs.folder import RECORD, read_record
from calibdash.runs.process import Process
from calibdash.runs.run import Run, valid_id

INDEX = "index.sqlite"
VERSION = 2
WAIT = 10.0  # seconds for another writer's transaction
TABLE = """CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY, stamp TEXT NOT NULL, owner TEXT NOT NULL, shared INTEGER NOT NULL, created TEXT NOT NULL,
    run TEXT NOT NULL)"""
# Another process is at it, or the disk is full or cannot be written to: no reason to throw the index away.
NOT_NOW = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL}
log = logging.getLogger(__name__)


class Index:
    """The index of one folder of runs. It keeps no connection: any thread and process may use it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path = root / INDEX

    def runs(self, viewer: str | None = None) -> list[Run]:
        """All runs, newest first; with a viewer only those that are theirs, shared or everybody's."""
        for attempt in (1, 2):
            try:
                self._refresh()
                return self._select(viewer)
            except (sqlite3.Error, ValueError, TypeError, KeyError) as reason:
                if attempt == 2 or (getattr(reason, "sqlite_errorcode", 0) & 0xFF) in NOT_NOW:
                    log.warning("The index of runs cannot be used (%s); the folders are read.", reason)
                    break
                log.warning("The index of runs is damaged (%s) and is made anew.", reason)
                self._discard()
        return self._from_folders(viewer)

    def _refresh(self) -> None:
        """Bring the index up to date with the folders."""
        there = stamps(self.root)
        with self._connection() as base:
            known = dict(base.execute("SELECT id, stamp FROM runs"))
        gone = known.keys() - there.keys()
        changed = [run_id for run_id, stamp in there.items() if known.get(run_id) != stamp]
        if not gone and not changed:
            return
        rows = []
        for run_id in changed:  # read before the transaction, which stays short
            run = load(self.root, run_id)
            rows.append((run_id, there[run_id], run.owner, run.shared, run.created, json.dumps(run.as_dict())))
        with self._connection() as base:
            base.executemany("DELETE FROM runs WHERE id = ?", [(run_id,) for run_id in gone])
            base.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?)", rows)

    def _select(self, viewer: str | None) -> list[Run]:
        query = "SELECT run FROM runs WHERE ? IS NULL OR shared OR owner IN ('', ?) ORDER BY created DESC, id DESC"
        with self._connection() as base:
            return [_run(json.loads(text)) for (text,) in base.execute(query, (viewer, viewer))]

    def _from_folders(self, viewer: str | None) -> list[Run]:
        runs = [load(self.root, run_id) for run_id in stamps(self.root)]
        seen = [run for run in runs if viewer is None or run.shared or run.owner in ("", viewer)]
        return sorted(seen, key=lambda run: (run.created, run.id), reverse=True)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if self.path.is_symlink():
            self.path.unlink()  # the index lies here and nowhere else
        with closing(sqlite3.connect(self.path, timeout=WAIT)) as base:
            if base.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                base.execute("PRAGMA journal_mode = WAL")
                with base:
                    base.execute("BEGIN IMMEDIATE")
                    if base.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                        base.execute("DROP TABLE IF EXISTS runs")
                        base.execute(TABLE)
                        base.execute(f"PRAGMA user_version = {VERSION}")
            with base:
                yield base

    def _discard(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                self.path.with_name(INDEX + suffix).unlink(missing_ok=True)


def stamps(root: Path) -> dict[str, str]:
    """The runs below a folder, and for each what changes when its record is written. Links are passed over."""
    found = {}
    with os.scandir(root) as entries:
        for entry in entries:
            with suppress(OSError):  # it may vanish while we look
                if valid_id(entry.name) and entry.is_dir(follow_symlinks=False):
                    status = os.lstat(os.path.join(entry.path, RECORD))
                    if stat.S_ISREG(status.st_mode):
                        found[entry.name] = f"{status.st_mtime_ns}-{status.st_ino}-{status.st_size}"
    return found


def load(root: Path, run_id: str) -> Run:
    """A run from its folder; one whose record cannot be read is shown as such."""
    folder = root / run_id
    changed = 0.0
    try:
        changed = os.lstat(folder / RECORD).st_mtime
        return Run.from_record(run_id, read_record(folder), changed)
    except (CalibdashError, OSError):
        return Run.from_record(run_id, {}, changed)


def _run(values: dict) -> Run:
    return Run(**{**values, "process": Process.from_dict(values["process"])})
