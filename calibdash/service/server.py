"""The dashboard as a server: its login, its secrets, and what it lets through."""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calibdash.errors import CalibdashError
from calibdash.runs.access import Person
from calibdash.service.exposure import check_exposure, websocket_origins
from calibdash.service.people import People, of_file, of_patterns
from calibdash.service.secret import cookie_secret, session_key

# A page that was closed is forgotten a minute later, one that a slow server or line has not yet joined is not; a page
# that sleeps behind a proxy is kept awake.
SESSIONS = {
    "keep_alive_milliseconds": 30_000,
    "check_unused_sessions_milliseconds": 15_000,
    "unused_session_lifetime_milliseconds": 60_000,
}
MESSAGE_BYTES = 16 << 20  # of one message from a browser; pieces of dropped files have 4 MB
BODY_BYTES = 1 << 20  # of one posted form
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Service:
    """How the server is reached and who may use it, checked when made.

    basic_auth: the file of users. oauth: what Panel's OAuth wants to know; key and secret come from its own variables
    PANEL_OAUTH_KEY and PANEL_OAUTH_SECRET. members, viewers: patterns of names for OAuth.
    """

    address: str = "127.0.0.1"
    port: int = 5006
    basic_auth: Path | None = None
    oauth_provider: str = ""
    oauth: Mapping[str, Any] | None = None
    members: tuple[str, ...] = ()
    viewers: tuple[str, ...] = ()
    no_login: bool = False
    read_only: bool = False
    origins: tuple[str, ...] = ()
    prefix: str = ""
    behind_proxy: bool = False
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if self.basic_auth and self.oauth_provider:
            raise CalibdashError("There can be one login only.", "Give --basic-auth or --oauth-provider.")
        if self.login and self.no_login:
            raise CalibdashError("A login and --no-login cannot both be meant.", "Leave one out.")
        if (self.members or self.viewers) and not self.oauth_provider:
            hint = "In a file of users: calibdash user add NAME --role viewer."
            raise CalibdashError("--member and --viewer are for --oauth-provider.", hint)
        if bool(self.certificate) != bool(self.key):
            raise CalibdashError("A certificate and its key come together.", "Give --ssl-cert and --ssl-key.")
        check_exposure(
            self.address,
            login=self.login,
            no_login=self.no_login,
            behind_proxy=self.behind_proxy,
            origins=self.origins,
        )
        websocket_origins(self.address, self.port, self.origins)

    @property
    def login(self) -> bool:
        """Whether anybody has to log in."""
        return bool(self.basic_auth or self.oauth_provider)

    def warnings(self) -> list[str]:
        """What whoever starts the server should think about."""
        told = []
        if self.oauth_provider and not self.members:
            told.append(
                f"Everybody who can log in with {self.oauth_provider} is a member: --member PATTERN limits that."
            )
        if self.basic_auth and self.basic_auth.is_file() and stat.S_IMODE(self.basic_auth.stat().st_mode) & 0o077:
            told.append(f"Others can read {self.basic_auth}: chmod 600 {self.basic_auth}")
        exposed = self.login and not self.behind_proxy and not self.certificate
        if exposed and not self.address.startswith(("127.", "localhost")):
            told.append(
                "Passwords travel unencrypted: give --ssl-cert and --ssl-key, or put a proxy with https before."
            )
        return told


