"""The part of a report that holds sensors against the targets of agencies."""

from __future__ import annotations

import numpy as np

from calibdash.evaluation.assessment import Assessment, assess
from calibdash.evaluation.fault_words import percent
from calibdash.evaluation.standards import EPA, LIMIT_DIRECTIVE, Figures, epa_met, expanded_uncertainty
from calibdash.reports import document as doc
from calibdash.reports.document import Markup
from calibdash.reports.drawings import target_drawing
from calibdash.reports.subject import Subject

RINGS = {"fixed": 25.0, "indicative": 50.0, "estimation": 100.0}
HONEST = (
    "Colocations with the same references took part in the calibration, so its true errors are rather larger; "
    "an evaluation (calibdash evaluate) leaves each reference out in turn."
)


def standing(subject: Subject) -> Markup:
    """Figures beside references, before and after calibration, and what they amount to."""
    title = "Accuracy beside references"
    if not subject.network.references:
        return doc.section(title, doc.say("Not assessable: there is no reference to compare with.", "warn"))
    found = assess(
        subject.posterior, subject.network, subject.measurements, zone=subject.zone, pollutant=subject.pollutant
    )
    if not found:
        return doc.section(title, doc.say("Not assessable: no sensor has been beside a reference.", "warn"))
    parts = [_at_visits(found, subject.unit)]
    long = [one for one in found if len(one.days) >= 3]
    if long:
        parts.append(_daily(long, subject))
    parts.append(_verdicts(found))
    if drawn := _target(found):
        parts.append(drawn)
    return doc.section(title, *parts, doc.paragraph(HONEST, "quiet"))


def _at_visits(found: list[Assessment], unit: str) -> Markup:
    rows = []
    for one in found:
        before, after = one.at_visits
        cells = [f"{part:z.1f}" for pair in ((before.rmse, after.rmse), (before.bias, after.bias)) for part in pair]
        rows.append(
            (one.pairs.sensor, one.pairs.reference, one.pairs.source, len(one.pairs.time), *cells, len(one.days))
        )
    heading = (
        "sensor",
        "reference",
        "from",
        "readings",
        "RMSE raw",
        "calibrated",
        "bias raw",
        "calibrated",
        "valid days",
    )
    words = f"Single readings side by side{f', in {unit}' if unit else ''}. A valid day has 18 valid local hours."
    return Markup(doc.table(heading, rows, range(3, 9)) + doc.paragraph(words, "quiet"))


def _daily(found: list[Assessment], subject: Subject) -> Markup:
    rows = []
    target = EPA.get(subject.pollutant)
    for one in found:
        for name, part in (("raw", one.before), ("calibrated", one.after)):
            met = epa_met(part, subject.pollutant) if target else {}
            rows.append((one.pairs.sensor, name, part.count, *_cells(part, met)))
    heading = ("sensor", "daily means", "days", "slope", "intercept", "R²", "RMSE", "NRMSE", "bias")
    goal = ""
    if target:
        nrmse = f" or NRMSE ≤ {target.nrmse:g} %" if np.isfinite(target.nrmse) else ""
        goal = (
            f"US EPA targets for {subject.pollutant}: slope {target.slope[0]:g}–{target.slope[1]:g}, intercept "
            f"±{target.intercept:g}, R² ≥ {target.r2:g}, RMSE ≤ {target.rmse:g}{nrmse}. ✓ within the target."
        )
    return Markup(doc.table(heading, rows, range(2, 9)) + doc.paragraph(goal, "quiet"))


def _cells(part: Figures, met: dict[str, bool]) -> list[str]:
    def mark(name: str, text: str) -> str:
        return f"{text} ✓" if met.get(name) else text

    return [
        mark("slope", f"{part.slope:.2f}"),
        mark("intercept", f"{part.intercept:+z.1f}"),
        mark("R²", f"{part.r2:.2f}"),
        mark("RMSE", f"{part.rmse:.1f}"),
        f"{part.nrmse:.0f} %",
        f"{part.bias:+z.1f}",
    ]


def _verdicts(found: list[Assessment]) -> Markup:
    rows: list[tuple[str, ...]] = []
    unknown: dict[str, list[str]] = {}
    for one in found:
        results = set(one.verdicts.values())
        if len(results) == 1 and next(iter(results)).startswith("not assessable"):
            unknown.setdefault(next(iter(results)), []).append(f"{one.pairs.sensor} at {one.pairs.reference}")
            continue
        for name, verdict in one.verdicts.items():
            chance = percent(one.chance[name]) if name in one.chance else ""
            rows.append((f"{one.pairs.sensor} at {one.pairs.reference}", name, verdict, chance))
    rows += [(", ".join(names), "all", verdict, "") for verdict, names in unknown.items()]
    heading = ("sensor", "standard", "result", "probability that it is met")
    words = (
        "EPA's targets take 23 valid days, the EU's and CEN's 40. CEN/TS 17660 does not cover sensors that are part of "
        "a network: its criteria are applied in style only. "
        "The probability is that under the uncertainty of the calibration."
    )
    return Markup(doc.table(heading, rows) + doc.paragraph(words, "quiet"))


def _target(found: list[Assessment]) -> Markup | None:
    points = []
    for one in found:
        if len(one.days) >= 10 and np.isfinite(one.after.residual) and np.isfinite(one.before.residual):
            ends = [expanded_uncertainty(part, LIMIT_DIRECTIVE) for part in (one.before, one.after)]
            before, after = ((bias, chance) for _, chance, bias in ends)
            points.append((one.pairs.sensor, before, after))
    if not points:
        return None
    words = (
        f"Relative expanded uncertainty at {LIMIT_DIRECTIVE:g} µg/m³ of daily means: by bias (across) and by chance "
        "(up). Hollow: raw; full: calibrated. Inside a ring, the objective is met. Indicative below 40 days."
    )
    return doc.figure(target_drawing(points, RINGS), words, "Target diagram")
