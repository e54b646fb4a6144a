"""The report of a run: one file for an operator, an agency or a journal."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibdash import __version__
from calibdash.data.network import Network, meetings, without_path
from calibdash.evaluation.fault_words import day, percent
from calibdash.evaluation.faults import ALARM, JUDGED, WATCH, alarms, unjudged
from calibdash.reports import document as doc
from calibdash.reports.document import Markup
from calibdash.reports.drawings import band_drawing, errors_drawing, map_drawing
from calibdash.reports.making import making
from calibdash.reports.standing import standing
from calibdash.reports.subject import Subject, cautions, last_visits, listed

MOST_PAIRS = 300
ROWS_SHOWN = 7  # of the visits behind an alarm
WORDS = {"gain": "true level = gain × raw reading", "offset": "added after the gain", "kappa": "growth by humidity"}


def build_report(subject: Subject) -> str:
    """The whole report as HTML."""
    network, record = subject.network, subject.record
    found = alarms(subject.posterior, network, WATCH, subject.fault_rate)
    bands = subject.calibration()
    low, high = subject.hours
    period = f"{day(network.clock, low)} to {day(network.clock, high)}"
    what = "Live preview" if record.get("kind") == "preview" else f"Run {record.get('id', '')}"
    subtitle = f"{period}. {what}, made {_minute(record.get('ended') or record.get('created'))}."
    sections = [
        _summary(subject, found, bands),
        _network(subject, bands, found),
        _alarms(subject, found),
        standing(subject),
        _bands(subject, bands),
        _mobiles(subject),
        making(subject),
    ]
    footer = f"calibdash {__version__}; data {record.get('data_hash', 'unknown')}. This file is complete in itself."
    return doc.document(f"Calibration report: {network.name}", subtitle, sections, footer)


def _summary(subject: Subject, found: pd.DataFrame, bands: pd.DataFrame) -> Markup:
    network = subject.network
    sensors = network.sensors
    low, high = subject.hours
    graph = meetings(network.colocations, sensors)
    now = latest(bands)
    width = np.median([_width(*ends) for _, *ends in now.values()]) if now else np.nan
    figures: dict[str, object] = {
        "sensors": len(sensors),
        "references": len(network.references),
        "mobile sensors": int((sensors["kind"] == "mobile").sum()),
        "colocations": f"{len(network.colocations):,}",
        "days": f"{(high - low) / 24:.0f}" if high - low >= 72 else f"{(high - low) / 24:.1f}",
        "tied to no reference": len(without_path(graph, network.references)),
        "95 % of a typical gain, at the end": f"±{100 * width:.0f} %" if np.isfinite(width) else "unknown",
        "alarms": int((found["probability"] >= ALARM).sum()),
    }
    said = [doc.say(words, "warn") for words in cautions(subject)]
    if not said:
        said = [doc.say("Every sensor is tied to a reference, and has been met in the last 30 days of the record.")]
    return doc.section("In short", doc.tiles(figures), *said)


def latest(bands: pd.DataFrame) -> dict[str, tuple[float, float, float]]:
    """Median, lower and upper gain of each sensor at the end of the record."""
    gains = bands[(bands["parameter"] == "gain") & bands["median"].notna()]
    last = gains.sort_values("hours", kind="stable").groupby("sensor", sort=False).tail(1)
    columns = (last[name] for name in ("sensor", "median", "lower", "upper"))
    return {str(name): (float(a), float(b), float(c)) for name, a, b, c in zip(*columns, strict=True)}


def _width(low: float, high: float) -> float:
    """Half the width of a band, as a share."""
    return float(np.sqrt(high / low) - 1) if low > 0 else float("nan")


def _network(subject: Subject, bands: pd.DataFrame, found: pd.DataFrame) -> Markup:
    network = subject.network
    table = network.colocations
    counts = pd.concat([table["sensor_a"], table["sensor_b"]]).value_counts()
    now, last = latest(bands), last_visits(network)
    wrong = {str(row.sensor): str(row.kind) for row in found[found["probability"] >= ALARM].itertuples()}
    rows = []
    for sensor in network.sensors.itertuples():
        name = str(sensor.sensor)
        role = "reference" if sensor.reference else sensor.kind
        gain = f"{now[name][0]:.2f}" if name in now else ("1" if sensor.reference else "unknown")
        width = f"±{100 * _width(*now[name][1:]):.0f} %" if name in now else ""
        seen = _date(network.clock.times(np.array([last[name]]))[0]) if name in last else "never"
        rows.append(
            (name, sensor.label, role, sensor.type, int(counts.get(name, 0)), seen, gain, width, wrong.get(name, ""))
        )
    heading = ("sensor", "place or name", "role", "type", "colocations", "last met", "gain", "95 %", "alarm")
    drawing = map_drawing(network)
    picture = (
        doc.figure(drawing, "Static sensors. Mobile sensors are not shown: where they ride and rest is private.")
        if drawing
        else doc.paragraph("No map: fewer than two static sensors have a position.", "quiet")
    )
    words = "Gain at the end of the record: true level = gain × raw reading, and the 95 % band around it."
    return doc.section("The network", picture, doc.table(heading, rows, (4, 6, 7)), doc.paragraph(words, "quiet"))


def _alarms(subject: Subject, found: pd.DataFrame) -> Markup:
    parts = []
    rate = subject.fault_rate
    sure, rest = found[found["probability"] >= ALARM], found[found["probability"] < ALARM]
    if sure.empty:
        parts.append(doc.say("No sensor stands out: all visits agree with each other as well as their noise allows."))
    if unknown := unjudged(subject.posterior, subject.network):
        words = f"Not assessable, for a fault would not show in fewer than {JUDGED} visits: {listed(unknown)}."
        parts.append(doc.say(words, "warn"))
    for alarm in sure.to_dict("records"):
        evidence = alarm["evidence"]
        since = [visit for visit in evidence["visits"] if visit["after"]][:ROWS_SHOWN]
        rows = [(visit["time"][:16], visit["partner"], f"{visit['z']:+.1f}") for visit in since]
        drawing = doc.figure(errors_drawing(evidence["visits"][-80:], width=560), _looks(evidence))
        beside = doc.row(drawing, doc.table(("visit (UTC)", "with", "error"), rows, (2,)))
        parts.append(doc.whole(doc.say(str(alarm["sentence"]), "bad"), beside))
    if not rest.empty:
        parts.append(Markup("<h3>To be watched</h3>"))
        shown = [
            (a["sensor"], a["kind"], _date(a["since"]), percent(a["probability"]), a["visits"])
            for a in rest.to_dict("records")
        ]
        parts.append(doc.table(("sensor", "kind", "since", "probability", "visits"), shown, (3, 4)))
    words = (
        "Drawn are the errors of the sensor's visits in standard deviations, each visit foretold from all visits "
        "before it; those since the fault in red; the grey band is what chance does. A visit is all readings of two "
        "sensors without a pause. Sudden: moved or damaged; slow: dust or wear; noisy: "
        "loose parts, supply; stuck: the same value whatever the air is. Probabilities rest on the belief, before any "
        f"visit, that a sensor has {rate:g} {'fault' if rate == 1 else 'faults'} a year (a reference a tenth of that)."
    )
    return doc.section("Alarms", *parts, doc.paragraph(words, "quiet"))


def _looks(evidence: dict) -> str:
    said = []
    if evidence["cusum"]:
        said.append(f"A running sum of errors (CUSUM, k = 0.5, h = 5) gave the alarm on {evidence['cusum'][:10]}.")
    if evidence["break"]:
        said.append(f"A search for breaks over the whole record finds one on {evidence['break'][:10]}.")
    return " ".join([*said, evidence["without"]])


def _bands(subject: Subject, bands: pd.DataFrame) -> Markup:
    network = subject.network
    labels = dict(zip(network.sensors["sensor"], network.sensors["label"], strict=True))
    met = beside_references(network)
    cards = []
    for (sensor, parameter), part in bands.groupby(["sensor", "parameter"], sort=False):
        ratios = met.get(str(sensor)) if parameter == "gain" else None
        label = f", {labels[sensor]}" if labels.get(sensor) else ""
        title = f"{sensor}{label}" if parameter == "gain" else f"{sensor}: {parameter}"
        cards.append(doc.figure(band_drawing(network.clock, part, ratios), title=title))
    if not cards:
        return doc.section(
            "Calibration of each sensor", doc.say("Every sensor is a reference: nothing to calibrate.", "warn")
        )
    words = (
        "Line: the calibration; blue: its 95 % band; orange: reference ÷ own reading where the sensor stood beside a "
        f"reference. {WORDS['gain'].capitalize()}."
    )
    return doc.section("Calibration of each sensor", doc.paragraph(words, "quiet"), doc.grid(cards))


def beside_references(network: Network) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Hours and reference ÷ own reading of each sensor that stood beside a reference."""
    table = network.colocations
    hours = network.clock.hours(table["time"])
    known = {side: table[f"sensor_{side}"].isin(network.references).to_numpy() for side in "ab"}
    parts = []
    for own, other in (("a", "b"), ("b", "a")):
        rows = known[other] & ~known[own] & (table[f"value_{own}"] > 0).to_numpy()
        ratio = table[f"value_{other}"][rows] / table[f"value_{own}"][rows]
        parts.append(pd.DataFrame({"sensor": table[f"sensor_{own}"][rows], "hours": hours[rows], "ratio": ratio}))
    both = pd.concat(parts).sort_values("hours", kind="stable")
    return {
        str(name): (part["hours"].to_numpy(), part["ratio"].to_numpy())
        for name, part in both.groupby("sensor", sort=False)
    }


