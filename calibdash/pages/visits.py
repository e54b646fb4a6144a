"""The page of visits: riders and limits left; tours, list and bands of the plan right."""

from __future__ import annotations

from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui
import param

from calibdash.pages.layout import beside, later, titled, words
from calibdash.pages.visits_controls import visit_controls
from calibdash.pages.visits_figures import BandsFigure
from calibdash.pages.visits_further import FurtherView
from calibdash.pages.visits_list import StopList, downloads
from calibdash.pages.visits_map import VisitsMap, chosen_tours, has_map, map_layers, rider_chips
from calibdash.pages.visits_print import day_words
from calibdash.state.planning import Planning
from calibdash.state.shown import Shown

FILL: dict[str, Any] = {"sizing_mode": "stretch_width"}
AFTER_FITS = 10  # the last to hear of another folder: by then the results of the one before are gone
ABOUT_MAP = (
    "Click a sensor to make it important (star), again to ignore it, again for ordinary. "
    "Diamonds are references, squares where riders start; numbers give the order of the day."
)
NO_MAP = "No sensor has a position, so there is no map. Add latitude and longitude to the sensors table for tours."


class VisitsPage(pn.viewable.Viewer):
    """The plan of the network on show; another folder, another plan."""

    shown: Any = param.ClassSelector(class_=Shown, allow_None=False)
    planning: Any = param.ClassSelector(class_=Planning, doc="Wishes and plan; None where there is no network.")

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        document = pn.state.curdoc
        self._schedule = (lambda call: call()) if document is None else document.add_next_tick_callback
        self._place = pn.Column(margin=(16, 24), **FILL)
        self.shown.session.param.watch(self._build, "checked", precedence=AFTER_FITS)
        if document is not None:
            pn.state.on_session_destroyed(lambda _: self.planning.close() if self.planning else None)
        self._build()

    def __panel__(self) -> pn.viewable.Viewable:
        return self._place

    def _build(self, *_: object) -> None:
        if self.planning is not None:
            self.planning.close()
        if self.shown.session.network is None:
            self.planning = None
            self._place.objects = [
                pmui.Alert(object="Choose a network with colocations on the left.", severity="info", **FILL)
            ]
            return
        self.planning = Planning(self.shown, self._schedule)
        self._place.objects = [
            beside(
                visit_controls(self.planning), PlanView(planning=self.planning).__panel__(), least=350, views_first=True
            )
        ]


