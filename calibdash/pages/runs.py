"""The runs page: every fit of this server, to be opened again, exported or deleted."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param

from calibdash.errors import CalibdashError
from calibdash.pages.account import look_only
from calibdash.pages.layout import download, titled, words
from calibdash.pages.tables import table
from calibdash.runs.access import EVERYBODY, Person, PersonalQueue
from calibdash.runs.queue import JobQueue
from calibdash.runs.run import RESTARTABLE, Run

COLUMNS = ["Started", "Network", "Kind", "Status", "Seconds", "Settings", "Seen by", "Message", "id"]
PAGE_ROWS = 15
REFRESH_MS = 2000
NONE = "No runs yet. Fits that are started on the pages Calibration and Labellers, or by a command, are kept here."


class RunsPage(pn.viewable.Viewer):
    """A table of runs and what can be done with the picked one."""

    queue: Any = param.ClassSelector(class_=(JobQueue, PersonalQueue), allow_None=False)
    open_run: Any = param.Callable(doc="Called with the id of a run that is to be shown.")
    use_settings: Any = param.Callable(doc="Called with the id of a run whose settings are to be used again.")
    person: Any = param.ClassSelector(class_=Person, default=EVERYBODY, instantiate=False, doc="Who looks.")
    showing: Any = param.Callable(default=lambda: True, doc="Whether the page is on the screen.")
    picked = param.String(doc="Id of the picked run.")
    deleted = param.String(doc="Id of the run deleted last, for undo.")

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._place = pn.Column(sizing_mode="stretch_width")
        self._table = self._show(self._frame())
        self._sharing = _button("Share with everybody", "group", lambda _: self._do(self._share), disabled=True)

    def _frame(self) -> pd.DataFrame:
        return pd.DataFrame([_row(run) for run in self.queue.store.runs()], columns=COLUMNS)

    def _show(self, frame: pd.DataFrame) -> pn.widgets.Tabulator:
        """A new table, the picked run picked: rows of a table that has changed in place can no longer be clicked."""
        picked = frame.index[frame["id"] == self.picked].tolist()
        self.picked = self.picked if picked else ""
        shown = table(
            frame,
            page_size=PAGE_ROWS,
            pagination="local" if len(frame) > PAGE_ROWS else None,
            selectable=1,
            hidden_columns=["id"],
            selection=picked,
            formatters={name: {"type": "textarea"} for name in ("Network", "Settings", "Seen by", "Message")},
            widths={"Started": 150, "Kind": 90, "Status": 100, "Seconds": 100},
        )
        shown.param.watch(self._pick, "selection")
        self._place.objects = [words(NONE) if frame.empty else shown]
        return shown

    def _pick(self, event: param.parameterized.Event) -> None:
        self.picked = event.obj.value["id"].iloc[event.new[0]] if event.new else ""
        self._tell_sharing()

    def _tell_sharing(self) -> None:
        """What the button would do with the picked run; only its owner can."""
        run = next((run for run in self.queue.store.runs() if run.id == self.picked), None)
        shared = run is not None and run.shared
        theirs = run is not None and bool(run.owner) and run.owner == self.person.name
        self._sharing.param.update(label="Keep to yourself" if shared else "Share with everybody", disabled=not theirs)

    def refresh(self, *_: object) -> None:
        """Read the list anew; the picked run stays picked."""
        frame = self._frame()
        if not frame.equals(self._table.value):
            self._table = self._show(frame)
            self._tell_sharing()

    def _do(self, action: Any) -> None:
        """Act on the picked run; what goes wrong is said."""
        try:
            action(self.picked)
        except CalibdashError as problem:
            if pn.state.notifications is not None:
                pn.state.notifications.error(escape(str(problem)))
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

    def _share(self, run_id: str) -> None:
        self.queue.store.share(run_id, not self.queue.store.get(run_id).shared)

    def __panel__(self) -> pn.viewable.Viewable:
        none = self.param.picked.rx() == ""
        buttons: list[Any] = [
            _button("Show", "visibility", lambda _: self._do(self.open_run), disabled=none),
            _button("Use its settings", "tune", lambda _: self._do(self.use_settings), disabled=none),
        ]
        changing = [
            _button("Cancel", "stop", lambda _: self._do(self.queue.cancel), disabled=none),
            _button("Restart", "replay", lambda _: self._do(self._restart), disabled=none),
            _button("Delete", "delete", lambda _: self._do(self._delete), disabled=none),
            _button("Undo delete", "undo", lambda _: self._do(self._undo), disabled=self.param.deleted.rx() == ""),
        ]
        if self.person.name:
            changing.append(self._sharing)
        export = download("Export", "run.zip", lambda: self.queue.store.export(self.picked), disabled=none)
        buttons += [*changing, export] if self.person.may_change else [export, look_only(margin=(14, 10))]
        if pn.state.curdoc is not None:
            pn.state.add_periodic_callback(lambda: self.refresh() if self.showing() else None, REFRESH_MS)
        return pn.Column(
            titled("Runs", pn.Column(pn.FlexBox(*buttons, gap="8px"), self._place, sizing_mode="stretch_width")),
            sizing_mode="stretch_width",
            margin=(16, 24),
        )


def _button(label: str, icon: str, action: Any, **options: Any) -> pmui.Button:
    button = pmui.Button(label=label, icon=icon, variant="outlined", **options)
    button.on_click(action)
    return button


def _seen_by(run: Run) -> str:
    if not run.owner:
        return "everybody"
    return f"everybody (shared by {run.owner})" if run.shared else f"{run.owner} alone"


def _row(run: Run) -> tuple[object, ...]:
    settings = ", ".join(f"{key} {value}" for key, value in run.settings.items()) or "defaults"
    learned = "; learned" if run.learn else ""
    started = (run.started or run.created)[:16].replace("T", " ")
    seconds = None if run.seconds is None or run.active else round(run.seconds, 1)  # a new table a second helps nobody
    return (
        started,
        run.network or run.name,
        run.kind,
        run.status,
        seconds,
        settings + learned,
        _seen_by(run),
        run.message,
        run.id,
    )
