"""Pages of different people have nothing to do with each other."""

from __future__ import annotations

from panel.io.state import state
from panel.util import edit_readonly

from calibdash.pages.light import Page


def test_no_page_follows_what_the_server_does_for_others() -> None:
    def following() -> int:
        return len(state.param.watchers.get("busy", {}).get("value", []))

    before = following()
    page = Page(title="calibdash")
    assert following() == before
    for busy in (True, False):
        with edit_readonly(state):
            state.busy = busy
        assert page.busy is False
