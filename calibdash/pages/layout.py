"""How views and words are set on a page.

Plain Panel, styled: each component of panel-material-ui is a small React application, and a page of fifty of them takes
the browser seconds where text and a CSS grid take none.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui

from calibdash.data.exports import safe_texts

NARROW = 1199  # pixels up to which there is room for one column only
ABREAST = "repeat(auto-fit, minmax(min(420px, 100%), 1fr))"
WORDS = """
:host { color: var(--mui-palette-text-primary, inherit); font-size: 1rem; line-height: 1.5; }
:host(.h5) { font-size: 1.5rem; line-height: 1.33; }
:host(.h6) { font-size: 1.25rem; font-weight: 500; line-height: 1.6; }
:host(.body2) { font-size: 0.875rem; line-height: 1.43; }
:host(.caption) { font-size: 0.75rem; opacity: 0.8; }
"""


def words(markup: Any, variant: str = "body1", **options: Any) -> pn.pane.HTML:
    """A few words, or what is bound to them, set as their variant says. What users wrote must come escaped."""
    return pn.pane.HTML(markup, css_classes=[variant], stylesheets=[WORDS], **{"margin": (4, 10), **options})


def side_by_side(*views: pn.viewable.Viewable) -> pn.Column:
    """Views abreast, or one below the other where the page is narrow."""
    return _grid(views, ABREAST)


def as_fit(*views: pn.viewable.Viewable, width: int) -> pn.Column:
    """As many abreast as there is room for, each at least so wide."""
    return _grid(views, f"repeat(auto-fill, minmax(min({width}px, 100%), 1fr))")


def beside(
    controls: pn.viewable.Viewable, views: pn.viewable.Viewable, *, least: int = 260, views_first: bool = False
) -> pn.Column:
    """Controls, so wide at least, at the left of what they control; where the page is narrow above it, or below it."""
    box = pn.Column(controls, stylesheets=[f"@media (max-width: {NARROW}px) {{ :host {{ order: 1; }} }}"] * views_first)
    box.sizing_mode = "stretch_width"
    return _grid((box, views), f"minmax({least}px, 1fr) minmax(0, 3fr)", "minmax(0, 1fr)")


def grid(columns: str) -> str:
    """The CSS of such columns."""
    return f"display: grid !important; grid-template-columns: {columns}; gap: 8px 24px;"


def _grid(views: Sequence[pn.viewable.Viewable], columns: str, narrow: str = "") -> pn.Column:
    """Views in CSS columns, in others where the page is narrow."""
    style = f":host {{ {grid(columns)} }} .scroll-button {{ display: none; }}"  # Panel's button would take a column
    if narrow:
        style += f"@media (max-width: {NARROW}px) {{ :host {{ grid-template-columns: {narrow}; }} }}"
    return pn.Column(*views, stylesheets=[style], sizing_mode="stretch_width")


def later(make: Callable[[], pn.viewable.Viewable]) -> pn.Column:
    """A view that is made once the page is on the screen, so that what is above it comes sooner."""
    place = pn.Column(sizing_mode="stretch_width")
    document = pn.state.curdoc
    if document is not None and pn.state.loaded:  # a page that is opened while others are there
        document.add_next_tick_callback(lambda: place.append(make()))
    else:
        pn.state.onload(lambda: place.append(make()))
    return place


def titled(title: str, content: pn.viewable.Viewable, **options: Any) -> pn.Column:
    """A view under its heading."""
    heading = words(title, "h6", margin=(20, 0, 6, 0))
    return pn.Column(heading, content, **{"sizing_mode": "stretch_width", **options})


def download(label: str, filename: str, content: Callable[[], bytes], **options: Any) -> pmui.FileDownload:
    """A button that hands over a file, made when it is pressed."""
    button = pmui.FileDownload(callback=lambda: io.BytesIO(content()), filename=filename, label=label, **options)
    button.variant = "outlined"  # given at construction, it makes Panel warn of itself
    return button


def csv_bytes(frame: pd.DataFrame) -> bytes:
    """A table as CSV whose texts no spreadsheet can run."""
    return safe_texts(frame).to_csv(index=False).encode()
