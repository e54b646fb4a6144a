"""Files on their way from the browser, written to disk piece by piece."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import dataclass
from pathlib import Path

from calibdash.errors import CalibdashError
from calibdash.state.upload.archive import safe_name
from calibdash.state.upload.work import unwritten

MOST_BYTES = 300_000_000  # of all files of one network together
MOST_FILES = 1000


@dataclass
class _Arriving:
    path: Path
    pieces: int = 0
    size: int = 0
    share: float = 0.0


class Incoming:
    """Takes pieces in any mixture of files, each file's in order; the browser's word on sizes is not trusted."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self._numbers = itertools.count()
        self._arriving: dict[str, _Arriving] = {}
        self._kept: dict[str, int] = {}

    def take(self, name: str, piece: int, pieces: int, data: bytes) -> Path | None:
        """Keep a piece (the first is 1); the file, when it was the last one.

        Raises :class:`CalibdashError`, and forgets the file, if it is too large or a piece is missing.
        """
        arriving = self._arriving.get(name)
        if piece == 1:
            if arriving is not None:
                self._forget(name)
            if len(self._kept) >= MOST_FILES and name not in self._kept:
                raise CalibdashError(f"There are more than {MOST_FILES} files.", "Join them first, or drop a zip.")
            try:
                arriving = self._arriving[name] = _Arriving(self._place(name))
            except OSError as reason:
                raise unwritten(reason) from reason
        if arriving is None:
            return None  # of a file that has been refused already
        others = sum(size for other, size in self._kept.items() if other != name)
        others += sum(file.size for file in self._arriving.values())
        if piece != arriving.pieces + 1:
            self._forget(name)
            raise CalibdashError(
                f"{safe_name(name)} did not arrive whole.", "Drop it again, one file of a name at a time."
            )
        if others + len(data) > MOST_BYTES:
            self._forget(name)
            raise CalibdashError(
                f"{safe_name(name)} does not fit: all files together may have {MOST_BYTES // 1_000_000} MB.",
                "Drop Parquet or gzipped CSV instead, or fewer files; there is no limit for `calibdash import`.",
            )
        try:
            with arriving.path.open("ab") as file:
                file.write(data)
        except OSError as reason:
            self._forget(name)
            raise unwritten(reason) from reason
        arriving.pieces, arriving.size, arriving.share = piece, arriving.size + len(data), piece / max(pieces, piece)
        if piece < pieces:
            return None
        self._kept[name] = arriving.size
        return self._arriving.pop(name).path

    def under_way(self) -> dict[str, float]:
        """Names of the files that have not arrived whole, and the share of each that has."""
        return {arriving.path.name: arriving.share for arriving in self._arriving.values()}

    def clear(self) -> None:
        """Forget everything; the folder itself stays."""
        self._arriving.clear()
        self._kept.clear()
        for entry in self.scratch.iterdir():
            shutil.rmtree(entry, ignore_errors=True)

    def fresh(self) -> Path:
        """A path in the scratch folder that nothing has yet."""
        return self.scratch / str(next(self._numbers))

    def _place(self, name: str) -> Path:
        folder = self.fresh()
        folder.mkdir()
        return folder / safe_name(name)

    def _forget(self, name: str) -> None:
        arriving = self._arriving.pop(name, None)
        if arriving is not None:
            shutil.rmtree(arriving.path.parent, ignore_errors=True)
