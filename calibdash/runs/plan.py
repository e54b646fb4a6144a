"""From a finished run to what a plan of visits needs: its posterior, its network and the local clock."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from calibdash.data.folder import load_network, open_folder
from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.models.posterior import Posterior
from calibdash.models.store import load
from calibdash.runs.folder import read_record


@dataclass(frozen=True)
class Planned:
    """A run opened for planning; zone: of the network's local clock, UTC where nothing says so."""

    posterior: Posterior
    network: Network
    zone: str


def open_for_planning(run: Path, network_path: Path | None = None, zone: str | None = None) -> Planned:
    """The posterior of a run of ``calibdash fit`` and the network it was fitted to, wherever that is now."""
    record = read_record(run)
    if record.get("kind", "fit") != "fit":
        raise CalibdashError(f"{run} holds no fit but {record['kind']}.", "Plan with a run of `calibdash fit`.")
    posterior = load(run)
    folder = network_path or (Path(str(record["network_path"])) if record.get("network_path") else None)
    if folder is None or not folder.is_dir():
        where = f"{folder} is not there any more" if folder else "the run does not say where its network is"
        raise CalibdashError(f"The network of {run} cannot be read: {where}.", "Give its folder with --network DIR.")
    used = [name for name, fixed in zip(posterior.sensors, posterior.reference, strict=True) if fixed]
    known = str(record["zone"]) if record.get("zone") else None
    network = load_network(folder, zone or known)
    names = set(network.sensors["sensor"])
    # the references of the fit, whatever the table says by now; those that have left the network are gone
    network = network.with_references(tuple(name for name in used if name in names))
    return Planned(posterior, network, zone or open_folder(folder).about.get("timezone") or known or "UTC")
