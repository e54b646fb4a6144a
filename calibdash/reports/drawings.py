"""The drawings of a report: bands of a sensor, the map, the errors behind an alarm, the target diagram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from calibdash.data.network import Clock, Network
from calibdash.reports import svg

ROLE = {"reference": svg.REFERENCE, "static": svg.STATIC, "mobile": svg.MOBILE}
MOST_DOTS = 60
MAP_SIZE = (640, 420)
NAMED_MOST = 60  # names on a map of more sensors would cover it
KM_A_DEGREE = 111.195


def time_ticks(clock: Clock, low: float, high: float, most: int = 4) -> list[tuple[float, str]]:
    """Round dates (or hours) within a stretch of hours, with their labels."""
    if clock.origin is None:
        return [(value, f"{value:g} h") for value in svg.ticks(low, high, most)]
    days = (high - low) / 24
    step = next((step for step in (1, 2, 5, 10, 14, 30, 61, 91, 182, 365, 730) if days / step <= most), 1500)
    first = int(np.ceil(low / 24))
    hours = np.arange(first, int(high // 24) + 1, step) * 24.0
    form = "%-d %b" if step < 182 else "%b %Y"
    return [
        (float(hour), pd.Timestamp(stamp).strftime(form)) for hour, stamp in zip(hours, clock.times(hours), strict=True)
    ]


def band_drawing(
    clock: Clock, band: pd.DataFrame, ratios: tuple[np.ndarray, np.ndarray] | None, *, width: int = 330
) -> str:
    """A parameter over time with its 95 % band, and the ratios seen beside references.

    band: ``hours, median, lower, upper``; ratios: hours and reference ÷ own reading
    """
    hours = band["hours"].to_numpy()
    middle, low, high = (band[name].to_numpy() for name in ("median", "lower", "upper"))
    seen = np.concatenate([part[np.isfinite(part)] for part in (middle, low, high)])
    if not len(seen):
        return svg.canvas(width, 100, "no calibration", svg.text(width / 2, 54, "not known", anchor="middle", size=11))
    ends = (float(np.quantile(seen, 0.01)), float(np.quantile(seen, 0.99)))
    if ratios is not None and len(ratios[0]):  # single readings scatter: most of them inside, the rest on the edge
        near = np.quantile(ratios[1], (0.03, 0.97))
        ends = (min(ends[0], float(near[0])), max(ends[1], float(near[1])))
    room = 0.12 * max(ends[1] - ends[0], 0.1 * abs(ends[1]), 1e-6)
    frame = svg.Frame(width, 120, (float(hours[0]), float(hours[-1])), (ends[0] - room, ends[1] + room))
    x = frame.px(hours)
    body = svg.axes(
        frame, time_ticks(clock, *frame.x), [(value, f"{value:.3g}") for value in svg.ticks(*frame.y, most=3)]
    )
    body += svg.area(x, frame.py(low), frame.py(high), svg.BAND)
    if ratios is not None and len(ratios[0]):
        chosen = np.unique(np.linspace(0, len(ratios[0]) - 1, MOST_DOTS).astype(int))
        body += svg.dots(frame.px(ratios[0][chosen]), frame.py(ratios[1][chosen]), svg.REFERENCE, 1.6)
    body += svg.line(x, frame.py(np.where(np.isfinite(middle), middle, np.nan)), svg.INK)
    return svg.canvas(width, 120, "calibration over time", body)


def map_drawing(network: Network) -> str | None:
    """Static sensors where they stand, north up, with a scale; where mobile sensors are is private."""
    sensors = network.sensors
    shown = sensors[(sensors["kind"] == "static") & sensors["latitude"].notna() & sensors["longitude"].notna()]
    if len(shown) < 2:
        return None
    latitude, longitude = shown["latitude"].to_numpy(), shown["longitude"].to_numpy()
    shrink = float(np.cos(np.radians(latitude.mean())))
    east = (longitude - longitude.mean()) * KM_A_DEGREE * shrink
    north = (latitude - latitude.mean()) * KM_A_DEGREE
    width, height = MAP_SIZE
    inner = (width - 140, height - 60)
    scale = min(inner[0] / max(np.ptp(east), 0.1), inner[1] / max(np.ptp(north), 0.1))  # pixels a km
    x = width / 2 + (east - (east.max() + east.min()) / 2) * scale
    y = height / 2 - 10 - (north - (north.max() + north.min()) / 2) * scale
    body = f'<rect width="{width}" height="{height}" rx="6" fill="#f4f7f9"/>'
    named = len(shown) <= NAMED_MOST
    for role in ("static", "reference"):
        chosen = shown["reference"].to_numpy() == (role == "reference")
        body += svg.dots(x[chosen], y[chosen], ROLE[role], 6.0 if named else 3.5, 0.95)
    if named:
        body += _names(x, y, [str(name)[:24] for name in shown["sensor"]])
    return svg.canvas(width, height, "map of static sensors", body + _scale_bar(scale, height) + _legend(width))


def _names(x: np.ndarray, y: np.ndarray, names: Sequence[str]) -> str:
    """Names beside their dots: right, left, below or above, where no dot or earlier name is in the way.   x, y [N]"""
    taken = [(a - 6, b - 6, a + 6, b + 6) for a, b in zip(x, y, strict=True)]
    body = ""
    for across, down, name in zip(x, y, names, strict=True):
        long = 6.0 * len(name)
        places = [
            ("start", across + 8, down + 3, across + 8),
            ("end", across - 8, down + 3, across - 8 - long),
            ("middle", across, down + 16, across - long / 2),
            ("middle", across, down - 9, across - long / 2),
        ]
        boxes = [(left, base - 8, left + long, base + 2) for _, _, base, left in places]
        best = min(range(4), key=lambda place: (sum(_overlap(boxes[place], other) for other in taken), place))
        taken.append(boxes[best])
        anchor, at, base, _ = places[best]
        body += svg.text(float(at), float(base), name, anchor=anchor, size=10, colour=svg.INK)
    return body


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Area that two boxes (left, top, right, bottom) share."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return float(max(across, 0.0) * max(down, 0.0))


def _scale_bar(scale: float, height: int) -> str:
    kilometres = next((step for step in (100, 50, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05) if step * scale <= 140), 0.02)
    length = kilometres * scale
    words = f"{kilometres:g} km" if kilometres >= 1 else f"{1000 * kilometres:g} m"
    bar = f'<path d="M14 {height - 18}h{length:.1f}" stroke="{svg.INK}" stroke-width="2"/>'
    return bar + svg.text(14, height - 24, words, colour=svg.INK)


def _legend(width: int) -> str:
    body = ""
    for place, (role, words) in enumerate({"reference": "reference", "static": "low-cost sensor"}.items()):
        body += svg.dots(np.array([width - 108.0]), np.array([16.0 + 16 * place]), ROLE[role], 5.0, 0.95)
        body += svg.text(width - 98, 19 + 16 * place, words, size=10, colour=svg.INK)
    return body


def errors_drawing(visits: Sequence[Mapping[str, object]], *, width: int = 640) -> str:
    """Errors of a sensor's visits, one stick each; those since the fault in red; ±2 is what chance does."""
    z = np.array([float(str(visit["z"])) for visit in visits])
    reach = float(np.clip(np.max(np.abs(z), initial=3.0), 3.0, 8.0))
    frame = svg.Frame(width, 110, (-0.5, max(len(z), 2) - 0.5), (-reach, reach))
    zero = float(frame.py(0.0))
    top, low = float(frame.py(2.0)), float(frame.py(-2.0))
    across = width - frame.left - frame.right
    body = f'<rect x="{frame.left}" y="{top:.1f}" width="{across}" height="{low - top:.1f}" fill="#eceff1"/>'
    body += svg.axes(frame, [], [(value, f"{value:g}") for value in (-2.0, 0.0, 2.0)])
    body += _dates(frame, visits)
    for place, visit in enumerate(visits):
        x, y = float(frame.px(place)), float(frame.py(z[place]))
        colour = svg.WRONG if visit["after"] else svg.INK
        body += f'<path d="M{x:.1f} {zero:.1f}V{y:.1f}" stroke="{colour}" stroke-width="1.5"/>'
        body += svg.dots(np.array([x]), np.array([y]), colour, 2.4, 1.0)
    return svg.canvas(width, 110, "errors of the sensor's visits", body)


