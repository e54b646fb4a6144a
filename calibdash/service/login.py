"""Logging in with a name and a password: Panel's cookies, our file of hashed passwords, and a page in our look."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar
from urllib.parse import urlsplit

from panel.auth import BasicAuthProvider
from panel.config import config
from tornado.web import RequestHandler

from calibdash.service.login_page import login_page
from calibdash.service.throttle import Throttle
from calibdash.service.users import UserFile

LOGIN, LOGOUT = "/login", "/logout"
COOKIE, PROOF = "user", "proof"
WRONG = "Name and password do not belong together."
log = logging.getLogger(__name__)


class Handler(RequestHandler):
    """What login and logout share. Made for one server by :class:`Provider`."""

    users: ClassVar[UserFile]
    throttle: ClassVar[Throttle]
    checker: ClassVar[ThreadPoolExecutor]

    @property
    def home(self) -> str:
        """The address of the dashboard on this server."""
        return f"{self.application.prefix}/"  # type: ignore[attr-defined]

    def forget(self) -> None:
        """Take the login away."""
        for name in (COOKIE, PROOF, "is_guest"):
            self.clear_cookie(name, path=config.cookie_path)


class LoginHandler(Handler):
    """The form, and what becomes of it."""

    def get(self) -> None:
        """The form."""
        self.show("")

    async def post(self) -> None:
        """Check name and password; the form carries a token, so that no other site can send it."""
        self.check_xsrf_cookie()
        name, password = self.get_body_argument("username", "").strip(), self.get_body_argument("password", "", False)
        address = self.request.remote_ip or ""
        wait = self.throttle.wait(name, address)
        if wait > 0:
            self.set_status(429)
            self.set_header("Retry-After", str(int(wait) + 1))
            self.show(f"Too many attempts. Try again in {int(wait) + 1} seconds.", name)
            return
        self.throttle.failed(name, address)  # counted before it is known: attempts at the same time count too
        loop = asyncio.get_running_loop()
        if not await loop.run_in_executor(self.checker, self.users.admits, name, password):
            log.warning("A login failed.")
            self.set_status(401)
            self.show(WRONG, name)
            return
        self.throttle.succeeded(name, address)
        user = self.users.find(name)
        if user is None:  # taken out at this very moment
            self.show(WRONG, name)
            return
        self.clear_cookie("is_guest", path=config.cookie_path)
        for key, value in ((COOKIE, name), (PROOF, user.proof)):
            self.set_secure_cookie(key, value, expires_days=config.oauth_expiry, httponly=True, path=config.cookie_path)
        self.redirect(local_path(self.get_body_argument("next", ""), self.home), status=303)

    def show(self, problem: str, name: str = "") -> None:
        """Write the page."""
        wanted = local_path(self.get_argument("next", ""), self.home)
        token = self.xsrf_token.decode() if isinstance(self.xsrf_token, bytes) else str(self.xsrf_token)
        self.set_header("Cache-Control", "no-store")
        self.write(login_page(action=self.request.path, token=token, wanted=wanted, problem=problem, name=name))


class LogoutHandler(Handler):
    """The way out."""

    def get(self) -> None:
        """Forget the login and offer another."""
        self.forget()
        self.redirect(f"{self.application.prefix}{LOGIN}", status=303)  # type: ignore[attr-defined]


class Provider(BasicAuthProvider):
    """Panel's basic login with our check of passwords. Who leaves the file, or gets another password, is out."""

    def __init__(self, users: UserFile, throttle: Throttle | None = None) -> None:
        self._users = users
        self._made: dict[str, Any] = {
            "users": users,
            "throttle": throttle or Throttle(),
            "checker": ThreadPoolExecutor(2, "calibdash-login"),  # a check takes 32 MB: never many at a time
        }
        super().__init__(login_endpoint=LOGIN, logout_endpoint=LOGOUT)

    @property
    def get_user(self) -> Callable[[RequestHandler], str | None]:
        """The user of a request by its cookies; None has to log in."""

        def get_user(handler: RequestHandler) -> str | None:
            name, proof = (handler.get_secure_cookie(key, max_age_days=config.oauth_expiry) for key in (COOKIE, PROOF))
            if name is None or proof is None:
                return None
            user = self._users.find(name.decode())
            return name.decode() if user is not None and hmac.compare_digest(proof, user.proof.encode()) else None

        return get_user

    def _remove_user(self, session_context: Any) -> None:
        """Panel counts users here for its admin page, which there is none of."""

    @property
    def login_handler(self) -> type[RequestHandler]:
        """The form."""
        return type("Login", (LoginHandler,), self._made)

    @property
    def logout_handler(self) -> type[RequestHandler]:
        """The way out."""
        return type("Logout", (LogoutHandler,), self._made)


def local_path(wanted: str, home: str) -> str:
    """Where to go after the login: a path of this server, whatever the address bar was made to say."""
    parts = urlsplit(wanted)
    plain = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and wanted.isprintable()
    return wanted if plain and not parts.scheme and not parts.netloc and "\\" not in wanted else home