def _mobiles(subject: Subject) -> Markup:
    network = subject.network
    mobiles = set(network.sensors.loc[network.sensors["kind"] == "mobile", "sensor"])
    table = network.colocations
    parts = []
    for own, other in (("a", "b"), ("b", "a")):
        rows = table[table[f"sensor_{own}"].isin(mobiles)]
        parts.append(
            pd.DataFrame({"mobile": rows[f"sensor_{own}"], "partner": rows[f"sensor_{other}"], "time": rows["time"]})
        )
    both = pd.concat(parts)
    if both.empty:
        return doc.section(
            "Colocations of mobile sensors", doc.paragraph("No mobile sensor took part in a colocation.")
        )
    grouped = both.groupby(["mobile", "partner"], sort=True)["time"].agg(["size", "min", "max"])
    references = set(network.references)
    if len(grouped) > MOST_PAIRS:
        return doc.section("Colocations of mobile sensors", _by_mobile(both, references))
    pairs = [
        (mobile, partner, "reference" if partner in references else "", count, _date(first), _date(last))
        for (mobile, partner), count, first, last in grouped.itertuples()
    ]
    words = "Who met whom, how often and when. No positions of mobile sensors are in this file."
    heading = ("mobile sensor", "met", "", "readings side by side", "first", "last")
    return doc.section("Colocations of mobile sensors", doc.paragraph(words, "quiet"), doc.table(heading, pairs, (3,)))


def _by_mobile(both: pd.DataFrame, references: set[str]) -> Markup:
    """One row a mobile sensor, where a row a pair would fill a book."""
    rows = []
    for mobile, part in both.groupby("mobile", sort=True):
        with_reference = int(part["partner"].isin(references).sum())
        ends = (_date(part["time"].min()), _date(part["time"].max()))
        rows.append((mobile, part["partner"].nunique(), len(part), with_reference, *ends))
    heading = ("mobile sensor", "sensors met", "readings side by side", "with a reference", "first", "last")
    return doc.table(heading, rows, (1, 2, 3))


def _date(value: object) -> str:
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d}"
    return f"hour {value:.0f}" if isinstance(value, float) else str(value)


def _minute(stamp: object) -> str:
    return f"{str(stamp)[:16].replace('T', ' ')} UTC" if stamp else "at an unknown time"
