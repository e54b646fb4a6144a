"""Served by ``panel serve calibdash/app.py``."""

from calibdash.pages.site import (
    build,
    data_from_environment,
    folders_from_environment,
    queue_from_environment,
    shelf_in,
)
from calibdash.service.panel_serve import person_from_environment

build(
    folders_from_environment(),
    queue_from_environment(),
    shelf_in(data_from_environment().resolve()),
    person_from_environment(),
).servable()
