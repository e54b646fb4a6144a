"""Pure plot functions: tables in, HoloViews elements out."""

from __future__ import annotations

import holoviews as hv
import numpy as np
import pandas as pd

from calibdash.data.network import Network

hv.extension("bokeh")

COLOURS = {"reference": "#e65100", "static": "#1565c0", "mobile": "#2e7d32"}
MARKERS = {"reference": "diamond", "static": "circle", "mobile": "triangle"}


def role(sensors: pd.DataFrame) -> np.ndarray:
    """``reference``, ``static`` or ``mobile`` for each sensor.   [S] → [S]"""
    return np.where(sensors["reference"], "reference", sensors["kind"])


def sensor_map(network: Network) -> hv.Overlay | None:
    """Where the sensors stand; None when no position is known."""
    sensors = network.sensors.assign(role=role(network.sensors)).dropna(subset=["latitude", "longitude"])
    if sensors.empty:
        return None
    layers = [
        hv.Points(
            sensors[sensors["role"] == name],
            kdims=[("longitude", "Longitude"), ("latitude", "Latitude")],
            vdims=[("sensor", "Sensor"), ("label", "Name")],
            label=name.capitalize(),
        ).opts(color=colour, marker=MARKERS[name], size=13 if name == "reference" else 9, tools=["hover"])
        for name, colour in COLOURS.items()
        if (sensors["role"] == name).any()
    ]
    return hv.Overlay(layers).opts(
        responsive=True, min_height=340, data_aspect=1, legend_position="right", toolbar="above", active_tools=[]
    )


def visits_raster(network: Network) -> hv.Overlay:
    """Who met somebody when: a row a sensor, a mark a colocation."""
    sensors = network.sensors.assign(role=role(network.sensors))
    order = sensors.sort_values(["role", "sensor"], ascending=[True, False])["sensor"]
    frame = network.colocations
    sides = [("sensor_a", "sensor_b"), ("sensor_b", "sensor_a")]
    marks = pd.concat(
        [pd.DataFrame({"time": frame["time"], "sensor": frame[one], "met": frame[other]}) for one, other in sides]
    )
    marks["row"] = marks["sensor"].map({sensor: row for row, sensor in enumerate(order)})
    roles = dict(zip(sensors["sensor"], sensors["role"], strict=True))
    marks["role"] = marks["met"].map(roles)
    marks = marks.drop_duplicates(["row", "time", "role"])
    layers = [
        hv.Points(
            marks[marks["role"] == name], kdims=["time", "row"], vdims=["sensor", "met"], label=f"met a {name}"
        ).opts(color=colour, marker="square", size=5, alpha=0.7)
        for name, colour in COLOURS.items()
        if (marks["role"] == name).any()
    ]
    ticks = [(row, sensor) for row, sensor in enumerate(order)] if len(order) <= 60 else 0
    return hv.Overlay(layers).opts(
        responsive=True,
        height=max(240, min(18 * len(order) + 90, 900)),
        yticks=ticks,
        ylim=(-0.7, len(order) - 0.3),
        xlabel="Time (UTC)" if network.clock.origin is not None else "Time (hours)",
        ylabel="",
        legend_position="right",
        toolbar="above",
        active_tools=[],
    )
