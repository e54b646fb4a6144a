"""What is found out about a network once, for all sessions of a server."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from calibdash.data.network import Network

KEPT = 8
T = TypeVar("T")


def once_a_network(function: Callable[[Network], T]) -> Callable[[Network], T]:
    """Keep the results for the last networks; nobody changes a network in place, so the same object has the same."""
    known: deque[tuple[Network, T]] = deque(maxlen=KEPT)
    lock = threading.Lock()

    @wraps(function)
    def asked(network: Network) -> T:
        with lock:
            place = next((place for place, (other, _) in enumerate(known) if other is network), None)
            found = (network, function(network)) if place is None else known[place]
            if place is not None:
                del known[place]
            known.append(found)
            return found[1]

    return asked
