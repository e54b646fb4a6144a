"""The part of a report that says how its run was made: settings, versions, hashes, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping

from calibdash.models.posterior import Posterior
from calibdash.models.setting_table import BY_KEY, LEARNABLE
from calibdash.reports import document as doc
from calibdash.reports.document import Markup
from calibdash.reports.subject import Subject
from calibdash.units import format_hours


def making(subject: Subject) -> Markup:
    """Everything it takes to make the run again."""
    record = subject.record
    facts = [
        ("run", record.get("id", "")),
        ("kind", record.get("kind", "")),
        ("made", str(record.get("created", ""))[:19].replace("T", " ") + " UTC"),
        ("data hash", record.get("data_hash", "unknown")),
        ("settings hash", record.get("settings_hash", "unknown")),
        ("seed", record.get("seed", "")),
        ("converged", {"True": "yes", "False": "no"}.get(str(record.get("converged")), "not said")),
        ("references", ", ".join(map(str, subject.network.references)) or "none"),
        *[(f"version of {name}", value) for name, value in _mapping(record.get("versions")).items()],
    ]
    parts = [doc.table(("", ""), facts), Markup("<h3>Settings</h3>"), _settings(subject)]
    notes = [str(note) for note in _list(record.get("notes"))]
    problems = [_problem(problem) for problem in _list(record.get("problems")) if isinstance(problem, Mapping)]
    if notes or problems:
        parts.append(Markup("<h3>What was found in the data</h3>"))
        parts += [doc.paragraph(words) for words in (*notes, *problems)]
    return doc.section("How this was made", *parts)


def _settings(subject: Subject) -> Markup:
    """What was asked for, and what was used in its place or found from the data."""
    given, used = _mapping(subject.record.get("settings")), _mapping(subject.record.get("settings_used"))
    if subject.bands is None:  # the values behind the posterior, where the settings leave them open
        used = {**found_values(subject.posterior), **used}
    rows = []
    for key in {**given, **used}:
        meaning = BY_KEY[key].explanation if key in BY_KEY else ""
        rows.append((key, given.get(key, "from the data"), used.get(key, ""), meaning))
    return doc.table(("setting", "given", "used", "meaning"), rows)


def found_values(posterior: Posterior) -> dict[str, str]:
    """The kernel, lengthscales, sizes and noise that a fit used, as the settings write them."""
    hyper = posterior.basis.hyper
    units = {"noise.additive": posterior.level}
    return {
        "kernel": hyper.kernels[0][0].shape,
        **{
            name: format_hours(round(hyper.main(name), 1))
            if name.startswith("lengthscale")
            else f"{hyper.main(name) * units.get(name, 1.0):.3g}"
            for name in LEARNABLE
        },
    }


def _problem(problem: Mapping[str, object]) -> str:
    where = f"{problem['file']}: " if problem.get("file") else ""
    count = f" ({problem['count']} rows)" if problem.get("count") not in (None, 0, 1) else ""
    return f"{where}{problem.get('message', '')}{count}"


def _mapping(value: object) -> dict[str, object]:
    return {str(key): part for key, part in value.items()} if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []
