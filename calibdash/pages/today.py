"""The state of every sensor at the end of the record, in an operator's words."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibdash.data.network import Network
from calibdash.models.multihop import Multihop
from calibdash.models.posterior import Posterior

WIDE, DRIFTED, LONG_DAYS = 0.25, 0.15, 30.0


def today(network: Network, posterior: Posterior, hops: Multihop | None) -> pd.DataFrame:
    """A row a non-reference, what needs attention first.

    ``sensor, name, gain, lower, upper, change`` (over 30 days, %), ``last visit`` (days ago), ``path, status``
    """
    hours = network.clock.hours(network.colocations["time"])
    end = hours.max()
    times = network.clock.times(np.array([max(end - 30 * 24, hours.min()), end]))
    table = posterior.calibration(times)
    table = table[table["parameter"] == "gain"]
    before, now = (table.iloc[start::2].set_index("sensor") for start in (0, 1))
    last = _last_visit(network, hours)
    names = network.sensors.set_index("sensor")["label"]
    rows = pd.DataFrame({"gain": now["median"], "lower": now["lower"], "upper": now["upper"]})
    rows["change"] = 100 * (now["median"] / before["median"] - 1)
    rows["last visit"] = ((end - last.reindex(rows.index)) / 24).round(1)
    rows["path"] = [_path(hops, sensor, times[-1]) for sensor in rows.index]
    relative = set(posterior.relative)
    rows["status"] = [_status(row, sensor in relative) for sensor, row in rows.iterrows()]
    rows.insert(0, "name", [names.get(sensor, "") for sensor in rows.index])
    urgency = (rows["upper"] / rows["lower"]).rename("urgency")
    order = pd.concat([rows["status"] == "fine", urgency], axis=1).sort_values(
        ["status", "urgency"], ascending=[True, False]
    )
    return rows.loc[order.index].reset_index(names="sensor")


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


def _last_visit(network: Network, hours: np.ndarray) -> pd.Series:
    table = network.colocations
    sides = [pd.Series(hours, index=table[f"sensor_{side}"]) for side in "ab"]
    return pd.concat(sides).groupby(level=0).max()


def _path(hops: Multihop | None, sensor: str, time: object) -> str:
    return "" if hops is None or sensor not in hops.sensors else hops.describe_path(sensor, time)
