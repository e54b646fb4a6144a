"""The network page: what is in the data, where the sensors stand and who met whom."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param

from calibdash.data.folder import Checked
from calibdash.data.network import Network
from calibdash.pages.layout import later, side_by_side, titled, words
from calibdash.pages.network_figures import GraphFigure, MapFigure, RasterFigure, pane
from calibdash.pages.pair import PairView
from calibdash.pages.problems import NOTICED, problem_view
from calibdash.pages.tables import CARDS_STYLE, cards, labeller_table, sensor_table
from calibdash.state.session import Session

GRAPH, MAP = "Who met whom", "Where they stand"
HINT = (
    "Pick sensors in the graph, the map or the table; pick a line to see a pair. "
    "Orange is a reference, blue a static sensor, green a mobile one; a line joins two that met."
)


class NetworkPage(pn.viewable.Viewer):
    """Problems, figures, graph, map, table and raster of the chosen folder, picked together."""

    session: Any = param.ClassSelector(class_=Session, allow_None=False)
    shown: Any = param.Callable(doc="Gives the session's Shown, for the pair view.")
    door: Any = param.Parameter(doc="Where users add data; None where they cannot.")

    @param.depends("session.checked", "session.failure")
    def _content(self) -> pn.Column:
        checked = self.session.checked
        if checked is None:
            if self.session.folder is None and self.door is not None:
                return titled("Add your data to begin" if self.door.may_add else "No network yet", self.door.view())
            return pn.Column(pmui.Alert(object=escape(self.session.failure), severity="error"))
        return pn.Column(*self._sections(checked), sizing_mode="stretch_width")

    def _sections(self, checked: Checked) -> list[pn.viewable.Viewable]:
        sections: list[pn.viewable.Viewable] = []
        if checked.problems:
            sections.append(titled(NOTICED, problem_view(checked.problems)))
        shown = pn.bind(cards, checked, self.session.param.network)
        sections.append(pn.pane.HTML(shown, stylesheets=[CARDS_STYLE], margin=(8, 0), sizing_mode="stretch_width"))
        if checked.network is not None:
            sections += NetworkViews(self.session, self.shown).sections()
        if checked.labels is not None:
            sections.append(titled("Labels by labeller", labeller_table(checked.labels)))
        return sections

    def __panel__(self) -> pn.viewable.Viewable:
        return pn.Column(self._content, sizing_mode="stretch_width", margin=(16, 24))


class NetworkViews:
    """Graph, map, raster and table of one network, all on the session's one selection."""

    def __init__(self, session: Session, shown: Callable[[], Any]) -> None:
        self.session, self.shown = session, shown
        self._whole = whole = session.checked.network
        self.graph = GraphFigure(session.layout(), self._picked, session.look_at)
        self.map = MapFigure(self._picked) if has_map(whole) else None
        self.raster: RasterFigure | None = None  # made after what is above it
        self._draw()
        session.param.watch(self._draw, "network")
        session.param.watch(self._select, "selected")

    def sections(self) -> list[pn.viewable.Viewable]:
        """The views, two abreast where there is room."""
        views = [titled(GRAPH, pane(self.graph.figure))]
        if self.map is not None:
            views.append(self._standing(self.map))
        return [
            self._actions(),
            side_by_side(*views),
            PairView(session=self.session, shown=self.shown).__panel__(),
            titled("Visits over time", later(self._visits)),
            titled("Sensors", later(lambda: sensor_table(self.session))),
        ]

    def _visits(self) -> pn.viewable.Viewable:
        self.raster = RasterFigure(self._whole, self.session.select)
        self._draw_raster()
        return pane(self.raster.figure)

    def _draw_raster(self) -> None:
        if self.raster is not None and self.session.network is not None:
            self.raster.show(self.session.network)
            self.raster.select(self.session.selected)

    def _actions(self) -> pn.viewable.Viewable:
        mark = pmui.Button(label="Mark or unmark as reference", icon="verified", variant="outlined")
        mark.disabled = self.session.param.selected.rx.len() == 0
        mark.on_click(lambda _: self.session.toggle_references())
        clear = pmui.Button(label="Clear selection", variant="text")
        clear.disabled = self.session.param.selected.rx.len() == 0
        clear.on_click(lambda _: self.session.select([]))
        told = words(pn.bind(_told, self.session.param.selected, self.session.param.network))
        return pn.Column(pn.Row(mark, clear), told, margin=(12, 0, 0, 0), sizing_mode="stretch_width")

    def _picked(self, places: list[int]) -> None:
        """Tell the session what was picked among marks that stand in the order of the sensors table."""
        names = self.session.network.sensors["sensor"]
        self.session.select([names.iloc[place] for place in places if place < len(names)])

    def _draw(self, *_: object) -> None:
        network = self.session.network
        if network is None or set(network.sensors["sensor"]) != set(self.graph.places):
            return  # another folder: these views are about to go
        self.graph.show(network, self.session.best_path(self.session.selected))
        if self.map is not None:
            self.map.show(network)
        self._draw_raster()
        self._select()

    def _select(self, *_: object) -> None:
        network, selected = self.session.network, self.session.selected
        if network is None or set(network.sensors["sensor"]) != set(self.graph.places):
            return
        places = [place for place, name in enumerate(network.sensors["sensor"]) if name in set(selected)]
        for marks in [self.graph.marks, *([self.map.marks] if self.map is not None else [])]:
            marks.select(places)
        self.graph.show_path(self.session.best_path(selected))
        if self.raster is not None:
            self.raster.select(selected)

    def _standing(self, shown: MapFigure) -> pn.Column:
        """The map; streets behind it only when somebody asks for them, since they come over the internet."""
        streets = pmui.Switch(label="Street map (from OpenStreetMap, over the internet)", value=False, size="small")
        streets.param.watch(lambda event: shown.show_streets(event.new), "value")
        return titled(MAP, pn.Column(pane(shown.figure), streets, sizing_mode="stretch_width"))


