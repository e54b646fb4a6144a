"""Which folder a session looks at, and which of its sensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import param

from calibdash.data.folder import Checked, check_folder, open_folder
from calibdash.errors import CalibdashError


class Choice(param.Parameterized):
    """The folder on show and what was found in it."""

    folder: Any = param.Selector(doc="The folder on show.")
    checked = param.ClassSelector(class_=Checked, doc="What is in the folder; None when it cannot be read at all.")
    failure = param.String(doc="Why the folder cannot be read at all.")

    def __init__(self, folders: dict[str, Path], **params: object) -> None:
        self.param["folder"].objects = folders
        super().__init__(folder=next(iter(folders.values()), None), **params)
        self._load()

    @param.depends("folder", watch=True)
    def _load(self) -> None:
        if self.folder is None:
            self.param.update(checked=None, failure="There is no network to show yet.")
            return
        try:
            self.param.update(checked=_checked(self.folder, _stamp(self.folder)), failure="")
        except CalibdashError as problem:
            self.param.update(checked=None, failure=str(problem))


def find_folders(paths: Sequence[Path]) -> dict[str, Path]:
    """Network folders by name: each path itself, or the folders right below it."""
    found: dict[str, Path] = {}
    for path in paths:
        if not path.is_dir():
            raise CalibdashError(f"{path} is not a folder.", "Give a network folder, or a folder of such folders.")
        below = sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.is_symlink())
        itself = open_folder(path)
        opened = [itself] if itself.tables else [folder for folder in map(open_folder, below) if folder.tables]
        for folder in sorted(opened, key=lambda folder: "colocations" not in folder.tables):  # networks first
            name = folder.name if folder.name not in found else f"{folder.name} ({folder.path.name})"
            found[name] = folder.path
    return found


def _stamp(folder: Path) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((file.name, file.stat().st_mtime_ns) for file in folder.iterdir() if file.is_file()))


@lru_cache(maxsize=8)
def _checked(folder: Path, stamp: tuple[tuple[str, int], ...]) -> Checked:  # noqa: ARG001 (a changed file is another key)
    return check_folder(folder)
