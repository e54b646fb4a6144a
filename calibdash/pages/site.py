"""The whole site: one page around the views."""

from __future__ import annotations

import os
from pathlib import Path

import panel as pn
import panel_material_ui as pmui

from calibdash.pages.network import NetworkPage, period_slider
from calibdash.state.folders import find_folders
from calibdash.state.session import Session

FOLDERS_VARIABLE = "CALIBDASH_FOLDERS"

pn.extension("tabulator")


def build(folders: dict[str, Path]) -> pmui.Page:
    """The page of one session."""
    session = Session(folders)
    select = pmui.Select.from_param(session.param.folder, label="Network", sizing_mode="stretch_width")
    return pmui.Page(
        title="calibdash",
        main=[NetworkPage(session=session)],
        sidebar=[select, period_slider(session)],
        sidebar_width=280,
    )


def folders_from_environment() -> dict[str, Path]:
    """The folders that ``panel serve calibdash/app.py`` shows: those of CALIBDASH_FOLDERS, else the examples."""
    stated = os.environ.get(FOLDERS_VARIABLE, "")
    examples = Path(__file__).parents[2] / "example_data"
    paths = [Path(text) for text in stated.split(os.pathsep) if text] or [examples]
    return find_folders(paths)
