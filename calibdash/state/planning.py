"""The visits a session plans: riders, limits and wishes, and the plan that follows them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import param

from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.models.posterior import Posterior
from calibdash.planning import (
    EffortCurve,
    Plan,
    PlanSettings,
    Promise,
    Rider,
    best_reference_site,
    effort_curve,
    plan,
    useless_colocations,
)
from calibdash.planning.days import plan_days
from calibdash.planning.riders import riders_of
from calibdash.state.background import Background
from calibdash.state.fitting import Schedule
from calibdash.state.once import once
from calibdash.state.rider_table import changed_rider, one_more, riders_in
from calibdash.state.session import Session
from calibdash.state.shown import Shown

LIMITS = ("riders", "start", "days", "budget", "horizon_days", "target_percent", "forbidden", "marks")
IMPORTANT, IGNORED = "important", "ignored"
TIMES = {IMPORTANT: 3.0, IGNORED: 0.0}
NEXT = {"": IMPORTANT, IMPORTANT: IGNORED, IGNORED: ""}


@dataclass(frozen=True)
class Further:
    """Answers that a plan of days does not give: effort against bands, places for a reference, visits to drop."""

    effort: EffortCurve
    sites: pd.DataFrame
    useless: pd.DataFrame


@dataclass(frozen=True)
class Step:
    """What was fixed and left out before a change, and the plan then."""

    fixed: tuple[Promise, ...]
    dropped: tuple[Promise, ...]
    plan: Plan | None


class Planning(param.Parameterized):
    """Wishes of one session for the network on show; every change asks for a new plan.

    A plan is made from what the calibration page shows. When that changes, the plan stays and is ``stale`` until
    somebody asks for another; when another folder is opened, this is closed. ``schedule`` brings a call from the
    worker's thread into the session's own.
    """

    shown: Any = param.ClassSelector(class_=Shown, allow_None=False)
    riders: Any = param.Parameter((), doc="Who can go, a tuple of riders.")
    start: Any = param.Parameter(
        None, doc="The first day, a date or (without dates) its number; None: after the record."
    )
    days = param.Integer(7, bounds=(1, 60), doc="How many days are planned.")
    budget: Any = param.Number(None, bounds=(0, None), allow_None=True, doc="The most that all visits may cost.")
    horizon_days = param.Number(30.0, bounds=(1, 365), doc="How long sensors should stay good, from the first day.")
    target_percent = param.Number(10.0, bounds=(1, 100), doc="Good enough: readings are right within ± so much.")
    forbidden = param.List(item_type=str, doc="Sensors that may not be visited.")
    marks: Any = param.Dict({}, doc="Sensors that are important or ignored.")
    refused = param.Integer(0, doc="How often something could not be written into the riders' table.")
    fixed: Any = param.Parameter((), doc="Visits that must stay: promised or kept.")
    dropped: Any = param.Parameter((), doc="Visits that are not to be proposed.")
    plan: Any = param.ClassSelector(class_=Plan, doc="The plan on show.")
    source = param.String(doc="What the plan was made from.")
    busy = param.Boolean(False, doc="Whether a plan is being made.")
    stale = param.Boolean(False, doc="Whether the calibration has changed since the plan was made.")
    message = param.String(doc="Why there is no new plan, in a sentence.")
    further: Any = param.ClassSelector(class_=Further, doc="What else was worked out, on demand.")
    looking = param.Boolean(False, doc="Whether that is being worked out.")

    def __init__(self, shown: Shown, schedule: Schedule, **params: Any) -> None:
        super().__init__(shown=shown, **params)
        self._plans: Background[Plan] = Background(schedule, self._take, self._end)
        self._looks: Background[Further] = Background(schedule, self._found, self._looked)
        self._history: list[Step] = []
        self._basis: tuple[Posterior, Network] | None = None
        self._checked = shown.session.checked
        self.param.update(riders=self._default_riders())
        self.param.watch(lambda *_: self.again(), list(LIMITS))
        self._watching = [
            (shown, shown.param.watch(self._moved, "posterior")),
            (shown.session, shown.session.param.watch(self._moved, "network")),
        ]
        self.again()

    @property
    def session(self) -> Session:
        """The session whose page this is."""
        return self.shown.session

    @property
    def zone(self) -> str:
        """Of the working hours."""
        checked = self.session.checked
        return str((checked.folder.about.get("timezone") if checked else None) or "UTC")

    @property
    def can_undo(self) -> bool:
        """Whether something was kept or left out."""
        return bool(self._history)

    def settings(self) -> PlanSettings:
        """What the wishes come to."""
        return PlanSettings(
            riders=self.riders,
            start=self._start(),
            days=self.days,
            budget=self.budget,
            horizon_hours=24.0 * self.horizon_days,
            target=self.target_percent / 100,
            forbidden=tuple(sorted(self.forbidden)),
            weights=tuple((name, TIMES[mark] * self._weight(name)) for name, mark in sorted(self.marks.items())),
            zone=self.zone,
        )

    def _start(self) -> str | float | None:
        if self.start is None:
            return None
        return 24.0 * self.start if isinstance(self.start, int | float) else f"{self.start:%Y-%m-%d}"

    def _weight(self, sensor: str) -> float:
        """Of the sensors table; 1 where it says nothing."""
        table = self.session.network.sensors
        weight = table.loc[table["sensor"] == sensor, "weight"]
        return float(weight.iloc[0]) if len(weight) and weight.notna().iloc[0] else 1.0

    def _default_riders(self) -> tuple[Rider, ...]:
        """One for every mobile of the network."""
        network = self.session.network
        try:
            return riders_of(network, ()) if network is not None else ()
        except CalibdashError:
            return ()  # the plan says why

    def _moved(self, *_: object) -> None:
        """The calibration page shows something else."""
        if self.session.checked is not self._checked:
            self.close()
        elif self.plan is None:
            self.again()
        elif self._basis is not None:
            now = (self.shown.posterior, self.session.network)
            self.stale = any(one is not other for one, other in zip(now, self._basis, strict=True))

    def close(self) -> None:
        """Listen to nothing any more, and want nothing of what was asked for."""
        self._plans.forget()
        self._looks.forget()
        while self._watching:
            subject, watcher = self._watching.pop()
            subject.param.unwatch(watcher)

    # asking for plans

    def again(self) -> None:
        """Plan from the beginning, with what the calibration page shows now: a quick plan, then a better one."""
        posterior, network = self.shown.posterior, self.session.network
        self._plans.forget()
        self._looks.forget()
        self.param.update(busy=False, looking=False, stale=False, message="", further=None)
        if network is None:
            return
        if posterior is None or network.colocations.empty:
            self.message = self.shown.fitting.tuning.failure or "There is no colocation to plan from."
            return
        try:
            settings = self.settings()
            dropped = self._possible(settings, posterior, network)
        except CalibdashError as problem:
            self.message = str(problem)
            return
        fixed = self.fixed
        self._basis = (posterior, network)
        self._history = [replace(step, plan=None) for step in self._history]  # plans made from something else
        self.source = "the full fit" if posterior is self.shown.fitting.posterior else "the live preview"
        self.busy = True

        def work() -> Iterator[Plan]:
            for effort in ("quick", "full"):
                yield planned(network, posterior, replace(settings, effort=effort), fixed, dropped)

        self._plans.ask(work)

    def _answer(self) -> None:
        """Plan on from the plan on show, with what is kept and left out by now."""
        before, basis = self.plan, self._basis
        if before is None or basis is None:
            self.again()
            return
        settings = before.ground.settings
        fixed, dropped = self.fixed, self._possible(settings, *basis)
        self.param.update(busy=True, message="")

        def work() -> Iterator[Plan]:
            yield plan(*basis, settings, pinned=fixed, dropped=dropped, before=before)
            if settings.effort == "quick":  # the better plan was on its way when this was asked for
                yield plan(*basis, replace(settings, effort="full"), pinned=fixed, dropped=dropped)

        self._plans.ask(work)

    def _possible(self, settings: PlanSettings, posterior: Posterior, network: Network) -> tuple[Promise, ...]:
        """Visits left out that the plan could have at all: days and riders may have changed since."""
        days = {day.label for day in plan_days(network, posterior.clock, settings)}
        riders = {rider.name for rider in settings.riders}
        return tuple(visit for visit in self.dropped if visit.day in days and visit.rider in riders)

    def _take(self, made: Plan) -> None:
        self.param.update(plan=made, message="")

    def _end(self, failure: str) -> None:
        self.param.update(busy=False, message=failure)

    # keeping and leaving out

    def keep(self, visit: Promise) -> None:
        """Keep a visit whatever else changes; once more: leave that to the plan again."""
        fixed = tuple(other for other in self.fixed if other != visit)
        fixed = fixed if visit in self.fixed else (*fixed, visit)
        self._change(fixed, tuple(other for other in self.dropped if other != visit))

    def drop(self, visit: Promise) -> None:
        """Leave a visit out of the plan."""
        fixed = tuple(other for other in self.fixed if other != visit)
        self._change(fixed, self.dropped if visit in self.dropped else (*self.dropped, visit))

    def release(self, visit: Promise) -> None:
        """Neither keep nor leave out a visit."""
        self._change(*(tuple(other for other in visits if other != visit) for visits in (self.fixed, self.dropped)))

    def undo(self) -> None:
        """Take back the last keeping or leaving out."""
        if not self._history:
            return
        step = self._history.pop()
        self.param.update(fixed=step.fixed, dropped=step.dropped)
        if step.plan is not None and self.plan is not None and step.plan.ground.settings == self.plan.ground.settings:
            self._plans.forget()
            self.param.update(plan=step.plan, busy=False, message="")
        else:
            self._answer()

    def _change(self, fixed: tuple[Promise, ...], dropped: tuple[Promise, ...]) -> None:
        self._history.append(Step(self.fixed, self.dropped, self.plan))
        self.param.update(fixed=fixed, dropped=dropped)
        self._answer()

    # wishes

    def next_mark(self, sensor: str) -> None:
        """Ordinary, important, ignored, and ordinary again."""
        self.mark(sensor, NEXT[self.marks.get(sensor, "")])

    def mark(self, sensor: str, mark: str) -> None:
        """Say how much a sensor counts; '' is as much as its table says."""
        others = {name: known for name, known in self.marks.items() if name != sensor}
        self.marks = {**others, sensor: mark} if mark else others

    def allow(self, sensor: str, *, allowed: bool) -> None:
        """Say whether a sensor may be visited."""
        others = [name for name in self.forbidden if name != sensor]
        self.forbidden = others if allowed else [*others, sensor]

    def set_budget(self, text: str) -> None:
        """The most that all visits may cost, as somebody writes it; nothing is no limit."""
        try:
            value = float(text.replace(",", ".")) if text.strip() else None
        except ValueError:
            value = math.nan
        if value is not None and not 0 <= value < math.inf:
            self.message = f"{text[:60]!r} is no budget. Write a number, or nothing for no limit."
            return
        self.budget = value

    def change_rider(self, number: int, heading: str, value: object) -> None:
        """Write into a cell of the riders' table; what cannot be is said and the cell stays as it was."""
        self._set_riders(
            lambda riders: [
                changed_rider(rider, heading, value) if place == number else rider for place, rider in enumerate(riders)
            ]
        )

    def add_rider(self) -> None:
        """One more."""
        self._set_riders(lambda riders: [*riders, one_more(riders, self.session.network)])

    def remove_rider(self, number: int) -> None:
        """One less."""
        if len(self.riders) < 2:
            self.message = "A plan needs at least one rider."
            return
        self._set_riders(lambda riders: [rider for place, rider in enumerate(riders) if place != number])

    def take_riders(self, name: str, content: bytes | str) -> None:
        """Riders of a dropped file, in place of those in the table."""

        def read(_: object) -> tuple[Rider, ...]:
            self.session.person.must_change()
            return riders_of(self.session.network, riders_in(name, content))

        self._set_riders(read)

    def _set_riders(self, change: Any) -> None:
        try:
            riders: tuple[Rider, ...] = tuple(change(self.riders))
            replace(self.settings(), riders=riders)
        except CalibdashError as problem:
            self.message = str(problem)
            self.refused += 1
            return
        self.riders = riders

    # beyond a plan

    def look_further(self) -> None:
        """Work out effort, places for a reference, and visits that can be dropped."""
        if self._basis is None or self.plan is None:
            return
        (posterior, network), settings = self._basis, self.plan.ground.settings
        self.looking = True

        def work() -> Iterator[Further]:
            yield Further(
                effort_curve(posterior, network, settings),
                best_reference_site(posterior, network, settings),
                useless_colocations(posterior, network, settings),
            )

        self._looks.ask(work)

    def _found(self, further: Further) -> None:
        self.further = further

    def _looked(self, failure: str) -> None:
        self.param.update(looking=False, message=failure)


def _planned(
    network: Network,
    posterior: Posterior,
    settings: PlanSettings,
    fixed: tuple[Promise, ...],
    dropped: tuple[Promise, ...],
) -> Plan:
    return plan(posterior, network, settings, pinned=fixed, dropped=dropped)


planned = once(_planned, kept=4)  # sessions that look at the same network begin with the same plan
