"""The labellers a session looks at: who the experts are, the fit, and the labeller and moment on show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import param

from calibdash.data.labels import LabelSet
from calibdash.errors import CalibdashError
from calibdash.models.labelling import LabelSettings
from calibdash.models.labelling.arrays import label_data
from calibdash.runs.access import AnyQueue
from calibdash.runs.request import JobRequest
from calibdash.state.awaited import Awaited, Schedule
from calibdash.state.label_attention import attention
from calibdash.state.label_run import History, LabelRun, read_label_run
from calibdash.state.session import Session

FORMS = {"All labels of an item together": "joint", "Pairs of labels, as in the paper": "pairwise"}
OTHER_LABELS = "This fit was made from other labels than those in the folder now. Fit again."


class Labelling(Awaited):
    """Choices of one session on its page of labellers, and the fit it waits for or looks at.

    ``references`` are the experts; those of them who may err are ``fallible`` too. Opening a folder shows the newest
    finished fit of it, and waits for one under way.
    """

    session: Any = param.ClassSelector(class_=Session, allow_None=False)
    labels: Any = param.ClassSelector(class_=LabelSet, doc="The labels of the folder; None where it has none.")
    references = param.List(item_type=str, doc="Names of the experts.")
    fallible = param.List(item_type=str, doc="Experts who may err.")
    form: Any = param.Selector(default="joint", objects=FORMS, doc="How labels of an item are taken together.")
    learn = param.Boolean(False, doc="Find from the data how fast people change.")
    run: Any = param.ClassSelector(class_=LabelRun, doc="The fit on show.")
    people: Any = param.DataFrame(None, allow_None=True, doc="Its labellers, those who need attention first.")
    outdated = param.Boolean(False, doc="Whether other experts or another form are chosen than those of the fit.")
    labeller: Any = param.Selector(doc="The labeller on show.", check_on_set=False)
    history: Any = param.ClassSelector(class_=History, doc="That labeller's confusion matrix over time.")
    moment = param.Integer(0, bounds=(0, None), doc="Which of its times is on show.")

    def __init__(self, session: Session, queue: AnyQueue, schedule: Schedule, **params: Any) -> None:
        super().__init__(queue, schedule, session=session, **params)
        self._open()

    @param.depends("session.checked", watch=True)
    def _open(self) -> None:
        """Another folder: what was waited for goes on without us."""
        self.detach()
        checked = self.session.checked
        labels = checked.labels if checked is not None else None
        experts = [] if labels is None else labels.labellers.loc[labels.labellers["reference"], "labeller"].tolist()
        with param.parameterized.batch_call_watchers(self):
            self.param.update(labels=labels, references=experts, fallible=[], form="joint", learn=False)
            self.param.update(run=None, busy=False, snapshot=None, message="", run_id="")
        if labels is not None:
            self._find()

    def _find(self) -> None:
        """The newest finished fit of this folder, and the one under way, if there are any."""
        here = str(self.session.folder.resolve())
        runs = self._queue.store.runs()
        mine = [run for run in runs if run.kind == "labels" and run.network_path == here]
        if done := next((run.id for run in mine if run.status == "done"), None):
            self.show(done)
        if active := next((run.id for run in mine if run.active), None):
            self.await_run(active)

    def settings(self) -> LabelSettings:
        """The settings of the fit as chosen."""
        return LabelSettings(form=self.form, fallible=tuple(self.fallible))

    def start(self) -> None:
        """Queue a fit of what is chosen."""
        session = self.session
        self.submit(
            lambda: JobRequest(
                str(session.folder.resolve()),
                self.settings().as_dict(),
                kind="labels",
                learn=self.learn,
                references=tuple(self.references),
                name=self.labels.name,
            )
        )

    def show(self, run_id: str) -> None:
        """Put a finished fit on show, with the choices it was made with."""
        try:
            run = read_label_run(run_id, self._queue.store.path(run_id))
            asked = self._queue.store.request(run_id)
            same = self._same_data(run)
        except CalibdashError as problem:
            self.message = str(problem)
            return
        used = run.posterior.settings
        with param.parameterized.batch_call_watchers(self):
            self.param.update(
                references=[*run.posterior.data.references, *used.fallible],
                fallible=list(used.fallible),
                form=used.form,
                learn=asked.learn,
                message="" if same else OTHER_LABELS,
                run_id=run_id,
            )
            self.run = run

    def _same_data(self, run: LabelRun) -> bool:
        data, used = run.posterior.data, run.posterior.settings
        try:
            now = label_data(
                self.labels,
                references=[*data.references, *used.fallible],
                fallible=used.fallible,
                classes=used.classes,
                over_time=used.over_time,
            )
        except CalibdashError:  # an expert is not there any more
            return False
        return now.hash == run.posterior.record.data_hash

    def toggle_expert(self, name: str) -> None:
        """Make somebody an expert, or take that back."""
        if name in self.references:
            with param.parameterized.batch_call_watchers(self):
                self.references = [other for other in self.references if other != name]
                self.fallible = [other for other in self.fallible if other != name]
        else:
            self.references = sorted([*self.references, name])

    def toggle_fallible(self, name: str) -> None:
        """Say of an expert (somebody else becomes one) that they may err, or take that back."""
        if name in self.fallible:
            self.fallible = [other for other in self.fallible if other != name]
            return
        with param.parameterized.batch_call_watchers(self):
            self.references = sorted({*self.references, name})
            self.fallible = sorted([*self.fallible, name])

    @param.depends("references", "fallible", "form", "run", watch=True)
    def _compare(self) -> None:
        if self.run is None:
            self.outdated = False
            return
        data, used = self.run.posterior.data, self.run.posterior.settings
        fitted = ({*data.references, *used.fallible}, set(used.fallible), used.form)
        self.outdated = fitted != (set(self.references), set(self.fallible), self.form)

    @param.depends("run", watch=True)
    def _follow(self) -> None:
        """Another fit: its labellers, the one on show if still there, else who needs attention most."""
        people = None if self.run is None else attention(self.run.people)
        names = [] if people is None else people["labeller"].tolist()
        self.param["labeller"].objects = names
        chosen = self.labeller if self.labeller in names else next(iter(names), None)
        with param.parameterized.discard_events(self):
            self.labeller = None  # so that the same name in another fit is looked at anew
        self.param.update(people=people, labeller=chosen)
        if chosen is None:
            self._look()

    def choose(self, name: str) -> None:
        """Look at a labeller."""
        if name in self.param["labeller"].objects:
            self.labeller = name

    @param.depends("labeller", watch=True)
    def _look(self) -> None:
        history = None if self.run is None or self.labeller is None else self.run.history(self.labeller)
        last = 0 if history is None else len(history.hours) - 1
        self.param.update(history=history, moment=last)

    def file(self, name: str) -> Path | None:
        """A file of the fit on show."""
        return None if self.run is None else self.run.folder / name
