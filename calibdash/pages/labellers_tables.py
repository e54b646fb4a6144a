"""Tables of the page of labellers: experts, items and what to ask whom next; and the files to take away."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui

from calibdash.data.labels import LabelSet
from calibdash.pages.labellers_drawn import short_names, shortened
from calibdash.pages.layout import download, words
from calibdash.pages.tables import table
from calibdash.state.label_run import LabelRun
from calibdash.state.labelling import Labelling

EXPERT, ERRS = "Expert", "May err"
SURE, LESS = "Sure %", "Else %"
ITEM_COLUMNS = ["Item", "Most likely", SURE, "Or else", LESS, "Labels"]
NEXT_COLUMNS = ["#", "Item", "Ask", "Why", "Worth"]
NEXT_MOST, SETTLED, SAID_MOST, NAME_MOST, COUNTS_MOST = 200, 0.98, 40, 60, 5
CLICK_ITEM = "Labels are counted by class, the most first. Click an item to read who said what."
FILES = ("items.csv", "confusion.csv", "labellers.csv", "next.csv")
FILL: dict[str, Any] = {"sizing_mode": "stretch_width"}
BAR = {  # see-through, so that its words can be read on light and on dark
    "type": "progress",
    "min": 0,
    "max": 100,
    "legend": True,
    "legendAlign": "left",
    "legendColor": "inherit",
    "color": "rgba(30, 136, 229, 0.45)",
}
CLICKED = f"""
.tabulator-cell[tabulator-field="{EXPERT}"], .tabulator-cell[tabulator-field="{ERRS}"] {{
  cursor: pointer; font-size: 18px; color: #1e88e5;
}}
.tabulator-header .tabulator-col .tabulator-col-content {{ padding: 4px 4px; }}
.tabulator-header .tabulator-col .tabulator-col-title {{ font-size: 12px; padding-right: 0; }}
"""
SMALL = """
.tabulator .tabulator-cell, .tabulator .tabulator-col-title { font-size: 14px; overflow-wrap: anywhere; }
@media (max-width: 960px) {
  .tabulator .tabulator-cell, .tabulator .tabulator-col-title { font-size: 12px; }
  .tabulator .tabulator-row .tabulator-cell, .tabulator .tabulator-col .tabulator-col-content { padding: 4px; }
}
"""
PICKED = ".tabulator-row { cursor: pointer; }"


def everybody(labels: LabelSet) -> list[str]:
    """All names: experts of the labellers' table first, then by name."""
    marked = dict(zip(labels.labellers["labeller"], labels.labellers["reference"], strict=True))
    return sorted({*labels.labels["labeller"], *marked}, key=lambda name: (not marked.get(name, False), name))


def expert_frame(labels: LabelSet, references: list[str], fallible: list[str]) -> pd.DataFrame:
    """Everybody, in the order of ``everybody``, with the number of labels."""
    counts = labels.labels["labeller"].value_counts()
    names = everybody(labels)
    return pd.DataFrame(
        {
            "Labeller": [shortened(name, NAME_MOST) for name in names],
            "Labels": [int(counts.get(name, 0)) for name in names],
            EXPERT: [name in set(references) for name in names],
            ERRS: [name in set(fallible) for name in names],
        }
    )


def expert_table(labelling: Labelling) -> pn.widgets.Tabulator:
    """Who is an expert and who of them may err; a click on a tick changes it."""

    def frame() -> pd.DataFrame:
        return expert_frame(labelling.labels, labelling.references, labelling.fallible)

    ticks = {"type": "tickCross", "tickElement": "☑", "crossElement": "☐"}
    names = everybody(labelling.labels)
    view = table(
        frame(),
        page_size=8,
        pagination="local",
        formatters={EXPERT: ticks, ERRS: ticks, "Labeller": {"type": "textarea"}},
        text_align={EXPERT: "center", ERRS: "center"},
        widths={"Labels": 60, EXPERT: 62, ERRS: 66},
        sortable=False,
        selectable=False,
        header_filters={"Labeller": {"type": "input", "placeholder": "find…"}} if len(names) > 8 else {},
        stylesheets=[CLICKED],
    )

    def clicked(event: Any) -> None:
        if event.column == EXPERT:
            labelling.toggle_expert(names[event.row])
        elif event.column == ERRS:
            labelling.toggle_fallible(names[event.row])

    labels = labelling.labels

    def follow(*_: object) -> None:
        if labelling.labels is labels:  # else this table is about to go
            now = frame()
            if not now.equals(view.value):
                view.value = now

    view.on_click(clicked)
    labelling.param.watch(follow, ["references", "fallible"])
    return view


