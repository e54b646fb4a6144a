"""The whole site: one page around the views; adding a page touches one list."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import panel as pn
import panel_material_ui as pmui

from calibdash.pages.calibration import CalibrationPage
from calibdash.pages.network import NetworkPage, period_slider
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
    """What one session works with."""

    session: Session
    queue: JobQueue


def _calibration(desk: Desk) -> pn.viewable.Viewable:
    tuning = Tuning(desk.session)
    document = pn.state.curdoc
    fitting = Fitting(tuning, desk.queue, _scheduler(document))
    if document is not None:
        pn.state.on_session_destroyed(lambda _: fitting.detach())
    return CalibrationPage(tuning=tuning, fitting=fitting).__panel__()


PAGES: tuple[tuple[str, Callable[[Desk], pn.viewable.Viewable]], ...] = (
    ("Network", lambda desk: NetworkPage(session=desk.session).__panel__()),
    ("Calibration", _calibration),
)


def build(folders: dict[str, Path], queue: JobQueue) -> pmui.Page:
    """The page of one session; a view is built when it is first opened."""
    desk = Desk(Session(folders), queue)
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
