"""Alarms in words, and as a row of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibdash.data.network import Clock
from calibdash.evaluation.faults import BEFORE, Alarm, break_place, cusum_place
from calibdash.evaluation.hypotheses import NOISY, SLOW, STUCK, SUDDEN

ADVICE = {
    SUDDEN: "Look at it on site: moved, knocked, cleaned or repaired?",
    SLOW: "Clean its inlet, and visit it more often.",
    NOISY: "Check its supply, fan and inlet.",
    STUCK: "Restart or replace it; its readings since then cannot be used.",
}


def as_row(alarm: Alarm) -> dict[str, object]:
    """A row of the table of alarms."""
    visits = alarm.found.visits
    clock, hours = visits.clock, visits.hours[alarm.rows]
    return {
        "sensor": visits.sensors[alarm.sensor],
        "kind": alarm.kind,
        "since": _stamp(clock, hours[alarm.start]),
        "noticed": _stamp(clock, hours[alarm.noticed]),
        "probability": alarm.probability,
        "size": alarm.size,
        "visits": len(alarm.rows) - alarm.start,
        "rival": "" if alarm.rival is None else visits.sensors[alarm.rival],
        "evidence": evidence(alarm),
        "sentence": sentence(alarm),
    }


def evidence(alarm: Alarm) -> dict[str, object]:
    """The errors of the sensor's visits around the fault, and what other looks at them say."""
    visits = alarm.found.visits
    hours, z = visits.hours[alarm.rows], alarm.z
    others = np.where(visits.a[alarm.rows] == alarm.sensor, visits.b[alarm.rows], visits.a[alarm.rows])
    shown = range(max(0, alarm.start - BEFORE), len(alarm.rows))
    summed, broken = cusum_place(alarm), break_place(alarm)
    return {
        "visits": [
            {
                "time": str(_stamp(visits.clock, hours[place])),
                "partner": visits.sensors[int(others[place])],
                "z": round(float(z[place]), 2),
                "after": place >= alarm.start,
            }
            for place in shown
        ],
        "cusum": None if summed is None else str(_stamp(visits.clock, hours[summed])),
        "break": None if broken is None else str(_stamp(visits.clock, hours[broken])),
        "without": without_words(alarm),
    }


def sentence(alarm: Alarm) -> str:
    """What is wrong, since when, how surely, and what to do."""
    visits = alarm.found.visits
    name = visits.sensors[alarm.sensor]
    who = f"The reference {name}" if visits.reference[alarm.sensor] else name
    since = day(visits.clock, visits.hours[alarm.rows[alarm.start]])
    count = len(alarm.rows) - alarm.start
    chance = f"{count} visit{'s' * (count != 1)}, probability {percent(alarm.probability)}"
    doubt = ""
    if alarm.rival is not None:
        doubt = f" It could also be {visits.sensors[alarm.rival]}: more visits of either will tell."
    return f"{who} {_what(alarm)} since {since} ({chance}).{doubt} {ADVICE[alarm.kind]}"


def _what(alarm: Alarm) -> str:
    if alarm.kind == SUDDEN:
        return f"reads about {_change(alarm.size)} than before"
    if alarm.kind == SLOW:
        direction = "more" if alarm.size > 0 else "less"
        return f"reads {direction} and {direction}, by about {100 * abs(np.expm1(alarm.size)):.0f} % in 30 days,"
    if alarm.kind == NOISY:
        return "scatters far more than it used to"
    return "reports the same value whatever the air is"


def without_words(alarm: Alarm) -> str:
    """What the network says when one of the two sensors is left out; '' where too little is left."""
    if alarm.rest is None:
        return ""
    names = alarm.found.visits.sensors
    here, there = names[alarm.sensor], names[alarm.partner]
    others, own = (np.sqrt(part) for part in alarm.rest)
    return (
        f"Without {here}, the visits of {there} miss by {others:.1f} standard deviations (1 is usual); "
        f"without {there}, those of {here} miss by {own:.1f}."
    )


def _change(log_factor: float) -> str:
    return f"{100 * abs(np.expm1(log_factor)):.0f} % {'more' if log_factor > 0 else 'less'}"


def percent(probability: float) -> str:
    """A probability for people: never 100 %, never 0 %."""
    if probability > 0.99:
        return "over 99 %"
    return "under 1 %" if probability < 0.01 else f"{100 * probability:.0f} %"


def day(clock: Clock, hours: float) -> str:
    """A date, or the hour where the network has no calendar."""
    if clock.origin is None:
        return f"hour {hours:.0f}"
    stamp = pd.Timestamp(clock.times(np.array([hours]))[0])
    return f"{stamp.day} {stamp:%B %Y}"


def _stamp(clock: Clock, hours: float) -> pd.Timestamp | float:
    return clock.times(np.round(np.array([hours]), 3))[0]
