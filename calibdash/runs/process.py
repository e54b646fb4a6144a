"""Which process works on a run, and whether it still does."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process by host, number and the moment it started: numbers are used again. worker: its address in a cluster."""

    host: str
    pid: int
    token: str
    worker: str = ""

    def as_dict(self) -> dict[str, object]:
        """Plain values; the inverse of :meth:`from_dict`."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: object) -> Process | None:
        """A process as a record names it; None where it names none."""
        if not isinstance(values, Mapping) or not isinstance(pid := values.get("pid"), int) or not 0 < pid < 1 << 31:
            return None
        return cls(str(values.get("host")), pid, str(values.get("token", "")), str(values.get("worker", "")))

    @property
    def here(self) -> bool:
        """Whether it is (or was) a process of this machine, so that :attr:`alive` can tell."""
        return self.host == socket.gethostname()

    @property
    def alive(self) -> bool:
        """Whether this very process still runs on this machine."""
        return _token(self.pid) == self.token


def this_process(worker: str = "") -> Process:
    """The process that asks."""
    pid = os.getpid()
    return Process(socket.gethostname(), pid, _token(pid) or "", worker)


def _token(pid: int) -> str | None:
    """When a process started, counted from the machine's start; '' where that is not told; None: there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
    except FileNotFoundError:
        return None if Path("/proc/self/stat").exists() else _exists(pid)
    except ProcessLookupError:  # it ended while we read
        return None
    return None if fields[0] in "ZX" else f"{boot}-{fields[19]}"


def _exists(pid: int) -> str | None:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return ""
