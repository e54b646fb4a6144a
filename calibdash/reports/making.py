"""The part of a report that says how its run was made: settings, versions, hashes, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping

from calibdash.models.setting_table import BY_KEY
from calibdash.reports import document as doc
from calibdash.reports.document import Markup
from calibdash.reports.subject import Subject


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
    parts = [doc.table(("", ""), facts), Markup("<h3>Settings</h3>"), _settings(record)]
    notes = [str(note) for note in _list(record.get("notes"))]
    problems = [_problem(problem) for problem in _list(record.get("problems")) if isinstance(problem, Mapping)]
    if notes or problems:
        parts.append(Markup("<h3>What was found in the data</h3>"))
        parts += [doc.paragraph(words) for words in (*notes, *problems)]
    return doc.section("How this was made", *parts)


def _settings(record: Mapping[str, object]) -> Markup:
    given, used = _mapping(record.get("settings")), _mapping(record.get("settings_used"))
    rows = []
    for key in {**given, **used}:
        meaning = BY_KEY[key].explanation if key in BY_KEY else ""
        rows.append((key, given.get(key, "from the data"), used.get(key, ""), meaning))
    if not rows:
        return doc.paragraph("The defaults; lengthscales, sizes of drift and noise were found from the data.")
    return doc.table(("setting", "given", "used", "meaning"), rows)


def _problem(problem: Mapping[str, object]) -> str:
    where = f"{problem['file']}: " if problem.get("file") else ""
    count = f" ({problem['count']} rows)" if problem.get("count") not in (None, 0, 1) else ""
    return f"{where}{problem.get('message', '')}{count}"


def _mapping(value: object) -> dict[str, object]:
    return {str(key): part for key, part in value.items()} if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []
