"""Whose turn it is: owners take turns, and each owner's jobs keep their order."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Waiting items by owner. Not safe by itself: the caller holds a lock."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[tuple[str, T]]] = {}
        self._served: dict[str, int] = {}
        self._turn = 0

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def push(self, owner: str, key: str, item: T) -> None:
        """Wait behind the owner's other items."""
        self._waiting.setdefault(owner, deque()).append((key, item))

    def pop(self) -> T | None:
        """The first item of the owner who was served longest ago; None if nobody waits."""
        if not self._waiting:
            return None
        owner = min(self._waiting, key=lambda name: self._served.get(name, -1))  # the first to come, of equals
        self._turn += 1
        self._served[owner] = self._turn
        item = self._waiting[owner].popleft()[1]
        if not self._waiting[owner]:
            del self._waiting[owner]
        return item

    def remove(self, key: str) -> T | None:
        """Take an item out of the queue; None if it does not wait."""
        for owner, items in self._waiting.items():
            for place, (name, item) in enumerate(items):
                if name == key:
                    del items[place]
                    if not items:
                        del self._waiting[owner]
                    return item
        return None

    def order(self) -> list[str]:
        """The keys in the order in which they will be served if nothing is added."""
        copy: FairQueue[str] = FairQueue()
        copy._served, copy._turn = dict(self._served), self._turn
        for owner, items in self._waiting.items():
            for key, _ in items:
                copy.push(owner, key, key)
        return list(iter(copy.pop, None))
