"""The same rules of access where ``panel serve calibdash/app.py`` does the login."""

from __future__ import annotations

import os

import panel as pn

from calibdash.runs.access import Person
from calibdash.service.people import People, of_patterns

VIEWERS_VARIABLE = "CALIBDASH_VIEWERS"


def person_from_environment() -> Person:
    """The person of the session that is being made; CALIBDASH_VIEWERS names who may only look, with commas."""
    viewers = [name.strip() for name in os.environ.get(VIEWERS_VARIABLE, "").split(",") if name.strip()]
    login = bool(pn.config.basic_auth or pn.config._basic_auth or pn.config.oauth_provider)
    return People(login, of_patterns((), viewers)).person(pn.state.user)