def item_frame(run: LabelRun, *, disputed: bool = False, kind: str = "") -> pd.DataFrame:
    """Items with their likeliest classes, the most uncertain first; only where people disagree, only of one class."""
    probability, votes, classes = run.probability, run.votes, run.posterior.classes
    names = np.array(short_names(classes, NAME_MOST), dtype=object)
    order = np.argsort(-probability, axis=1, kind="stable")
    best = np.take_along_axis(probability, order, axis=1)
    wanted = np.ones(len(best), dtype=bool)
    if disputed:
        wanted &= (votes > 0).sum(axis=1) > 1
    if kind:
        wanted &= order[:, 0] == classes.index(kind)
    chosen = np.flatnonzero(wanted)
    chosen = chosen[np.argsort(best[chosen, 0], kind="stable")]
    second = order[chosen, 1] if len(classes) > 1 else order[chosen, 0]
    known = run.posterior.data.known
    return pd.DataFrame(
        {
            "Item": np.array(run.posterior.data.items, dtype=object)[chosen],
            "Most likely": names[order[chosen, 0]],
            SURE: np.round(100 * best[chosen, 0]).astype(int),
            "Or else": names[second] if len(classes) > 1 else "",
            LESS: np.round(100 * best[chosen, 1]).astype(int) if len(classes) > 1 else 0,
            "Labels": [_counts(votes[row], bool(known[row])) for row in chosen],
        },
        columns=ITEM_COLUMNS,
    )


def _counts(votes: np.ndarray, known: bool) -> str:
    """How many said the same, the most first: ``3 : 1``."""
    counts = sorted(votes[votes > 0], reverse=True)
    told = " : ".join(str(count) for count in counts[:COUNTS_MOST]) + (" …" if len(counts) > COUNTS_MOST else "")
    return f"{told}, expert" if known else told


def item_words(run: LabelRun, item: str) -> str:
    """All that is known of an item: who said what, and how likely each class is."""
    data, classes = run.posterior.data, run.posterior.classes
    number = data.items.index(item)
    said = [
        (data.references[data.fixed_by[row]], data.fixed_label[row])
        for row in np.flatnonzero(data.fixed_item == number)
    ]
    said += [(data.labellers[data.labeller[row]], data.label[row]) for row in np.flatnonzero(data.item == number)]
    told = "; ".join(f"{name} said {data.classes[label]}" for name, label in said[:SAID_MOST])
    more = f"; and {len(said) - SAID_MOST} more" if len(said) > SAID_MOST else ""
    chances = run.probability[number]
    likely = [place for place in np.argsort(-chances, kind="stable") if chances[place] >= 0.005]
    shares = ", ".join(f"{classes[place]} {100 * chances[place]:.0f} %" for place in likely)
    return f"{item}: {told}{more}. It is {shares}."


