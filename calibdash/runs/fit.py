"""From a network to a run on disk: learn if asked, fit, and write what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from calibdash.data.network import Network
from calibdash.models.posterior import Posterior
from calibdash.models.progress import Cancel, Halfway, Keep, Report
from calibdash.models.settings import Settings
from calibdash.runs.folder import check_target, now, write_run

GRID_HOURS = 24.0


def fit_to_folder(
    network: Network,
    settings: Settings,
    folder: Path,
    *,
    learn: bool = False,
    seed: int = 0,
    grid_hours: float = GRID_HOURS,
    progress: Report | None = None,
    cancel: Cancel | None = None,
    warm: Posterior | None = None,
    learned: Settings | None = None,
    on_learned: Callable[[Settings], None] | None = None,
    keep: Keep | None = None,
    resume: Halfway | None = None,
    about: Mapping[str, object] | None = None,
) -> Posterior:
    """Fit a network and write the run; nothing is written unless all of it can be.

    warm: a posterior to start from. learned: what learning found earlier, which is then not done again;
    on_learned hears of it. keep hears where the fit stands, resume is where an earlier one stood. about: more for
    ``run.json``, such as ``network_path``.
    """
    from calibdash.models.fitting import fit  # TensorFlow is loaded here, where the fit runs
    from calibdash.models.learning import learn as learn_settings

    check_target(folder)
    started = now()
    used = settings
    if learn and learned is not None:
        used = learned
    elif learn:
        used = learn_settings(network, settings, seed=seed, progress=progress, cancel=cancel)
        if on_learned is not None:
            on_learned(used)
    posterior = fit(network, used, seed=seed, progress=progress, cancel=cancel, warm=warm, keep=keep, resume=resume)
    table = posterior.calibration(grid(network, grid_hours))
    more = {"created": started, "started": started, "grid_hours": grid_hours, **(about or {})}
    whole = {**record(network, settings, posterior, learn), **more}
    write_run(folder, whole, {"calibration": table}, posterior.save)
    return posterior


def grid(network: Network, step_hours: float) -> np.ndarray | pd.DatetimeIndex:
    """Times from the day of the first colocation to the last one, a step apart.   → [T]"""
    hours = network.clock.hours(network.colocations["time"])
    first = np.floor(hours.min() / 24.0) * 24.0
    return network.clock.times(np.arange(first, hours.max() + step_hours, step_hours))


def record(network: Network, settings: Settings, posterior: Posterior, learned: bool) -> dict[str, object]:
    """What ``run.json`` says of a fit."""
    about = posterior.record
    return {
        "kind": "fit",
        "status": "done",
        "network": network.name,
        "references": list(network.references),
        "settings": settings.as_dict(),
        "learned": learned,
        "settings_used": posterior.settings.as_dict(),
        "settings_hash": posterior.settings.hash,
        "hyperparameters": posterior.basis.hyper.as_dict(),
        "seed": about.seed,
        "data_hash": about.data_hash,
        "versions": about.versions,
        "colocations": about.colocations,
        "converged": about.converged,
        "elbo": list(about.elbo),
        "seconds": about.seconds,
        "relative": list(about.relative),
        "notes": list(about.notes),
        "problems": [problem.as_dict() for problem in network.problems],
    }
