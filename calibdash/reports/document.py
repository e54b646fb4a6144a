"""A self-contained HTML document that reads well on a screen and on paper; whatever is not ``Markup`` is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NewType

Markup = NewType("Markup", str)
SHORT = 20  # letters of a word that is kept whole

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; color: #263238; background: #fff;
  max-width: 1080px; margin: 0 auto; padding: 2rem 1.5rem 4rem; }
header { border-bottom: 3px solid #1e88e5; margin-bottom: 1.5rem; padding-bottom: .8rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 2.4rem 0 .6rem; padding-bottom: .2rem; border-bottom: 1px solid #cfd8dc; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; overflow-wrap: anywhere; }
p { max-width: 52rem; margin: .5rem 0; overflow-wrap: anywhere; }
.quiet, figcaption { color: #546e7a; font-size: .87rem; }
.tiles { display: flex; flex-wrap: wrap; gap: .7rem; margin: 1rem 0; }
.tile { border: 1px solid #cfd8dc; border-radius: 8px; padding: .5rem .9rem; min-width: 7.2rem; }
.tile b { display: block; font-size: 1.4rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.tile span { color: #546e7a; font-size: .82rem; }
.say { border-left: 4px solid #90caf9; background: #f4f9fd; padding: .5rem .9rem; margin: .6rem 0; max-width: 56rem; }
.say.warn { border-color: #fb8c00; background: #fff8ef; }
.say.bad { border-color: #c62828; background: #fdf3f3; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .8rem 0; font-size: .87rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #e3e8eb; text-align: left; vertical-align: top;
  overflow-wrap: break-word; max-width: 22rem; }
th { border-bottom: 2px solid #90a4ae; }
.nb { white-space: nowrap; }
td.n, th.n { text-align: right; white-space: nowrap; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(310px, 1fr)); gap: .8rem; }
figure { margin: 0; }
.card { border: 1px solid #e3e8eb; border-radius: 8px; padding: .5rem .6rem; break-inside: avoid; }
.card { width: fit-content; max-width: min(100%, 44rem); }
.grid .card { width: auto; }
.grid svg { width: 100%; }
.row { display: flex; flex-wrap: wrap; gap: 1.2rem; align-items: flex-start; margin: .4rem 0 1rem; }
.row > figure { flex: 1 1 420px; }
.row table { margin: 0; }
.whole { break-inside: avoid; }
.card h3 { margin: 0 0 .1rem; font-size: .92rem; }
svg { max-width: 100%; height: auto; display: block; }
footer { margin-top: 3rem; padding-top: .6rem; border-top: 1px solid #cfd8dc; color: #546e7a; font-size: .82rem; }
@page { size: A4; margin: 14mm 13mm; }
@media print {
  body { font-size: 10pt; padding: 0; max-width: none; }
  footer { margin-top: 1rem; break-before: avoid; }
  h2, h3 { break-after: avoid; }
  tr, .say, .tile, figure { break-inside: avoid; }
  thead { display: table-header-group; }
  .grid { grid-template-columns: repeat(2, 1fr); gap: .5rem; }
  .wide { overflow: visible; }
  table, .quiet, figcaption { font-size: 8.5pt; }
  h2 { margin-top: 1.4rem; }
  th, td { padding: .15rem .4rem; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


def put(value: object) -> str:
    """Text as it stands in the page."""
    return escape(str(value), quote=True)


def paragraph(words: str, kind: str = "") -> Markup:
    """A paragraph of plain text."""
    mark = f' class="{put(kind)}"' if kind else ""
    return Markup(f"<p{mark}>{put(words)}</p>")


def say(words: str, kind: str = "") -> Markup:
    """A sentence that stands out; kind '', ``warn`` or ``bad``."""
    return Markup(f'<div class="say {put(kind)}">{put(words)}</div>')


def tiles(figures: Mapping[str, object]) -> Markup:
    """Key figures side by side, by their caption."""
    cells = "".join(
        f'<div class="tile"><b>{put(value)}</b><span>{put(name)}</span></div>' for name, value in figures.items()
    )
    return Markup(f'<div class="tiles">{cells}</div>')


def table(heading: Sequence[str], rows: Iterable[Sequence[object]], numbers: Iterable[int] = ()) -> Markup:
    """A table of text; columns of numbers stand to the right."""
    right = set(numbers)
    marks = ['<{} class="n">' if place in right else "<{}>" for place in range(len(heading))]
    head = "".join(f"{mark.format('th')}{put(cell)}</th>" for mark, cell in zip(marks, heading, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f"{mark.format('td')}{_unbroken(cell)}</td>" for mark, cell in zip(marks, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return Markup(f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>')


def _unbroken(value: object) -> str:
    """Text of a cell in which dates and short ids stay on one line: browsers break them at their hyphens."""
    return " ".join(
        f'<span class="nb">{put(word)}</span>' if "-" in word and len(word) <= SHORT else put(word)
        for word in str(value).split(" ")
    )


def figure(drawing: str, caption: str = "", title: str = "") -> Markup:
    """A drawing (markup of ours) with a title above and a caption below."""
    above = f"<h3>{put(title)}</h3>" if title else ""
    below = f"<figcaption>{put(caption)}</figcaption>" if caption else ""
    return Markup(f'<figure class="card">{above}{drawing}{below}</figure>')


def grid(parts: Iterable[Markup]) -> Markup:
    """Figures side by side, as many as there is room for."""
    return Markup(f'<div class="grid">{"".join(parts)}</div>')


def row(*parts: Markup) -> Markup:
    """Parts beside each other where there is room."""
    return Markup(f'<div class="row">{"".join(parts)}</div>')


def whole(*parts: Markup) -> Markup:
    """Parts that stay on one page."""
    return Markup(f'<div class="whole">{"".join(parts)}</div>')


def section(title: str, *parts: Markup) -> Markup:
    """A part of the document under a heading."""
    return Markup(f"<section><h2>{put(title)}</h2>{''.join(parts)}</section>")


def document(title: str, subtitle: str, sections: Iterable[Markup], footer: str) -> str:
    """The whole file."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{put(title)}</title>'
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"  # nothing is fetched, no script runs
    return (
        f'<!doctype html><html lang="en"><head>{head}<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<style>{STYLE}</style></head><body><header><h1>{put(title)}</h1>"
        f'<p class="quiet">{put(subtitle)}</p></header>{"".join(sections)}<footer>{put(footer)}</footer></body></html>'
    )
