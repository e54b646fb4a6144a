"""The network page: what is in the data, where the sensors stand and who met whom."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import holoviews as hv
import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param
from holoviews.streams import Params, Selection1D

from calibdash.data.folder import Checked
from calibdash.data.network import Network
from calibdash.pages.layout import side_by_side, titled
from calibdash.pages.plots import PLAIN, graph_edges, reference_rings, sensor_points, sensor_rows, visits_raster
from calibdash.pages.tables import cards, labeller_table, problem_table, sensor_table
from calibdash.state.session import Session

LEGEND = "Colour tells who it is: orange a reference, blue a static sensor, green a mobile one."


class NetworkPage(pn.viewable.Viewer):
    """Problems, figures, graph, map, table and raster of the chosen folder, picked together."""

    session: Any = param.ClassSelector(class_=Session, allow_None=False)

    @param.depends("session.checked", "session.failure")
    def _content(self) -> pn.Column:
        checked = self.session.checked
        if checked is None:
            return pn.Column(pmui.Alert(object=escape(self.session.failure), severity="error"))
        return pn.Column(*self._sections(checked), sizing_mode="stretch_width")

    def _sections(self, checked: Checked) -> list[pn.viewable.Viewable]:
        sections: list[pn.viewable.Viewable] = []
        if checked.problems:
            sections.append(titled("What we noticed", problem_table(checked.problems)))
        sections.append(pn.Column(pn.bind(cards, checked, self.session.param.network)))
        if checked.network is not None:
            sections += NetworkViews(self.session).sections()
        if checked.labels is not None:
            sections.append(titled("Labels by labeller", labeller_table(checked.labels)))
        return sections

    def __panel__(self) -> pn.viewable.Viewable:
        return pn.Column(self._content, sizing_mode="stretch_width", margin=(16, 24))


class NetworkViews:
    """Graph, map, raster and table of one network, all on the session's one selection."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.places = session.layout()

    def sections(self) -> list[pn.viewable.Viewable]:
        """The views, two abreast where there is room."""
        whole = self.session.checked.network
        views = [titled("Who met whom", pn.pane.HoloViews(self._graph(), sizing_mode="stretch_width"))]
        if whole.sensors["latitude"].notna().any():
            views.append(titled("Where they stand", pn.pane.HoloViews(self._map(), sizing_mode="stretch_width")))
        return [
            self._actions(),
            side_by_side(*views),
            titled("Visits over time", pn.pane.HoloViews(self._raster(), sizing_mode="stretch_width")),
            titled("Sensors", sensor_table(self.session)),
        ]

    def _actions(self) -> pn.viewable.Viewable:
        mark = pmui.Button(label="Mark or unmark as reference", icon="verified", variant="outlined")
        mark.disabled = self.session.param.selected.rx.len() == 0
        mark.on_click(lambda _: self.session.toggle_references())
        clear = pmui.Button(label="Clear selection", variant="text")
        clear.disabled = self.session.param.selected.rx.len() == 0
        clear.on_click(lambda _: self.session.select([]))
        told = pmui.Typography(pn.bind(_told, self.session.param.selected, self.session.param.network))
        return pn.Column(pn.Row(mark, clear), told, margin=(12, 0, 0, 0), sizing_mode="stretch_width")

    def _params(self, *names: str) -> Params:
        return Params(self.session, list(names))

    def _picking(self, points: hv.DynamicMap) -> hv.DynamicMap:
        """Tell the session what was picked among marks that stand in the order of the sensors table."""

        def picked(index: list[int]) -> None:
            names = self.session.network.sensors["sensor"]
            self.session.select([names.iloc[i] for i in index if i < len(names)])

        Selection1D(source=points).add_subscriber(picked)
        return points

    def _marks(self, places: Callable[[Network], tuple[Any, Any]], **options: Any) -> hv.DynamicMap:
        """Marks of all sensors at their places, to be picked, and rings around the references."""

        def marks(network: Network, selected: list[str]) -> hv.Points:
            return sensor_points(sensor_rows(network), *places(network), selected).opts(height=400, **options)

        def rings(network: Network) -> hv.Points:
            return reference_rings(sensor_rows(network), *places(network)).opts(**options)

        points = self._picking(hv.DynamicMap(marks, streams=[self._params("network", "selected")]))
        return points * hv.DynamicMap(rings, streams=[self._params("network")])

    def _graph(self) -> hv.DynamicMap:
        def edges(network: Network, selected: list[str]) -> hv.Segments:
            return graph_edges(network, self.places, self.session.best_path(selected))

        def drawn(network: Network) -> tuple[Any, Any]:
            x, y = zip(*(self.places[sensor] for sensor in network.sensors["sensor"]), strict=True)
            return x, y

        lines = hv.DynamicMap(edges, streams=[self._params("network", "selected")])
        return lines * self._marks(drawn, **PLAIN)

    def _map(self) -> hv.DynamicMap:
        def standing(network: Network) -> tuple[Any, Any]:
            return network.sensors["longitude"], network.sensors["latitude"]

        return self._marks(standing, xlabel="Longitude", ylabel="Latitude")

    def _raster(self) -> hv.DynamicMap:
        raster = hv.DynamicMap(visits_raster, streams=[self._params("network", "selected")])

        def picked(index: list[int]) -> None:
            marks = visits_raster(self.session.network, []).data
            self.session.select(sorted({marks["sensor"].iloc[i] for i in index}))

        Selection1D(source=raster).add_subscriber(lambda index: picked(index) if index else None)
        return raster


def _told(selected: list[str], network: Network | None) -> str:
    if not selected or network is None:
        return f"Pick sensors in the graph, the map or the table. {LEGEND}"
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
        return pn.Column(pmui.Typography(title, variant="body2", margin=(12, 10, 0, 10)), widget)

    return pn.Column(pn.bind(slider, session.param.checked), sizing_mode="stretch_width")
