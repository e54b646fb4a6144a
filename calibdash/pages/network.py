"""The network page: what is in the data, where the sensors stand and who met whom."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param

from calibdash.data.folder import Checked
from calibdash.data.labels import LabelSet
from calibdash.data.problems import Problem
from calibdash.data.summary import summarise
from calibdash.pages.plots import role, sensor_map, visits_raster
from calibdash.state.choice import Choice

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


class NetworkPage(pn.viewable.Viewer):
    """Cards, problems, map, raster and table of the chosen folder."""

    choice: Any = param.ClassSelector(class_=Choice, allow_None=False)

    @param.depends("choice.checked", "choice.failure")
    def _content(self) -> pn.Column:
        checked = self.choice.checked
        if checked is None:
            return pn.Column(pmui.Alert(object=escape(self.choice.failure), severity="error"))
        return pn.Column(*_sections(checked), sizing_mode="stretch_width")

    def __panel__(self) -> pn.viewable.Viewable:
        return pn.Column(self._content, sizing_mode="stretch_width", margin=(16, 24))


def _sections(checked: Checked) -> list[pn.viewable.Viewable]:
    sections: list[pn.viewable.Viewable] = [cards(summarise(checked))]
    if checked.problems:
        sections.append(_titled("What we noticed", problem_table(checked.problems)))
    network = checked.network
    if network is not None:
        where = sensor_map(network)
        if where is not None:
            sections.append(_titled("Sensors", pn.pane.HoloViews(where, sizing_mode="stretch_width", height=380)))
        sections.append(_titled("Who met whom, when", pn.pane.HoloViews(visits_raster(network))))
        sections.append(_titled("All sensors", sensor_table(network.sensors)))
    if checked.labels is not None:
        sections.append(_titled("Labels by labeller", labeller_table(checked.labels)))
    return sections


def cards(figures: dict[str, object]) -> pn.FlexBox:
    """One card a figure; the period of the data as the last."""
    shown = [(CARDS[key], f"{value:,}") for key, value in figures.items() if key in CARDS and isinstance(value, int)]
    if "first" in figures:
        shown.append(("Period", f"{_day(figures['first'])} to {_day(figures['last'])}"))
    return pn.FlexBox(*(_card(title, value) for title, value in shown), gap="12px")


def _day(moment: object) -> str:
    """A day as people write it; hours stay hours."""
    stamp = pd.to_datetime(str(moment), errors="coerce") if "-" in str(moment)[1:] else pd.NaT
    return f"{float(str(moment)):.0f} h" if pd.isna(stamp) else f"{stamp:%-d %b %Y}"


def _card(title: str, value: str) -> pmui.Paper:
    return pmui.Paper(
        pmui.Typography(value, variant="h5", margin=(8, 16, 0, 16)),
        pmui.Typography(title, variant="body2", margin=(0, 16, 10, 16)),
        elevation=1,
        margin=0,
    )


def _titled(title: str, content: pn.viewable.Viewable) -> pn.Column:
    heading = pmui.Typography(title, variant="h6", margin=(20, 0, 6, 0))
    return pn.Column(heading, content, sizing_mode="stretch_width")


def problem_table(problems: tuple[Problem, ...]) -> pn.widgets.Tabulator:
    """What is wrong or was assumed, with the remedy; cells are text, never markup."""
    frame = pd.DataFrame(
        {
            "": [str(problem.severity) for problem in problems],
            "File": [problem.file for problem in problems],
            "What": [problem.message for problem in problems],
            "Rows": [_rows(problem) for problem in problems],
            "What to do": [problem.remedy for problem in problems],
        }
    )
    wide = {"type": "textarea"}  # wraps long text; still never reads it as markup
    return _table(frame, formatters={"What": wide, "What to do": wide}, widths={"": 90, "File": 140, "Rows": 140})


def _rows(problem: Problem) -> str:
    listed = ", ".join(str(place.row) for place in problem.places[:3])
    more = problem.count - min(3, len(problem.places))
    return f"{listed} and {more} more" if problem.places and more > 0 else listed


def sensor_table(sensors: pd.DataFrame) -> pn.widgets.Tabulator:
    """Every sensor with its role and name."""
    frame = pd.DataFrame(
        {"Sensor": sensors["sensor"], "Name": sensors["label"], "Role": role(sensors), "Type": sensors["type"]}
    )
    return _table(frame, page_size=15, pagination="local")


def labeller_table(labels: LabelSet) -> pn.widgets.Tabulator:
    """How many labels everybody gave, experts marked."""
    counts = labels.labels.groupby("labeller", sort=True).agg(Items=("item", "nunique"), Labels=("label", "size"))
    experts = set(labels.labellers.loc[labels.labellers["reference"], "labeller"])
    role_of = ["expert" if name in experts else "" for name in counts.index]
    frame = counts.reset_index().rename(columns={"labeller": "Labeller"})
    frame.insert(1, "Role", role_of)
    return _table(frame, page_size=15, pagination="local")


def _table(frame: pd.DataFrame, **options: object) -> pn.widgets.Tabulator:
    return pn.widgets.Tabulator(
        frame, show_index=False, disabled=True, layout="fit_columns", sizing_mode="stretch_width", **options
    )
