"""What is wrong with data and what to do about it, as a plain table: it is there at once, whatever else is loading."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import panel as pn

from calibdash.data.problems import Problem, worst_first

ROWS = 3
NOTICED = "What we noticed"
TITLES = ("", "File", "Rows", "Value", "What", "What to do")
PROBLEMS_STYLE = """
:host { color: var(--mui-palette-text-primary, inherit); }
.problems { width: 100%; border-collapse: collapse; font-size: 0.875rem; line-height: 1.43; text-align: left; }
.problems :is(th, td) { padding: 6px 16px 6px 0; vertical-align: top; overflow-wrap: anywhere;
  border-bottom: 1px solid var(--mui-palette-divider, #0000001f); }
.problems :is(td, th):nth-child(-n+3) { overflow-wrap: normal; }
.problems td:nth-child(4) { min-width: 4em; }
.problems .error { color: #d32f2f; font-weight: 700; }
@media (max-width: 900px) {
  .problems, .problems tbody { display: block; }
  .problems tr { display: flex; flex-wrap: wrap; padding: 3px 0;
    border-bottom: 1px solid var(--mui-palette-divider, #0000001f); }
  .problems tr:first-child { display: none; }
  .problems td { padding: 3px 16px 3px 0; border: 0; }
  .problems td:nth-child(3):not(:empty)::before { content: "row "; }
  .problems td:nth-child(n+5) { flex: 0 0 100%; box-sizing: border-box; }
}
"""


def problem_view(problems: Sequence[Problem]) -> pn.pane.HTML:
    """The table on a page."""
    return pn.pane.HTML(
        problem_markup(problems), stylesheets=[PROBLEMS_STYLE], margin=(0, 0, 8, 0), sizing_mode="stretch_width"
    )


def problem_markup(problems: Sequence[Problem]) -> str:
    """A row a problem: where it is, the first value that is wrong, and the remedy; everything in it is escaped."""
    head = "".join(f"<th>{title}</th>" for title in TITLES)
    return f'<table class="problems"><tr>{head}</tr>{"".join(map(_row, worst_first(problems)))}</table>'


def _row(problem: Problem) -> str:
    value = problem.places[0].value if problem.places else ""
    cells = (*map(escape, (problem.file, _rows(problem), value)), _marked(problem.message), _marked(problem.remedy))
    severity = f'<td class="{problem.severity}">{problem.severity}</td>'
    return f"<tr>{severity}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _marked(text: str) -> str:
    """Names between backticks stand out."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _rows(problem: Problem) -> str:
    """Its first rows, and how many more there are."""
    listed = ", ".join(f"{place.row:,}" for place in problem.places[:ROWS])
    more = problem.count - min(ROWS, len(problem.places))
    return f"{listed} and {more:,} more" if listed and more > 0 else listed
