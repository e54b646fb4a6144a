"""Repeated failures have to wait, longer each time; whoever logs in rightly does not."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

LONGEST_WAIT = 300.0
FORGOTTEN = 900.0
MOST_KEPT = 10_000


class Throttle:
    """Failures by name at an address, by address and by name; each kind has so many that cost nothing.

    A name alone has many: nobody shall keep others out by guessing.
    """

    FREE = (5, 20, 100)

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: OrderedDict[tuple[str, ...], tuple[int, float]] = OrderedDict()

    def wait(self, name: str, address: str) -> float:
        """Seconds until the next attempt is looked at; 0 is now."""
        with self._lock:
            return max(self._left(key, free) for key, free in zip(_keys(name, address), self.FREE, strict=True))

    def failed(self, name: str, address: str) -> None:
        """Count a failure."""
        now = self._clock()
        with self._lock:
            for key in _keys(name, address):
                count, last = self._failures.pop(key, (0, now))
                self._failures[key] = (1 if now - last > FORGOTTEN else count + 1, now)
            while len(self._failures) > MOST_KEPT:
                self._failures.popitem(last=False)

    def succeeded(self, name: str, address: str) -> None:
        """Forget the failures of this name at this address."""
        with self._lock:
            self._failures.pop(_keys(name, address)[0], None)

    def _left(self, key: tuple[str, ...], free: int) -> float:
        count, last = self._failures.get(key, (0, 0.0))
        passed = self._clock() - last
        if count < free or passed > FORGOTTEN:
            return 0.0
        return max(0.0, min(2.0 ** min(count - free, 20), LONGEST_WAIT) - passed)


def _keys(name: str, address: str) -> tuple[tuple[str, ...], ...]:
    short = name[:200]
    return (("both", short, address), ("address", address), ("name", short))
