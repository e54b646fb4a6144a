"""The real server, asked over HTTP and websockets by people who mean no good."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.cookiejar import CookieJar
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, OpenerDirector, Request, build_opener

import pytest
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClosedError, websocket_connect

from calibdash.cli.main import run
from calibdash.errors import CalibdashError
from calibdash.pages.head import FROM, UNTIL
from calibdash.service.secret import cookie_secret
from calibdash.service.server import MESSAGE_BYTES
from tests.loops import awaited
from tests.pages.conftest import address_of, serving, started

PASSWORD = "correct horse battery"
# Tornado's client leaves the sockets of refused handshakes to the collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Browser:
    """Keeps cookies and follows redirects, as a browser does, but shows what was answered."""

    def __init__(self, address: str) -> None:
        self.address, self.cookies = address, CookieJar()
        self._opener: OpenerDirector = build_opener(HTTPCookieProcessor(self.cookies), HTTPRedirectHandler())

    def ask(
        self, path: str, form: dict[str, str] | None = None, **headers: str
    ) -> tuple[int, str, str, dict[str, str]]:
        """Status, final address, text and headers."""
        data = None if form is None else urllib.parse.urlencode(form).encode()
        request = Request(urllib.parse.urljoin(self.address, path), data=data, headers=headers)
        try:
            answer = self._opener.open(request, timeout=60)
        except HTTPError as refused:
            answer = refused
        with answer:
            return answer.status, answer.url, answer.read().decode("utf-8", "replace"), dict(answer.headers)

    def login(self, name: str, password: str = PASSWORD, **more: str) -> tuple[int, str, str, dict[str, str]]:
        _, _, form, _ = self.ask("login")
        (token,) = re.findall(r'name="_xsrf" value="([^"]+)"', form)
        return self.ask("login", {"username": name, "password": password, "_xsrf": token, **more})

    @property
    def header(self) -> str:
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.cookies)


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("users") / "users.json"
    for name in ("ann", "bob", "leaver", "changer"):
        assert run(["user", "add", name, "--file", str(file), "--password", PASSWORD]) == 0
    return file


@pytest.fixture(scope="module")
def site(examples: Path, users: Path) -> Iterator[str]:
    with serving(examples, options=["--basic-auth", str(users)]) as address:
        yield f"{address}/"


def token_of(page: str) -> str:
    (token,) = re.findall(r'"token":"([^"]+)"', page)
    return token


async def talk(site: str, token: str, cookies: str, origin: str, message: bytes | str = "") -> str | None:
    """Open the websocket of a session: what the server says first, or after a message; None is a closed door."""
    url = site.replace("http", "ws") + "ws"
    headers = {"Origin": origin, "Cookie": cookies, "Sec-WebSocket-Protocol": f"bokeh, {token}"}
    connection = await websocket_connect(HTTPRequest(url, headers=headers, request_timeout=60))
    try:
        first = await asyncio.wait_for(connection.read_message(), 60)
        if not message:
            return None if first is None else str(first)
        with suppress(WebSocketClosedError):
            await connection.write_message(message)
        while await asyncio.wait_for(connection.read_message(), 60) is not None:
            pass
        return None
    finally:
        connection.close()


def test_nothing_is_shown_without_a_login(site: str) -> None:
    browser = Browser(site)
    for path in ("", "?x=1", "autoload.js?bokeh-autoload-element=x", "metadata"):
        status, address, text, _ = browser.ask(path)
        assert "/login" in address or status == 403, path
        assert "token" not in text.replace("_xsrf", "")
    with pytest.raises(HTTPClientError, match="403"):
        awaited(talk(site, "x.y", "", site.rstrip("/")))


def test_who_is_logged_in_sees_a_network_before_the_page_is_made(site: str) -> None:
    browser = Browser(site)
    browser.login("ann")
    for _ in range(2):
        sights = re.findall(f"{FROM}(.*?){UNTIL}", browser.ask("")[2], re.DOTALL)
        assert [("<svg" in sight, "Colocations" in sight) for sight in sights] == [(True, True)]


def test_login_logout_and_cookies(site: str) -> None:
    browser = Browser(site)
    status, _, text, _ = browser.login("ann", "wrong password")
    assert (status, "do not belong together" in text) == (401, True)
    assert "user" not in {cookie.name for cookie in browser.cookies}
    status, address, text, headers = browser.login("ann")
    assert (status, address) == (200, site)
    assert headers["Cache-Control"] == "no-store"
    payload = token_of(text).split(".")[0]
    held = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
    assert b"proof" not in held
    for cookie in browser.cookies:
        assert cookie.has_nonstandard_attr("HttpOnly"), cookie.name
        assert cookie.get_nonstandard_attr("SameSite") == "Lax"
    assert browser.ask("logout")[1] == f"{site}login"
    assert "/login" in browser.ask("")[1]


def test_a_form_of_another_site_is_refused(site: str) -> None:
    browser = Browser(site)
    assert browser.ask("login", {"username": "ann", "password": PASSWORD})[0] == 403
    browser.ask("login")
    assert browser.ask("login", {"username": "ann", "password": PASSWORD, "_xsrf": "made up"})[0] == 403


def test_the_login_leads_nowhere_else(site: str) -> None:
    browser = Browser(site)
    assert browser.login("bob", next="//evil.example/")[1] == site


def test_guessing_has_to_wait(site: str) -> None:
    browser = Browser(site)
    statuses = [browser.login("nobody", f"guess number {number}")[0] for number in range(7)]
    assert statuses[0] == 401
    assert statuses[-1] == 429


def test_cookies_cannot_be_made_or_kept_too_long(site: str, users: Path) -> None:
    browser = Browser(site)
    assert browser.login("leaver")[1] == site
    assert run(["user", "remove", "leaver", "--file", str(users)]) == 0
    assert "/login" in browser.ask("")[1]
    browser = Browser(site)
    assert browser.login("changer")[1] == site
    assert run(["user", "add", "changer", "--file", str(users), "--password", "another password"]) == 0
    assert "/login" in browser.ask("")[1]
    forged = Browser(site)
    assert "/login" in forged.ask("", Cookie="user=ann; proof=ann")[1]
    assert "/login" in forged.ask("", Cookie="is_guest=1")[1]
    ann, bob = Browser(site), Browser(site)
    ann.login("ann")
    bob.login("bob")
    mixed = {cookie.name: cookie.value for cookie in bob.cookies}
    mixed["user"] = next(cookie.value for cookie in ann.cookies if cookie.name == "user")
    swapped = "; ".join(f"{name}={value}" for name, value in mixed.items())
    assert "/login" in Browser(site).ask("", Cookie=swapped)[1]


def test_websockets_of_other_sites_and_with_other_tokens_are_refused(site: str) -> None:
    ann = Browser(site)
    _, _, page, _ = ann.login("ann")
    here = site.rstrip("/")
    assert "ACK" in (awaited(talk(site, token_of(page), ann.header, here)) or "")
    for origin in ("http://evil.example", here.replace("localhost", "localhost.evil.example"), "null"):
        with pytest.raises(HTTPClientError, match="403"):
            awaited(talk(site, token_of(page), ann.header, origin))
    with pytest.raises(HTTPClientError, match="403"):
        awaited(talk(site, token_of(page), "", here))
    payload, _, signature = token_of(page).rpartition(".")
    for token in (payload, f"{payload}.{signature[::-1]}", token_of(page)[4:]):
        assert awaited(talk(site, token, ann.header, here)) is None


def test_a_message_that_is_too_large_closes_the_door(site: str) -> None:
    ann = Browser(site)
    _, _, page, _ = ann.login("ann")
    assert awaited(talk(site, token_of(page), ann.header, site.rstrip("/"), b"x" * (MESSAGE_BYTES + 1))) is None
    assert ann.ask("")[0] == 200


def test_headers_are_on_every_answer(site: str) -> None:
    ann = Browser(site)
    _, _, page, _ = ann.login("ann")
    script = next(path for path in re.findall(r'src="([^"]+\.js[^"]*)"', page) if "static" in path)
    for path in (
        "",
        "login",
        "favicon.ico",
        script,
        "autoload.js?bokeh-autoload-element=x",
        "static/js/nothing.js",
        "no/such/page",
        "static/../../etc/passwd",
    ):
        status, _, text, headers = ann.ask(path)
        assert "nonce-" in headers["Content-Security-Policy"], path
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"]
        assert headers["Permissions-Policy"]
        assert "Server" not in headers
        assert "Access-Control-Allow-Origin" not in headers
        assert "root:" not in text
        assert status in (200, 404, 403), path
    assert ann.ask(script)[0] == 200


def test_what_panel_serves_by_itself_is_no_way_out_of_the_folder(site: str) -> None:
    ann = Browser(site)
    ann.login("ann")
    for path in ("static/extensions/panel/%2e%2e/%2e%2e/config.py", "components/os/environ", "static/%2e%2e/server.py"):
        status, _, text, _ = ann.ask(path)
        assert status in (400, 403, 404), path
        assert "import" not in text


def test_a_secret_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("calibdash.service.secret.os.fsync", full)
        with pytest.raises(CalibdashError, match="No space left"):
            cookie_secret(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert cookie_secret(tmp_path) == cookie_secret(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [".cookie-secret"]


def test_a_secret_lies_in_the_data_directory_for_the_server_alone(examples: Path, tmp_path: Path, users: Path) -> None:
    server = started(tmp_path, examples, options=["--basic-auth", str(users)])
    try:
        address_of(server)
        assert (tmp_path / ".cookie-secret").stat().st_mode & 0o777 == 0o600
    finally:
        server.terminate()
        server.wait(timeout=20)
        server.stderr.close()


def test_behind_a_proxy_with_a_path_of_its_own(examples: Path, users: Path) -> None:
    options = ["--basic-auth", str(users), "--prefix", "/dash", "--behind-proxy", "--allow-origin", "dash.example.org"]
    with serving(examples, options=options) as address:
        assert Browser(address).ask("/dash")[1] == f"{address}/dash/login?next=%2Fdash%2F"
        _, _, form, headers = Browser(f"{address}/dash/").ask("login", **{"X-Forwarded-Proto": "https"})
        assert "Secure" in headers["Set-Cookie"]
        assert headers["Strict-Transport-Security"]
        (token,) = re.findall(r'name="_xsrf" value="([^"]+)"', form)
        cookie = headers["Set-Cookie"].split(";")[0]
        sent = {"username": "ann", "password": PASSWORD, "_xsrf": token, "next": "/dash/"}
        status, where, _, _ = Browser(f"{address}/dash/").ask("login", sent, Cookie=cookie)
        assert (status, where.startswith(f"{address}/dash/")) == (200, True)


# -- a login elsewhere --------------------------------------------------------------------------------------------


class Elsewhere(BaseHTTPRequestHandler):
    """A provider of logins on this machine: it knows one code, one token and one user."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        parts = urllib.parse.urlsplit(self.path)
        if parts.path == "/authorize":
            asked = dict(urllib.parse.parse_qsl(parts.query))
            assert asked["client_id"] == "the-key"
            back = urllib.parse.urlencode({"code": "a-code", "state": asked["state"]})
            self.send_response(302)
            self.send_header("Location", f"{asked['redirect_uri']}?{back}")
            self.end_headers()
        elif self.headers["Authorization"] == "Bearer a-token":
            self._say({"email": self.server.user})  # type: ignore[attr-defined]

    def do_POST(self) -> None:
        sent = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        assert (sent["code"], sent["client_secret"]) == ("a-code", "the-secret")
        self._say({"access_token": "a-token"})

    def _say(self, values: dict[str, str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(values).encode())


@contextmanager
def provider(user: str) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    server.user = user  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_oauth_passes_through_to_panel(examples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PANEL_OAUTH_KEY", "the-key")
    monkeypatch.setenv("PANEL_OAUTH_SECRET", "the-secret")
    with provider("ann@uni.example") as elsewhere:
        extra = {
            "AUTHORIZE_URL": f"{elsewhere}/authorize",
            "TOKEN_URL": f"{elsewhere}/token",
            "USER_URL": f"{elsewhere}/me",
        }
        options = [
            "--oauth-provider",
            "generic",
            "--oauth-extra-params",
            json.dumps(extra),
            "--member",
            "*@uni.example",
        ]
        with serving(examples, options=options) as address:
            browser = Browser(f"{address}/")
            assert "/login" in address or browser.ask("login?next=/")[0] == 200
            status, where, page, _ = browser.ask("")
            assert status == 200
            assert where.startswith(address)
            payload = token_of(page).split(".")[0]
            held = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
            assert "a-token" not in json.dumps(held)
            names = {cookie.name for cookie in browser.cookies}
            assert {"user", "access_token"} <= names
            for cookie in browser.cookies:
                assert cookie.has_nonstandard_attr("HttpOnly"), cookie.name
                assert cookie.get_nonstandard_attr("SameSite") == "Lax", cookie.name


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--oauth-provider", "nonsense"], "knows no login"),
        (["--oauth-provider", "github"], "PANEL_OAUTH_KEY"),
        (["--oauth-provider", "generic", "--oauth-extra-params", "{"], "not JSON"),
        (["--basic-auth", "nowhere.json"], "calibdash user add"),
    ],
)
def test_a_login_that_cannot_work_is_refused(
    examples: Path,
    tmp_path: Path,
    options: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("PANEL_OAUTH_KEY", "PANEL_OAUTH_SECRET"):
        monkeypatch.delenv(name, raising=False)
    assert run(["serve", str(examples), "--port", "0", "--data-dir", str(tmp_path), *options]) == 2
    assert said in capsys.readouterr().err


def test_panel_serve_keeps_working(examples: Path, tmp_path: Path) -> None:
    (tmp_path / "plain.json").write_text(json.dumps({"ann": PASSWORD}))
    environment = {**os.environ, "CALIBDASH_FOLDERS": str(examples), "CALIBDASH_DATA": str(tmp_path)}
    app = Path(__file__).parents[2] / "calibdash" / "app.py"
    command = [
        sys.executable,
        "-m",
        "panel",
        "serve",
        str(app),
        "--port",
        "0",
        "--basic-auth",
        str(tmp_path / "plain.json"),
    ]
    command += ["--cookie-secret", "x" * 40]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, text=True)
    said = ""
    try:
        while not (found := re.search(r"http://localhost:\d+/app", said)):
            line = server.stdout.readline()  # type: ignore[union-attr]
            assert line, said
            said += line
        browser = Browser(found[0])
        assert "login" in browser.ask("")[1]
        browser.ask("/login", {"username": "ann", "password": "wrong"})
        assert "login" in browser.ask("/app")[1]
        browser.ask("/login", {"username": "ann", "password": PASSWORD})
        status, where, page, _ = browser.ask("/app")
        assert (status, where) == (200, found[0])
        assert token_of(page)
    finally:
        server.terminate()
        server.wait(timeout=20)
        server.stdout.close()  # type: ignore[union-attr]
