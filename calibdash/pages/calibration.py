"""The calibration page: sliders and their live preview, the full fit, and every sensor's band beside multi-hop."""

from __future__ import annotations

from html import escape
from typing import Any

import holoviews as hv
import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param

from calibdash.data.network import Network
from calibdash.models.posterior import Posterior
from calibdash.pages.bands import gain_plot
from calibdash.pages.layout import titled
from calibdash.pages.tables import table
from calibdash.pages.today import today
from calibdash.runs.snapshot import Snapshot
from calibdash.state.fitting import Fitting
from calibdash.state.truth import read_truth
from calibdash.state.tuning import SLIDERS, Tuning

LABELS = {
    "static_days": "Static sensors change over (days)",
    "mobile_days": "Mobile sensors change over (days)",
    "drift_percent": "Size of those changes (%)",
    "bias_percent": "Lasting error of a sensor (%)",
    "noise_percent": "Noise, share of a reading (%)",
    "noise_units": "Noise, whatever the reading",
    "window_hours": "Multi-hop window (hours)",
    "time_weight": "Multi-hop: cost of a window back",
}
PER_PAGE = 8


class CalibrationPage(pn.viewable.Viewer):
    """Left what is wanted, right what is known."""

    tuning: Any = param.ClassSelector(class_=Tuning, allow_None=False)
    fitting: Any = param.ClassSelector(class_=Fitting, allow_None=False)
    page = param.Integer(0, bounds=(0, None), doc="Which small plots are on show.")

    def __panel__(self) -> pn.viewable.Viewable:
        shown = pn.bind(self._content, self.tuning.session.param.checked)
        return pn.Column(shown, sizing_mode="stretch_width", margin=(16, 24))

    def _content(self, checked: Any) -> pn.viewable.Viewable:
        if checked is None or checked.network is None:
            return pmui.Alert(object="Choose a network with colocations on the left.", severity="info")
        return pmui.Grid(
            pmui.Grid(self._controls(), size={"xs": 12, "lg": 3}),
            pmui.Grid(self._views(), size={"xs": 12, "lg": 9}),
            container=True,
            spacing=3,
            sizing_mode="stretch_width",
        )

    def _controls(self) -> pn.Column:
        tuning = self.tuning
        fill = {"sizing_mode": "stretch_width"}
        sliders = [_slider(tuning, name) for name in SLIDERS]
        hops = [_slider(tuning, name) for name in ("window_hours", "time_weight")]
        start = pmui.Button(label="Fit", icon="play_arrow", variant="contained", **fill)
        start.on_click(lambda _: self.fitting.start())
        stop = pmui.Button(label="Cancel", variant="outlined", **fill)
        stop.on_click(lambda _: self.fitting.cancel())
        busy = self.fitting.param.busy
        start.visible, stop.visible = busy.rx.not_(), busy.rx()
        return pn.Column(
            titled("What you believe", pn.Column(*sliders, **fill)),
            titled(
                "Full fit",
                pn.Column(
                    pmui.Select.from_param(tuning.param.function, label="What may be wrong", **fill),
                    pmui.Select.from_param(tuning.param.likelihood, label="Where the noise sits", **fill),
                    pmui.Switch.from_param(tuning.param.learn, label="Find these values from the data"),
                    start,
                    stop,
                    pn.bind(_progress, self.fitting.param.snapshot, self.fitting.param.message),
                    **fill,
                ),
            ),
            titled("Multi-hop", pn.Column(*hops, **fill)),
            **fill,
        )

    def _views(self) -> pn.Column:
        session = self.tuning.session
        sensors = [sensor for sensor in session.network.sensors["sensor"] if sensor not in session.references]
        choose = pmui.Select(label="Sensor", options=sensors, value=_first(session.selected, sensors), width=260)
        choose.param.watch(lambda event: session.select([event.new]), "value")
        session.param.watch(lambda event: _follow(choose, event.new), "selected")
        what = pn.bind(_source, self.fitting.param.posterior)
        posterior = pn.bind(_best, self.fitting.param.posterior, self.tuning.param.preview)
        large = pn.bind(self._large, choose.param.value, posterior, self.tuning.param.hops, session.param.network)
        small = pn.bind(self._small, posterior, self.tuning.param.hops, session.param.network, self.param.page)
        pages = pmui.Pagination.from_param(self.param.page, count=max(1, -(-len(sensors) // PER_PAGE)))
        return pn.Column(
            pn.Row(choose, pmui.Typography(what, margin=(18, 10))),
            pn.Column(large, sizing_mode="stretch_width"),
            titled("Today", pn.Column(pn.bind(_today, session.param.network, posterior, self.tuning.param.hops))),
            titled("All sensors, the most uncertain first", pn.Column(small, pages, sizing_mode="stretch_width")),
            sizing_mode="stretch_width",
        )

    def _large(self, sensor: str, posterior: Posterior | None, hops: Any, network: Network | None) -> Any:
        if posterior is None or network is None or sensor not in set(network.sensors["sensor"]):
            return pmui.Alert(object=escape(self.tuning.failure or "There is nothing to show yet."), severity="info")
        plot = gain_plot(network, sensor, posterior, hops, read_truth(self.tuning.session.folder))
        return pn.pane.HoloViews(plot, sizing_mode="stretch_width", linked_axes=False)

    def _small(self, posterior: Posterior | None, hops: Any, network: Network | None, page: int) -> Any:
        if posterior is None or network is None or network.colocations.empty:
            return pn.Spacer(height=0)
        order = today(network, posterior, None)["sensor"].tolist()
        shown = order[page * PER_PAGE : (page + 1) * PER_PAGE]
        truth = read_truth(self.tuning.session.folder)
        cells = [
            pmui.Grid(_small_plot(gain_plot(network, sensor, posterior, hops, truth, height=170, small=True)),
                      size={"xs": 12, "sm": 6, "lg": 3})
            for sensor in shown
        ]  # fmt: skip
        return pmui.Grid(*cells, container=True, spacing=1, sizing_mode="stretch_width")


def _small_plot(plot: hv.Overlay) -> pn.pane.HoloViews:
    return pn.pane.HoloViews(plot, sizing_mode="stretch_width", linked_axes=False)


def _slider(tuning: Tuning, name: str) -> pn.Column:
    """A slider with its explanation below it; the preview follows when it is let go."""
    low, high = tuning.param[name].bounds
    widget = pmui.EditableFloatSlider(
        label=LABELS[name], start=low, end=high, step=_step(high), value=getattr(tuning, name),
        sizing_mode="stretch_width", format="0[.]0",
    )  # fmt: skip
    widget.param.watch(lambda event: setattr(tuning, name, event.new), "value_throttled")
    tuning.param.watch(lambda event: widget.param.update(value=event.new), name)
    about = pmui.Typography(tuning.param[name].doc, variant="caption", margin=(0, 10, 8, 10))
    return pn.Column(widget, about, sizing_mode="stretch_width")


def _step(high: float) -> float:
    return 0.01 if high <= 10 else 0.1 if high <= 100 else 1.0


def _first(selected: list[str], sensors: list[str]) -> str | None:
    return next((sensor for sensor in selected if sensor in sensors), sensors[0] if sensors else None)


def _follow(choose: pmui.Select, selected: list[str]) -> None:
    if len(selected) == 1 and selected[0] in choose.options and choose.value != selected[0]:
        choose.value = selected[0]


def _best(fitted: Posterior | None, preview: Posterior | None) -> Posterior | None:
    return fitted if fitted is not None else preview


def _source(fitted: Posterior | None) -> str:
    if fitted is None:
        return "Live preview of what you believe; Fit gives the full answer."
    return "Full fit. Move a slider to go back to the preview."


def _today(network: Network | None, posterior: Posterior | None, hops: Any) -> Any:
    if network is None or posterior is None or network.colocations.empty:
        return pn.Spacer(height=0)
    rows = today(network, posterior, hops)
    interval = [f"{low:.2f} – {high:.2f}" for low, high in zip(rows["lower"], rows["upper"], strict=True)]
    frame = pd.DataFrame(
        {
            "Sensor": rows["sensor"],
            "Name": rows["name"],
            "Gain now": rows["gain"].round(2),
            "95 %": interval,
            "30 days": [f"{change:+.0f} %" for change in rows["change"]],
            "Calibration comes": rows["path"],
            "Status": rows["status"],
        }
    )
    widths = {"Sensor": 90, "Gain now": 90, "95 %": 110, "30 days": 80}
    wrapped = {name: {"type": "textarea"} for name in ("Name", "Calibration comes", "Status")}
    return table(frame, page_size=10, pagination="local", widths=widths, formatters=wrapped)


def _progress(snapshot: Snapshot | None, message: str) -> Any:
    if message:
        return pmui.Alert(object=escape(message), severity="warning", sizing_mode="stretch_width")
    if snapshot is None:
        return pn.Spacer(height=0)
    return pn.Column(
        pmui.LinearProgress(value=int(100 * snapshot.share), variant="determinate", sizing_mode="stretch_width"),
        pmui.Typography(_words(snapshot), variant="caption"),
        sizing_mode="stretch_width",
    )


def _words(snapshot: Snapshot) -> str:
    left = "" if snapshot.remaining is None else f", about {snapshot.remaining:.0f} s left"
    return f"{snapshot.status}{left}"
