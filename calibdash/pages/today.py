"""The state of every sensor at the end of the record, in an operator's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
from bokeh.models.widgets.tables import NumberFormatter

from calibdash.data.network import Network
from calibdash.models.multihop import Multihop
from calibdash.models.posterior import Posterior
from calibdash.pages.bands import record_hours
from calibdash.pages.tables import table
from calibdash.state.once import once

WIDE, DRIFTED, LONG_DAYS = 0.25, 0.15, 30.0
VISIT = "Days since a visit"
SHARES = {  # of the table's width, %
    "Sensor": 11,
    "Name": 13,
    "Gain now": 9,
    "95 %": 15,
    "30 days": 9,
    VISIT: 10,
    "Calibration comes": 18,
    "Status": 15,
}
SMALL = ".tabulator .tabulator-cell, .tabulator .tabulator-col-title { font-size: 14px; }"
SORTED_BY: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "width": lambda rows: rows.sort_values("width", ascending=False, kind="stable"),
    "change": lambda rows: rows.sort_values("change", key=abs, ascending=False, kind="stable"),
    "visit": lambda rows: rows.sort_values("last visit", ascending=False, na_position="first", kind="stable"),
    "name": lambda rows: rows.sort_values("sensor", kind="stable"),
}


def today(network: Network, posterior: Posterior, hops: Multihop | None) -> pd.DataFrame:
    """A row a non-reference, what needs attention first.

    ``sensor, name, gain, lower, upper, change`` (over 30 days, %), ``last visit`` (days ago), ``path, status``,
    ``width`` (upper ÷ lower)
    """
    hours = record_hours(network)
    end = hours.max()
    times = network.clock.times(np.array([max(end - 30 * 24, hours.min()), end]))
    table = posterior.calibration(times)
    table = table[table["parameter"] == "gain"]
    before, now = (table.iloc[start::2].set_index("sensor") for start in (0, 1))
    last = _last_visit(network)
    names = network.sensors.set_index("sensor")["label"]
    rows = pd.DataFrame({"gain": now["median"], "lower": now["lower"], "upper": now["upper"]})
    rows["change"] = 100 * (now["median"] / before["median"] - 1)
    rows["last visit"] = ((end - last.reindex(rows.index)) / 24).round(1)
    rows["path"] = [_path(hops, sensor, times[-1]) for sensor in rows.index]
    relative = set(posterior.relative)
    rows["status"] = [_status(row, sensor in relative) for sensor, row in rows.iterrows()]
    rows.insert(0, "name", [names.get(sensor, "") for sensor in rows.index])
    rows["width"] = rows["upper"] / rows["lower"]
    fine = (rows["status"] == "fine").to_numpy()
    order = np.lexsort((-rows["width"].to_numpy(), fine))
    return rows.iloc[order].reset_index(names="sensor")


def today_frame(rows: pd.DataFrame | None) -> pd.DataFrame:
    """The same as people read it; None: no rows."""
    if rows is None:
        return pd.DataFrame(columns=list(SHARES))
    return pd.DataFrame(
        {
            "Sensor": rows["sensor"],
            "Name": rows["name"],
            "Gain now": rows["gain"].round(2),
            "95 %": [f"{low:.2f} – {high:.2f}" for low, high in zip(rows["lower"], rows["upper"], strict=True)],
            "30 days": rows["change"].div(100).round(2) + 0.0,  # no "-0 %"
            VISIT: rows["last visit"].round(),
            "Calibration comes": rows["path"],
            "Status": rows["status"],
        }
    )


def today_table(frame: pd.DataFrame) -> pn.widgets.Tabulator:
    """A table of it."""
    widths = {name: f"{share}%" for name, share in SHARES.items()}
    formatters: dict[str, Any] = {name: {"type": "textarea"} for name in ("Name", "Calibration comes", "Status")}
    # numbers stay numbers, so that a column can be sorted
    formatters |= {"30 days": NumberFormatter(format="+0%"), VISIT: NumberFormatter(format="0", nan_format="never")}
    return table(frame, page_size=10, pagination="local", widths=widths, formatters=formatters, stylesheets=[SMALL])


def _status(row: pd.Series, relative: bool) -> str:
    if relative:
        return "no reference in reach"
    width = row["upper"] / row["gain"] - 1
    words = []
    if width > WIDE:
        words.append(f"uncertain: ±{100 * width:.0f} %")
    if abs(row["change"]) > 100 * DRIFTED:
        words.append(f"drifted {row['change']:+.0f} % in 30 days")
    if not row["last visit"] <= LONG_DAYS:
        words.append("no visit for long" if row["last visit"] == row["last visit"] else "never visited")
    return "; ".join(words) or "fine"


@once
def _last_visit(network: Network) -> pd.Series:
    """Hour of each sensor's last colocation, by its name."""
    table, hours = network.colocations, record_hours(network)
    sides = [pd.Series(hours, index=table[f"sensor_{side}"]) for side in "ab"]
    return pd.concat(sides).groupby(level=0).max()


def _path(hops: Multihop | None, sensor: str, time: object) -> str:
    return "" if hops is None or sensor not in hops.sensors else hops.describe_path(sensor, time)
