"""Most of the page goes out before it is made: people see their network, and the browser runs scripts, meanwhile.

What is the same for everybody (style sheets, scripts) is learned from the page that was sent last. What a person may
see is asked for anew. What is a session's own, its token above all, comes last, when the session has been made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from bokeh.server.session import ServerSession
from bokeh.server.urls import per_app_patterns
from panel.io.server import DocHandler
from tornado.web import decode_signed_value

from calibdash.pages.head import END, FROM, ID, UNTIL

HIDDEN = f"<style>#{ID} {{ display: none }}</style>"
Sight = Callable[[str | None], str]  # the user's name, as Panel finds it in the cookies → markup


class EarlyHandler(DocHandler):
    """Panel's answer to whoever opens the page, in two pieces from the second visitor on."""

    _learned: ClassVar[WeakKeyDictionary[Any, dict[str, tuple[str, str]]]] = WeakKeyDictionary()
    _begun = False

    @property
    def _known(self) -> dict[str, tuple[str, str]]:
        """What is everybody's, before and after what is a person's, by path: the addresses in it are relative to it."""
        return self._learned.setdefault(self.application_context, {})

    async def get_session(self) -> ServerSession:
        """Asked for when it is clear that this visitor may come in: now what is known can go."""
        known = self._known.get(self.request.path)
        if known is not None and not self.request.query:  # an address with a question can ask for another theme
            self._begun = True
            self.set_header("Content-Type", "text/html; charset=UTF-8")
            super().write(FROM.join((known[0], self._sight(self._user()))) + UNTIL + known[1])
            await self.flush()
        return await super().get_session()  # type: ignore[misc]

    def write(self, chunk: str | bytes | dict[str, Any]) -> None:
        """The whole page, or what is missing of it; of a page that is not ours, such as Panel's of errors, its body."""
        if not isinstance(chunk, str):
            super().write(chunk)
            return
        above, end, rest = chunk.partition(END)
        if end and not self.request.query and self.get_status() == 200:
            self._known[self.request.path] = above.partition(FROM)[0], above.partition(UNTIL)[2]
        if self._begun:
            chunk = end + rest if end else HIDDEN + chunk.partition("<body>")[2]
        super().write(chunk)

    @staticmethod
    def _sight(user: str | None) -> str:  # noqa: ARG004 (of those that a server makes of this one)
        return ""

    def _user(self) -> str | None:
        """Who asks, as Panel's session will have it."""
        cookies = {name: morsel.value for name, morsel in self.request.cookies.items()}
        if cookies.get("is_guest"):
            return "guest"
        secret = self.application.settings.get("cookie_secret")
        name = decode_signed_value(secret, "user", cookies["user"]) if secret and "user" in cookies else None
        return None if name is None else name.decode()


def send_early(sight: Sight) -> None:
    """Let the servers of this process do so; ``sight`` is what somebody sees until the page stands."""
    handler = type("EarlyHandler", (EarlyHandler,), {"_sight": staticmethod(sight)})
    per_app_patterns[:] = [
        (path, handler if issubclass(other, DocHandler) else other) for path, other in per_app_patterns
    ]
