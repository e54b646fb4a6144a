"""Raw readings that a user drops in, calibrated with the run on show."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from calibdash.data.problems import Problem
from calibdash.data.readers import import_files
from calibdash.errors import CalibdashError
from calibdash.models.posterior import Posterior
from calibdash.runs.access import EVERYBODY, Person
from calibdash.state.upload.archive import safe_name


@dataclass(frozen=True)
class Calibrated:
    """``time, sensor, value, calibrated, lower, upper, calibration_share`` and what was noticed in the file."""

    name: str
    table: pd.DataFrame
    problems: tuple[Problem, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def sensors(self) -> list[str]:
        """Whose readings they are."""
        return sorted(self.table["sensor"].unique())


def calibrate_content(name: str, content: bytes | str, posterior: Posterior, person: Person = EVERYBODY) -> Calibrated:
    """Calibrate the readings of one file in any format the readers know; sensors the run has not seen are named."""
    person.must_change()
    data = content.encode() if isinstance(content, str) else content
    with tempfile.TemporaryDirectory(prefix="calibdash-") as scratch:
        path = Path(scratch) / safe_name(name)
        path.write_bytes(data)
        imported = import_files([path])
    if imported.table != "measurements":
        raise CalibdashError(f"{name} holds {imported.table}, not readings.", "It needs time, sensor and value.")
    known = imported.frame["sensor"].isin(posterior.sensors)
    unknown = tuple(sorted(imported.frame.loc[~known, "sensor"].unique()))
    if not known.any():
        raise CalibdashError(
            f"None of the sensors in {name} is in this network, such as {', '.join(unknown[:3])}.",
            "Their names must be those of the network's sensors.",
        )
    return Calibrated(
        name, posterior.calibrate(imported.frame[known].reset_index(drop=True)), imported.problems, unknown
    )
