"""Folders on offer, and their content read once for all sessions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from calibdash.data.folder import Checked, check_folder, open_folder
from calibdash.errors import CalibdashError


def find_folders(paths: Sequence[Path]) -> dict[str, Path]:
    """Network folders by name: each path itself, or the folders right below it; networks before labels."""
    found: dict[str, Path] = {}
    for path in paths:
        if not path.is_dir():
            raise CalibdashError(f"{path} is not a folder.", "Give a network folder, or a folder of such folders.")
        below = sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.is_symlink())
        itself = open_folder(path)
        opened = [itself] if itself.tables else [folder for folder in map(open_folder, below) if folder.tables]
        for folder in sorted(opened, key=lambda folder: "colocations" not in folder.tables):
            name = folder.name if folder.name not in found else f"{folder.name} ({folder.path.name})"
            found[name] = folder.path
    return found


def read_folder(folder: Path) -> Checked:
    """What is in a folder; read again only when one of its files has changed."""
    stamp = tuple(sorted((file.name, file.stat().st_mtime_ns) for file in folder.iterdir() if file.is_file()))
    return _read(folder, stamp)


@lru_cache(maxsize=8)
def _read(folder: Path, stamp: tuple[tuple[str, int], ...]) -> Checked:  # noqa: ARG001 (a changed file: another key)
    return check_folder(folder)
