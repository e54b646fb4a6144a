"""The end of the server, in bounded time, whatever a job does."""

from __future__ import annotations

import logging
import os
import threading

from calibdash.runs.queue import JobQueue

STOP_SECONDS = 10.0  # for runs to reach a place from which they can go on
log = logging.getLogger(__name__)


def stop(queue: JobQueue) -> None:
    """Ask the runs to end, wait a little, and leave: what is not done by then goes on at the next start.

    Left alone, the interpreter would wait for threads that wait for nothing but the end of a long calculation.
    """
    last = threading.Timer(2 * STOP_SECONDS, os._exit, [1])  # a disk or a cluster that does not answer
    last.daemon = True
    last.start()
    log.info("The server stops.")
    queue.shutdown(STOP_SECONDS)
    log.info("The server has stopped.")
    logging.shutdown()
    os._exit(0)