def start(
    service: Service,
    data: Path,
    page: Callable[[Person], Any],
    sight: Callable[[Person], str] = lambda _: "",
    **options: Any,
) -> Any:
    """A Bokeh server, listening but not yet running. ``page`` makes the page of a session of one person.

    ``sight`` is markup that this person sees until the page stands. ``options`` go to Panel as they are.
    """
    import panel as pn
    from tornado.web import RedirectHandler

    from calibdash.service.early import send_early
    from calibdash.service.headers import hardened
    from calibdash.service.logs import note_session

    people, login = _login(service)
    secret = cookie_secret(data)
    send_early(lambda user: sight(people.person(user)))

    def visited() -> Any:
        note_session()
        return page(people.person(pn.state.user))

    server = _listening(
        service,
        {"/": visited},
        {
            "port": service.port,
            "address": service.address,
            "prefix": service.prefix.strip("/"),
            "start": False,
            "title": "calibdash",
            "verbose": False,
            "use_xheaders": service.behind_proxy,
            "cookie_secret": secret,
            "sign_sessions": True,
            "secret_key": session_key(secret),
            # The page carries a copy of these: whatever else the browser sends stays out of it.
            "include_headers": ["Host"],
            "include_cookies": ["user", "is_guest"],
            "websocket_max_message_size": MESSAGE_BYTES,
            "http_server_kwargs": {"max_body_size": BODY_BYTES},
            **({"ssl_certfile": str(service.certificate), "ssl_keyfile": str(service.key)} if service.key else {}),
            **SESSIONS,
            **login,
            **options,
        },
    )
    application = server._tornado  # Bokeh has no other way to its Tornado application
    application.add_transform(hardened(service.behind_proxy))
    if server.prefix:  # Panel finds its login beside the page, so the page must stand in its folder
        application.add_handlers(".*", [(re.escape(server.prefix), RedirectHandler, {"url": f"{server.prefix}/"})])
    application.websocket_origins.clear()
    application.websocket_origins.update(websocket_origins(service.address, server.port, service.origins))
    log.info("The server is up at port %d.", server.port)
    return server


def _listening(service: Service, pages: Mapping[str, Callable[[], Any]], options: Mapping[str, Any]) -> Any:
    import panel as pn

    try:
        return pn.serve(pages, **options)
    except OSError as reason:
        message = f"Cannot listen at {service.address}, port {service.port}: {reason.strerror or reason}."
        raise CalibdashError(message, "Choose another --port (0 takes a free one) or --address.") from reason


def _login(service: Service) -> tuple[People, dict[str, Any]]:
    """Who people are, and what Panel has to know to find out."""
    if service.basic_auth:
        from calibdash.service.login import Provider
        from calibdash.service.users import UserFile

        users = UserFile(service.basic_auth)
        if not users.users():
            hint = f"Add one: calibdash user add NAME --file {service.basic_auth}"
            raise CalibdashError(f"There is no user in {service.basic_auth}.", hint)
        return People(True, of_file(users), service.read_only), {"auth_provider": Provider(users)}
    if service.oauth_provider:
        return People(True, of_patterns(service.members, service.viewers), service.read_only), _oauth(service)
    return People(read_only=service.read_only), {}


def _oauth(service: Service) -> dict[str, Any]:
    from panel.auth import AUTH_PROVIDERS

    if service.oauth_provider not in AUTH_PROVIDERS:
        raise CalibdashError(
            f"Panel knows no login with {service.oauth_provider[:60]!r}.",
            f"It knows {', '.join(sorted(AUTH_PROVIDERS))}.",
        )
    missing = [name for name in ("PANEL_OAUTH_KEY", "PANEL_OAUTH_SECRET") if not os.environ.get(name)]
    if missing and service.oauth_provider != "pam":
        raise CalibdashError(
            f"{' and '.join(missing)} must be set for --oauth-provider.",
            "The provider gives them when it knows the app.",
        )
    _encrypt()
    return {"oauth_provider": service.oauth_provider, **(service.oauth or {})}


def _encrypt() -> None:
    """Encrypt what OAuth keeps in cookies, if PANEL_OAUTH_ENCRYPTION has a key: Panel does so in its own command."""
    import panel as pn

    key = os.environ.get("PANEL_OAUTH_ENCRYPTION", "")
    if not key:
        return
    try:
        from cryptography.fernet import Fernet

        pn.state.encryption = Fernet(key)
    except ImportError as reason:
        raise CalibdashError("PANEL_OAUTH_ENCRYPTION needs a package.", "Run: pip install cryptography") from reason
    except ValueError as reason:
        hint = "Make one with: panel oauth-secret"
        raise CalibdashError("PANEL_OAUTH_ENCRYPTION is not a key of 32 bytes, base64.", hint) from reason
