"""One line an event, and nobody's data in it."""

from __future__ import annotations

import json
import logging

import pytest
from tornado.websocket import WebSocketClosedError

from calibdash.service.logs import Lines, _wanted, session_name


def line(form: str, name: str, message: str, *arguments: object, **facts: object) -> str:
    record = logging.LogRecord(name, logging.ERROR, __file__, 1, message, arguments, facts.pop("exc_info", None))
    record.__dict__ |= facts
    return Lines(form).format(record)


def test_an_event_is_one_line_with_its_facts() -> None:
    event = json.loads(line("json", "calibdash.runs.queue", "A run is %s.\n", "queued", run="r1", session="s"))
    assert event.items() >= {"event": "A run is queued.\n", "run": "r1", "session": "s", "level": "error"}.items()
    assert "\n" not in line("json", "calibdash.x", "two\nlines")
    assert line("text", "calibdash.x", "A run ends.", run="r1", seconds=2.5).endswith(" A run ends. run=r1 seconds=2.5")


@pytest.mark.parametrize("form", ["text", "json"])
def test_exceptions_tell_where_but_not_what(form: str) -> None:
    try:
        raise ValueError("0.3476, 32.5825 in my-street.csv")
    except ValueError as reason:
        text = line(form, "calibdash.x", "It failed.", exc_info=(ValueError, reason, reason.__traceback__))
    assert "ValueError" in text
    assert "test_logs.py" in text
    assert "my-street" not in text
    assert "32.58" not in text


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("Uncaught exception GET /ws (%s)", ("10.1.2.3",)),
        ("error handling message\n message: ada 0.34", ()),
        ("Refusing 192.168.7.12 and 2001:db8::8a2e:370:7334 from fe80::1", ()),
    ],
)
def test_what_others_say_is_cut(message: str, arguments: tuple[object, ...]) -> None:
    text = line("json", "tornado.application", message, *arguments)
    for private in ("10.1.2.3", "ada", "0.34", "192.168", "2001:db8", "fe80"):
        assert private not in text


def test_times_are_no_addresses() -> None:
    assert "12:30:45" in line("text", "calibdash.x", "At 12:30:45 it rained.")


def test_a_session_is_not_named_by_what_opens_it() -> None:
    assert session_name("secret-id") == session_name("secret-id") != session_name("other")
    assert "secret" not in session_name("secret-id")
    assert session_name() == ""


@pytest.mark.parametrize(("reason", "told"), [(WebSocketClosedError(), False), (ValueError(), True)])
def test_who_closes_a_page_is_no_error(reason: Exception, told: bool) -> None:
    facts = (type(reason), reason, None)
    record = logging.LogRecord("asyncio", logging.ERROR, __file__, 1, "Task exception was never retrieved", (), facts)
    assert _wanted(record) is told


@pytest.mark.parametrize(
    ("words", "told"), [("BokehUserWarning: reference already known 'p1507'", False), ("something else", True)]
)
def test_style_sheets_that_come_back_are_not_worth_a_line(words: str, told: bool) -> None:
    record = logging.LogRecord("py.warnings", logging.WARNING, __file__, 1, "%s", (words,), None)
    assert _wanted(record) is told