def has_map(network: Network) -> bool:
    """Whether it is known where any of the sensors stands."""
    return bool(network.sensors["latitude"].notna().any())


def _told(selected: list[str], network: Network | None) -> str:
    if not selected or network is None:
        return HINT
    names = network.sensors.set_index("sensor")["label"]
    shown = [f"{name} ({names[name]})" if names.get(name) else name for name in selected[:4]]
    return escape(", ".join(shown) + (f" and {len(selected) - 4} more" if len(selected) > 4 else ""))


def period_slider(session: Session) -> pn.viewable.Viewable:
    """A slider over the days of the record; it filters every view."""

    def slider(checked: Checked | None) -> pn.viewable.Viewable:
        whole = checked.network if checked else None
        if whole is None:
            return pn.Spacer(height=0)
        clock, times = whole.clock, whole.colocations["time"]
        widget: pn.widgets.Widget
        if clock.origin is None:
            widget = pn.widgets.RangeSlider(start=float(times.iloc[0]), end=float(times.iloc[-1]))
        else:
            first, last = times.iloc[0].tz_localize(None).floor("D"), times.iloc[-1].tz_localize(None).ceil("D")
            widget = pn.widgets.DateRangeSlider(start=first.to_pydatetime(), end=last.to_pydatetime())
        widget.value = (widget.start, widget.end)

        def moved(event: param.parameterized.Event) -> None:
            ends = event.new if clock.origin is None else clock.hours(pd.DatetimeIndex(event.new))
            session.period = (float(ends[0]), float(ends[1]))

        widget.param.watch(moved, "value_throttled")
        widget.sizing_mode = "stretch_width"
        title = "Hours" if clock.origin is None else "Period"
        return pn.Column(words(title, variant="body2", margin=(12, 10, 0, 10)), widget)

    return pn.Column(pn.bind(slider, session.param.checked), sizing_mode="stretch_width")
