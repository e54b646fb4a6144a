"""Served by ``panel serve calibdash/app.py``."""

from calibdash.pages.site import build, folders_from_environment

build(folders_from_environment()).servable()
