"""Cards and tables; cells are text, never markup."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Any

import pandas as pd
import panel as pn

from calibdash.data.folder import Checked
from calibdash.data.labels import LabelSet
from calibdash.data.network import Network
from calibdash.data.summary import summarise
from calibdash.pages.plots import sensor_rows
from calibdash.state.session import Session

COLUMN, TABLE = 96, 600  # pixels that a column, and a table whose columns have shares of it, have at least
CARDS = {
    "sensors": "Sensors",
    "references": "References",
    "colocations": "Colocations",
    "pairs_that_met": "Pairs that met",
    "without_path_to_reference": "Without a path to a reference",
    "items": "Items",
    "labellers": "Labellers",
    "experts": "Experts",
    "labels": "Labels",
    "classes": "Classes",
}


CARDS_STYLE = """
:host { color: var(--mui-palette-text-primary, inherit); font-size: 0.875rem; }
.cards { display: flex; flex-wrap: wrap; gap: 12px; }
.card { padding: 8px 16px 10px; border-radius: 6px; border: 1px solid var(--mui-palette-divider, #0002); }
.card b { display: block; font-size: 1.5rem; font-weight: 400; line-height: 1.33; }
"""


def cards(checked: Checked, network: Network | None) -> str:
    """Markup: one card a figure of the network as it is chosen; the period of the data as the last."""
    empty = network is None or network.colocations.empty
    figures = summarise(replace(checked, network=None if empty else network))
    shown = [(CARDS[key], f"{value:,}") for key, value in figures.items() if key in CARDS and isinstance(value, int)]
    if "first" in figures:
        shown.append(("Period", f"{_day(figures['first'])} to {_day(figures['last'])}"))
    elif checked.network is not None:
        shown.append(("Colocations in this period", "0"))
    markup = "".join(f'<div class="card"><b>{escape(value)}</b>{escape(title)}</div>' for title, value in shown)
    return f'<div class="cards">{markup}</div>'


def _day(moment: object) -> str:
    """A day as people write it; hours stay hours."""
    stamp = pd.to_datetime(str(moment), errors="coerce") if "-" in str(moment)[1:] else pd.NaT
    return f"{float(str(moment)):.0f} h" if pd.isna(stamp) else f"{stamp:%-d %b %Y}"


def sensor_table(session: Session) -> pn.widgets.Tabulator:
    """Every sensor with its role and last visit; picking rows picks sensors."""
    columns = {"sensor": "Sensor", "label": "Name", "role": "Role", "type": "Type"}
    columns |= {"colocations": "Colocations", "at": "Last visit"}

    def frame(network: Network) -> pd.DataFrame:
        rows = sensor_rows(network)[list(columns)]
        return rows.assign(at=_sortable(rows["at"])).rename(columns=columns)

    whole = {"Name": {"type": "textarea"}}
    view = table(frame(session.network), page_size=15, pagination="local", selectable="checkbox", formatters=whole)

    def show_selection(*_: object) -> None:
        rows = view.value.index[view.value["Sensor"].isin(session.selected)].tolist()
        if sorted(view.selection) != rows:
            view.selection = rows

    def show_network(*_: object) -> None:
        if session.network is not None and len(session.network.sensors) == len(view.value):
            view.value = frame(session.network)
            show_selection()

    view.param.watch(lambda event: session.select([view.value["Sensor"].iloc[i] for i in event.new]), "selection")
    session.param.watch(show_selection, "selected")
    session.param.watch(show_network, "network")
    return view


def _sortable(times: pd.Series) -> pd.Series:
    """Times that a table puts in the order of time: dates as letters, hours as numbers.   [S] → [S]"""
    if pd.api.types.is_numeric_dtype(times):
        return times.round()
    return times.dt.strftime("%Y-%m-%d %H:%M").fillna("never")


def labeller_table(labels: LabelSet) -> pn.widgets.Tabulator:
    """How many labels everybody gave, experts marked."""
    counts = labels.labels.groupby("labeller", sort=True).agg(Items=("item", "nunique"), Labels=("label", "size"))
    experts = set(labels.labellers.loc[labels.labellers["reference"], "labeller"])
    frame = counts.reset_index().rename(columns={"labeller": "Labeller"})
    frame.insert(1, "Role", ["expert" if name in experts else "" for name in counts.index])
    return table(frame, page_size=15, pagination="local")


class _Table(pn.widgets.Tabulator):
    """A table whose columns can always be read: with less room it scrolls. Columns with a width in pixels have that."""

    def _config_columns(self, column_objs: Any) -> Any:
        columns: Any = super()._config_columns(column_objs)
        return [
            column | _least(self.widths.get(column["field"])) if "field" in column else column for column in columns
        ]


def _least(width: int | str | None) -> dict[str, int]:
    if isinstance(width, int):
        return {}
    return {"minWidth": COLUMN if width is None else int(float(width.rstrip("%")) / 100 * TABLE)}


def table(frame: pd.DataFrame, **options: Any) -> pn.widgets.Tabulator:
    """A plain table that fills its place; long words are broken where others would be cut."""
    whole_titles = {"columnDefaults": {"headerWordWrap": True}}
    wrap = ".tabulator .tabulator-cell { overflow-wrap: anywhere; }"
    options["stylesheets"] = [wrap, *options.get("stylesheets", [])]
    return _Table(
        frame,
        show_index=False,
        disabled=True,
        layout="fit_columns",
        sizing_mode="stretch_width",
        configuration=whole_titles,
        **options,
    )
