"""Long work for a session, done in a thread: progress, cancel, and one at a time for the whole server."""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from calibdash.errors import CalibdashError

REPORT_SECONDS = 0.25
_ONE_AT_A_TIME = threading.Lock()  # reading takes a core and up to 2 GB
log = logging.getLogger(__name__)

Schedule = Callable[[Callable[[], None]], None]


class StoppedError(CalibdashError):
    """The user asked to stop, or left."""

    def __init__(self) -> None:
        super().__init__("Stopped.", "Nothing was written.")


def unwritten(reason: OSError) -> CalibdashError:
    """What to say when the server has no room for files, or no right to keep them."""
    why = reason.strerror or "the disk does not answer"
    return CalibdashError(
        f"The server cannot keep these files: {why}.",
        "Nothing of them was added. Ask whoever runs it to look at the data directory's free space and rights.",
    )


class Work:
    """A call in a thread. ``tell`` (share done) and ``end`` (result or error) are called in the session's own."""

    def __init__(
        self,
        call: Callable[[Callable[[float], None]], Any],
        tell: Callable[[float], None],
        end: Callable[[Any], None],
        schedule: Schedule,
    ) -> None:
        self._call, self._tell, self._end, self._schedule = call, tell, end, schedule
        self._stop = threading.Event()
        self._left = threading.Event()
        self._told = 0.0
        self._thread = threading.Thread(target=self._run, name="calibdash-upload", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the work to stop at its next report; ``end`` still comes."""
        self._stop.set()

    def leave(self, then: Callable[[], None] | None = None) -> None:
        """Ask it to stop, and hear no more of it; ``then`` is called, in a thread, when it has stopped."""
        self._left.set()
        self._stop.set()
        if then is not None:
            tidy = threading.Thread(target=self._tidy, args=(then,), name="calibdash-upload-end", daemon=True)
            tidy.start()

    def _tidy(self, then: Callable[[], None]) -> None:
        self._thread.join()
        then()

    def _run(self) -> None:
        result: Any
        try:
            with _ONE_AT_A_TIME:
                self._report(0.0)
                result = self._call(self._report)
        except CalibdashError as reason:
            result = reason
        except OSError as reason:
            log.warning("The files of an upload cannot be kept: %s.", reason.strerror or type(reason).__name__)
            result = unwritten(reason)
        except Exception as reason:  # the door of the thread: a user must hear of it, whatever it is
            result = CalibdashError("These files could not be read; the server's log says why.", "Try without them.")
            if (full := os.strerror(errno.ENOSPC)) in str(reason):  # DuckDB has errors of its own
                result = unwritten(OSError(errno.ENOSPC, full))
            elif not self._left.is_set():
                log.exception("A dropped file broke the reading")
        if not self._left.is_set():
            self._schedule(lambda: None if self._left.is_set() else self._end(result))

    def _report(self, done: float) -> None:
        if self._stop.is_set():
            raise StoppedError
        now = time.monotonic()
        if now - self._told >= REPORT_SECONDS:
            self._told = now
            self._schedule(lambda: None if self._left.is_set() else self._tell(done))
