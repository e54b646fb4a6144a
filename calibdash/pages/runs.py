"""The runs page: every fit of this server, to be opened again, exported or deleted."""

from __future__ import annotations

from typing import Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param

from calibdash.errors import CalibdashError
from calibdash.pages.layout import download, titled
from calibdash.pages.tables import table
from calibdash.runs.queue import JobQueue
from calibdash.runs.run import RESTARTABLE, Run

COLUMNS = ["Started", "Network", "Kind", "Status", "Seconds", "Settings", "Seen by", "Message", "id"]
REFRESH_MS = 2000


class RunsPage(pn.viewable.Viewer):
    """A table of runs and what can be done with the picked one."""

    queue: Any = param.ClassSelector(class_=JobQueue, allow_None=False)
    open_run: Any = param.Callable(doc="Called with the id of a run that is to be shown.")
    use_settings: Any = param.Callable(doc="Called with the id of a run whose settings are to be used again.")
    user = param.String(doc="Who looks; '' where nobody is logged in.")
    picked = param.String(doc="Id of the picked run.")
    deleted = param.String(doc="Id of the run deleted last, for undo.")

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._table = table(self._frame(), page_size=15, pagination="local", selectable=1, hidden_columns=["id"])
        self._table.param.watch(self._pick, "selection")

    def _frame(self) -> pd.DataFrame:
        return pd.DataFrame([_row(run) for run in self.queue.store.runs(self.user or None)], columns=COLUMNS)

    def _pick(self, event: param.parameterized.Event) -> None:
        self.picked = self._table.value["id"].iloc[event.new[0]] if event.new else ""

    def refresh(self, *_: object) -> None:
        """Read the list anew; the picked run stays picked."""
        frame = self._frame()
        if not frame.equals(self._table.value):
            picked = frame.index[frame["id"] == self.picked].tolist()
            self._table.param.update(value=frame, selection=picked)

    def _do(self, action: Any) -> None:
        """Act on the picked run; what goes wrong is said."""
        try:
            action(self.picked)
        except CalibdashError as problem:
            if pn.state.notifications is not None:
                pn.state.notifications.error(str(problem))
        self.refresh()

    def _delete(self, run_id: str) -> None:
        self.queue.store.delete(run_id)
        self.deleted = run_id

    def _undo(self, _: str) -> None:
        self.queue.store.restore(self.deleted)
        self.deleted = ""

    def _restart(self, run_id: str) -> None:
        if self.queue.store.get(run_id).status in RESTARTABLE:
            self.queue.restart(run_id)

    def __panel__(self) -> pn.viewable.Viewable:
        none = self.param.picked.rx() == ""
        buttons = [
            _button("Show", "visibility", lambda _: self._do(self.open_run), disabled=none),
            _button("Use its settings", "tune", lambda _: self._do(self.use_settings), disabled=none),
            _button("Cancel", "stop", lambda _: self._do(self.queue.cancel), disabled=none),
            _button("Restart", "replay", lambda _: self._do(self._restart), disabled=none),
            _button("Delete", "delete", lambda _: self._do(self._delete), disabled=none),
            _button("Undo delete", "undo", lambda _: self._do(self._undo), disabled=self.param.deleted.rx() == ""),
        ]
        export = download("Export", "run.zip", lambda: self.queue.store.export(self.picked), disabled=none)
        if pn.state.curdoc is not None:
            pn.state.add_periodic_callback(self.refresh, REFRESH_MS)
        return pn.Column(
            titled(
                "Runs", pn.Column(pn.FlexBox(*buttons, export, gap="8px"), self._table, sizing_mode="stretch_width")
            ),
            sizing_mode="stretch_width",
            margin=(16, 24),
        )


def _button(label: str, icon: str, action: Any, **options: Any) -> pmui.Button:
    button = pmui.Button(label=label, icon=icon, variant="outlined", **options)
    button.on_click(action)
    return button


def _row(run: Run) -> tuple[object, ...]:
    settings = ", ".join(f"{key} {value}" for key, value in run.settings.items()) or "defaults"
    learned = "; learned" if run.learn else ""
    started = (run.started or run.created)[:16].replace("T", " ")
    seconds = None if run.seconds is None else round(run.seconds, 1)
    return (
        started,
        run.network or run.name,
        run.kind,
        run.status,
        seconds,
        settings + learned,
        run.owner or "everybody",
        run.message,
        run.id,
    )
