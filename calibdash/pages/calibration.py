"""The calibration page: sliders and their live preview, the full fit, and every sensor's band beside multi-hop."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param

from calibdash.models.posterior import Posterior
from calibdash.pages.band_figure import BandFigure
from calibdash.pages.bands import POSITIVE, Look, drawn
from calibdash.pages.compare import comparison
from calibdash.pages.controls import controls
from calibdash.pages.layout import beside, csv_bytes, download, later, titled, words
from calibdash.pages.pair import PairView
from calibdash.pages.readings import ReadingsView
from calibdash.pages.small_bands import STYLE, small_bands
from calibdash.pages.today import SORTED_BY, today, today_frame, today_table
from calibdash.runs.fit import GRID_HOURS, grid
from calibdash.state.shown import Shown
from calibdash.state.truth import read_truth

PER_PAGE = 8
REST_MILLISECONDS = 400
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
        self._waited = object()
        self._known: tuple[tuple[Any, Any, Any], pd.DataFrame | None] = ((None, None, None), None)
        self.shown.param.watch(self._settle, "posterior")

    def _settle(self, *_: object) -> None:
        """Let the large plot follow every move; the rest follows when the sliders have come to rest."""
        document = pn.state.curdoc
        if document is None:
            self.settled = self.shown.posterior
            return
        waited = self._waited = object()

        def rest() -> None:
            if waited is self._waited:
                self.settled = self.shown.posterior

        document.add_timeout_callback(rest, REST_MILLISECONDS)

    def __panel__(self) -> pn.viewable.Viewable:
        return pn.Column(pn.bind(self._content, self.session.param.checked), margin=(16, 24), **FILL)

    def _content(self, checked: Any) -> pn.viewable.Viewable:
        if checked is None or checked.network is None:
            return pmui.Alert(object="Choose a network with colocations on the left.", severity="info")
        return beside(controls(self.tuning, self.shown.fitting), self._views())

    def _views(self) -> pn.Column:
        shown = self.shown
        return pn.Column(
            self._bar(),
            pn.Column(self._large(), **FILL),
            PairView(session=self.session, shown=lambda: shown).__panel__(),
            titled("Today", later(self._today)),
            self._comparison(),
            titled("All sensors", later(self._multiples)),
            titled("Calibrate readings", later(ReadingsView(shown=shown).__panel__)),
            **FILL,
        )

    def _bar(self) -> pn.FlexBox:
        """Which sensor, which part of its calibration, beside what."""
        shown = self.shown
        parameter = pmui.RadioButtonGroup.from_param(shown.param.parameter, label="", size="small", margin=(14, 6))
        _show_if_several(parameter, shown)
        shown.param.watch(lambda _: _show_if_several(parameter, shown), "posterior")
        what = words(pn.bind(_source, shown.fitting.param.posterior), margin=(18, 10))
        return pn.FlexBox(
            pmui.Select.from_param(shown.param.sensor, label="Sensor", width=230),
            self._partners(),
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

    def _partners(self) -> pmui.Select:
        """Whom the sensor met; choosing one puts the two side by side."""
        session, shown = self.session, self.shown
        choose = pmui.Select(label="Side by side with", options={"nobody": ""}, value="", width=240)

        def offer(*_: object) -> None:
            met = session.partners(shown.sensor) if shown.sensor is not None and session.network is not None else {}
            choose.param.update(
                options={"nobody": ""} | {f"{name} ({count})": name for name, count in met.items()}, value=""
            )

        def chosen(event: Any) -> None:
            if event.new:
                session.look_at(shown.sensor, event.new)
            elif session.pair is not None and shown.sensor in session.pair:
                session.pair = None

        offer()
        choose.param.watch(chosen, "value")
        shown.param.watch(offer, "sensor")
        session.param.watch(offer, "network")
        return choose

    def _large(self) -> Any:
        """The plot of the chosen sensor: made anew for another kind of axis, else changed in place."""
        shown, session = self.shown, self.session

        def build(logarithmic: bool, parameter: str, checked: Any, ready: bool) -> Any:
            if not ready or checked is None or checked.network is None:
                return pmui.Alert(object=escape(self.tuning.failure or "There is nothing to show."), severity="info")
            log = logarithmic and parameter in POSITIVE
            even = not log and parameter in POSITIVE
            plot = BandFigure(stamped=checked.network.clock.origin is not None, log=log, even=even)
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

    def _comparison(self) -> pn.Column:
        """Two runs sensor by sensor, while there is another run to compare with."""
        box = pn.Column(**FILL)

        def show(*_: object) -> None:
            view = comparison(self.session.network, self.settled, self.shown.other, self.shown.message)
            if view is not None or len(box):  # anything new on a page makes the browser lay out all of it
                box.objects = [] if view is None else [view]

        self.param.watch(show, "settled")
        self.shown.param.watch(show, ["other", "message"])
        return box

    def _today(self) -> pn.widgets.Tabulator:
        """Every sensor now; picking a row shows it."""
        view = today_table(today_frame(self._now()))
        view.on_click(lambda event: self.session.select([view.value["Sensor"].iloc[event.row]]))

        def show(*_: object) -> None:
            view.value = today_frame(self._now())

        self.param.watch(show, "settled")
        self.tuning.param.watch(show, "hops")
        return view

    def _now(self) -> pd.DataFrame | None:
        """Every sensor as it stands, found once for all that shows it."""
        of = (self.session.network, self.settled, self.tuning.hops)
        if not all(one is other for one, other in zip(of, self._known[0], strict=True)):
            network, posterior, hops = of
            empty = posterior is None or network is None or network.colocations.empty
            self._known = (of, None if empty else today(network, posterior, hops))
        return self._known[1]

    def _truth(self, parameter: str) -> Any:
        truth = read_truth(self.session.folder)
        return truth if truth is not None and (truth["parameter"] == parameter).any() else None

    def _multiples(self) -> pn.Column:
        """Small plots of all sensors, a page at a time."""
        shown = self.shown
        plots = pn.pane.HTML("", stylesheets=[STYLE], **FILL)
        order = pmui.Select.from_param(shown.param.order, label="Order", width=280)
        pages = pmui.Pagination.from_param(shown.param.page, count=1)

        def redraw(*_: object) -> None:
            network, posterior, found = self.session.network, self.settled, self._now()
            if found is None:
                return
            rows = SORTED_BY[shown.order](found)
            pages.count = max(1, -(-len(rows) // PER_PAGE))
            sensors = rows["sensor"].iloc[shown.page * PER_PAGE : (shown.page + 1) * PER_PAGE].tolist()
            look = Look("gain", self.tuning.hops, self._truth("gain"), small=True)
            plots.object = small_bands(network.clock, (drawn(network, sensor, posterior, look) for sensor in sensors))

        self.param.watch(redraw, "settled")
        shown.param.watch(redraw, ["page", "order"])
        self.tuning.param.watch(redraw, "hops")
        redraw()
        return pn.Column(order, plots, pages, **FILL)


def _show_if_several(widget: pmui.RadioButtonGroup, shown: Shown) -> None:
    widget.visible = len(shown.param["parameter"].objects) > 1


def _source(fitted: Posterior | None) -> str:
    if fitted is None:
        return "Live preview of what you believe; Fit gives the full answer."
    return "Full fit. Move a slider to go back to the preview."
