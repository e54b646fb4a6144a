"""What a job has reached, so that it need not be done again after a crash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from calibdash.data.files import write_atomically
from calibdash.data.network import Network

CHECKPOINT = "checkpoint.json"
Checkpoint = Callable[[Mapping[str, object]], None]


def write_checkpoint(folder: Path, values: Mapping[str, object]) -> None:
    """Replace ``checkpoint.json`` at once."""
    text = json.dumps(values, indent=2)
    write_atomically(folder / CHECKPOINT, lambda file: file.write(text.encode()))


def read_checkpoint(folder: Path) -> dict[str, object]:
    """The last checkpoint; empty where there is none that can be read."""
    try:
        values = json.loads((folder / CHECKPOINT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def fingerprint(network: Network) -> str:
    """Changes when the network does: what was learned from other data is not used again."""
    digest = hashlib.sha256(repr(network.references).encode())
    for table in (network.colocations, network.sensors):
        digest.update(repr(list(table.columns)).encode())
        digest.update(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
    return digest.hexdigest()[:16]
