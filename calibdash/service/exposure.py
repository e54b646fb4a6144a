"""Where the server can be reached, and from which addresses a page may talk to it."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from calibdash.errors import CalibdashError

ANYWHERE = ("", "0.0.0.0", "::")  # noqa: S104 - compared with, not bound to
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def check_exposure(address: str, *, login: bool, no_login: bool, behind_proxy: bool, origins: Sequence[str]) -> None:
    """Refuse to open to others what nobody has to log in to, unless it is said that this is meant."""
    exposed = behind_proxy or not is_loopback(address)
    if exposed and not login and not no_login:
        where = "Behind a proxy" if behind_proxy else f"At {address}"
        raise CalibdashError(
            f"{where} others can reach the dashboard, and nobody has to log in.",
            "Give --basic-auth FILE (see: calibdash user add) or --oauth-provider; or say --no-login if that is meant.",
        )
    if behind_proxy and not origins:
        raise CalibdashError(
            "Behind a proxy the dashboard must know the name it is visited at.",
            "Give it, for example --allow-origin dash.example.org.",
        )


def websocket_origins(address: str, port: int, stated: Sequence[str]) -> set[str]:
    """``host:port`` of the pages that may open a connection: those stated, else all names of this server."""
    if stated:
        return {_origin(text) for text in stated}
    if is_loopback(address):
        return {f"{name}:{port}" for name in LOCAL_NAMES}
    names = _own_names() if address in ANYWHERE else {address if ":" not in address else f"[{address.strip('[]')}]"}
    return {f"{name.lower()}:{port}" for name in (*names, *LOCAL_NAMES)}


def _origin(text: str) -> str:
    """``host:port``; 80 stands for the default of http and https alike, as Bokeh has it."""
    parts = urlsplit(text if "//" in text else f"//{text}")
    with suppress(ValueError):
        if parts.hostname and re.fullmatch(r"[\w.:-]+", parts.hostname) and parts.path in ("", "/"):
            host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
            return f"{host}:{parts.port or 80}"
    raise CalibdashError(f"{text[:60]!r} is no address of a page.", "Write it as dash.example.org or host:8443.")


def _own_names() -> set[str]:
    """Names and addresses that this machine knows of itself; nothing is asked of the network."""
    host = socket.gethostname()
    names = {host}
    with suppress(OSError):
        for family, *_, place in socket.getaddrinfo(host, None):
            text = str(place[0]).split("%")[0]
            names.add(f"[{text}]" if family == socket.AF_INET6 else text)
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing: it only says which address would be used
        names.add(probe.getsockname()[0])
    return names
