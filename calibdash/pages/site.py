"""The whole site: one page around the views."""

from __future__ import annotations

import os
from pathlib import Path

import panel as pn
import panel_material_ui as pmui

from calibdash.pages.network import NetworkPage
from calibdash.state.choice import Choice, find_folders

FOLDERS_VARIABLE = "CALIBDASH_FOLDERS"

pn.extension("tabulator")


def build(folders: dict[str, Path]) -> pmui.Page:
    """The page of one session."""
    choice = Choice(folders)
    select = pmui.Select.from_param(choice.param.folder, label="Network", sizing_mode="stretch_width")
    return pmui.Page(title="calibdash", main=[NetworkPage(choice=choice)], sidebar=[select], sidebar_width=280)


def folders_from_environment() -> dict[str, Path]:
    """The folders that ``panel serve calibdash/app.py`` shows: those of CALIBDASH_FOLDERS, else the examples."""
    stated = os.environ.get(FOLDERS_VARIABLE, "")
    examples = Path(__file__).parents[2] / "example_data"
    paths = [Path(text) for text in stated.split(os.pathsep) if text] or [examples]
    return find_folders(paths)
