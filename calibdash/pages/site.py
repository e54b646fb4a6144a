"""The whole site: one page around the views; adding a page touches one list."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import panel as pn
import panel_material_ui as pmui

from calibdash.errors import CalibdashError
from calibdash.models.settings import Settings
from calibdash.pages.account import account, failure, refusal, sharing
from calibdash.pages.calibration import CalibrationPage
from calibdash.pages.door import Door
from calibdash.pages.ended import free_at_end
from calibdash.pages.labellers import LabellersPage
from calibdash.pages.light import Page, Tabs
from calibdash.pages.network import NetworkPage, period_slider
from calibdash.pages.quick import make_quick
from calibdash.pages.report import ReportPage
from calibdash.pages.runs import RunsPage
from calibdash.pages.sight import sight
from calibdash.pages.visits import VisitsPage
from calibdash.runs.access import EVERYBODY, ROLES, AnyQueue, Person, PersonalQueue
from calibdash.runs.apart import ApartQueue
from calibdash.runs.queue import JobQueue
from calibdash.runs.run import Run
from calibdash.runs.store import RunStore
from calibdash.state.awaited import Awaited
from calibdash.state.fitting import Fitting
from calibdash.state.folders import find_folders, read_folder
from calibdash.state.labelling import Labelling
from calibdash.state.session import Session
from calibdash.state.shelf import Shelf
from calibdash.state.shown import Shown
from calibdash.state.tuning import Tuning

FOLDERS_VARIABLE = "CALIBDASH_FOLDERS"
DATA_VARIABLE = "CALIBDASH_DATA"
SCHEDULER_VARIABLE = "CALIBDASH_SCHEDULER"

log = logging.getLogger(__name__)
Waiting = TypeVar("Waiting", bound=Awaited)

make_quick()
pn.extension("tabulator", "filedropper", notifications=True)


@dataclass(frozen=True)
class Desk:
    """What one session works with; ``turn`` opens a page by its name, ``open_page`` tells which one is open."""

    session: Session
    queue: AnyQueue
    turn: Callable[[str], None]
    open_page: Callable[[], str] = lambda: ""
    door: Door | None = None

    @cached_property
    def fitting(self) -> Fitting:
        """Sliders and fits, made when a page first needs them."""
        return _heard(Fitting(Tuning(self.session), self.queue, _scheduler(pn.state.curdoc)))

    @cached_property
    def labelling(self) -> Labelling:
        """Fits of labellers, made when a page first needs them."""
        return _heard(Labelling(self.session, self.queue, _scheduler(pn.state.curdoc)))

    @cached_property
    def shown(self) -> Shown:
        """What the calibration page shows of them."""
        return Shown(self.fitting)

    def use_settings(self, run_id: str) -> None:
        """Set the sliders as a run had them."""
        if (run := self._open_network(run_id)).kind != "fit":
            raise CalibdashError("Only fits of sensors have sliders.", "Choose a run of the kind fit.")
        self.fitting.tuning.take(Settings.from_dict(run.settings))
        self.turn("Calibration")

    def open_run(self, run_id: str) -> None:
        """Show a run on the page that is made for its kind."""
        kind = self._open_network(run_id).kind
        if kind == "labels":
            self.labelling.show(run_id)
            self.turn("Labellers")
        elif kind == "fit":
            self.fitting.show(run_id)
            self.turn("Calibration")
        else:
            raise CalibdashError("The multi-hop result is always beside the fit.", "Open the page Calibration.")

    def _open_network(self, run_id: str) -> Run:
        """Put the network of a run on show, with the run's references and period."""
        run = self.queue.store.get(run_id)
        folder = Path(run.network_path)
        if folder not in {path.resolve() for path in self.session.param.folder.objects}:
            raise CalibdashError("The network of this run is not on offer here.", "Start calibdash with its folder.")
        self.session.folder = next(path for path in self.session.param.folder.objects if path.resolve() == folder)
        asked = self.queue.store.request(run_id)
        if run.kind != "labels":
            references = asked.references if asked.references is not None else self.session.references
            self.session.param.update(references=list(references), period=asked.period)
        return run


def _heard(waiting: Waiting) -> Waiting:
    """What waits for runs of this session stops listening when the session ends."""
    if pn.state.curdoc is not None:
        pn.state.on_session_destroyed(lambda _: waiting.detach())
    return waiting


PAGES: tuple[tuple[str, Callable[[Desk], pn.viewable.Viewable]], ...] = (
    ("Network", lambda desk: NetworkPage(session=desk.session, shown=lambda: desk.shown, door=desk.door).__panel__()),
    ("Calibration", lambda desk: CalibrationPage(shown=desk.shown).__panel__()),
    ("Visits", lambda desk: VisitsPage(shown=desk.shown).__panel__()),
    ("Labellers", lambda desk: LabellersPage(labelling=desk.labelling).__panel__()),
    ("Report", lambda desk: ReportPage(shown=desk.shown).__panel__()),
    (
        "Runs",
        lambda desk: RunsPage(
            queue=desk.queue,
            open_run=desk.open_run,
            use_settings=desk.use_settings,
            person=desk.session.person,
            showing=lambda: desk.open_page() == "Runs",
        ).__panel__(),
    ),
)


