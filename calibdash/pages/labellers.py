"""The page of labellers: who confuses what, and since when; what each item is; what to ask whom next."""

from __future__ import annotations

from functools import cached_property
from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui
import param

from calibdash.pages.account import look_only
from calibdash.pages.controls import progress
from calibdash.pages.labellers_cards import cards_view
from calibdash.pages.labellers_drawn import MATRIX_MOST, shortened, true_entries
from calibdash.pages.labellers_figures import EntriesFigure, MatrixFigure, legend
from calibdash.pages.labellers_tables import ItemList, downloads, expert_table, next_table
from calibdash.pages.layout import beside, titled, words
from calibdash.state.label_run import LabelRun, read_confusions
from calibdash.state.labelling import Labelling

FILL: dict[str, Any] = {"sizing_mode": "stretch_width"}
NO_LABELS = (
    "This folder holds no labels. Choose one that does on the left, or add your data: a table labels.csv with the "
    "columns item, labeller, label (and time or order)."
)
NO_EXPERT = (
    "Nobody is marked as an expert. Then no label is known to be right: which class is which is identified only "
    "through the prior assumption that people are right more often than wrong. Tick somebody you trust."
)
FALLIBLE_ONLY = (
    "Every expert may err, so no label is taken as right: the fit leans on the prior assumption that experts are very "
    "good."
)
OUTDATED = "What is chosen on the left differs from the fit on show. Fit again to see what it changes."
NOT_YET = "Say who the experts are, then press Fit: it finds who confuses what, and what each item is."
SKILL = (
    "Skill is the chance of a right label now, at the person's last label, over classes as common as they are; the "
    "bar is its 95 % interval. Click a card to look closer."
)
ABOUT_EXPERTS = "An expert's labels are taken as right. One who may err is modelled like the others, but trusted more."


class LabellersPage(pn.viewable.Viewer):
    """Left who is trusted and the fit, right what it found; another folder, another page."""

    labelling: Any = param.ClassSelector(class_=Labelling, allow_None=False)

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._results = Results(self.labelling)

    def __panel__(self) -> pn.viewable.Viewable:
        return pn.Column(pn.bind(self._content, self.labelling.param.labels), margin=(16, 24), **FILL)

    def _content(self, labels: Any) -> pn.viewable.Viewable:
        return pmui.Alert(object=NO_LABELS, severity="info", **FILL) if labels is None else self._grid

    @cached_property
    def _grid(self) -> pn.Column:
        """Made once: other labels change what the parts show."""
        return beside(_controls(self.labelling), self._results.view(), least=350)


def _controls(labelling: Labelling) -> pn.Column:
    """Experts, the form of the fit, its button and its progress."""
    may = labelling.session.person.may_change
    start = pmui.Button(label="Fit", icon="play_arrow", variant="contained", disabled=not may, **FILL)
    start.on_click(lambda _: labelling.start())
    why = look_only(margin=(0, 10), visible=not may)
    stop = pmui.Button(label="Cancel", variant="outlined", **FILL)
    stop.on_click(lambda _: labelling.cancel())
    busy = labelling.param.busy
    start.visible, stop.visible = busy.rx.not_(), busy.rx()
    warned = pmui.Alert(object="", severity="warning", visible=False, **FILL)

    def warn(*_: object) -> None:
        text = expert_warning(labelling.references, labelling.fallible)
        warned.param.update(object=text, visible=bool(text))

    labelling.param.watch(warn, ["references", "fallible"])
    warn()

    def table_of(labels: Any) -> pn.viewable.Viewable:
        return pn.Spacer(height=0) if labels is None else expert_table(labelling)

    experts = pn.Column(pn.bind(table_of, labelling.param.labels), **FILL)
    return pn.Column(
        titled("Fit", pn.Column(start, why, stop, progress(labelling), **FILL)),
        titled("Who is an expert", pn.Column(_caption(ABOUT_EXPERTS), warned, experts, **FILL)),
        titled(
            "How",
            pn.Column(
                pmui.Select.from_param(labelling.param.form, label="Labels are taken", **FILL),
                pmui.Switch.from_param(labelling.param.learn, label="find how fast people change", size="small"),
                _caption("Takes several times as long; the usual value does for most."),
                **FILL,
            ),
        ),
        **FILL,
    )


def expert_warning(references: list[str], fallible: list[str]) -> str:
    """What it means that nobody fixes the classes; '' where somebody does."""
    if not references:
        return NO_EXPERT
    return FALLIBLE_ONLY if set(references) <= set(fallible) else ""


