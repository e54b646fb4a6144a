"""A page that nobody sees, made when the server starts: the first visitor finds everything loaded."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from bokeh.document import Document
from panel.io.state import set_curdoc


def warm(make: Callable[[], Any]) -> int:
    """Make a page and forget it again; the number of its models."""
    document = Document()
    with set_curdoc(document):
        make().server_doc(document)
        document.to_json()
        context = SimpleNamespace(id="", _document=document)  # as a session's that has ended
        for forget in document.session_destroyed_callbacks:
            forget(context)
    return len(document.models)
