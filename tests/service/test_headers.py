from __future__ import annotations

import re

import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from calibdash.service.headers import CookieHeaders, harden, hardened, policy
from calibdash.service.login import local_path
from calibdash.service.login_page import login_page


def asked(headers: HTTPHeaders) -> HTTPServerRequest:
    headers["Host"] = "dash.org"
    return HTTPServerRequest(start_line=RequestStartLine("GET", "/", "HTTP/1.1"), headers=headers)


@pytest.mark.parametrize(
    ("cookie", "https", "expected"),
    [
        ("user=x; Path=/", False, "user=x; Path=/; HttpOnly; SameSite=Lax"),
        ("user=x; HttpOnly; Path=/", True, "user=x; HttpOnly; Path=/; SameSite=Lax; Secure"),
        ("user=x; samesite=Strict; secure", True, "user=x; samesite=Strict; secure; HttpOnly"),
        ("httponly=1", False, "httponly=1; HttpOnly; SameSite=Lax"),
    ],
)
def test_cookies(cookie: str, https: bool, expected: str) -> None:
    assert harden(cookie, https) == expected
    headers = CookieHeaders(https)
    headers.add("set-cookie", cookie)
    headers.add("Set-Cookie", cookie)
    assert headers.get_list("Set-Cookie") == [expected, expected]


def test_every_script_of_a_page_gets_the_nonce_of_its_own_answer() -> None:
    request = asked(HTTPHeaders({"Host": "dash.org"}))
    page = b'<html><script src="a.js"></script><SCRIPT>1</SCRIPT><scripted></html>'
    seen = set()
    for _ in range(2):
        given = HTTPHeaders({"Content-Type": "text/html", "Content-Length": str(len(page)), "Server": "x"})
        _, headers, body = hardened()(request).transform_first_chunk(200, given, page, True)
        (nonce,) = re.findall(r"'nonce-([\w-]{20,})'", headers["Content-Security-Policy"])
        seen.add(nonce)
        assert body.count(f'nonce="{nonce}"'.encode()) == 2
        assert int(headers["Content-Length"]) == len(body)
        assert "Server" not in headers
    assert len(seen) == 2
    _, headers, body = hardened()(request).transform_first_chunk(200, HTTPHeaders(), page, True)
    assert body == page


def test_a_page_in_pieces_has_one_nonce_and_a_counted_one_stays_as_long_as_it_says() -> None:
    request, piece = asked(HTTPHeaders()), b"<script>1</script>"
    transform = hardened()(request)
    _, headers, first = transform.transform_first_chunk(200, HTTPHeaders({"Content-Type": "text/html"}), piece, False)
    (nonce,) = re.findall(r"'nonce-([\w-]{20,})'", headers["Content-Security-Policy"])
    assert first == transform.transform_chunk(piece, True) == f'<script nonce="{nonce}">1</script>'.encode()
    counted = HTTPHeaders({"Content-Type": "text/html", "Content-Length": "36"})
    transform = hardened()(request)
    _, headers, first = transform.transform_first_chunk(200, counted, piece, False)
    assert [first, transform.transform_chunk(piece, True)] == [piece, piece]
    assert headers["Content-Length"] == "36"


@pytest.mark.parametrize(("forwarded", "secure"), [(None, True), ("https", False), ("http", False)])
def test_behind_a_proxy_cookies_are_for_https(forwarded: str | None, secure: bool) -> None:
    """Where the proxy says which it is, Tornado has put that into the request's protocol (here: http)."""
    given = HTTPHeaders({} if forwarded is None else {"X-Forwarded-Proto": forwarded})
    _, headers, _ = hardened(behind_proxy=True)(asked(given)).transform_first_chunk(200, HTTPHeaders(), b"", True)
    headers.add("Set-Cookie", "user=x")
    assert ("Secure" in headers["Set-Cookie"]) == secure


@pytest.mark.parametrize("host", ["a.org; script-src *", "x y", "*", "a.org'"])
def test_a_host_header_cannot_widen_the_policy(host: str) -> None:
    assert host not in policy("n", host)
    assert "unsafe-inline" not in policy("n", host).split("script-src")[1].split(";")[0]


@pytest.mark.parametrize(
    "wanted",
    ["", "https://evil.org", "//evil.org", "/\\evil.org", "\\evil", "javascript:alert(1)", "/a\nb", "/x\\y", "x"],
)
def test_the_login_leads_nowhere_else(wanted: str) -> None:
    assert local_path(wanted, "/home/") == "/home/"


def test_the_login_leads_back() -> None:
    assert local_path("/runs?a=1#b", "/") == "/runs?a=1#b"


def test_the_login_page_escapes_everything() -> None:
    evil = "\"><script>alert('x')</script>"
    html = login_page(action=evil, token=evil, wanted=evil, problem=evil, name=evil)
    assert "<script" not in html
    assert not re.search(r"(src|href)=", html)