def build(
    folders: dict[str, Path], queue: JobQueue, shelf: Shelf | None = None, person: Person = EVERYBODY
) -> pmui.Page:
    """The page of one person's session; a view is built when it is first opened. With a shelf, they can add networks.

    From here on there is only what this person may see of queue and shelf. What goes wrong is told to the log: Panel
    would show the traceback to whoever asked.
    """
    try:
        return _build(folders, queue, shelf, person)
    except Exception:  # one of the three doors where everything is caught
        log.exception("A page could not be made.")
        return failure()


def _build(folders: dict[str, Path], queue: JobQueue, shelf: Shelf | None, person: Person) -> pmui.Page:
    context = pn.state.curdoc.session_context if pn.state.curdoc is not None else None
    logout_url = getattr(context, "logout_url", None)
    if person.role() not in ROLES:
        return refusal(person, logout_url)
    shelf = shelf.of(person) if shelf else None
    session = Session(shelf.offered(folders) if shelf else folders, person=person)
    personal = PersonalQueue(queue, person, shelf.may_read if shelf else lambda _: True)
    door = Door(session, shelf, folders, _scheduler(pn.state.curdoc)) if shelf else None
    if door and pn.state.curdoc is not None:
        pn.state.on_session_destroyed(lambda _: door.close())
    titles = [title for title, _ in PAGES]
    desk = Desk(
        session,
        personal,
        turn=lambda title: setattr(tabs, "active", titles.index(title)),
        open_page=lambda: titles[tabs.active],
        door=door,
    )
    select = pmui.Select.from_param(desk.session.param.folder, label="Network", sizing_mode="stretch_width")
    places = [pn.Column(sizing_mode="stretch_width") for _ in PAGES]
    tabs = Tabs(*((title, place) for (title, _), place in zip(PAGES, places, strict=True)), sizing_mode="stretch_width")

    def open_page(number: int) -> None:
        if not len(places[number]):
            places[number].append(PAGES[number][1](desk))

    tabs.param.watch(lambda event: open_page(event.new), "active")
    open_page(0)
    adding = [sharing(session, shelf), door.button()] if shelf and door else []
    sidebar = [select, *adding, period_slider(desk.session), *account(person, logout_url)]
    main = [tabs, *([door.dialog] if door else [])]
    made = Page(title="calibdash", main=main, sidebar=sidebar, sidebar_width=280, sight=sight(titles, session.checked))
    return free_at_end(made)


def seen(folders: dict[str, Path], shelf: Shelf | None, person: Person) -> str:
    """What a person sees while their page is made; nothing if they may not see anything, or something is wrong."""
    try:
        if person.role() not in ROLES:
            return ""
        offered = shelf.of(person).offered(folders) if shelf else folders
        checked = [read_folder(folder) for folder in list(offered.values())[:1]]  # the one that a session begins with
        return sight([title for title, _ in PAGES], checked[0] if checked else None)
    except Exception:  # the page itself will tell, or has another of the doors where everything is caught
        log.debug("Nothing could be shown in advance.", exc_info=True)
        return ""


def _scheduler(document: Any) -> Callable[[Callable[[], None]], None]:
    """How the worker's thread reaches a session: at its document's next tick, or at once where there is none."""
    if document is None:
        return lambda call: call()
    return document.add_next_tick_callback


@cache
def shelf_in(folder: Path) -> Shelf:
    """The one shelf of this server, its networks in ``folder/networks``."""
    return Shelf(folder)


@cache
def queue_in(folder: Path, scheduler: str = "", workers: int = 2) -> JobQueue:
    """The one queue of this server, its runs in ``folder/runs``; with a scheduler they run on that Dask cluster."""
    store = RunStore(folder / "runs")
    if not scheduler:
        queue: JobQueue = ApartQueue(store, workers)
    else:
        from calibdash.runs.cluster import DaskQueue

        queue = DaskQueue(store, scheduler, workers)
    queue.resume()
    return queue


def folders_from_environment() -> dict[str, Path]:
    """The folders that ``panel serve calibdash/app.py`` shows: those of CALIBDASH_FOLDERS, else the examples."""
    stated = os.environ.get(FOLDERS_VARIABLE, "")
    examples = Path(__file__).parents[2] / "example_data"
    paths = [Path(text) for text in stated.split(os.pathsep) if text] or [examples]
    return find_folders(paths)


def data_from_environment() -> Path:
    """Where ``panel serve calibdash/app.py`` keeps its runs: CALIBDASH_DATA, else the working folder."""
    return Path(os.environ.get(DATA_VARIABLE) or Path.cwd())


def queue_from_environment() -> JobQueue:
    """The queue of ``panel serve calibdash/app.py``: on the Dask cluster of CALIBDASH_SCHEDULER, if that is set."""
    return queue_in(data_from_environment(), os.environ.get(SCHEDULER_VARIABLE, ""))
