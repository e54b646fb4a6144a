"""The page of an evaluation: figures by method, and each left-out reference as the network recovered it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from calibdash import __version__
from calibdash.data.network import Clock, Network
from calibdash.reports import document as doc
from calibdash.reports import svg
from calibdash.reports.document import Markup
from calibdash.reports.drawings import time_ticks

COLOURS = {"multi-hop": "#8e24aa", "pair model": svg.STATIC}
HEADINGS = {
    "points": "readings",
    "mae": "MAE",
    "rmse": "RMSE",
    "nmse": "NMSE",
    "bias": "bias",
    "nlpd": "NLPD",
    "coverage": "95 % covers",
    "without_path": "no answer",
}
MOST_DRAWN = 400


def evaluation_page(
    network: Network, figures: pd.DataFrame, table: pd.DataFrame, about: Mapping[str, object], cannot: str
) -> str:
    """The whole page. figures, table: as of ``leave_one_out``; cannot: why there is nothing to show"""
    title = f"How good is the calibration of {network.name}?"
    if cannot:
        sections = [doc.section("Not assessable", doc.say(cannot, "warn"))]
    else:
        sections = [_figures(network, figures, about), _folds(network.clock, table)]
    facts = [(key, value) for key, value in about.items() if value not in (None, "", {})]
    sections.append(doc.section("How this was made", doc.table(("", ""), facts)))
    return doc.document(title, "", sections, f"calibdash {__version__}. This file is complete in itself.")


def _figures(network: Network, figures: pd.DataFrame, about: Mapping[str, object]) -> Markup:
    whole = figures[figures["fold"] == "all"]
    parts = [
        _table(whole, fold=False),
        Markup("<h3>One by one</h3>"),
        _table(figures[figures["fold"] != "all"], fold=True),
    ]
    if len(network.references) >= 2:
        words = "Each reference in turn is treated as an unknown sensor, and recovered through the network."
        if about.get("drift"):
            words += f" Its readings were scaled, from 1 at its first colocation to {about['drift']} at its last."
        else:
            words += (
                " Its readings were left as they are: doing nothing makes no error here, and "
                "both methods can only lose. With --drift 1.83 there is something to recover."
            )
    else:
        words = (
            "There is one reference: stretches of its colocations were held out in turn, and foretold from the rest. "
            "The errors hold the noise of single readings. The reference itself cannot be checked."
        )
    legend = (
        "Errors are of calibrated readings, in their unit; NMSE: mean squared error over the variance of the truth; "
        "NLPD and coverage are of the log gain (lower is better; 95 % is right). Readings without an answer count raw."
    )
    return doc.section("Figures", doc.say(words), *parts, doc.paragraph(legend, "quiet"))


def _table(figures: pd.DataFrame, *, fold: bool) -> Markup:
    names = [name for name in HEADINGS if name in figures]
    heading = [*(["left out"] if fold else []), "method", *(HEADINGS[name] for name in names)]
    rows = [
        [*([row["fold"]] if fold else []), row["method"], *(_cell(name, row[name]) for name in names)]
        for row in figures.to_dict("records")
    ]
    return doc.table(heading, rows, range(1 + fold, len(heading)))


def _cell(name: str, value: float) -> str:
    if not np.isfinite(value):
        return ""
    if name == "points":
        return f"{value:,.0f}"
    return f"{100 * value:.0f} %" if name in ("coverage", "without_path") else f"{value:.3g}"


def _folds(clock: Clock, table: pd.DataFrame) -> Markup:
    cards = [
        doc.figure(recovered_drawing(clock, part), title=str(name)) for name, part in table.groupby("fold", sort=False)
    ]
    words = "Gain of what was left out: black the truth, blue the pair model with its 95 % band, purple multi-hop."
    return doc.section("One by one, drawn", doc.paragraph(words, "quiet"), doc.grid(cards))


def recovered_drawing(clock: Clock, part: pd.DataFrame, *, width: int = 480) -> str:
    """True and recovered gains over time."""
    hours = clock.hours(part["time"])
    truth = np.exp(part["true_log_gain"].to_numpy())
    lines = {name: part["method"].to_numpy() == name for name in COLOURS}
    ends = np.concatenate([truth, *(np.exp(part["log_gain"].to_numpy()[rows]) for rows in lines.values())])
    ends = ends[np.isfinite(ends)]
    low, high = (float(np.quantile(ends, share)) for share in (0.005, 0.995))
    room = 0.2 * max(high - low, 0.1)
    span = (float(hours.min()), max(float(hours.max()), float(hours.min()) + 1.0))
    frame = svg.Frame(width, 180, span, (max(low - room, 0.0), high + room))
    body = svg.axes(frame, time_ticks(clock, *span), [(tick, f"{tick:.3g}") for tick in svg.ticks(*frame.y)])
    for name, rows in lines.items():
        chosen = np.flatnonzero(rows)
        chosen = chosen[np.unique(np.linspace(0, len(chosen) - 1, MOST_DRAWN).astype(int))] if len(chosen) else chosen
        chosen = chosen[np.argsort(hours[chosen], kind="stable")]
        gain, sd = (part[key].to_numpy()[chosen] for key in ("log_gain", "sd"))
        x = frame.px(hours[chosen])
        if name == "pair model":
            body += svg.area(x, frame.py(np.exp(gain - 1.96 * sd)), frame.py(np.exp(gain + 1.96 * sd)), svg.BAND)
        several = len(pd.unique(part["sensor"])) > 1
        y = np.where(np.isfinite(gain), frame.py(np.exp(gain)), np.nan)
        body += svg.dots(x, y, COLOURS[name], 1.6) if several else svg.line(x, y, COLOURS[name])
        if name == "pair model":
            y = frame.py(truth[chosen])
            body += svg.dots(x, y, svg.INK, 1.4) if several else svg.line(x, y, svg.INK, 1.2, "5 3")
    return svg.canvas(width, 180, "gain over time", body)
