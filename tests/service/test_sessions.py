"""Sessions that have ended leave nothing in memory."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import panel as pn
import pytest
from bokeh.document import Document
from panel.io.state import state

from calibdash.data.simulate import PRESETS, simulate_network, write_network
from calibdash.pages.site import Desk, build, queue_in, shelf_in
from calibdash.state.fitting import Fitting
from calibdash.state.labelling import Labelling
from calibdash.state.planning import Planning
from calibdash.state.reporting import Reporting
from calibdash.state.session import Session
from calibdash.state.shown import Shown
from calibdash.state.tuning import Tuning
from calibdash.state.uploads import Uploads
from tests.loops import awaited
from tests.service.visitor import PAGES, Visitor

KINDS = (Desk, Document, Fitting, Labelling, Planning, Reporting, Session, Shown, Tuning, Uploads)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    recipe = replace(PRESETS["city"], days=10, statics=6, references=2, mobiles=2, pairs=1)
    write_network(simulate_network(recipe), tmp_path / "small")
    queue, shelf, found = queue_in(tmp_path), shelf_in(tmp_path), {"small": tmp_path / "small"}
    server = pn.serve(
        {"/": lambda: build(found, queue, shelf)},
        port=0,
        threaded=True,
        show=False,
        verbose=False,
        unused_session_lifetime_milliseconds=100,
        check_unused_sessions_milliseconds=100,
    )
    deadline = time.monotonic() + 60
    while not (running := [one[0] for one in state._servers.values()]):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield f"http://localhost:{running[-1].port}/"
    server.stop()
    queue.shutdown()


def living() -> Counter[str]:
    """How many objects of a session there are."""
    gc.collect()
    return Counter(type(thing).__name__ for thing in gc.get_objects() if type(thing) in KINDS)


async def look_at_everything(address: str) -> Counter[str]:
    visitor = await Visitor.enter(address)
    for title in PAGES[1:]:
        await visitor.open_page(title)
    meanwhile = living()
    assert not visitor.errors
    await visitor.leave()
    return meanwhile


def test_sessions_end_and_free_their_memory(address: str) -> None:
    before = living()
    for _ in range(2):
        meanwhile = awaited(look_at_everything(address))
        assert all(meanwhile[kind.__name__] > before[kind.__name__] for kind in KINDS), meanwhile
    deadline = time.monotonic() + 60
    while (left := living() - before) and time.monotonic() < deadline:
        time.sleep(0.2)
    left.pop("Document", None) if left["Document"] == 1 else None  # the one that Bokeh takes when nobody is served
    assert not left
