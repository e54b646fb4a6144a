"""The head of the page goes out before the page is made: the browser loads and runs scripts while the server works.

The head is the same for everybody (a script and a style sheet each for what the page consists of); it is learned from
the page that was sent last. What is a visitor's own, the session's token, stands in the body.
"""

from __future__ import annotations

from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from bokeh.server.session import ServerSession
from bokeh.server.urls import per_app_patterns
from panel.io.server import DocHandler

END = "</head>"


class EarlyHandler(DocHandler):
    """Panel's answer to whoever opens the page, in two pieces from the second visitor on."""

    _heads: ClassVar[WeakKeyDictionary[Any, dict[str, str]]] = WeakKeyDictionary()
    _begun = False

    @property
    def _known(self) -> dict[str, str]:
        """Heads by path: the addresses in them are relative to it."""
        return self._heads.setdefault(self.application_context, {})

    async def get_session(self) -> ServerSession:
        """Asked for when it is clear that this visitor may come in: now the head can go."""
        head = self._known.get(self.request.path)
        if head is not None and not self.request.query:  # an address with a question can ask for another theme
            self._begun = True
            self.set_header("Content-Type", "text/html; charset=UTF-8")
            super().write(head)
            await self.flush()
        return await super().get_session()  # type: ignore[misc]

    def write(self, chunk: str | bytes | dict[str, Any]) -> None:
        """The whole page, or what is missing of it."""
        head, end, body = chunk.partition(END) if isinstance(chunk, str) else ("", "", "")
        if end and not self.request.query and self.get_status() == 200:
            self._known[self.request.path] = head
        super().write(end + body if self._begun and end else chunk)


def send_heads_early() -> None:
    """Let the servers of this process do so."""
    per_app_patterns[:] = [
        (path, EarlyHandler if handler is DocHandler else handler) for path, handler in per_app_patterns
    ]
