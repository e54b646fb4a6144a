"""Whose an added network is: a small hidden file in its folder, beside the tables."""

from __future__ import annotations

import json
from pathlib import Path

from calibdash.data.files import write_atomically

ACCESS = ".access.json"
MOST_BYTES = 10_000
NOBODY = "\0"  # owns what cannot be told: no one is called so


def read_access(folder: Path) -> tuple[str, bool]:
    """Owner ('' = everybody's) and whether it is shared. A file that cannot be read keeps the network to itself."""
    file = folder / ACCESS
    try:
        with file.open("rb") as content:
            values = json.loads(content.read(MOST_BYTES))
        owner = values["owner"]
        return (owner if isinstance(owner, str) else NOBODY), values.get("shared") is True
    except FileNotFoundError:
        return "", False
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return NOBODY, False


def write_access(folder: Path, owner: str, shared: bool) -> None:
    """Say so, at once."""
    text = json.dumps({"owner": owner, "shared": shared})
    write_atomically(folder / ACCESS, lambda file: file.write(text.encode()))
