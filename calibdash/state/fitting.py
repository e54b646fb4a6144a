"""The full fit of a session: asked for here, done by the server's queue, its result shown when it is there."""

from __future__ import annotations

from typing import Any

import param

from calibdash.errors import CalibdashError
from calibdash.models.footprint import bytes_after
from calibdash.models.model import read_pairs
from calibdash.models.outcome import data_hash
from calibdash.models.posterior import Posterior
from calibdash.models.room import available, gigabytes
from calibdash.models.store import load
from calibdash.runs.access import AnyQueue
from calibdash.runs.request import JobRequest
from calibdash.runs.run import Run
from calibdash.state.awaited import Awaited
from calibdash.state.awaited import Schedule as Schedule
from calibdash.state.tuning import SLIDERS, Tuning


class Fitting(Awaited):
    """The fit a session waits for or looks at."""

    tuning: Any = param.ClassSelector(class_=Tuning, allow_None=False)
    posterior: Any = param.ClassSelector(class_=Posterior, doc="The result on show; None is the live preview.")

    def __init__(self, tuning: Tuning, queue: AnyQueue, schedule: Schedule, **params: Any) -> None:
        super().__init__(queue, schedule, tuning=tuning, **params)
        tuning.param.watch(self._back_to_preview, list(SLIDERS))
        tuning.session.param.watch(self._back_to_preview, ["network"])

    def _back_to_preview(self, *_: object) -> None:
        self.param.update(posterior=None, message="", run_id="" if not self.busy else self.run_id)

    def start(self) -> None:
        """Queue a fit of what is on show."""
        session = self.tuning.session
        self.submit(
            lambda: JobRequest(
                str(session.folder.resolve()),
                self.tuning.wanted().as_dict(),
                learn=bool(self.tuning.learned),
                references=tuple(session.references),
                period=session.period,
                name=session.network.name,
            )
        )

    def need(self) -> str:
        """How much memory the full fit will want, in a sentence; '' while nobody knows."""
        if self.tuning.preview is None:
            return ""
        size = bytes_after(self.tuning.preview, self.tuning.wanted(), learn=bool(self.tuning.learned))
        words = f"The fit needs about {gigabytes(size)} of memory."
        free = available()
        return words if free is None or size <= free else f"{words} Only {gigabytes(free)} can be had here now."

    def others(self) -> dict[str, str]:
        """Finished fits of the network on show by what tells them apart, to compare with."""
        session = self.tuning.session
        here = str(session.folder.resolve())
        runs = self._queue.store.runs()
        fits = [run for run in runs if (run.kind, run.status, run.network_path) == ("fit", "done", here)]
        return {f"{number}: {_made(run)}": run.id for number, run in enumerate(fits, 1)}

    def read(self, run_id: str) -> Posterior:
        """The result of a run."""
        return load(self._queue.store.path(run_id))

    def show(self, run_id: str) -> None:
        """Put the result of a run on show."""
        try:
            posterior = self.read(run_id)
            known = data_hash(read_pairs(self.tuning.session.network, posterior.settings)) == posterior.record.data_hash
        except CalibdashError as problem:
            self.message = str(problem)
            return
        told = "" if known else "This run was made from other colocations or references than those on show now."
        self.param.update(posterior=posterior, run_id=run_id, message=told)


def _made(run: Run) -> str:
    started = (run.started or run.created)[:16].replace("T", " ")
    return f"{started}, {'learned' if run.learn else 'as set'}"
