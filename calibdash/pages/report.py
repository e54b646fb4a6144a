"""The report page: what `calibdash report` writes, of what is on show, to read here or to take away."""

from __future__ import annotations

from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui
import param

from calibdash.pages.layout import download
from calibdash.state.reporting import Reporting
from calibdash.state.shown import Shown

FILL: dict[str, Any] = {"sizing_mode": "stretch_width"}
ABOUT = (
    "Network, map, bands, accuracy beside references, alarms, settings and versions in one file that prints well and "
    "fetches nothing. Mobile sensors have no positions in it."
)


class ReportPage(pn.viewable.Viewer):
    """A button that makes the report, one to download it, and the report itself."""

    shown: Any = param.ClassSelector(class_=Shown, allow_None=False)

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        document = pn.state.curdoc
        schedule = (lambda call: call()) if document is None else document.add_next_tick_callback
        self.reporting = Reporting(self.shown, schedule)
        self._frame = pn.pane.HTML("", margin=(8, 0), **FILL)
        self._words = pmui.Alert(object=escape(ABOUT), severity="info", **FILL)
        self.reporting.param.watch(self._show, ["html", "busy", "message"])

    def _show(self, *_: object) -> None:
        state = self.reporting
        self._frame.object = framed(state.html) if state.html else ""
        words = escape(state.message) or ("Making the report…" if state.busy else escape(ABOUT))
        severity = "error" if state.message else "info"
        self._words.param.update(object=words, severity=severity, visible=not state.html)

    def _file(self) -> bytes:
        return self.reporting.html.encode("utf-8", "replace")

    def __panel__(self) -> pn.viewable.Viewable:
        state = self.reporting
        nothing = (self.shown.param.posterior.rx().rx.is_(None)) | state.param.busy.rx()
        make = pmui.Button(label="Make the report", icon="description", variant="contained", disabled=nothing)
        make.on_click(lambda _: state.start())
        load = download("Download", state.filename, self._file, disabled=state.param.html.rx() == "")
        state.param.watch(lambda _: load.param.update(filename=state.filename), "html")
        return pn.Column(pn.FlexBox(make, load, gap="8px"), self._words, self._frame, margin=(16, 24), **FILL)


def framed(html: str) -> str:
    """A document inside the page that can neither run nor reach anything."""
    style = "width:100%;height:80vh;border:1px solid #cfd8dc;border-radius:8px;background:#fff"
    return f'<iframe title="Report" sandbox="" style="{style}" srcdoc="{escape(html, quote=True)}"></iframe>'
