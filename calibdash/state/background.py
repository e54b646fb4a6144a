"""Work of a session that would hold up its page, done in a thread; only what was asked for last comes back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from calibdash.errors import CalibdashError
from calibdash.state.fitting import Schedule

logger = logging.getLogger(__name__)
Result = TypeVar("Result")
PLACES = threading.BoundedSemaphore(2)  # of the whole server: more at a time would slow every page


class Background(Generic[Result]):
    """One kind of work of one session.

    ``take`` gets every result in the session's own thread; ``end`` is called after the last, with a sentence where
    the work failed.
    """

    def __init__(self, schedule: Schedule, take: Callable[[Result], None], end: Callable[[str], None]) -> None:
        self._schedule, self._take, self._end = schedule, take, end
        self._turn = 0
        self.thread: threading.Thread | None = None

    def ask(self, work: Callable[[], Iterable[Result]]) -> None:
        """Do this; whatever was asked for before is not waited for any more."""
        self.forget()
        self.thread = threading.Thread(target=self._run, args=(self._turn, work), name="calibdash-plan", daemon=True)
        self.thread.start()

    def forget(self) -> None:
        """Want nothing any more of what was asked for."""
        self._turn += 1

    def _run(self, turn: int, work: Callable[[], Iterable[Result]]) -> None:
        with PLACES:
            if turn != self._turn:
                return
            failure = ""
            try:
                for result in work():
                    if turn != self._turn:
                        return
                    self._schedule(lambda result=result: self._apply(turn, result))  # type: ignore[misc]
            except CalibdashError as problem:
                failure = str(problem)
            except Exception:
                logger.exception("work in the background failed")
                failure = "This went wrong inside calibdash; the server's log says where."
        if turn == self._turn:
            self._schedule(lambda: self._finish(turn, failure))

    def _apply(self, turn: int, result: Result) -> None:
        if turn == self._turn:
            self._take(result)

    def _finish(self, turn: int, failure: str) -> None:
        if turn == self._turn:
            self._end(failure)
