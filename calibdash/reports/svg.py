"""Small drawings as SVG text: numbers in, markup out; every text in them is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

INK, BAND, REFERENCE, STATIC, MOBILE, WRONG = "#263238", "#90caf9", "#e65100", "#1e88e5", "#43a047", "#c62828"
GRID = "#dfe3e6"


@dataclass(frozen=True)
class Frame:
    """A plot's place on its canvas and what it spans.   x, y: low and high; left … bottom: margins in pixels"""

    width: int
    height: int
    x: tuple[float, float]
    y: tuple[float, float]
    left: int = 34
    right: int = 6
    top: int = 6
    bottom: int = 16

    def px(self, values: np.ndarray | float) -> np.ndarray:
        """Pixels from the left."""
        low, high = self.x
        span = (high - low) or 1.0
        return self.left + (np.asarray(values, dtype=np.float64) - low) / span * (self.width - self.left - self.right)

    def py(self, values: np.ndarray | float) -> np.ndarray:
        """Pixels from the top; what is outside is drawn on the edge."""
        low, high = self.y
        span = (high - low) or 1.0
        share = np.clip((np.asarray(values, dtype=np.float64) - low) / span, 0.0, 1.0)
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)


def canvas(width: int, height: int, label: str, body: str) -> str:
    """An SVG element that scales with its place."""
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg {size} role="img" aria-label="{escape(label)}">{body}</svg>'


def line(x: np.ndarray, y: np.ndarray, colour: str, width: float = 1.5, dash: str = "") -> str:
    """A line through points; it breaks where a number is missing."""
    known = np.isfinite(x) & np.isfinite(y)
    parts, drawing = [], False
    for here, across, down in zip(known, x, y, strict=True):
        if here:
            parts.append(f"{'L' if drawing else 'M'}{across:.1f} {down:.1f}")
        drawing = bool(here)
    stroke = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{"".join(parts)}" fill="none" stroke="{colour}" stroke-width="{width}"{stroke}/>'


def area(x: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str, opacity: float = 0.55) -> str:
    """The space between two lines."""
    known = np.isfinite(low) & np.isfinite(high)
    x, low, high = x[known], low[known], high[known]
    if not len(x):
        return ""
    there = "".join(f"L{a:.1f} {b:.1f}" for a, b in zip(x, high, strict=True))
    back = "".join(f"L{a:.1f} {b:.1f}" for a, b in zip(x[::-1], low[::-1], strict=True))
    return f'<path d="M{there[1:]}{back}Z" fill="{colour}" fill-opacity="{opacity}" stroke="none"/>'


def dots(x: np.ndarray, y: np.ndarray, colour: str, radius: float = 2.0, opacity: float = 0.6) -> str:
    """A disc at each point."""
    marks = "".join(
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{radius}"/>'
        for a, b in zip(np.atleast_1d(x), np.atleast_1d(y), strict=True)
    )
    return f'<g fill="{colour}" fill-opacity="{opacity}">{marks}</g>' if marks else ""


def text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 9, colour: str = "#546e7a") -> str:
    """A few words."""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
    return f'<text {place} fill="{colour}">{escape(words)}</text>'


def axes(frame: Frame, x_ticks: Sequence[tuple[float, str]], y_ticks: Sequence[tuple[float, str]]) -> str:
    """Grid lines and their labels."""
    parts = []
    right, floor = frame.width - frame.right, frame.height - frame.bottom
    for value, label in y_ticks:
        y = float(frame.py(value))
        parts.append(f'<path d="M{frame.left} {y:.1f}H{right}" stroke="{GRID}"/>')
        parts.append(text(frame.left - 4, y + 3, label, anchor="end"))
    for value, label in x_ticks:
        x = float(frame.px(value))
        parts.append(f'<path d="M{x:.1f} {frame.top}V{floor}" stroke="{GRID}"/>')
        parts.append(text(x, frame.height - 4, label, anchor="middle"))
    return "".join(parts)


def ticks(low: float, high: float, most: int = 4) -> list[float]:
    """Round numbers between two ends, few of them."""
    span = high - low
    if not np.isfinite(span) or span <= 0:
        return [low] if np.isfinite(low) else []
    raw = span / most
    unit = 10.0 ** np.floor(np.log10(raw))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= raw * 0.999)
    first = np.ceil(low / step - 1e-9) * step
    return [float(value) for value in np.arange(first, high + step * 1e-6, step)]
