"""From a run on disk to what its report is about."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from calibdash.data.files import write_atomically
from calibdash.data.folder import Folder, load_network, open_folder
from calibdash.data.network import Network
from calibdash.data.problems import DataError
from calibdash.data.schema import MEASUREMENTS
from calibdash.data.tables import load_table
from calibdash.errors import CalibdashError
from calibdash.models.model import read_pairs
from calibdash.models.multihop import multihop
from calibdash.models.multihop_graph import MultihopSettings
from calibdash.models.outcome import data_hash
from calibdash.models.preview import preview
from calibdash.models.store import load
from calibdash.reports.subject import Subject
from calibdash.runs.export import public_record
from calibdash.runs.folder import read_record

MOST_BYTES = 200 << 20  # of measurements that a report reads; larger tables are left out of it


def open_subject(run: Path, network_folder: Path | None = None) -> Subject:
    """A run with its network, which is where the record says, or in ``network_folder``."""
    record = read_record(run)
    if record.get("status", "done") != "done":
        raise CalibdashError(f"The run {run.name} is not done.", "Wait for it, or choose another run.")
    place = network_folder or Path(str(record.get("network_path") or ""))
    if not str(record.get("network_path") or network_folder or ""):
        raise CalibdashError(f"The run {run.name} does not say which network it is of.", "Name it: --network DIR.")
    if not place.is_dir():
        raise CalibdashError(f"The network of this run is not at {place}.", "Name its folder: --network DIR.")
    folder = open_folder(place)
    network = network_of(record, place)
    public = {"id": run.name, **public_record(run)}
    measured = folder_measurements(folder, str(record["zone"]) if record.get("zone") else None)
    if record.get("kind") == "multihop":
        return Subject(network, preview(network), public, folder.about, measured, _hops(record, network))
    posterior = load(run)
    changed = data_hash(read_pairs(network, posterior.settings)) != posterior.record.data_hash
    return Subject(network, posterior, public, folder.about, measured, changed=changed)


def network_of(record: dict[str, object], place: Path) -> Network:
    """The network as the run saw it: its zone, its choice of references, and its stretch of time."""
    zone, references, period = (record.get(name) for name in ("zone", "references", "period"))
    chosen = [str(name) for name in references] if isinstance(references, list) else None
    network = load_network(place, str(zone) if zone else None, chosen)
    return network.within((float(period[0]), float(period[1]))) if isinstance(period, list) else network


def write_report(html: str, path: Path) -> None:
    """The file, wholly or not at all."""
    write_atomically(path, lambda file: file.write(html.encode("utf-8", "replace")))


def _hops(record: dict[str, object], network: Network) -> pd.DataFrame:
    used = record.get("settings_used")
    settings = MultihopSettings(**used) if isinstance(used, dict) else MultihopSettings()
    return multihop(network, settings).calibration()


def folder_measurements(folder: Folder, zone: str | None = None) -> pd.DataFrame | None:
    """The measurements of a network folder, if there are any, of a size to be read, with stamps of time."""
    path = folder.tables.get("measurements")
    if path is None or path.stat().st_size > MOST_BYTES:
        return None
    try:
        frame = load_table(path, MEASUREMENTS, zone or folder.about.get("timezone")).frame
    except DataError:  # `calibdash check` says what is wrong with it
        return None
    return frame if isinstance(frame["time"].dtype, pd.DatetimeTZDtype) else None
