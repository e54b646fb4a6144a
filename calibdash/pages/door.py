"""The door through which data come in: a dialog that every page can open, and a new network that all sessions see."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import panel as pn
import panel_material_ui as pmui

from calibdash.pages.account import look_only
from calibdash.pages.upload import UploadView
from calibdash.state.session import Session
from calibdash.state.shelf import Shelf
from calibdash.state.upload.work import Schedule
from calibdash.state.uploads import Uploads


class Door:
    """Uploads of one session, on its own person's shelf. ``folders`` are those on offer besides the shelf's."""

    def __init__(self, session: Session, shelf: Shelf, folders: dict[str, Path], schedule: Schedule) -> None:
        self._session, self._shelf, self._folders = session, shelf, folders
        self.may_add = session.person.may_change
        self.uploads = Uploads(shelf, schedule)
        self.uploads.param.watch(lambda event: self._open(event.new), "added")
        self.dialog = pmui.Dialog(
            title="Add data",
            title_variant="h5",
            width_option="lg",
            show_close_button=True,
            sx={"& .MuiIconButton-root": {"color": "inherit"}},  # else it cannot be seen in the dark
        )
        self._unsubscribe = shelf.subscribe(lambda: schedule(self._offer))

    def button(self) -> pmui.Button:
        """Opens the dialog; not there while the page itself has nothing to show but the same."""
        button = pmui.Button(
            label="Add data …", icon="upload_file", variant="outlined", sizing_mode="stretch_width", margin=(6, 10)
        )
        button.visible = self._session.param.folder.rx.is_not(None)
        button.disabled = not self.may_add
        button.on_click(lambda _: self.open())
        return button

    def open(self) -> None:
        """Show the dialog; what was dropped before is still there."""
        self.dialog.objects = [self.view()]
        self.dialog.open = True

    def view(self) -> pn.viewable.Viewable:
        """The way from files to a network, for the dialog or for a page that has nothing else to show."""
        return UploadView(uploads=self.uploads).__panel__() if self.may_add else look_only()

    def close(self) -> None:
        """The session has ended."""
        self._unsubscribe()
        self.uploads.close()

    def _offer(self) -> None:
        self._session.offer(self._shelf.offered(self._folders))

    def _open(self, folder: Path) -> None:
        self.dialog.open = False
        self._offer()
        self._session.folder = folder
        if self._session.checked is not None:
            name = escape(self._session.checked.folder.name)
            notify(f"{name} was added and is open. {escape(self.uploads.told)}".strip())


def notify(message: str, **options: Any) -> None:
    """Say something in passing, where there is a page to say it on."""
    if message and pn.state.notifications is not None:
        pn.state.notifications.success(message, duration=6000, **options)
