"""From the second visitor on the head of the page is there before the page is made, and it is nobody's own."""

from __future__ import annotations

import asyncio
import http.client
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any

import panel_material_ui as pmui
import pytest
from bokeh.server.urls import per_app_patterns
from tornado.web import create_signed_value

from calibdash.pages.head import END, FROM, UNTIL
from calibdash.pages.light import Page
from calibdash.service.early import HIDDEN, EarlyHandler
from calibdash.service.server import Service, start


@contextmanager
def running(data: Path, page: Callable[[Any], Any], sight: Callable[[Any], str] = lambda _: "") -> Iterator[int]:
    """The port of a server in a thread of its own."""
    ready: Queue[Any] = Queue()

    def serve() -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        server = start(Service(port=0), data, page, sight)
        server.start()
        ready.put(server)
        server.io_loop.start()
        server.io_loop.close(all_fds=True)

    async def end(server: Any) -> None:
        server.stop()
        await server._http.close_all_connections()
        server.io_loop.stop()

    patterns = list(per_app_patterns)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    server = ready.get(timeout=60)
    try:
        yield server.port
    finally:
        per_app_patterns[:] = patterns
        server.io_loop.add_callback(end, server)
        thread.join(30)


@contextmanager
def asked(port: int, path: str = "/") -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("localhost", port, timeout=60)
    try:
        connection.request("GET", path)
        yield connection.getresponse()
    finally:
        connection.close()


def whole(port: int, path: str = "/") -> str:
    with asked(port, path) as answer:
        return answer.read().decode()


def masked(page: str) -> str:
    """Without what is each answer's own: ids, nonce and token."""
    return re.sub(r'nonce="[^"]+"|"token":"[^"]+"|[0-9a-f]{8}-[0-9a-f-]{27}|p\d{4,}', "", page)


def simple(_: Any) -> Page:
    return Page(title="calibdash", main=[pmui.Typography("There")])


def test_the_head_comes_before_the_page_is_made(tmp_path: Path) -> None:
    go_on = threading.Event()
    go_on.set()

    def page(person: Any) -> Page:
        assert go_on.wait(60)
        return simple(person)

    with running(tmp_path, page) as port:
        first = whole(port)
        go_on.clear()
        with asked(port) as answer:
            head = first.partition(END)[0]
            early = answer.read(len(head.encode())).decode()  # the server still waits
            assert masked(early) == masked(head)
            go_on.set()
            second = early + answer.read().decode()
    assert masked(second) == masked(first)
    assert second.count(END) == 1


def test_what_is_seen_is_asked_for_anew_and_nobody_elses(tmp_path: Path) -> None:
    asked_for: list[str] = []

    def sight(_: Any) -> str:
        asked_for.append(f"<div>sight {len(asked_for)}</div>")
        return asked_for[-1]

    def page(_: Any) -> Page:
        return Page(title="calibdash", main=[pmui.Typography("There")], sight="<div>in the page</div>")

    with running(tmp_path, page, sight) as port:
        pages = [whole(port) for _ in range(3)]
    between = [re.findall(f"{FROM}(.*?){UNTIL}", text) for text in pages]
    assert between == [["<div>in the page</div>"], ["<div>sight 0</div>"], ["<div>sight 1</div>"]]
    assert {masked(re.sub(f"{FROM}.*?{UNTIL}", "", text)) for text in pages} == {
        masked(re.sub(f"{FROM}.*?{UNTIL}", "", pages[0]))
    }


def test_who_asks_is_read_from_the_cookies_as_panel_does() -> None:
    def user(**cookies: str) -> str | None:
        request = SimpleNamespace(cookies={name: SimpleNamespace(value=value) for name, value in cookies.items()})
        application = SimpleNamespace(settings={"cookie_secret": "secret"})
        return EarlyHandler._user(SimpleNamespace(request=request, application=application))

    signed = create_signed_value("secret", "user", "ann").decode()
    assert user(user=signed) == "ann"
    assert user(user=signed.swapcase()) is None
    assert user(user=create_signed_value("another", "user", "ann").decode()) is None
    assert user() is None
    assert user(user=signed, is_guest="1") == "guest"


def test_every_script_of_both_pieces_has_the_nonce(tmp_path: Path) -> None:
    with running(tmp_path, simple) as port:
        whole(port)
        with asked(port) as answer:
            page = answer.read().decode()
            (nonce,) = re.findall(r"'nonce-([\w-]{20,})'", answer.headers["Content-Security-Policy"])
        assert "no-store" in answer.headers["Cache-Control"]
    assert page.count(f'<script nonce="{nonce}"') == len(re.findall(r"<script[\s>]", page)) > 3


def test_nothing_of_a_visitor_is_in_the_head_of_the_next(tmp_path: Path) -> None:
    with running(tmp_path, simple) as port:
        pages = [whole(port) for _ in range(3)]
    tokens = [re.findall(r'"token":"([^"]+)"', page) for page in pages]
    assert [len(found) for found in tokens] == [1, 1, 1]
    assert len({found[0] for found in tokens}) == 3
    for page in pages:
        assert "token" not in page.partition(END)[0]
        assert "nonce" not in re.sub(r'<script nonce="[^"]+"', "", page.partition(END)[0])


@pytest.mark.parametrize("path", ["/?theme=dark", "/?x=1"])
def test_an_address_with_a_question_gets_its_own_head(tmp_path: Path, path: str) -> None:
    with running(tmp_path, simple) as port:
        plain = whole(port)
        asked_for = whole(port, path)
        assert masked(whole(port)) == masked(plain)
        assert masked(whole(port, path)) == masked(asked_for)


def test_a_page_that_fails_is_told_all_the_same(tmp_path: Path) -> None:
    fails: list[bool] = []

    def page(person: Any) -> Page:
        if fails:
            raise RuntimeError
        return simple(person)

    with running(tmp_path, page) as port:
        whole(port)
        fails.append(True)
        told = whole(port)
        assert told.count("<body>") == told.count("</html>") == 1
        assert HIDDEN in told
        fails.clear()
        assert "token" in whole(port)
