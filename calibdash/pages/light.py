"""Containers of the whole page that answer quickly.

Whenever a value of a container changes, Panel looks through every model below it for new ones that need a mark. The
page has all models below it: most of an event's time went into that search, which finds nothing once the container
itself is marked, since children mark themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel_material_ui as pmui
from panel.io.state import state
from panel.pane.echarts import setup_js_callbacks
from panel.pane.holoviews import find_links, link_axes
from panel.param import link_param_method
from panel.viewable import Viewable

from calibdash.pages.head import components, page_template

UNUSED = (find_links, link_axes, link_param_method, setup_js_callbacks)


class _MarkedOnce:
    """Looks for models to mark only while the container itself is not marked."""

    @classmethod
    def _patch_datamodel_ref(cls, props: Any, ref: str) -> None:
        if f"__ref:{ref}" not in props.tags:
            super()._patch_datamodel_ref(props, ref)  # type: ignore[misc]


class Page(_MarkedOnce, pmui.Page):
    """The page around everything.

    It does not show whether the server is busy: with every event of anybody Panel would send that to everybody, which
    takes longer than the events themselves when thirty people are there. And whenever something new is on it, it is not
    looked through for plots of libraries that are not used here.
    """

    def _populate_template_variables(self, template_variables: dict[str, Any]) -> None:
        super()._populate_template_variables(template_variables)
        template_variables.update(components=components(), sight="" if self.dark_theme else self._sight)

    @property
    def _preprocessing_hooks(self) -> list[Callable[..., None]]:  # type: ignore[override]
        return [hook for hook in Viewable._preprocessing_hooks if hook not in UNUSED]

    def __init__(self, *, sight: str = "", **params: Any) -> None:
        """``sight`` is seen until the page stands."""
        self._sight = sight
        super().__init__(busy_indicator=None, template=page_template(), **params)
        for watcher in list(state.param.watchers.get("busy", {}).get("value", [])):
            if getattr(getattr(watcher.fn, "__self__", None), "self", None) is self:
                state.param.unwatch(watcher)


class Tabs(_MarkedOnce, pmui.Tabs):
    """Views of which one is open."""
