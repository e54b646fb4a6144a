"""What the server writes into its log: one line an event, with run and session, and nothing about a person.

No user name, no address, no name of a dropped file and no value of it: of an exception only its type and place are
told, and of what other libraries say only the first line, without what they fill in. A session is named by a hash: its
id would open it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import sys
import threading
import traceback
from datetime import UTC, datetime
from pathlib import PurePath
from typing import TextIO

import panel as pn

FORMATS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")
FACTS = ("run", "session", "status", "seconds")  # what an event can carry besides its words
FRAMES = 12
RETURNED = "reference already known"  # a theme's style sheets, which the browser sends back with every table
LEFT = ("WebSocketClosedError", "StreamClosedError")  # somebody closed the page while it was written to: no error
GREETING = re.compile(
    r"I\d{4} |WARNING: All log messages before absl|To enable the following instructions"
)  # TensorFlow's
_ADDRESS = re.compile(
    r"\b\d{1,3}(?:\.\d{1,3}){3}\b|(?<![\w:])(?:[0-9A-Fa-f]{1,4}:){3,7}[0-9A-Fa-f]{1,4}|[0-9A-Fa-f:]*::[0-9A-Fa-f:]*"
)
log = logging.getLogger(__name__)


class Lines(logging.Formatter):
    """An event as one line of text, or of JSON."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self._json = form == "json"

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        event = facts(record)
        if self._json:
            return json.dumps(event, ensure_ascii=False, default=str)
        head = f"{event.pop('time')} {event.pop('level'):<7} {event.pop('logger')}: {event.pop('event')}"
        where = event.pop("where", [])
        rest = "".join(f" {name}={value}" for name, value in event.items())
        return head + rest + "".join(f"\n    {line}" for line in where)  # type: ignore[attr-defined]


def facts(record: logging.LogRecord) -> dict[str, object]:
    """What is told of a record, by name."""
    event: dict[str, object] = {
        "time": datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "event": _words(record),
    }
    event |= {name: getattr(record, name) for name in FACTS if getattr(record, name, None) not in (None, "")}
    if "session" not in event and (session := session_name()):
        event["session"] = session
    if record.exc_info and record.exc_info[0] is not None:
        event["error"] = record.exc_info[0].__name__
        event["where"] = _places(record)
    return event


def session_name(session_id: str | None = None) -> str:
    """What the log calls a session (None: the one that is being served in this thread); '' where there is none."""
    if session_id is None:
        document = pn.state.curdoc
        context = document.session_context if document is not None else None
        session_id = context.id if context is not None else ""
    return hashlib.sha256(session_id.encode()).hexdigest()[:12] if session_id else ""


def note_session() -> None:
    """Log that the session that is being served begins, and when it ends."""
    if not (name := session_name()):
        return
    log.info("A session begins.")
    pn.state.on_session_destroyed(lambda _: log.info("A session ends.", extra={"session": name}))


def set_up_logs(form: str = "text", level: str = "info") -> None:
    """Send everything through one handler to stderr; other libraries only with warnings and worse."""
    handler = logging.StreamHandler(_apart() if form == "json" else sys.stderr)
    handler.setFormatter(Lines(form))
    handler.addFilter(_wanted)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("calibdash").setLevel(level.upper())
    for name in ("panel", "bokeh", "tornado", "distributed"):
        other = logging.getLogger(name)
        other.handlers.clear()
        other.propagate = True
        other.setLevel(logging.WARNING)
    logging.captureWarnings(True)
    threading.excepthook = _thread_failed


def _apart() -> TextIO:
    """A stderr of our own; what anybody else writes to the usual one becomes an event, so that every line is JSON."""
    ours = os.fdopen(os.dup(2), "w", buffering=1)
    reader, writer = os.pipe()
    os.dup2(writer, 2)
    os.close(writer)
    threading.Thread(target=_others, args=(os.fdopen(reader, errors="replace"),), name="stderr", daemon=True).start()
    return ours


def _others(lines: TextIO) -> None:
    for line in lines:
        if line.strip() and not GREETING.match(line):
            logging.getLogger("stderr").warning(line.strip())


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    if failed.exc_value is not None:
        log.error("A thread failed.", exc_info=(failed.exc_type, failed.exc_value, failed.exc_traceback))


def _wanted(record: logging.LogRecord) -> bool:
    if record.exc_info and record.exc_info[0] is not None and record.exc_info[0].__name__ in LEFT:
        return False
    if record.name == "py.warnings" and RETURNED in record.getMessage():
        return False
    return record.name != "tornado.access"  # a line for every request that went wrong, with its address and path


def _words(record: logging.LogRecord) -> str:
    ours = record.name.startswith("calibdash") or record.name == "py.warnings"
    text = record.getMessage() if ours else str(record.msg)  # what others fill in may be a message of a page
    if not record.name.startswith("calibdash"):
        text = text.partition("\n")[0][:300]
    return _ADDRESS.sub("[address]", text)


def _places(record: logging.LogRecord) -> list[str]:
    """Where an exception came from, without what it says."""
    trail = traceback.extract_tb(record.exc_info[2]) if record.exc_info else []
    return [f"{'/'.join(PurePath(step.filename).parts[-3:])}:{step.lineno} {step.name}" for step in trail[-FRAMES:]]
