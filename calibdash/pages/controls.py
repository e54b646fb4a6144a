"""The left side of the calibration page: what is believed, what the fit shall find, and the fit itself."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

from calibdash.pages.account import look_only
from calibdash.pages.layout import as_fit, later, titled, words
from calibdash.runs.snapshot import Snapshot
from calibdash.state.fitting import Fitting
from calibdash.state.tuning import SLIDERS, Tuning

LABELS = {
    "static_days": "Static (days)",
    "mobile_days": "Mobile (days)",
    "drift_percent": "Change (%)",
    "bias_percent": "Lasting error (%)",
    "noise_percent": "Noise (%)",
    "noise_units": "Noise (fixed)",
    "window_hours": "Window (hours)",
    "time_weight": "Cost of time",
}
STAGES = {"learn": "finding the values", "fit": "fitting", "search": "searching"}
FILL: dict[str, Any] = {"sizing_mode": "stretch_width"}


def controls(tuning: Tuning, fitting: Fitting) -> pn.Column:
    """Sliders with their explanations, choices of the full fit, its buttons and its progress."""
    may = tuning.session.person.may_change
    start = pmui.Button(label="Fit", icon="play_arrow", variant="contained", disabled=not may, **FILL)
    start.on_click(lambda _: fitting.start())
    why = look_only(margin=(0, 10), visible=not may)
    stop = pmui.Button(label="Cancel", variant="outlined", **FILL)
    stop.on_click(lambda _: fitting.cancel())
    busy = fitting.param.busy
    start.visible, stop.visible = busy.rx.not_(), busy.rx()
    return pn.Column(
        titled(
            "Full fit", pn.Column(start, why, stop, progress(fitting), _about_learning(tuning), _need(fitting), **FILL)
        ),
        titled("What you believe", _sliders(tuning, SLIDERS)),
        titled("What the fit assumes", later(lambda: _choices(tuning))),
        titled("Multi-hop", later(lambda: _sliders(tuning, ("window_hours", "time_weight")))),
        **FILL,
    )


def _sliders(tuning: Tuning, names: Iterable[str]) -> pn.Column:
    return as_fit(*(_slider(tuning, name) for name in names), width=200)


def _choices(tuning: Tuning) -> pn.Column:
    labels = {
        "function": "What may be wrong with a reading",
        "likelihood": "Where the noise sits",
        "kernel": "How calibrations wander",
        "noise_model": "Noise that changes over time",
    }
    return pn.Column(*(pmui.Select.from_param(tuning.param[key], label=text, **FILL) for key, text in labels.items()))


def _about_learning(tuning: Tuning) -> pn.pane.HTML:
    def about(learned: list[str]) -> str:
        if not learned:
            return "The fit takes every value below as it is set."
        if len(learned) == len(SLIDERS):
            return "The fit finds the values below from the data; the preview uses the sliders."
        return f"The fit finds {len(learned)} of the values below from the data and takes the others as they are set."

    return words(pn.bind(about, tuning.param.learned), variant="caption", margin=(4, 10))


def _need(fitting: Fitting) -> pn.pane.HTML:
    """How much memory the full fit will want."""
    tuning = fitting.tuning.param
    told = pn.bind(lambda *_: fitting.need(), tuning.preview, tuning.learned, tuning.function, tuning.noise_model)
    return words(told, variant="caption", margin=(0, 10, 4, 10))


def _slider(tuning: Tuning, name: str) -> pn.Column:
    """A slider with its explanation below it; the preview follows when it is let go."""
    low, high = tuning.param[name].bounds
    widget = pmui.EditableFloatSlider(
        label=LABELS[name], start=low, end=high, step=_step(high), value=getattr(tuning, name), format="0[.]0", **FILL
    )
    widget.param.watch(lambda event: setattr(tuning, name, event.new), "value_throttled")
    tuning.param.watch(lambda event: widget.param.update(value=event.new), name)
    parts = [widget, words(tuning.param[name].doc, variant="caption", margin=(0, 10, 0, 10))]
    if name in SLIDERS:
        parts.append(_found(tuning, name))
    return pn.Column(*parts, margin=(0, 0, 8, 0), **FILL)


def _found(tuning: Tuning, name: str) -> pmui.Switch:
    """Whether the full fit finds this value itself."""
    switch = pmui.Switch(label="found by the fit", value=name in tuning.learned, size="small", margin=(0, 10))

    def flipped(event: Any) -> None:
        wanted = set(tuning.learned) | {name} if event.new else set(tuning.learned) - {name}
        tuning.learned = [slider for slider in SLIDERS if slider in wanted]

    switch.param.watch(flipped, "value")
    tuning.param.watch(lambda event: switch.param.update(value=name in event.new), "learned")
    return switch


def _step(high: float) -> float:
    return 0.01 if high <= 10 else 0.1 if high <= 100 else 1.0


def progress(fitting: Any) -> pn.Column:
    """A bar, words and the rising quality of the fit under way; or why there is no result.

    ``fitting`` has ``snapshot`` and ``message``. The parts stay and change in place, four times a second.
    """
    bar = pmui.LinearProgress(value=0, variant="determinate", **FILL)
    told = pmui.Typography("", variant="caption")  # changes often: text of a pane would have the page laid out anew
    source = ColumnDataSource({"step": [0.0], "quality": [0.0]})
    trace = figure(height=110, toolbar_location=None, sizing_mode="stretch_width", title="How well it fits so far")
    trace.line("step", "quality", source=source, line_width=2, color="#1e88e5")
    trace.xaxis.visible = trace.yaxis.visible = False
    trace.title.text_font_size = "9pt"
    box = pn.Column(bar, told, pn.pane.Bokeh(trace, **FILL), visible=False, **FILL)
    alert = pmui.Alert(object="", severity="warning", visible=False, **FILL)

    def follow(*_: object) -> None:
        snapshot, message = fitting.snapshot, fitting.message
        alert.param.update(object=escape(message), visible=bool(message))
        box.visible = snapshot is not None
        if snapshot is not None:
            bar.value = int(100 * snapshot.share)
            told.object = standing(snapshot)
            quality = list(snapshot.trace) or [0.0]  # Bokeh complains of a plot of nothing
            source.data = {"step": list(range(len(quality))), "quality": quality}

    fitting.param.watch(follow, ["snapshot", "message"])
    follow()
    return pn.Column(box, alert, **FILL)


def standing(snapshot: Snapshot) -> str:
    """Where a fit stands, for people."""
    if snapshot.status == "queued":
        return "Waiting for its turn…"
    left = "" if snapshot.remaining is None else f", about {_time(snapshot.remaining)} left"
    return f"{STAGES.get(snapshot.stage, 'starting').capitalize()}: {100 * snapshot.share:.0f} %{left}"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
