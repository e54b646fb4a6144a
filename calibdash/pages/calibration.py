"""The calibration page: sliders and their live preview, the full fit, and every sensor's band beside multi-hop."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from itertools import zip_longest
from typing import Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param

from calibdash.data.network import Network
from calibdash.models.posterior import Posterior
from calibdash.pages.band_figure import BandFigure
from calibdash.pages.bands import POSITIVE, Look, drawn
from calibdash.pages.compare import comparison
from calibdash.pages.controls import controls
from calibdash.pages.layout import csv_bytes, download, titled
from calibdash.pages.pair import PairView
from calibdash.pages.readings import ReadingsView
from calibdash.pages.today import SORTED_BY, today, today_frame, today_table
from calibdash.runs.fit import GRID_HOURS, grid
from calibdash.state.shown import Shown
from calibdash.state.truth import read_truth

PER_PAGE = 8
FILL: dict[str, Any] = {"sizing_mode": "stretch_width"}


class CalibrationPage(pn.viewable.Viewer):
    """Left what is wanted, right what is known."""

    shown: Any = param.ClassSelector(class_=Shown, allow_None=False)
    settled: Any = param.ClassSelector(class_=Posterior, doc="What tables and small plots show, after the large plot.")

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.session = self.shown.session
        self.tuning = self.shown.fitting.tuning
        self.settled = self.shown.posterior
        self._redraw: Callable[[], None] = lambda: None
        self.shown.param.watch(self._settle, "posterior")

    def _settle(self, *_: object) -> None:
        """Let the large plot reach the screen first; the rest follows."""
        if pn.state.curdoc is None:
            self.settled = self.shown.posterior
        else:
            pn.state.curdoc.add_next_tick_callback(lambda: setattr(self, "settled", self.shown.posterior))

    def __panel__(self) -> pn.viewable.Viewable:
        return pn.Column(pn.bind(self._content, self.session.param.checked), margin=(16, 24), **FILL)

    def _content(self, checked: Any) -> pn.viewable.Viewable:
        if checked is None or checked.network is None:
            return pmui.Alert(object="Choose a network with colocations on the left.", severity="info")
        return pmui.Grid(
            pmui.Grid(controls(self.tuning, self.shown.fitting), size={"xs": 12, "lg": 3}),
            pmui.Grid(self._views(), size={"xs": 12, "lg": 9}),
            container=True,
            spacing=3,
            **FILL,
        )

    def _views(self) -> pn.Column:
        shown, network = self.shown, self.session.param.network
        return pn.Column(
            self._bar(),
            pn.Column(self._large(), **FILL),
            PairView(session=self.session, shown=lambda: shown).__panel__(),
            titled("Today", self._today()),
            pn.Column(pn.bind(comparison, network, self.param.settled, shown.param.other, shown.param.message), **FILL),
            titled("All sensors", self._multiples()),
            titled("Calibrate readings", ReadingsView(shown=shown).__panel__()),
            **FILL,
        )

    def _bar(self) -> pn.FlexBox:
        """Which sensor, which part of its calibration, beside what."""
        shown = self.shown
        parameter = pmui.RadioButtonGroup.from_param(shown.param.parameter, label="", size="small", margin=(14, 6))
        _show_if_several(parameter, shown)
        shown.param.watch(lambda _: _show_if_several(parameter, shown), "posterior")
        what = pmui.Typography(pn.bind(_source, shown.fitting.param.posterior), margin=(18, 10))
        return pn.FlexBox(
            pmui.Select.from_param(shown.param.sensor, label="Sensor", width=230),
            pn.Column(pn.bind(self._partners, shown.param.sensor, self.session.param.network), width=250),
            pmui.Select.from_param(shown.param.other_id, label="Compare with", width=230),
            parameter,
            pmui.Switch.from_param(shown.param.logarithmic, label="log axis", margin=(18, 6)),
            self._download(),
            what,
            gap="8px",
        )

    def _download(self) -> pmui.FileDownload:
        """What is on show, as the command line writes it."""

        def content() -> bytes:
            return csv_bytes(self.shown.posterior.calibration(grid(self.session.network, GRID_HOURS)))

        disabled = self.shown.param.ready.rx.not_()
        return download("Download", "calibration.csv", content, margin=(12, 6), disabled=disabled)

    def _partners(self, sensor: str | None, network: Network | None) -> pn.viewable.Viewable:
        """Whom the sensor met; choosing one puts the two side by side."""
        if sensor is None or network is None:
            return pn.Spacer(height=0)
        met = {"nobody": ""} | {f"{name} ({count})": name for name, count in self.session.partners(sensor).items()}
        choose = pmui.Select(label="Side by side with", options=met, value="", width=240)
        choose.param.watch(
            lambda event: self.session.look_at(sensor, event.new) if event.new else setattr(self.session, "pair", None),
            "value",
        )
        return choose

    def _large(self) -> Any:
        """The plot of the chosen sensor: made anew for another kind of axis, else changed in place."""
        shown, session = self.shown, self.session

        def build(logarithmic: bool, parameter: str, checked: Any, ready: bool) -> Any:
            if not ready or checked is None or checked.network is None:
                return pmui.Alert(object=escape(self.tuning.failure or "There is nothing to show."), severity="info")
            log = logarithmic and parameter in POSITIVE
            plot = BandFigure(stamped=checked.network.clock.origin is not None, log=log)
            self._redraw = lambda: self._draw(plot, shown.sensor, log)
            self._redraw()
            return plot.pane()

        shown.param.watch(lambda *_: self._redraw(), ["sensor", "posterior", "parameter", "other"])
        self.tuning.param.watch(lambda *_: self._redraw(), "hops")
        return pn.bind(build, shown.param.logarithmic, shown.param.parameter, session.param.checked, shown.param.ready)

    def _draw(self, plot: BandFigure, sensor: str | None, log: bool) -> None:
        shown, network = self.shown, self.session.network
        if sensor is None or shown.posterior is None or network is None or network.colocations.empty:
            return
        look = Look(shown.parameter, self.tuning.hops, self._truth(shown.parameter), shown.other, log)
        plot.show(drawn(network, sensor, shown.posterior, look))

    def _today(self) -> pn.widgets.Tabulator:
        """Every sensor now; picking a row shows it."""

        def frame() -> pd.DataFrame:
            network = self.session.network
            if self.settled is None or network is None or network.colocations.empty:
                return today_frame(None)
            return today_frame(today(network, self.settled, self.tuning.hops))

        view = today_table(frame())
        view.on_click(lambda event: self.session.select([view.value["Sensor"].iloc[event.row]]))
        self.param.watch(lambda *_: view.param.update(value=frame()), "settled")
        self.tuning.param.watch(lambda *_: view.param.update(value=frame()), "hops")
        return view

    def _truth(self, parameter: str) -> Any:
        truth = read_truth(self.session.folder)
        return truth if truth is not None and (truth["parameter"] == parameter).any() else None

    def _multiples(self) -> pn.Column:
        """Small plots of all sensors, a page at a time; they stay and change what they show."""
        shown = self.shown
        stamped = self.session.network.clock.origin is not None
        plots = [BandFigure(stamped=stamped, small=True) for _ in range(PER_PAGE)]
        cells = [pmui.Grid(plot.pane(), size={"xs": 12, "sm": 6, "lg": 3}) for plot in plots]
        order = pmui.Select.from_param(shown.param.order, label="Order", width=280)
        pages = pmui.Pagination.from_param(shown.param.page, count=1)

        def redraw(*_: object) -> None:
            network, posterior = self.session.network, self.settled
            if posterior is None or network is None or network.colocations.empty:
                return
            rows = SORTED_BY[shown.order](today(network, posterior, None))
            pages.count = max(1, -(-len(rows) // PER_PAGE))
            sensors = rows["sensor"].iloc[shown.page * PER_PAGE : (shown.page + 1) * PER_PAGE].tolist()
            look = Look("gain", self.tuning.hops, self._truth("gain"), small=True)
            for cell, plot, sensor in zip_longest(cells, plots, sensors):
                cell.visible = sensor is not None
                if sensor is not None:
                    plot.show(drawn(network, sensor, posterior, look))

        self.param.watch(redraw, "settled")
        shown.param.watch(redraw, ["page", "order"])
        self.tuning.param.watch(redraw, "hops")
        redraw()
        return pn.Column(order, pmui.Grid(*cells, container=True, spacing=1, **FILL), pages, **FILL)


def _show_if_several(widget: pmui.RadioButtonGroup, shown: Shown) -> None:
    widget.visible = len(shown.param["parameter"].objects) > 1


def _source(fitted: Posterior | None) -> str:
    if fitted is None:
        return "Live preview of what you believe; Fit gives the full answer."
    return "Full fit. Move a slider to go back to the preview."
