"""The end of a session: what Panel keeps of a page that is gone is let go, so that its memory is free again."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui
from panel.io.state import state


def free_at_end(page: pmui.Page) -> pmui.Page:
    """Have the memory of a session's page freed when the session ends."""
    if (document := pn.state.curdoc) is not None:
        pn.state.on_session_destroyed(lambda _: _free(document))
    return page


def _free(document: Any) -> None:
    # Notifications and dialogs are roots of their own, which Panel does not forget with the page.
    for ref, (_, _, owner, _) in list(state._views.items()):
        if owner is document:
            state._views.pop(ref, None)
