"""Raw readings dropped in come back calibrated: a plot and a download."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param
from bokeh.plotting import figure

from calibdash.data.problems import DataError
from calibdash.errors import CalibdashError
from calibdash.pages.account import look_only
from calibdash.pages.dropper import WholeDropper
from calibdash.pages.layout import csv_bytes, download, words
from calibdash.pages.plots import plain
from calibdash.pages.problems import problem_view
from calibdash.state.readings import Calibrated, calibrate_content
from calibdash.state.shown import Shown

LARGEST, LARGEST_BYTES = "300MB", 300_000_000
MOST_POINTS = 3000
FILL: dict[str, Any] = {"sizing_mode": "stretch_width"}


def calibrated_plot(result: Calibrated, sensor: str) -> figure:
    """Raw and calibrated readings of one sensor over time, with the 95 % band of the true level."""
    mine = result.table[result.table["sensor"] == sensor].sort_values("time", kind="stable")
    mine = mine.iloc[:: max(1, len(mine) // MOST_POINTS)]
    stamped = isinstance(mine["time"].dtype, pd.DatetimeTZDtype)
    times = plain(pd.DatetimeIndex(mine["time"])) if stamped else mine["time"].to_numpy()
    plot = figure(
        height=320,
        sizing_mode="stretch_width",
        x_axis_type="datetime" if stamped else "linear",
        title=sensor,
        tools="pan,box_zoom,wheel_zoom,reset,save",
    )
    plot.toolbar.logo = None
    plot.varea(times, mine["lower"], mine["upper"], color="#1e88e5", alpha=0.22)
    plot.line(times, mine["value"], color="#9e9e9e", legend_label="As read")
    plot.line(times, mine["calibrated"], color="#1e88e5", line_width=2, legend_label="Calibrated, with its 95 % band")
    plot.legend.orientation = "horizontal"
    plot.add_layout(plot.legend[0], "below")
    return plot


class ReadingsView(pn.viewable.Viewer):
    """Where readings are dropped, and what became of them."""

    shown: Any = param.ClassSelector(class_=Shown, allow_None=False)
    result: Any = param.ClassSelector(class_=Calibrated, doc="The last file, calibrated.")
    trouble: Any = param.ClassSelector(class_=CalibdashError, doc="Why a file could not be used.")

    def take(self, name: str, content: bytes | str) -> None:
        """Calibrate a file; what is wrong with it is said."""
        posterior = self.shown.posterior
        if posterior is None:
            return
        try:
            self.param.update(
                result=calibrate_content(name, content, posterior, self.shown.session.person), trouble=None
            )
        except CalibdashError as problem:
            self.param.update(result=None, trouble=problem)

    def __panel__(self) -> pn.viewable.Viewable:
        if not self.shown.session.person.may_change:
            return look_only()
        drop = WholeDropper(max_file_size=LARGEST, most_bytes=LARGEST_BYTES, height=90, **FILL)

        def dropped(event: param.parameterized.Event) -> None:
            for name, content in dict(event.new or {}).items():
                self.take(name, content)
                drop.value = {}

        drop.param.watch(dropped, "value")
        about = words(
            "Drop a file of raw readings here (time, sensor, value, or an export of AirQo, OpenAQ, PurpleAir, …). "
            "It is calibrated with what is on show above.",
            variant="body2",
        )
        return pn.Column(about, drop, pn.bind(self._outcome, self.param.result, self.param.trouble), **FILL)

    def _outcome(self, result: Calibrated | None, trouble: CalibdashError | None) -> Any:
        if isinstance(trouble, DataError):
            return problem_view(trouble.problems)
        if trouble is not None:
            return pmui.Alert(object=escape(str(trouble)), severity="error", **FILL)
        if result is None:
            return pn.Spacer(height=0)
        choose = pmui.Select(label="Sensor", options=result.sensors, width=230)
        left_out = (
            f" {len(result.unknown)} sensors that the network does not have were left out." if result.unknown else ""
        )
        load = download("Download", "calibrated.csv", lambda: csv_bytes(result.table))
        plot = pn.bind(lambda sensor: pn.pane.Bokeh(calibrated_plot(result, sensor), **FILL), choose.param.value)
        return pn.Column(
            words(f"{len(result.table):,} readings are calibrated.{left_out}"),
            pn.Row(choose, load),
            pn.Column(plot, **FILL),
            **FILL,
        )
