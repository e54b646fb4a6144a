"""Beyond the days of a plan: effort against bands, where a reference would help, and visits that can be dropped."""

from __future__ import annotations

from functools import cached_property
from html import escape
from typing import Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui

from calibdash.pages.layout import titled, words
from calibdash.pages.tables import table
from calibdash.pages.visits_figures import EffortFigure
from calibdash.state.planning import Further, Planning

TOP = 3
FILL: dict[str, Any] = {"sizing_mode": "stretch_width"}


def site_frame(further: Further | None) -> pd.DataFrame:
    """The places where one more reference helps most."""
    if further is None:
        return pd.DataFrame(columns=["Beside", "Why"])
    return further.sites[["sensor", "reason"]].head(TOP).set_axis(["Beside", "Why"], axis=1)


def useless_frame(further: Further | None) -> pd.DataFrame:
    """Regular meetings that nobody would miss."""
    columns = ["sensor_a", "sensor_b", "visits_per_week", "loss"]
    dull = further.useless.loc[further.useless["useless"], columns] if further is not None else None
    rows = dull.to_numpy(dtype=object) if dull is not None else ()
    return pd.DataFrame(
        [(a, b, f"{visits:.1f}", f"{100 * loss:.1f} %") for a, b, visits, loss in rows],
        columns=["Sensor", "With", "Visits a week", "Lost without"],
    )


class Answers:
    """What was worked out; ``show`` changes it in place."""

    def __init__(self) -> None:
        self._curve = EffortFigure()
        self._sentence = words("", margin=(4, 10))
        wrapped = {"Why": {"type": "textarea"}}
        self._sites = table(site_frame(None), formatters=wrapped, widths={"Beside": 110}, sortable=False)
        self._useless = table(useless_frame(None), page_size=6, pagination="local", sortable=False)
        self._none = words("Every regular meeting is worth its way.", margin=(4, 10))
        self._dull = pn.Column(**FILL)
        self.view = pn.Column(
            titled("How many visits a week", pn.Column(self._sentence, self._curve.pane(), **FILL)),
            titled("Where one more reference would help most", self._sites),
            titled("Meetings that can be dropped", self._dull),
            **FILL,
        )

    def show(self, further: Further) -> None:
        """Curve, sentence and tables."""
        self._curve.show(further.effort)
        self._sentence.object = escape(further.effort.sentence)
        self._sites.value = site_frame(further)
        dull = useless_frame(further)
        self._useless.value = dull
        self._dull.objects = [self._none if dull.empty else self._useless]


class FurtherView:
    """A button, and what it brings: made when there is something to show, from then on the same."""

    def __init__(self, planning: Planning) -> None:
        self._planning = planning
        self._place = pn.Column(**FILL)  # a table that is hidden and not yet drawn cannot be changed
        planning.param.watch(self._show, "further")
        self._show()

    @cached_property
    def _answers(self) -> Answers:
        return Answers()

    def _show(self, *_: object) -> None:
        further = self._planning.further
        if further is not None:
            self._answers.show(further)
        self._place.objects = [self._answers.view] if further is not None else []

    def view(self) -> pn.Column:
        """The section of the page."""
        planning = self._planning
        ask = pmui.Button(label="Work it out", icon="insights", variant="outlined")
        ask.on_click(lambda _: planning.look_further())
        ask.disabled = planning.param.looking.rx() | (planning.param.plan.rx() == None)  # noqa: E711
        wait = pmui.LinearProgress(variant="indeterminate", visible=planning.param.looking, **FILL)
        about = words(
            "How many visits a week keep every sensor good enough, where one more reference would help most, and which "
            "regular meetings nobody would miss.",
            variant="body2",
        )
        return pn.Column(about, ask, wait, self._place, **FILL)