class PlanView(pn.viewable.Viewer):
    """A plan as sentences, map, list and bands; the parts stay and change what they show."""

    planning: Any = param.ClassSelector(class_=Planning, allow_None=False)
    day = param.String("", doc="The day on show; '' is all.")
    rider = param.String("", doc="Whose tours are on show; '' is everybody's.")

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        planning = self.planning
        self._days = pmui.Select(label="Day", options={"all days": ""}, value="", width=230)
        self._riders = pmui.Select(label="Rider", options={"all riders": ""}, value="", width=190)
        self._days.param.watch(lambda event: setattr(self, "day", event.new or ""), "value")
        self._riders.param.watch(lambda event: setattr(self, "rider", event.new or ""), "value")
        self._map = VisitsMap(planning.next_mark)
        self._chips = pn.pane.HTML("", margin=(0, 10), **FILL)
        self._list = StopList(planning)
        self._bands = BandsFigure()
        self._place = pn.Column(**FILL)  # filled by the first plan
        planning.param.watch(self._planned, "plan")
        planning.param.watch(self._show_tours, ["fixed", "marks", "forbidden"])
        self.param.watch(self._show_tours, ["day", "rider"])
        self._planned()

    def _planned(self, *events: param.parameterized.Event) -> None:
        """Another plan: what was chosen stays chosen if it can; the first plan opens on its first day."""
        plan = self.planning.plan
        visits = plan.visits if plan is not None else ()
        days, riders = [visit.day for visit in visits], [visit.rider for visit in visits]
        first = any(event.old is None for event in events)
        kept = self.day in days or (self.day == "" and not first)
        with param.parameterized.discard_events(self):  # drawn once, below
            self.day = self.day if kept else next(iter(days), "")
            self.rider = self.rider if self.rider in riders else ""
        days_offered = {"all days": ""} | {day_words(day): day for day in dict.fromkeys(days)}
        self._days.param.update(options=days_offered, value=self.day)
        self._riders.param.update(options={"all riders": ""} | {name: name for name in riders}, value=self.rider)
        self._show_tours()
        self._bands.show(plan)
        if plan is not None and not len(self._place):
            self._place.objects = self._parts()

    def _show_tours(self, *_: object) -> None:
        planning, network = self.planning, self.planning.session.network
        tours = chosen_tours(planning.plan, self.day, self.rider)
        if network is not None:
            self._map.show(map_layers(network, planning.plan, planning.marks, planning.forbidden, tours))
        self._chips.object = rider_chips(planning.plan, tours)
        self._list.show(self.day, self.rider)

    def __panel__(self) -> pn.viewable.Viewable:
        return pn.Column(self._status(), self._place, **FILL)

    def _parts(self) -> list[pn.viewable.Viewable]:
        there = has_map(self.planning.session.checked.network)
        tours = [
            pn.FlexBox(
                self._days,
                self._riders,
                gap="8px",
            ),
            self._chips,
            *([self._map.pane(), _small(ABOUT_MAP)] if there else [_small(NO_MAP)]),
        ]
        return [
            titled("Tours", pn.Column(*tours, **FILL)),
            titled("Stops in order", pn.Column(self._list_bar(), self._list.view, **FILL)),
            titled("What it does for the sensors", later(self._bands.pane)),
            titled("Looking further", later(FurtherView(self.planning).view)),
        ]

    def _list_bar(self) -> pn.FlexBox:
        undo = pmui.Button(label="Undo", icon="undo", variant="text", size="small", margin=0)
        undo.on_click(lambda _: self.planning.undo())

        def follow(*_: object) -> None:
            undo.disabled = not self.planning.can_undo

        self.planning.param.watch(follow, ["fixed", "dropped"])
        follow()
        files = downloads(self.planning, lambda: (self.day, self.rider))
        return pn.FlexBox(*files, undo, gap="8px", align_items="center", margin=(8, 0))

    def _status(self) -> pn.Column:
        """What the plan comes to, where it comes from, and what stands in its way."""
        planning = self.planning
        source = words("", variant="body2", margin=(4, 10))
        wait = pmui.LinearProgress(variant="indeterminate", visible=False, **FILL)
        summary = words("", variant="body1", margin=(6, 10))
        notes = pmui.Alert(object="", severity="info", visible=False, **FILL)
        trouble = pmui.Alert(object="", severity="warning", visible=False, **FILL)
        again = pmui.Button(label="Plan again", icon="refresh", variant="contained", size="small")
        again.on_click(lambda _: planning.again())
        stale = pn.Column(
            pmui.Alert(object="The calibration has changed since this plan was made.", severity="info", **FILL),
            again,
            visible=False,
            **FILL,
        )

        def follow(*_: object) -> None:
            plan = planning.plan
            source.object = _source(planning)
            wait.visible = planning.busy
            summary.object = escape(plan.summary) if plan is not None else ""
            noted = " ".join(plan.notes) if plan is not None else ""
            notes.param.update(object=escape(noted), visible=bool(noted))
            trouble.param.update(object=escape(planning.message), visible=bool(planning.message))
            stale.visible = planning.stale

        planning.param.watch(follow, ["plan", "busy", "message", "stale", "source"])
        follow()
        return pn.Column(source, wait, trouble, stale, summary, notes, **FILL)


def _source(planning: Planning) -> str:
    if planning.busy:
        return "Looking for a better plan …" if planning.plan is not None else "Planning …"
    if planning.plan is None:
        return ""
    hint = "" if planning.source == "the full fit" else "; a full fit on the page Calibration makes it surer"
    return f"Made from {planning.source}{hint}."


def _small(text: str) -> pn.pane.HTML:
    return words(text, variant="caption", margin=(4, 10))
