"""One self-contained HTML file: headings, words, tables and figures; nothing is fetched from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from bokeh.embed import components
from bokeh.model import Model
from bokeh.resources import Resources

from calibdash.data.files import write_atomically

_BOKEH = Resources(mode="inline", components=["bokeh"])
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #212121; max-width: 1060px; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid #212121; }
figure { margin: 1rem 0; overflow-x: auto; }
figcaption { color: #555; max-width: 60rem; }
@media print { section { break-inside: avoid; } }
"""


@dataclass(frozen=True)
class Table:
    """A heading a column, a row of text each."""

    heading: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """A title, paragraphs of plain text, tables, and figures with their caption."""

    title: str
    words: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[tuple[Model, str]] = field(default=())


def write_page(path: Path, title: str, sections: Sequence[Section]) -> None:
    """Write the page; every text is escaped."""
    models = [model for section in sections for model, _ in section.figures]
    script, places = components(models) if models else ("", ())
    following = iter(places)
    body = "".join(_section(section, [next(following) for _ in section.figures]) for section in sections)
    resources = f"<script>{chr(10).join(_BOKEH.js_raw)}</script>" if models else ""
    html = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style>{resources}</head><body><h1>{escape(title)}</h1>{body}{script}</body></html>"
    )
    write_atomically(path, lambda file: file.write(html.encode()))


def _section(section: Section, places: list[str]) -> str:
    words = "".join(f"<p>{escape(text)}</p>" for text in section.words)
    tables = "".join(map(_table, section.tables))
    figures = "".join(
        f"<figure>{place}<figcaption>{escape(caption)}</figcaption></figure>"
        for place, (_, caption) in zip(places, section.figures, strict=True)
    )
    return f"<section><h2>{escape(section.title)}</h2>{words}{tables}{figures}</section>"


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in table.heading)
    rows = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in table.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
