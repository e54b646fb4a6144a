"""Two runs of one network, sensor by sensor."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import pandas as pd
import panel_material_ui as pmui
from bokeh.models.widgets.tables import NumberFormatter

from calibdash.data.network import Network
from calibdash.models.posterior import Posterior
from calibdash.pages.layout import titled
from calibdash.pages.tables import table


def differences(network: Network, posterior: Posterior, other: Posterior) -> pd.DataFrame:
    """Gains at the end of the record in both runs, the largest disagreement first.

    ``sensor, here, there, difference`` (%), ``agree``: whether each lies within the other's band
    """
    end = network.clock.times(np.array([network.clock.hours(network.colocations["time"]).max()]))
    tables = []
    for fitted in (posterior, other):
        free = [sensor for sensor, fixed in zip(fitted.sensors, fitted.reference, strict=True) if not fixed]
        rows = fitted.calibration(end, free)
        tables.append(rows[rows["parameter"] == "gain"].set_index("sensor"))
    here, there = (rows.loc[tables[0].index.intersection(tables[1].index)] for rows in tables)
    result = pd.DataFrame({"here": here["median"], "there": there["median"]})
    result["difference"] = 100 * (there["median"] / here["median"] - 1)
    inside = [
        (one["lower"] <= two["median"]) & (two["median"] <= one["upper"]) for one, two in ((here, there), (there, here))
    ]
    result["agree"] = inside[0] & inside[1]
    order = result["difference"].abs().sort_values(ascending=False, kind="stable").index
    return result.loc[order].reset_index(names="sensor")


def comparison(network: Network | None, posterior: Posterior | None, other: Posterior | None, message: str) -> Any:
    """A table of the differences; None where there is nothing to compare."""
    if message:
        return pmui.Alert(object=escape(message), severity="warning", sizing_mode="stretch_width")
    if network is None or posterior is None or other is None or network.colocations.empty:
        return None
    rows = differences(network, posterior, other)
    frame = pd.DataFrame(
        {
            "Sensor": rows["sensor"],
            "Gain now": rows["here"].round(3),
            "Gain in the other run": rows["there"].round(3),
            "Difference": rows["difference"].div(100).round(3) + 0.0,  # no "-0.0 %"
            "Within each other's band": ["yes" if agree else "no" for agree in rows["agree"]],
        }
    )
    formatters = {"Difference": NumberFormatter(format="+0.0%")}
    return titled("Beside the other run", table(frame, page_size=10, pagination="local", formatters=formatters))
