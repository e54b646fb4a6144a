"""What is found out about a network once, for all sessions of a server."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

KEPT = 8
T = TypeVar("T")


def once(function: Callable[..., T], kept: int = KEPT) -> Callable[..., T]:
    """Keep the last results of ``function(network, …)`` by the network and what else it was asked with.

    Nobody changes a network, or what a folder was found to hold, in place: the same object has the same results.
    """
    known: deque[tuple[object, tuple[object, ...], T]] = deque(maxlen=kept)
    lock = threading.Lock()

    @wraps(function)
    def asked(network: object, *more: object) -> T:
        with lock:
            place = next((n for n, (other, rest, _) in enumerate(known) if other is network and rest == more), None)
            found = (network, more, function(network, *more)) if place is None else known[place]
            if place is not None:
                del known[place]
            known.append(found)
            return found[2]

    return asked
