"""One writer at a time among the threads and processes that share a folder of runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: one process a folder of runs
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"
_HERE = threading.Lock()


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Hold the lock of a folder of runs; a process that dies gives it back."""
    with _HERE, (root / LOCK).open("ab") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
