"""What a job has reached, so that it need not be done again after a crash."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic

import numpy as np
import pandas as pd

from calibdash.data.files import write_atomically
from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.models.kept import UNREADABLE, read_arrays
from calibdash.models.progress import Cancel, Halfway, Keep
from calibdash.models.sites import Sites

CHECKPOINT = "checkpoint.json"
HALFWAY = ".halfway.npz"  # hidden: it is large, and nothing for an export
HALFWAY_SECONDS = 30.0
Checkpoint = Callable[[Mapping[str, object]], None]
log = logging.getLogger(__name__)


def write_checkpoint(folder: Path, values: Mapping[str, object]) -> None:
    """Replace ``checkpoint.json`` at once."""
    text = json.dumps(values, indent=2)
    write_atomically(folder / CHECKPOINT, lambda file: file.write(text.encode()))


def read_checkpoint(folder: Path) -> dict[str, object]:
    """The last checkpoint; empty where there is none that can be read."""
    try:
        values = json.loads((folder / CHECKPOINT).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def keep_halfway(folder: Path, key: str, seconds: float = HALFWAY_SECONDS, stopping: Cancel | None = None) -> Keep:
    """Save where a fit stands, at most once in so many seconds, and when it is about to be stopped.

    ``key`` says of which data, settings and seed it is.
    """
    last = monotonic()

    def keep(halfway: Halfway) -> None:
        nonlocal last
        if monotonic() - last < seconds and not (stopping is not None and stopping()):
            return
        arrays = {"precision": halfway.sites.precision, "shift": halfway.sites.shift, "elbo": np.array(halfway.elbo)}
        try:
            write_atomically(folder / HALFWAY, lambda file: np.savez(file, key=np.array(key), **arrays))  # type: ignore[arg-type]
        except CalibdashError as reason:  # a full disk may yet have room for the result
            log.warning("Where a run stands cannot be kept: %s", reason.message, extra={"run": folder.name})
        last = monotonic()

    return keep


def read_halfway(folder: Path, key: str) -> Halfway | None:
    """Where a fit of the same data, settings and seed stood; None where there is nothing of it that can be read."""
    try:
        arrays = read_arrays(folder / HALFWAY)
        if str(arrays["key"]) != key:
            return None
        return Halfway(Sites(arrays["precision"], arrays["shift"]), tuple(arrays["elbo"].tolist()))
    except (OSError, TypeError, *UNREADABLE):
        return None


def fingerprint(network: Network) -> str:
    """Changes when the network does: what was learned from other data is not used again."""
    digest = hashlib.sha256(repr(network.references).encode())
    for table in (network.colocations, network.sensors):
        digest.update(repr(list(table.columns)).encode())
        digest.update(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
    return digest.hexdigest()[:16]
