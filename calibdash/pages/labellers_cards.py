"""A card a labeller: skill now with its interval, trend, items and agreement with experts; a click chooses."""

from __future__ import annotations

from typing import Any, ClassVar

import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param
from panel.custom import JSComponent

from calibdash.state.label_attention import FINE, UNKNOWN, WEAK, WORSE
from calibdash.state.labelling import Labelling

PER_PAGE = 12
FILL: dict[str, Any] = {"sizing_mode": "stretch_width"}
COLOURS = {WORSE: "#d81b60", WEAK: "#e65100", UNKNOWN: "#8e6c00", FINE: "#2e7d32"}


def card_rows(people: pd.DataFrame) -> list[dict[str, Any]]:
    """What the cards say, as plain values in the order of the table; shares in %."""
    rows = []
    for row in people.to_dict("records"):
        low, skill, high = (100 * float(row[name]) for name in ("skill_lower", "skill", "skill_upper"))
        rows.append(
            {
                "name": str(row["labeller"]),
                "skill": skill,
                "lower": low,
                "upper": high,
                "words": f"{skill:.0f} % right",
                "interval": f"{low:.0f} to {high:.0f} %",
                "status": str(row["status"]),
                "colour": COLOURS[str(row["state"])],
                "items": _items(int(row["items"])) + (" · expert who may err" if row["fallible"] else ""),
                "experts": _experts(float(row["expert_agreement"]), int(row["expert_items"])),
            }
        )
    return rows


def _items(count: int) -> str:
    return "1 item" if count == 1 else f"{count:,} items"


def _experts(agreement: float, count: int) -> str:
    if not count or agreement != agreement:
        return "no item in common with an expert"
    return f"agrees with experts on {100 * agreement:.0f} % of {count:,}"


SCRIPT = """
export function render({ model, el }) {
  const grid = document.createElement("div");
  grid.className = "grid";
  const part = (parent, kind, text) => {
    const node = document.createElement("div");
    node.className = kind;
    if (text !== undefined) node.textContent = text;
    parent.appendChild(node);
    return node;
  };
  const mark = () => {
    for (const card of grid.children) {
      const mine = card.dataset.name === model.chosen;
      card.classList.toggle("chosen", mine);
      card.setAttribute("aria-pressed", String(mine));
    }
  };
  const draw = () => {
    grid.replaceChildren();
    for (const row of model.rows) {
      const card = document.createElement("button");
      card.type = "button";
      card.className = "card";
      card.dataset.name = row.name;
      card.style.setProperty("--state", row.colour);
      const name = part(card, "name", row.name);
      name.title = row.name;
      const line = part(card, "line");
      part(line, "skill", row.words);
      part(line, "interval", row.interval);
      const track = part(card, "track");
      const band = part(track, "band");
      band.style.left = row.lower + "%";
      band.style.width = Math.max(row.upper - row.lower, 1) + "%";
      part(track, "dot").style.left = row.skill + "%";
      part(card, "status", row.status);
      part(card, "small", row.items);
      part(card, "small", row.experts);
      card.addEventListener("click", () => { model.chosen = row.name; });
      grid.appendChild(card);
    }
    mark();
  };
  model.on("rows", draw);
  model.on("chosen", mark);
  draw();
  return grid;
}
"""
STYLE = """
:host { width: 100%; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(205px, 1fr)); gap: 12px; width: 100%;
  padding: 2px; box-sizing: border-box; }
.card { all: unset; display: flex; flex-direction: column; box-sizing: border-box; cursor: pointer;
  padding: 10px 14px 12px 14px; border-radius: 6px;
  border: 1px solid color-mix(in srgb, currentColor 22%, transparent); border-left: 4px solid var(--state);
  color: var(--mui-palette-text-primary, inherit); font-family: var(--mui-font-family, Roboto, sans-serif);
  font-size: 13px; min-width: 0; }
.card:hover { background: color-mix(in srgb, currentColor 5%, transparent); }
.card:focus-visible { outline: 2px solid #1e88e5; outline-offset: 1px; }
.card.chosen { background: color-mix(in srgb, #1e88e5 14%, transparent); outline: 2px solid #1e88e5; }
.name { font-size: 15px; font-weight: 500; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.line { display: flex; justify-content: space-between; align-items: baseline; gap: 6px; margin-top: 4px; }
.skill { font-size: 14px; }
.interval, .small { font-size: 12px; opacity: 0.72; }
.track { position: relative; height: 8px; margin: 5px 0 7px 0; border-radius: 4px;
  background: color-mix(in srgb, currentColor 12%, transparent); }
.band { position: absolute; top: 0; bottom: 0; border-radius: 4px; background: #1e88e5; opacity: 0.45; }
.dot { position: absolute; top: -1px; width: 10px; height: 10px; margin-left: -5px; border-radius: 5px;
  background: #1e88e5; }
.status { display: flex; align-items: center; gap: 6px; margin-bottom: 3px; }
.status::before { content: ""; width: 8px; height: 8px; border-radius: 4px; background: var(--state); flex: none; }
"""


class Cards(JSComponent):
    """Cards in a grid. Everything said on them is set as text, so that names cannot be markup."""

    rows = param.List(doc="What the cards say, see card_rows.")
    chosen = param.String(doc="The name on the chosen card.")

    _esm = SCRIPT
    _stylesheets: ClassVar[list[str]] = [STYLE]


def cards_view(labelling: Labelling) -> pn.Column:
    """Pages of cards, who needs attention first; a name can be looked for."""
    cards = Cards(**FILL)
    pages = pmui.Pagination(count=1, value=0, margin=(8, 0))
    find = pmui.TextInput(label="Find a labeller", size="small", width=240)

    def rows() -> pd.DataFrame:
        people = labelling.people
        wanted = (find.value_input or "").strip().casefold()
        return people[[wanted in str(name).casefold() for name in people["labeller"]]] if wanted else people

    def draw(*_: object) -> None:
        if labelling.people is None:
            cards.param.update(rows=[], chosen="")
            return
        found = rows()
        pages.count = max(1, -(-len(found) // PER_PAGE))
        pages.visible = pages.count > 1
        begin = min(pages.value, pages.count - 1) * PER_PAGE
        cards.param.update(rows=card_rows(found.iloc[begin : begin + PER_PAGE]), chosen=labelling.labeller or "")

    def another(*_: object) -> None:
        find.visible = labelling.people is not None and len(labelling.people) > PER_PAGE
        pages.value = 0
        draw()

    labelling.param.watch(another, "people")
    labelling.param.watch(lambda event: cards.param.update(chosen=event.new or ""), "labeller")
    find.param.watch(another, "value_input")
    pages.param.watch(draw, "value")
    cards.param.watch(lambda event: labelling.choose(event.new), "chosen")
    another()
    return pn.Column(find, cards, pages, **FILL)