def _dates(frame: svg.Frame, visits: Sequence[Mapping[str, object]]) -> str:
    """When the first, the first faulty and the last visit took place, as far as there is room."""
    fault = next((place for place, visit in enumerate(visits) if visit["after"]), 0)
    body = ""
    taken: list[float] = []
    for place in dict.fromkeys((fault, len(visits) - 1, 0)):
        x = float(frame.px(place))
        if visits and all(abs(x - other) > 70 for other in taken):
            taken.append(x)
            anchor = "end" if x > frame.width - 40 else "start" if x < frame.left + 30 else "middle"
            body += svg.text(x, frame.height - 4, str(visits[place]["time"])[:10], anchor=anchor)
    return body


def target_drawing(
    points: Sequence[tuple[str, tuple[float, float], tuple[float, float]]], rings: Mapping[str, float]
) -> str:
    """Uncertainty by bias (across) and by chance (up), before (hollow) and after (full), in per cent."""
    size, reach = 360, 1.15 * max(rings.values())
    frame = svg.Frame(size, size // 2 + 24, (-reach, reach), (0.0, reach), left=20, right=20, top=10, bottom=24)
    origin = (float(frame.px(0.0)), float(frame.py(0.0)))
    body = ""
    for name, radius in sorted(rings.items(), key=lambda ring: -ring[1]):
        r = float(frame.px(radius)) - origin[0]
        arc = f"M{origin[0] - r:.1f} {origin[1]:.1f}a{r:.1f} {r:.1f} 0 0 1 {2 * r:.1f} 0"
        body += f'<path d="{arc}" fill="#e3f2fd" fill-opacity="0.5" stroke="{svg.BAND}"/>'
        body += svg.text(origin[0], origin[1] - r - 3, f"{name} {radius:g} %", anchor="middle", size=8)
    body += f'<path d="M{frame.left} {origin[1]:.1f}H{size - frame.right}" stroke="{svg.INK}"/>'
    for name, before, after in points:
        a, b = (
            (float(frame.px(np.clip(bias, -reach, reach))), float(frame.py(chance))) for bias, chance in (before, after)
        )
        body += f'<path d="M{a[0]:.1f} {a[1]:.1f}L{b[0]:.1f} {b[1]:.1f}" stroke="#78909c" stroke-dasharray="3 2"/>'
        body += f'<circle cx="{a[0]:.1f}" cy="{a[1]:.1f}" r="4" fill="white" stroke="{svg.INK}"/>'
        body += f'<circle cx="{b[0]:.1f}" cy="{b[1]:.1f}" r="4" fill="{svg.STATIC}"/>'
        body += svg.text(b[0] + 6, b[1] + 3, name[:24], size=9, colour=svg.INK)
    body += svg.text(frame.left, size // 2 + 18, "reads too low", size=9)
    body += svg.text(size - frame.right, size // 2 + 18, "reads too high", anchor="end", size=9)
    return svg.canvas(size, size // 2 + 24, "target diagram", body)
