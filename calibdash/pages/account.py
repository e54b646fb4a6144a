"""Who is logged in, what they may do, and who sees the network on show: the foot of the sidebar."""

from __future__ import annotations

from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui

from calibdash.errors import CalibdashError
from calibdash.pages.layout import words
from calibdash.pages.light import Page
from calibdash.runs.access import ASK, LOOK_ONLY, Person
from calibdash.state.session import Session
from calibdash.state.shelf import Shelf

FILL: dict[str, Any] = {"sizing_mode": "stretch_width"}


def account(person: Person, logout_url: str | None = None) -> list[pn.viewable.Viewable]:
    """Name, role and the way out; nothing where nobody has to log in and everybody may do everything."""
    parts: list[pn.viewable.Viewable] = []
    if person.name:
        parts.append(_told(f"Logged in as <b>{escape(person.name)}</b>"))
    elif person.name == "":
        parts.append(_told("You are a guest."))
    if not person.may_change:
        parts.append(look_only(margin=(8, 10)))
    if logout_url and person.name is not None:
        label, icon = ("Log out", "logout") if person.name else ("Log in", "login")
        parts.append(pmui.Button(label=label, icon=icon, href=logout_url, variant="text", margin=(4, 10)))
    return parts


def _told(html: str) -> pn.pane.HTML:
    return words(html, variant="body2", margin=(24, 10, 0, 10))


def look_only(**options: Any) -> pn.pane.HTML:
    """Why something cannot be done by somebody who may only look."""
    return words(f"{LOOK_ONLY} {ASK}", variant="caption", **options)


def failure() -> Page:
    """The page where there is none, without a word of what the server knows about it."""
    told = "This page could not be made. The log of the server says why; try again, or tell whoever runs it."
    return Page(title="calibdash", main=[pmui.Alert(object=told, severity="error", margin=(24, 24), **FILL)])


def refusal(person: Person, logout_url: str | None) -> Page:
    """The page of somebody who has logged in but is on no list."""
    told = f"{person.name or 'This account'} is not on the list of people who may use this server."
    alert = pmui.Alert(object=escape(told), severity="warning", margin=(24, 24), **FILL)
    return Page(title="calibdash", main=[alert, *account(Person(person.name), logout_url)])


def sharing(session: Session, shelf: Shelf) -> pmui.Switch:
    """Whether everybody sees the network on show; there only for who added it."""
    switch = pmui.Switch(label="Everybody here can see this network", size="small", margin=(6, 10))
    following = False

    def follow(*_: object) -> None:
        nonlocal following
        shared = shelf.is_shared(session.folder)
        following = True  # the value below is told, not asked for
        switch.param.update(visible=shared is not None, value=bool(shared))
        following = False

    def flipped(event: Any) -> None:
        if following:
            return
        try:
            shelf.share(session.folder, event.new)
        except CalibdashError as problem:
            if pn.state.notifications is not None:
                pn.state.notifications.error(escape(str(problem)))
        follow()

    session.param.watch(follow, "folder")
    switch.param.watch(flipped, "value")
    follow()
    return switch
