"""How views are set on a page."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui

from calibdash.data.exports import safe_texts


def side_by_side(*views: pn.viewable.Viewable) -> pn.viewable.Viewable:
    """Views abreast, or one below the other where the page is narrow."""
    size = {"xs": 12, "lg": 12 // len(views)}
    cells = [pmui.Grid(view, size=size, sizing_mode="stretch_width") for view in views]
    return pmui.Grid(*cells, container=True, spacing=2, sizing_mode="stretch_width")


def titled(title: str, content: pn.viewable.Viewable, **options: Any) -> pn.Column:
    """A view under its heading."""
    heading = pmui.Typography(title, variant="h6", margin=(20, 0, 6, 0))
    return pn.Column(heading, content, **{"sizing_mode": "stretch_width", **options})


def download(label: str, filename: str, content: Callable[[], bytes], **options: Any) -> pmui.FileDownload:
    """A button that hands over a file, made when it is pressed."""
    button = pmui.FileDownload(callback=lambda: io.BytesIO(content()), filename=filename, label=label, **options)
    button.variant = "outlined"  # given at construction, it makes Panel warn of itself
    return button


def csv_bytes(frame: pd.DataFrame) -> bytes:
    """A table as CSV whose texts no spreadsheet can run."""
    return safe_texts(frame).to_csv(index=False).encode()
