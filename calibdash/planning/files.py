"""A plan on disk: the table, and GPX and calendar files for a phone. Homes of riders are left out unless asked for."""

from __future__ import annotations

import hashlib
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import pandas as pd

from calibdash.data.files import write_atomically, write_table
from calibdash.data.network import Clock
from calibdash.errors import CalibdashError
from calibdash.planning.plan import Plan
from calibdash.planning.schedule import Tour

FORMULA = ("=", "+", "-", "@", "\t", "\r")
TEXT_COLUMNS = ("rider", "sensor", "with_sensor", "reason")


def plan_table(plan: Plan) -> pd.DataFrame:
    """The stops with text that no spreadsheet takes for a formula."""
    table = plan.stops.copy()
    for name in TEXT_COLUMNS:
        table[name] = [harmless(str(cell)) for cell in table[name]]
    return table


def harmless(cell: str) -> str:
    """Text that a spreadsheet shows instead of calculating: an apostrophe before =, +, - and @."""
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def write_plan(plan: Plan, path: Path) -> None:
    """The stops as CSV, TSV or Parquet."""
    write_table(plan_table(plan), path)


def write_gpx(plan: Plan, path: Path, *, with_base: bool = False) -> None:
    """A route a tour, for navigation."""
    text = gpx_text(plan, with_base=with_base)
    write_atomically(path, lambda file: file.write(text.encode()))


def write_ics(plan: Plan, path: Path) -> None:
    """An event a stop, for a calendar."""
    text = ics_text(plan)
    write_atomically(path, lambda file: file.write(text.encode()))


def gpx_text(plan: Plan, *, with_base: bool = False) -> str:
    """GPX 1.1: a route for every tour, a point for every stop whose position is known."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<gpx version="1.1" creator="calibdash" xmlns="http://www.topografix.com/GPX/1/1">',
    ]
    for tour in plan.tours:
        lines.append(f"<rte><name>{_xml(f'{tour.day} {tour.rider} with {tour.with_sensor}')}</name>")
        lines += _points(tour, with_base=with_base)
        lines.append("</rte>")
    return "\n".join([*lines, "</gpx>", ""])


def _points(tour: Tour, *, with_base: bool) -> list[str]:
    base = []
    if with_base and tour.base is not None:
        base = [f'<rtept lat="{tour.base[0]:.6f}" lon="{tour.base[1]:.6f}"><name>base</name></rtept>']
    stops = [
        f'<rtept lat="{stop.latitude:.6f}" lon="{stop.longitude:.6f}">'
        f"<name>{_xml(stop.sensor)}</name><desc>{_xml(f'{stop.arrive}, {stop.minutes:g} min')}</desc></rtept>"
        for stop in tour.stops
        if np.isfinite(stop.latitude) and np.isfinite(stop.longitude)
    ]
    return [*base, *stops, *base]


def ics_text(plan: Plan) -> str:
    """RFC 5545: an event for every stop, in UTC."""
    clock = plan.ground.clock
    if clock.origin is None:
        raise CalibdashError(
            "A calendar needs dates, but the times of this network are hours.", "Leave --ics away, or date the record."
        )
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//calibdash//visits//EN", "CALSCALE:GREGORIAN"]
    stamp = _utc(clock, plan.ground.start)
    number = 0
    for tour in plan.tours:
        for stop in tour.stops:
            reason = str(plan.stops["reason"].iloc[number])
            number += 1
            key = hashlib.sha256(f"{tour.day}|{tour.rider}|{stop.sensor}".encode()).hexdigest()[:24]
            lines += [
                "BEGIN:VEVENT",
                f"UID:{key}@calibdash",
                f"DTSTAMP:{stamp}",
                f"DTSTART:{_utc(clock, stop.begin)}",
                f"DTEND:{_utc(clock, stop.begin + stop.minutes / 60)}",
                f"SUMMARY:{_ics(f'{tour.rider}: {stop.sensor} with {tour.with_sensor}')}",
                f"DESCRIPTION:{_ics(reason)}",
                "END:VEVENT",
            ]
    return "".join(f"{folded}\r\n" for line in [*lines, "END:VCALENDAR"] for folded in _folded(line))


def _utc(clock: Clock, hours: float) -> str:
    return pd.Timestamp(clock.times(np.array([hours]))[0]).round("min").strftime("%Y%m%dT%H%M%SZ")


def _xml(text: str) -> str:
    """Escaped, and without the characters that no XML may hold."""
    return escape("".join(letter for letter in text if letter.isprintable() or letter == " "))


def _ics(text: str) -> str:
    """Escaped, on one line."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return plain.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")


def _folded(line: str) -> list[str]:
    """Lines of at most 75 bytes, continued after a blank, never inside a letter."""
    pieces, piece = [], ""
    for letter in line:
        if len((piece + letter).encode("utf-8", "replace")) > 73:
            pieces.append(piece)
            piece = " "
        piece += letter
    return [*pieces, piece]
