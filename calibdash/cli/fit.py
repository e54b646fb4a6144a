"""``calibdash fit``: the calibration of every sensor, with its uncertainty."""

from __future__ import annotations

import importlib
import json
import tomllib
from pathlib import Path

import click

from calibdash.cli.options import DURATION, FILE, FOLDER, json_option, key_value, reference_option, zone_option
from calibdash.cli.output import native_silence, print_json, print_problems, progress_bar, say, share_done, talk
from calibdash.data.folder import load_network
from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.models.footprint import fit_bytes
from calibdash.models.model import read_pairs
from calibdash.models.progress import Progress, Report
from calibdash.models.room import gigabytes
from calibdash.models.settings import Settings
from calibdash.runs.fit import fit_to_folder
from calibdash.runs.folder import check_target


@click.command()
@click.argument("folder", type=FOLDER, metavar="DIR")
@click.option("--out", type=FOLDER, required=True, metavar="RUN", help="Folder to write the run to.")
@click.option("--settings", "settings_file", type=FILE, metavar="FILE", help="Settings as TOML or JSON.")
@click.option("--set", "given", multiple=True, metavar="KEY=VALUE", help="A setting, e.g. lengthscale.mobile=25d.")
@click.option("--learn", is_flag=True, help="Learn lengthscales, kernel scales and noise from the data first.")
@click.option(
    "--held-out",
    "evaluations",
    type=click.IntRange(0, 1000),
    default=0,
    metavar="N",
    help="Instead, choose them by N steps of Bayesian optimisation on held-out colocations (the paper took 30).",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of every random number.")
@click.option("--grid", type=DURATION, default="24h", show_default=True, help="Step of calibration.csv.")
@zone_option
@reference_option
@json_option
def fit(
    folder: Path,
    out: Path,
    settings_file: Path | None,
    given: tuple[str, ...],
    learn: bool,
    evaluations: int,
    seed: int,
    grid: float,
    zone: str | None,
    references: tuple[str, ...],
    as_json: bool,
) -> None:
    """Fit the calibration of every sensor of the network in DIR.

    RUN gets run.json, calibration.csv (time, sensor, parameter, mean, sd, median, lower, upper; true = gain x raw
    + offset, bounds 95 %), and the posterior, which `calibdash calibrate` uses.
    """
    settings = read_settings(settings_file).with_values(dict(map(key_value, given)))
    check_target(out)
    network = load_network(folder, zone, references or None)
    print_problems(network.problems, talk())
    with native_silence():
        importlib.import_module("calibdash.models.fitting")  # loads TensorFlow
    say(f"This needs about {gigabytes(fit_bytes(read_pairs(network, settings), settings, learn=learn))} of memory.")
    with progress_bar("Fitting") as show:

        def report(progress: Progress) -> None:
            show(share_done(progress), f"{progress.stage} {progress.iteration}")

        chosen = _held_out(network, settings, evaluations, seed, report) if evaluations else None
        posterior = fit_to_folder(
            network,
            settings,
            out,
            learn=learn or chosen is not None,
            learned=chosen,
            seed=seed,
            grid_hours=grid,
            about={"network_path": str(folder.resolve()), "zone": zone},
            progress=report,
        )
    for note in posterior.record.notes:
        say(note)
    if as_json:
        print_json({"run": str(out), "elbo": posterior.elbo, "seconds": posterior.record.seconds})
    say(f"The run is in {out}.")


def _held_out(network: Network, settings: Settings, evaluations: int, seed: int, report: Report) -> Settings:
    from calibdash.models.bayesopt import search

    return search(network, settings, evaluations=evaluations, seed=seed, progress=report)


def read_settings(file: Path | None) -> Settings:
    """Settings from a file; without one, the defaults."""
    if file is None:
        return Settings()
    try:
        text = file.read_bytes().decode("utf-8-sig")
        values = json.loads(text) if file.suffix.lower() == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as reason:
        hint = "Write TOML lines such as lengthscale.mobile = '25d'."
        raise CalibdashError(f"{file} cannot be read: {reason}.", hint) from reason
    if not isinstance(values, dict):
        raise CalibdashError(f"{file} holds no settings.", 'Write {"lengthscale.mobile": "25d"}.')
    return Settings.from_dict(values)
