"""A sheet for a rider: one tour a page, large type, to be printed or read without a network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

import pandas as pd

from calibdash.data.network import Network
from calibdash.pages.visits_map import chosen_tours
from calibdash.planning import Plan, Tour, TourStop

SIZES = ((4, 17.0), (6, 15.0), (8, 13.0), (11, 11.0), (13, 9.5), (16, 8.2))  # up to so many stops a page: points
SMALLEST = 8.0
_STYLE = """
@page { size: A4; margin: 13mm; }
body { font-family: system-ui, sans-serif; color: #111; background: #fff; margin: 0 auto; max-width: 190mm; }
section { break-after: page; padding: 4mm 0; }
section:last-of-type { break-after: auto; }
h1 { font-size: 1.7em; margin: 0; }
.about { margin: .2em 0 .8em; color: #444; }
ol { list-style: none; margin: 0; padding: 0; }
li { display: grid; grid-template-columns: 2.2em 4.2em 1fr 1.6em; column-gap: .6em; padding: .45em 0;
  border-top: 1px solid #999; break-inside: avoid; align-items: start; }
.number, .time, .place { font-weight: 700; font-size: 1.25em; line-height: 1.2; overflow-wrap: anywhere; }
.small { color: #444; font-size: .85em; overflow-wrap: anywhere; }
.tick { width: 1.2em; height: 1.2em; border: 2px solid #111; border-radius: 3px; margin-top: .15em; }
a { color: inherit; }
button { font-size: 16px; padding: .5em 1.2em; margin: 1em 0; }
@media print { button { display: none; } }
"""


def rider_sheets(plan: Plan, network: Network, day: str = "", rider: str = "") -> str:
    """A self-contained page of HTML with the tours of a day and a rider; '' is all. Nobody's home is on it."""
    names = dict(zip(network.sensors["sensor"].astype(str), network.sensors["label"].astype(str), strict=True))
    why = dict(zip(plan.visits, plan.stops["reason"], strict=True))
    sheets = [
        _sheet(tour, names, [why[visit] for visit in plan.visits if (visit.day, visit.rider) == (tour.day, tour.rider)])
        for tour in chosen_tours(plan, day, rider)
    ]
    body = "".join(sheets) or "<p>There is no visit to print.</p>"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Visits</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>"
        f'<button onclick="window.print()">Print</button>{body}</body></html>'
    )


def _sheet(tour: Tour, names: Mapping[str, str], reasons: Sequence[str]) -> str:
    count = len(tour.stops)
    size = next((points for most, points in SIZES if count <= most), SMALLEST)
    told = f"{count} {'stop' if count == 1 else 'stops'} with {tour.with_sensor}"
    stops = "".join(
        _stop(number, stop, names.get(stop.sensor, ""), reason)
        for number, (stop, reason) in enumerate(zip(tour.stops, reasons, strict=True), start=1)
    )
    return (
        f'<section style="font-size:{size:g}pt"><h1>{escape(tour.rider)}, {escape(day_words(tour.day))}</h1>'
        f'<div class="about">{escape(told)}</div><ol>{stops}</ol></section>'
    )


def _stop(number: int, stop: TourStop, name: str, reason: str) -> str:
    place = ""
    if math.isfinite(stop.latitude) and math.isfinite(stop.longitude):
        where = f"{stop.latitude:.5f},{stop.longitude:.5f}"
        place = f' <a class="small" href="geo:{where}">{where.replace(",", ", ")}</a>'
    label = f"<div>{escape(name)}{place}</div>" if name or place else ""
    way = f", {stop.travel_km:.1f} km from the stop before" if number > 1 and stop.travel_km >= 0.05 else ""
    return (
        f'<li><div class="number">{number}</div><div class="time">{escape(stop.arrive)}</div>'
        f'<div><div class="place">{escape(stop.sensor)}</div>{label}'
        f'<div class="small">Stay {stop.minutes:g} minutes{way}</div><div class="small">{escape(reason)}</div></div>'
        '<div class="tick"></div></li>'
    )


def day_words(label: str, *, year: bool = True) -> str:
    """A day of a plan as people say it: Wed 5 Jun 2024, or day 12 where there are no dates."""
    stamp = pd.to_datetime(label, format="%Y-%m-%d", errors="coerce")
    if pd.isna(stamp):
        return f"day {label}"
    return f"{stamp:%a %-d %b %Y}" if year else f"{stamp:%a %-d %b}"
