"""What goes with calibrated readings out of a run: which calibration made them, and of what they are."""

from __future__ import annotations

from pathlib import Path

from calibdash.data.exports import Version
from calibdash.data.folder import open_folder
from calibdash.errors import CalibdashError
from calibdash.models.posterior import Posterior
from calibdash.runs.folder import read_record


def version_of(run: Path, posterior: Posterior) -> Version:
    """The version of a run's calibration."""
    about = posterior.record
    made_by = about.versions.get("calibdash", "unknown")
    return Version(run.resolve().name, posterior.settings.hash, about.data_hash, made_by)


def network_facts(run: Path) -> dict[str, str]:
    """``quantity`` and ``unit`` of the run's network, where its folder is still there."""
    try:
        place = str(read_record(run).get("network_path") or "")
        return open_folder(Path(place)).about if place else {}
    except CalibdashError:
        return {}
