"""The truth of a simulated network, where a folder holds it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pandas as pd

from calibdash.data.files import read_raw
from calibdash.data.parse import as_text, numbers, times
from calibdash.data.problems import DataError


def read_truth(folder: Path | None) -> pd.DataFrame | None:
    """``time, sensor, parameter, value`` of ``truth/calibration.csv``; None where there is none."""
    file = None if folder is None else folder / "truth" / "calibration.csv"
    return _read(file, file.stat().st_mtime_ns) if file is not None and file.is_file() else None


@lru_cache(maxsize=8)
def _read(file: Path, stamp: int) -> pd.DataFrame | None:  # noqa: ARG001 (a changed file is another key)
    try:
        frame = read_raw(file).frame
        return pd.DataFrame(
            {
                "time": times(frame["time"]).values,
                "sensor": as_text(frame["sensor"]),
                "parameter": as_text(frame["parameter"]),
                "value": numbers(frame["value"]).values,
            }
        )
    except (DataError, KeyError):
        return None