class ItemList:
    """Items, a page at a time however many there are, and what filters them."""

    def __init__(self, labelling: Labelling) -> None:
        self._labelling = labelling
        self.disputed = pmui.Switch(label="only where labellers disagree", value=False, size="small", margin=(14, 6))
        self.kind = pmui.Select(label="Class", options={"all classes": ""}, value="", width=220, size="small")
        self.count = words("", variant="body2", margin=(16, 6))
        wide = {"type": "textarea"}  # wraps; never reads markup
        self.view = table(
            pd.DataFrame({name: pd.Series(dtype=object) for name in ITEM_COLUMNS}),
            page_size=12,
            pagination="remote",
            formatters={SURE: BAR, LESS: BAR, "Item": wide, "Most likely": wide, "Or else": wide, "Labels": wide},
            widths={SURE: 62, LESS: 62, "Labels": 84},
            sortable=False,
            stylesheets=[SMALL, PICKED],
        )
        self.picked = words(CLICK_ITEM, variant="body2", margin=(6, 0))
        self.view.on_click(lambda event: self.pick(event.row))
        labelling.param.watch(self._another, "run")
        self.disputed.param.watch(self.show, "value")
        self.kind.param.watch(self.show, "value")
        self._another()

    def _another(self, *_: object) -> None:
        run = self._labelling.run
        classes = () if run is None else run.posterior.classes
        kept = self.kind.value if self.kind.value in classes else ""
        self.kind.param.update(options={"all classes": "", **{name: name for name in classes}}, value=kept)
        self.show()

    def show(self, *_: object) -> None:
        """Fill the table anew."""
        run = self._labelling.run
        if run is None:
            return
        frame = item_frame(run, disputed=self.disputed.value, kind=self.kind.value)
        self.view.param.update(value=frame, page=1)
        self.picked.object = CLICK_ITEM
        self.count.object = f"{len(frame):,} of {len(run.posterior.data.items):,} items"

    def pick(self, row: int) -> None:
        """Tell all of the item in a row."""
        run, frame = self._labelling.run, self.view.value
        if run is not None and row < len(frame):
            self.picked.object = escape(item_words(run, str(frame["Item"].iloc[row])))

    def pane(self) -> pn.Column:
        """Filters and table."""
        return pn.Column(pn.FlexBox(self.kind, self.disputed, self.count, gap="8px"), self.picked, self.view, **FILL)


def next_frame(run: LabelRun, most: int = NEXT_MOST) -> pd.DataFrame:
    """Which item to show to whom and why, the most useful first; worth in % of the first."""
    rows = run.next.head(most)
    place = {name: number for number, name in enumerate(run.posterior.data.items)}
    top = max(float(rows["gain_per_cost"].max()), 1e-12) if len(rows) else 1.0
    return pd.DataFrame(
        {
            "#": rows["rank"].astype(int).to_numpy(),
            "Item": rows["item"].to_numpy(dtype=object),
            "Ask": rows["labeller"].to_numpy(dtype=object),
            "Why": [_why(run, row, place.get(str(row["item"]))) for row in rows.to_dict("records")],
            "Worth": np.round(100 * rows["gain_per_cost"].to_numpy(dtype=float) / top).astype(int),
        },
        columns=NEXT_COLUMNS,
    )


def _why(run: LabelRun, row: dict[Any, Any], item: int | None) -> str:
    person, about = str(row["labeller"]), "" if item is None else _between(run, item)
    teaches = float(row["labeller_gain"]) > float(row["item_gain"])
    if row["expert"]:
        more = ", and would show how good those are who labelled it" if teaches else ""
        return f"{about}: an expert would settle it{more}"
    return f"{about}: the answer shows how good {person} is" if teaches else f"{about}: {person} can help to tell"


def _between(run: LabelRun, item: int) -> str:
    """What an item may be."""
    chances, classes = run.probability[item], short_names(run.posterior.classes, NAME_MOST)
    order = np.argsort(-chances, kind="stable")
    if len(order) < 2 or chances[order[0]] >= SETTLED:
        return f"It is {classes[order[0]]}"
    return " or ".join(f"{classes[place]} ({100 * chances[place]:.0f} %)" for place in order[:2])


def next_table(labelling: Labelling) -> pn.widgets.Tabulator:
    """The list of what to ask next."""
    empty = pd.DataFrame({name: pd.Series(dtype=object) for name in NEXT_COLUMNS})
    view = table(
        empty if labelling.run is None else next_frame(labelling.run),
        page_size=10,
        pagination="local",
        formatters={
            "Worth": BAR,
            "Why": {"type": "textarea"},
            "Item": {"type": "textarea"},
            "Ask": {"type": "textarea"},
        },
        widths={"#": 40, "Worth": 70, "Item": 96, "Ask": 96},
        sortable=False,
        selectable=False,
        stylesheets=[SMALL],
    )

    def follow(*_: object) -> None:
        if labelling.run is not None:
            view.value = next_frame(labelling.run)

    labelling.param.watch(follow, "run")
    return view


def downloads(labelling: Labelling) -> pn.FlexBox:
    """The tables of the fit on show, as files."""

    def content(name: str) -> bytes:
        file = labelling.file(name)
        return b"" if file is None else file.read_bytes()

    buttons = [download(name, name, partial(content, name), icon="download", size="small", margin=0) for name in FILES]
    return pn.FlexBox(*buttons, gap="8px", margin=(8, 0))