class Results:
    """What the fit found; the parts are made once and change what they show."""

    def __init__(self, labelling: Labelling) -> None:
        self.labelling = labelling
        self.matrix, self.entries = MatrixFigure(), EntriesFigure()
        self.items = ItemList(labelling)
        self._moment = pmui.DiscreteSlider(label="When", options={"": 0}, value=0, margin=(4, 24), **FILL)
        self._whose = words("", variant="h6", margin=(20, 0, 6, 0))
        self._about = _caption("")
        self._legend = pn.pane.HTML("", **FILL)
        parts = pn.Column(self._about, self._legend, self.entries.pane(), **FILL)
        self._over_time = titled("How that changed", parts)
        self._moment.param.watch(lambda event: setattr(labelling, "moment", event.new), "value")
        labelling.param.watch(self._draw, "history")
        labelling.param.watch(self._draw_moment, "moment")
        self._draw()

    def view(self) -> pn.Column:
        """Everything below the words on the fit; nothing of it before there is one."""
        labelling = self.labelling
        found = pn.Column(
            pn.Column(pn.bind(_summary, labelling.param.run), **FILL),
            downloads(labelling),
            titled("Labellers, who needs attention first", pn.Column(_caption(SKILL), cards_view(labelling), **FILL)),
            pn.Column(self._whose, self._moment, self.matrix.pane(), **FILL),
            self._over_time,
            titled("Items, the most uncertain first", self.items.pane()),
            titled("What to ask next", pn.Column(_caption(ABOUT_NEXT), next_table(labelling), **FILL)),
            **FILL,
        )
        told = _told(labelling)
        place = pn.Column(told, **FILL)  # tables that are hidden when first drawn have no width

        def follow(*_: object) -> None:
            there = labelling.run is not None
            if there != (found in list(place)):
                place.objects = [told, found] if there else [told]

        labelling.param.watch(follow, "run")
        follow()
        return place

    def _draw(self, *_: object) -> None:
        labelling, history = self.labelling, self.labelling.history
        if history is None:
            return
        self._whose.object = f"What {escape(shortened(history.labeller, 60))} calls what, in %"
        self._moment.visible = self._over_time.visible = history.moving
        if history.moving:
            distinct = dict.fromkeys(history.words)
            unique = len(distinct) == len(history.words)
            names = [word if unique else f"{word} ({number + 1})" for number, word in enumerate(history.words)]
            self._moment.param.update(
                options={name: number for number, name in enumerate(names)}, value=labelling.moment
            )
            clock = labelling.run.posterior.data.clock
            truth = true_entries(read_confusions(labelling.session.folder), history, clock)
            self.entries.show(history, truth)
            self._legend.object = legend(truth=truth is not None)
            self._about.object = ABOUT_ALL if len(history.classes) <= MATRIX_MOST else ABOUT_SOME
        self._draw_moment()

    def _draw_moment(self, *_: object) -> None:
        labelling, history = self.labelling, self.labelling.history
        if history is None or labelling.moment >= len(history.hours):
            return
        self._moment.value = labelling.moment
        self.matrix.show(history, labelling.moment)
        if history.moving:
            self.entries.show_moment(history, labelling.moment)


ABOUT_ALL = (
    "Every row is what it really is, every column what it is called: chance from 0 to 100 % over the person's own time."
)
ABOUT_SOME = (
    "The right answers first, then the commonest confusions (really → called): chance from 0 to 100 % over time."
)
ABOUT_NEXT = (
    "Which item to show to whom, the most useful label first; an expert's label counts as dearer. Worth is what a "
    "label is expected to tell for its cost, beside the best one."
)


def _told(labelling: Labelling) -> pn.Column:
    """What there is to say before anything is shown."""
    alert = pmui.Alert(object="", severity="info", visible=False, **FILL)

    def follow(*_: object) -> None:
        text = OUTDATED if labelling.outdated else NOT_YET if labelling.run is None else ""
        alert.param.update(object=text, visible=bool(text))

    labelling.param.watch(follow, ["outdated", "run"])
    follow()
    return pn.Column(alert, **FILL)


def _summary(run: LabelRun | None) -> pn.viewable.Viewable:
    """What the fit stands on, how far people agree, how common classes are, and what to keep in mind."""
    if run is None:
        return pn.Spacer(height=0)
    notes = [pmui.Alert(object=escape(note), severity="info", **FILL) for note in run.posterior.record.notes]
    return pn.Column(words(escape(summary(run)), margin=(6, 0)), *notes, **FILL)


def summary(run: LabelRun) -> str:
    """A sentence or two on a fit."""
    data, alpha = run.posterior.data, run.posterior.krippendorff_alpha
    known = int(data.known.sum())
    agree = "" if alpha != alpha else f" People agree {_agree(alpha)} (Krippendorff's α = {alpha:.2f})."
    count = len(data.item) + len(data.fixed_item)
    return (
        f"{count:,} labels of {len(data.items):,} items by {len(data.labellers):,} people"
        + (f" and {_experts(len(data.references))}, who labelled {known:,} of the items." if data.references else ".")
        + agree
    )


def _agree(alpha: float) -> str:
    levels = ((0.8, "well"), (0.6, "fairly well"), (0.4, "moderately"), (0.2, "little"))
    return next((word for least, word in levels if alpha >= least), "hardly at all")


def _experts(count: int) -> str:
    return "one expert" if count == 1 else f"{count:,} experts"


def _caption(text: str) -> pn.pane.HTML:
    return words(text, variant="caption", margin=(0, 0, 6, 0))
