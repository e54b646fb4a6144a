"""One job, from its request to the files of its run: a plain function for a thread, a process or a cluster."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from calibdash.data.folder import load_network
from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.models.posterior import Posterior
from calibdash.models.progress import Cancel, Progress, Report, check
from calibdash.models.settings import Settings
from calibdash.models.store import load as load_posterior
from calibdash.runs.checkpoint import (
    HALFWAY,
    Checkpoint,
    fingerprint,
    keep_halfway,
    read_checkpoint,
    read_halfway,
    write_checkpoint,
)
from calibdash.runs.fit import fit_to_folder
from calibdash.runs.folder import adopt
from calibdash.runs.labels import labels_to_folder, read_labels
from calibdash.runs.multihop import multihop_to_folder
from calibdash.runs.request import JobRequest
from calibdash.runs.run import check_id

WORK = ".work.part"
OF_THE_STORE = frozenset({"id", "name", "owner", "status", "created", "started", "ended", "references", "shared"})
Job = Callable[[Mapping[str, object], str, Report, Cancel], Mapping[str, object]]


def run_job(
    request: Mapping[str, object],
    folder: str,
    progress: Report | None = None,
    cancel: Cancel | None = None,
    checkpoint: Checkpoint | None = None,
) -> dict[str, object]:
    """Do what ``JobRequest.from_dict(request)`` asks, leave the files in ``folder``, return what its record gains.

    ``checkpoint.json`` in the folder is taken up; ``checkpoint`` hears of new ones in place of that file.
    """
    asked, place = JobRequest.from_dict(request), Path(folder)
    work = place / WORK
    shutil.rmtree(work, ignore_errors=True)
    check(cancel)
    if asked.kind == "labels":
        _labels(asked, work, progress, cancel)
        return {key: value for key, value in adopt(work, place).items() if key not in OF_THE_STORE}
    network = load_network(asked.network_path, asked.zone, asked.references).within(asked.period)
    check(cancel)
    if asked.kind == "multihop":
        multihop_to_folder(
            network, asked.multihop_settings, work, tune=asked.learn, progress=partial(_searched, progress, cancel)
        )
    else:
        _fit(asked, network, place, work, progress, cancel, checkpoint or partial(write_checkpoint, place))
    check(cancel)
    return {key: value for key, value in adopt(work, place).items() if key not in OF_THE_STORE}


def _labels(asked: JobRequest, work: Path, progress: Report | None, cancel: Cancel | None) -> None:
    labels_to_folder(
        read_labels(asked.network_path, asked.zone, asked.references),
        asked.label_settings,
        work,
        references=asked.references,
        learn=asked.learn,
        seed=asked.seed,
        progress=progress,
        cancel=cancel,
    )
    check(cancel)


def _fit(
    asked: JobRequest,
    network: Network,
    place: Path,
    work: Path,
    progress: Report | None,
    cancel: Cancel | None,
    checkpoint: Checkpoint,
) -> None:
    base = {"settings": dict(asked.settings), "seed": asked.seed, "data": fingerprint(network)}
    key = json.dumps({**base, "learn": asked.learn, "warm": asked.warm_run}, sort_keys=True)
    fit_to_folder(
        network,
        asked.fit_settings,
        work,
        learn=asked.learn,
        seed=asked.seed,
        grid_hours=asked.grid_hours,
        progress=progress,
        cancel=cancel,
        warm=_warm(asked.warm_run, place),
        learned=_learned(read_checkpoint(place), base),
        on_learned=lambda settings: checkpoint({**base, "learned": settings.as_dict()}),
        keep=keep_halfway(place, key, stopping=cancel),
        resume=read_halfway(place, key),
    )
    (place / HALFWAY).unlink(missing_ok=True)


def _learned(last: Mapping[str, object], base: Mapping[str, object]) -> Settings | None:
    """What an earlier attempt learned, if it was from the same data, settings and seed."""
    values = last.get("learned")
    if not isinstance(values, Mapping) or any(last.get(key) != value for key, value in base.items()):
        return None
    try:
        return Settings.from_dict(values)
    except CalibdashError:  # written by another version
        return None


def _warm(run_id: str | None, place: Path) -> Posterior | None:
    """The posterior of another run of the same store."""
    if run_id is None:
        return None
    folder = place.parent / check_id(run_id)
    if folder.is_symlink():
        raise CalibdashError(f"{run_id} is a link, not a run.", "Choose another run to start from.")
    return load_posterior(folder)


def _searched(progress: Report | None, cancel: Cancel | None, share: float) -> None:
    check(cancel)
    if progress is not None:
        progress(Progress("search", round(100 * share), 100, float("nan"), 0.0, None))
