"""The whole site: one page around the views; adding a page touches one list."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import panel as pn
import panel_material_ui as pmui

from calibdash.errors import CalibdashError
from calibdash.pages.calibration import CalibrationPage
from calibdash.pages.network import NetworkPage, period_slider
from calibdash.pages.runs import RunsPage
from calibdash.runs.queue import JobQueue
from calibdash.runs.store import RunStore
from calibdash.state.fitting import Fitting
from calibdash.state.folders import find_folders
from calibdash.state.session import Session
from calibdash.state.tuning import Tuning

FOLDERS_VARIABLE = "CALIBDASH_FOLDERS"
DATA_VARIABLE = "CALIBDASH_DATA"

pn.extension("tabulator")


@dataclass(frozen=True)
class Desk:
    """What one session works with; ``turn`` opens a page by its name."""

    session: Session
    queue: JobQueue
    turn: Callable[[str], None]

    @cached_property
    def fitting(self) -> Fitting:
        """Sliders and fits, made when a page first needs them."""
        document = pn.state.curdoc
        fitting = Fitting(Tuning(self.session), self.queue, _scheduler(document))
        if document is not None:
            pn.state.on_session_destroyed(lambda _: fitting.detach())
        return fitting

    def open_run(self, run_id: str) -> None:
        """Show a run on its network's calibration page."""
        folder = Path(self.queue.store.get(run_id).network_path)
        if folder not in {path.resolve() for path in self.session.param.folder.objects}:
            raise CalibdashError("The network of this run is not on offer here.", "Start calibdash with its folder.")
        self.session.folder = next(path for path in self.session.param.folder.objects if path.resolve() == folder)
        self.fitting.show(run_id)
        self.turn("Calibration")


PAGES: tuple[tuple[str, Callable[[Desk], pn.viewable.Viewable]], ...] = (
    ("Network", lambda desk: NetworkPage(session=desk.session).__panel__()),
    ("Calibration", lambda desk: CalibrationPage(tuning=desk.fitting.tuning, fitting=desk.fitting).__panel__()),
    ("Runs", lambda desk: RunsPage(queue=desk.queue, open_run=desk.open_run).__panel__()),
)


def build(folders: dict[str, Path], queue: JobQueue) -> pmui.Page:
    """The page of one session; a view is built when it is first opened."""
    desk = Desk(Session(folders), queue, lambda title: setattr(tabs, "active", titles.index(title)))
    titles = [title for title, _ in PAGES]
    select = pmui.Select.from_param(desk.session.param.folder, label="Network", sizing_mode="stretch_width")
    places = [pn.Column(sizing_mode="stretch_width") for _ in PAGES]
    tabs = pmui.Tabs(
        *((title, place) for (title, _), place in zip(PAGES, places, strict=True)), sizing_mode="stretch_width"
    )

    def open_page(number: int) -> None:
        if not len(places[number]):
            places[number].append(PAGES[number][1](desk))

    tabs.param.watch(lambda event: open_page(event.new), "active")
    open_page(0)
    return pmui.Page(title="calibdash", main=[tabs], sidebar=[select, period_slider(desk.session)], sidebar_width=280)


def _scheduler(document: Any) -> Callable[[Callable[[], None]], None]:
    """How the worker's thread reaches a session: at its document's next tick, or at once where there is none."""
    if document is None:
        return lambda call: call()
    return document.add_next_tick_callback


@cache
def queue_in(folder: Path) -> JobQueue:
    """The one queue of this server, its runs in ``folder/runs``."""
    return JobQueue(RunStore(folder / "runs"))


def folders_from_environment() -> dict[str, Path]:
    """The folders that ``panel serve calibdash/app.py`` shows: those of CALIBDASH_FOLDERS, else the examples."""
    stated = os.environ.get(FOLDERS_VARIABLE, "")
    examples = Path(__file__).parents[2] / "example_data"
    paths = [Path(text) for text in stated.split(os.pathsep) if text] or [examples]
    return find_folders(paths)


def data_from_environment() -> Path:
    """Where ``panel serve calibdash/app.py`` keeps its runs: CALIBDASH_DATA, else the working folder."""
    return Path(os.environ.get(DATA_VARIABLE) or Path.cwd())
