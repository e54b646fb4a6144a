"""What every answer of the server tells the browser, and how its cookies are kept.

A transform of Tornado's: it sees the answers of all handlers, ours, Panel's and those of static files.
"""

from __future__ import annotations

import re
import secrets

from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.web import OutputTransform

# BokehJS compiles functions from text and Panel loads components as blobs: 'unsafe-eval' and blob: are theirs. Scripts
# in the page itself run only with the nonce of this very answer, so that a name that became markup can run nothing.
POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob: https://tile.openstreetmap.org; font-src 'self' data:; "
    "connect-src 'self' blob: {sockets}; worker-src blob:; frame-src 'self'; form-action 'self'; "
    "base-uri 'self'; frame-ancestors 'none'; object-src 'none'"
)
FIXED = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "strict-origin-when-cross-origin",  # the street map's server wants to know who asks
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), interest-cohort=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# Which program answers, and Bokeh's leave to put its pages into those of other sites.
UNWANTED = ("Server", "Access-Control-Allow-Origin", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods")
_SCRIPT = re.compile(rb"<script(?=[\s>])", re.IGNORECASE)


def hardened(behind_proxy: bool = False) -> type[OutputTransform]:
    """The transform for a server; behind a proxy cookies are for https unless the proxy says it is plain http."""

    class Hardened(OutputTransform):
        def __init__(self, request: HTTPServerRequest) -> None:
            stated = request.headers.get("X-Forwarded-Proto") or request.headers.get("X-Scheme")
            self._https = request.protocol == "https" or (behind_proxy and not stated)
            self._host = request.host
            self._nonce = secrets.token_urlsafe(16)
            self._page = False

        def transform_first_chunk(
            self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
        ) -> tuple[int, HTTPHeaders, bytes]:
            """Add what is missing; a page's own scripts get the nonce of its policy."""
            made = CookieHeaders(self._https)
            for name, value in headers.get_all():
                made.add(name, value)
            for name, value in FIXED.items():
                made[name] = value
            made["Content-Security-Policy"] = policy(self._nonce, self._host)
            if self._https:
                made["Strict-Transport-Security"] = "max-age=31536000"
            for name in UNWANTED:
                made.pop(name, None)
            counted = "Content-Length" in made
            self._page = made.get("Content-Type", "").startswith("text/html") and (finishing or not counted)
            chunk = self.transform_chunk(chunk, finishing)
            if counted and self._page:
                made["Content-Length"] = str(len(chunk))
            return status_code, made, chunk

        def transform_chunk(self, chunk: bytes, finishing: bool) -> bytes:  # noqa: ARG002 (Tornado's)
            """A page may come in pieces; none of them ends within a tag."""
            return _SCRIPT.sub(b'<script nonce="%s"' % self._nonce.encode(), chunk) if self._page else chunk

    return Hardened


def policy(nonce: str, host: str) -> str:
    """The content security policy of one answer."""
    plain = host if re.fullmatch(r"[A-Za-z0-9.:\[\]_-]+", host) else ""
    sockets = f"ws://{plain} wss://{plain}" if plain else ""
    return POLICY.format(nonce=nonce, sockets=sockets)


class CookieHeaders(HTTPHeaders):
    """Headers whose cookies are out of reach of scripts and other sites, whoever sets them."""

    def __init__(self, https: bool) -> None:
        super().__init__()
        self._https = https

    def add(self, name: str, value: str, **options: object) -> None:
        """Add a header; a cookie gets what it lacks."""
        if name.lower() == "set-cookie":
            value = harden(value, self._https)
        super().add(name, value, **options)  # type: ignore[arg-type]


def harden(cookie: str, https: bool) -> str:
    """A cookie with HttpOnly, SameSite=Lax (a login elsewhere must come back with it) and, over https, Secure."""
    have = {part.split("=")[0].strip().lower() for part in cookie.split(";")[1:]}
    wanted = ["HttpOnly", "SameSite=Lax", *(["Secure"] if https else [])]
    return "; ".join([cookie, *(part for part in wanted if part.split("=")[0].lower() not in have)])
