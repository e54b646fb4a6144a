"""Served by ``panel serve calibdash/app.py``."""

from calibdash.pages.site import build, data_from_environment, folders_from_environment, queue_in

build(folders_from_environment(), queue_in(data_from_environment())).servable()
