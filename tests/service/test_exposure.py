"""Nothing is opened to others by accident, and pages of other sites cannot talk to the server."""

from __future__ import annotations

import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from calibdash.cli.main import run
from calibdash.errors import CalibdashError
from calibdash.service.exposure import is_loopback, websocket_origins
from calibdash.service.people import People, of_patterns
from calibdash.service.secret import FILE, VARIABLE, cookie_secret, session_key
from calibdash.service.server import Service

FILE_OF_USERS = Path("users.json")


@pytest.mark.parametrize(
    ("address", "expected"),
    [("127.0.0.1", True), ("127.8.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("::", False),
     ("192.168.1.5", False), ("dash.example.org", False), ("", False)],
)  # fmt: skip
def test_loopback(address: str, expected: bool) -> None:
    assert is_loopback(address) == expected


@pytest.mark.parametrize(
    "options",
    [
        {"address": "0.0.0.0"},
        {"address": "192.168.1.5"},
        {"behind_proxy": True, "origins": ("a.org",)},
        {"address": "0.0.0.0", "read_only": True},
        {"basic_auth": FILE_OF_USERS, "no_login": True},
        {"basic_auth": FILE_OF_USERS, "oauth_provider": "github"},
        {"basic_auth": FILE_OF_USERS, "viewers": ("vic",)},
        {"basic_auth": FILE_OF_USERS, "behind_proxy": True},
        {"certificate": Path("x")},
        {"origins": ("http://",)},
        {"origins": ("a.org/path",)},
        {"origins": ("a.org:99999",)},
        {"origins": ("evil org",)},
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(CalibdashError):
        Service(**options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"address": "::1"},
        {"address": "0.0.0.0", "no_login": True},
        {"address": "0.0.0.0", "basic_auth": FILE_OF_USERS},
        {"address": "0.0.0.0", "oauth_provider": "github"},
        {"behind_proxy": True, "basic_auth": FILE_OF_USERS, "origins": ("dash.example.org",)},
    ],
)
def test_what_can_be_meant(options: dict[str, Any]) -> None:
    Service(**options)


def test_the_command_refuses_before_it_loads_anything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", str(tmp_path), "--address", "0.0.0.0", "--data-dir", str(tmp_path)]) == 2
    assert "--no-login" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_origins() -> None:
    assert websocket_origins("127.0.0.1", 5006, ()) == {"localhost:5006", "127.0.0.1:5006", "[::1]:5006"}
    stated = ("dash.example.org", "https://other.org", "http://x.org:8080/", "https://y.org:8443")
    expected = {"dash.example.org:80", "other.org:80", "x.org:8080", "y.org:8443"}
    assert websocket_origins("127.0.0.1", 5006, stated) == expected
    everywhere = websocket_origins("0.0.0.0", 5006, ())
    assert {"localhost:5006", f"{socket.gethostname().lower()}:5006"} <= everywhere
    assert not any("*" in origin for origin in everywhere)
    assert "10.1.2.3:80" in websocket_origins("10.1.2.3", 80, ())


def test_the_secret_is_made_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    first = cookie_secret(tmp_path / "data")
    file = tmp_path / "data" / FILE
    assert cookie_secret(tmp_path / "data") == first == file.read_text()
    assert len(first) >= 64
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert cookie_secret(tmp_path / "other") != first
    assert session_key(first) != first.encode()
    file.chmod(0o644)
    with pytest.raises(CalibdashError, match="chmod 600"):
        cookie_secret(tmp_path / "data")
    monkeypatch.setenv(VARIABLE, "x" * 40)
    assert cookie_secret(tmp_path / "data") == "x" * 40
    monkeypatch.setenv(VARIABLE, "short")
    with pytest.raises(CalibdashError, match="shorter"):
        cookie_secret(tmp_path)


def test_a_secret_that_is_a_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    (tmp_path / "elsewhere").write_text("y" * 64)
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CalibdashError):
        cookie_secret(tmp_path)


def test_people() -> None:
    assert People().person(None).name is None
    assert People().person("whoever").may_change
    assert not People(read_only=True).person(None).may_change
    login = People(True, of_patterns(["*@uni.org"], ["*@city.org", "eve@uni.org"]))
    roles = {name: login.person(name).role() for name in ("a@uni.org", "A@UNI.org", "eve@uni.org", "b@city.org", "c@x")}
    assert list(roles.values()) == ["member", "member", "viewer", "viewer", ""]
    assert (login.person("guest").name, login.person("guest").role()) == ("", "viewer")
    assert login.person(None).role() == ""
    assert not login.person("c@x").sees("")
    assert People(True, of_patterns([], ["v"]), read_only=True).person("m").role() == "viewer"
    assert People(True, of_patterns([], ["v"])).person("m").role() == "member"
