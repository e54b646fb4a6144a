"""The report of what a session has on show: made in a thread of its own when it is asked for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import param

from calibdash.data.folder import open_folder
from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.models.posterior import Posterior
from calibdash.reports.report import build_report
from calibdash.reports.subject import Subject
from calibdash.runs.folder import now
from calibdash.runs.report import folder_measurements
from calibdash.state.shown import Shown

log = logging.getLogger(__name__)


class Reporting(param.Parameterized):
    """One session's report; ``html`` is '' until there is one, and again when something else is put on show."""

    shown: Any = param.ClassSelector(class_=Shown, allow_None=False)
    html = param.String(doc="The report, as the command writes it.")
    busy = param.Boolean(False, doc="Whether one is being made.")
    message = param.String(doc="Why there is none.")

    def __init__(self, shown: Shown, schedule: Callable[[Callable[[], None]], None], **params: Any) -> None:
        super().__init__(shown=shown, **params)
        self._schedule = schedule

    @param.depends("shown.posterior", "shown.fitting.tuning.session.network", watch=True)
    def _outdated(self) -> None:
        self.param.update(html="", message="")

    @property
    def filename(self) -> str:
        """What the downloaded file is called."""
        network = self.shown.session.network
        kept = "".join(letter if letter.isalnum() else "-" for letter in network.name[:40]) if network else "network"
        return f"report-{kept.strip('-') or 'network'}.html"

    def start(self) -> None:
        """Make the report of what is on show."""
        network, posterior, folder = self.shown.session.network, self.shown.posterior, self.shown.session.folder
        if self.busy or network is None or posterior is None:
            return
        self.param.update(busy=True, message="")
        run_id = self.shown.fitting.run_id if self.shown.fitting.posterior is posterior else ""
        work = threading.Thread(target=self._make, args=(network, posterior, folder, run_id), daemon=True)
        work.start()

    def _make(self, network: Network, posterior: Posterior, folder: Path, run_id: str) -> None:
        html = message = ""
        try:
            html = build_report(subject_of(network, posterior, folder, run_id))
        except CalibdashError as problem:
            message = str(problem)
        except Exception as problem:  # a thread: nothing may pass
            log.exception("The report failed.")
            message = f"This is a bug in calibdash ({type(problem).__name__})."

        def done() -> None:
            same = self.shown.posterior is posterior
            self.param.update(busy=False, html=html if same else "", message=message)

        self._schedule(done)


def subject_of(network: Network, posterior: Posterior, folder: Path, run_id: str = "") -> Subject:
    """What a report of a posterior on show is about; without a run it is the live preview."""
    about = posterior.record
    record: dict[str, object] = {
        "id": run_id or "live preview",
        "kind": "fit" if run_id else "preview",
        "created": now(),
        "settings": posterior.settings.as_dict(),
        "settings_used": posterior.settings.as_dict(),
        "settings_hash": posterior.settings.hash,
        "seed": about.seed,
        "data_hash": about.data_hash,
        "versions": about.versions,
        "converged": about.converged,
        "notes": list(about.notes),
        "problems": [problem.as_dict() for problem in network.problems],
    }
    tables = open_folder(folder)
    return Subject(network, posterior, record, tables.about, folder_measurements(tables))
