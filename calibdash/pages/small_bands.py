"""Small plots of many sensors as one drawing: they come at once, where a figure each would take the browser seconds."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import numpy as np

from calibdash.data.network import Clock
from calibdash.pages.band_figure import BAND, HOPS, TRUTH
from calibdash.pages.bands import Drawn, hours_of
from calibdash.reports import svg
from calibdash.reports.drawings import time_ticks

WIDTH, HEIGHT = 320, 150
STYLE = f"""
.bands {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(240px, 1fr)); gap: 6px 14px; }}
.bands figure {{ margin: 0; }}
.bands figcaption {{ font-size: 12px; font-weight: 600; padding-left: 34px; overflow: hidden;
                     white-space: nowrap; text-overflow: ellipsis; }}
.bands svg {{ width: 100%; height: auto; display: block; }}
.bands svg text {{ fill: currentColor; opacity: 0.75; }}
.bands svg path[stroke="{svg.GRID}"] {{ stroke: currentColor; stroke-opacity: 0.13; }}
"""


def small_bands(clock: Clock, sensors: Iterable[Drawn]) -> str:
    """All of them as markup, beside and below each other as there is room."""
    return f'<div class="bands">{"".join(_figure(clock, drawn) for drawn in sensors)}</div>'


def _figure(clock: Clock, drawn: Drawn) -> str:
    title = escape(drawn.title)
    return f'<figure title="{title}"><figcaption>{title}</figcaption>{_drawing(clock, drawn)}</figure>'


def _drawing(clock: Clock, drawn: Drawn) -> str:
    """Band, multi-hop steps and truth, as the large plot has them."""
    band = drawn.layers["band"]
    if not len(band["time"]):
        words = svg.text(WIDTH / 2, HEIGHT / 2, "not known", anchor="middle")
        return svg.canvas(WIDTH, HEIGHT, "no calibration", words)
    hours = hours_of(clock, band["time"])
    frame = svg.Frame(WIDTH, HEIGHT, (float(hours[0]), float(hours[-1])), drawn.limits)
    x = frame.px(hours)
    body = svg.axes(
        frame, time_ticks(clock, *frame.x, most=3), [(value, f"{value:.3g}") for value in svg.ticks(*frame.y)]
    )
    for low, high in (("lower", "upper"), ("lower50", "upper50")):
        body += svg.area(x, frame.py(band[low]), frame.py(band[high]), BAND, opacity=0.3)
    body += svg.line(x, frame.py(band["median"]), BAND, 1.8)
    for name, colour in (("hops", HOPS), ("truth", TRUTH)):
        if name in drawn.layers and len(layer := drawn.layers[name]["time"]):
            at, level = hours_of(clock, layer), drawn.layers[name]["median"]
            if name == "hops":  # a step holds until the next
                at, level = np.repeat(at, 2)[1:], np.repeat(level, 2)[:-1]
            inside = (at >= frame.x[0]) & (at <= frame.x[1])
            body += svg.line(frame.px(at[inside]), frame.py(level[inside]), colour, 1.2)
    return svg.canvas(WIDTH, HEIGHT, f"calibration of {drawn.title} over time", body)
