"""Whether there is memory for what is about to be done: asked before it starts, not found out by dying.

What runs in this process has taken its estimate as a loan. Somebody who does not fit beside the others waits for them;
somebody who would not fit alone is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from calibdash.errors import CalibdashError
from calibdash.models.progress import Cancel, check

WAIT_SECONDS = 0.5
CGROUP = Path("/sys/fs/cgroup")
_lent: dict[object, int] = {}
_changed = threading.Condition()
_before = 0  # what this process held when nothing was lent


def gigabytes(size: float) -> str:
    """A size for people: 0.4 GB."""
    return f"{max(size / 1e9, 0.1):.1f} GB" if size < 9.95e9 else f"{size / 1e9:.0f} GB"


def available() -> int | None:
    """Bytes that can be had now, by the machine and by the limits of this process's group; None: not known."""
    found = [size for size in (_machine(), *_groups()) if size is not None]
    return min(found, default=None)


@contextmanager
def room_for(size: int, what: str, remedy: Callable[[int], str], cancel: Cancel | None = None) -> Iterator[None]:
    """Hold so many bytes for what is done inside; ``remedy`` says what to do instead when there are but so many."""
    key = object()
    global _before
    with _changed:
        while True:
            if not _lent:
                _before = _held()
            left = _left()
            if left is None or size <= left:
                break
            if not _lent:
                message = f"{what} needs about {gigabytes(size)} of memory; {gigabytes(left)} can be had here now."
                raise CalibdashError(message, remedy(left))
            _changed.wait(WAIT_SECONDS)
            check(cancel)
        _lent[key] = size
    try:
        yield
    finally:
        with _changed:
            del _lent[key]
            _changed.notify_all()


def _left() -> int | None:
    """What can be had, less what was lent and is not used yet."""
    free = available()
    if free is None:
        return None
    used = max(0, _held() - _before)
    return free - max(0, sum(_lent.values()) - used)


def _machine() -> int | None:
    return _figure(Path("/proc/meminfo"), "MemAvailable:", 1024)


def _held() -> int:
    """What this process holds in memory."""
    return _figure(Path("/proc/self/status"), "VmRSS:", 1024) or 0


def _groups() -> Iterator[int | None]:
    """What the control groups of this process (a container, a service of systemd) leave it."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, name = line.split(":", 2)
        if kinds == "":
            yield from _group(CGROUP, name, "memory.max", "memory.current", "inactive_file")
        elif "memory" in kinds.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _group(CGROUP / "memory", name, *names)


def _group(root: Path, name: str, limit: str, usage: str, cache: str) -> Iterator[int | None]:
    """The group and all above it; in a container its own group may be the root that is seen."""
    folder = root / name.strip("/")
    for place in (folder, *folder.parents):
        most, now = _number(place / limit), _number(place / usage)
        if most is not None and now is not None:
            yield max(0, most - now + (_figure(place / "memory.stat", cache, 1) or 0))
        if place == root:
            return


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such limit: "max"
        return None


def _figure(file: Path, name: str, unit: int) -> int | None:
    """A line ``NAME NUMBER`` of a file of the kernel."""
    try:
        lines = file.read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) * unit for line in lines if line.split()[:1] == [name])
    except (OSError, ValueError, IndexError, StopIteration):
        return None
