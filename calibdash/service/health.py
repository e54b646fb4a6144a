"""``/health``: 200 while the server can do its work, 503 while it cannot. Needs no login and says nothing of anybody.

``panel serve calibdash/app.py --plugins calibdash.service.health`` has it too.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable

from tornado.web import RequestHandler

from calibdash.runs.health import health
from calibdash.runs.queue import JobQueue

KEPT_SECONDS = 2.0  # however often somebody asks, the disk is tried no more often than this
PATIENCE_SECONDS = 5.0  # a disk of the network that has gone away does not answer at all


class Watch:
    """The last answer, kept for a moment."""

    def __init__(self, queue: Callable[[], JobQueue]) -> None:
        self._queue = queue
        self._asked = -float("inf")
        self._answer: asyncio.Future[dict[str, object]] | None = None

    async def look(self) -> dict[str, object]:
        """How the server is; where the disk does not answer, that."""
        if self._answer is None or (self._answer.done() and time.monotonic() - self._asked > KEPT_SECONDS):
            self._asked = time.monotonic()
            loop = asyncio.get_running_loop()
            self._answer = asyncio.ensure_future(loop.run_in_executor(None, lambda: health(self._queue()).as_dict()))
        try:
            return await asyncio.wait_for(asyncio.shield(self._answer), PATIENCE_SECONDS)
        except TimeoutError:
            return {"status": "failing", "wrong": ["the data directory does not answer"]}


class HealthHandler(RequestHandler):
    """GET and HEAD."""

    def initialize(self, watch: Watch) -> None:
        """Take the watch that all requests share."""
        self._watch = watch

    def set_default_headers(self) -> None:
        """Never from a cache, never taken for a page."""
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Type", "application/json")
        self.set_header("X-Content-Type-Options", "nosniff")

    async def get(self) -> None:
        """The answer as JSON."""
        answer = await self._watch.look()
        self.set_status(200 if answer["status"] == "ok" else 503)
        self.finish(json.dumps(answer) + "\n")

    async def head(self) -> None:
        """The same without a body."""
        await self.get()


def health_routes(queue: Callable[[], JobQueue]) -> list[tuple[str, type[HealthHandler], dict[str, object]]]:
    """What Tornado needs to answer at ``/health``."""
    return [(r"/health/?", HealthHandler, {"watch": Watch(queue)})]


def _served_queue() -> JobQueue:
    from calibdash.pages.site import queue_from_environment

    return queue_from_environment()


ROUTES = health_routes(_served_queue)
