"""``calibdash evaluate``: each reference left out in turn."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calibdash.cli.fit import read_settings
from calibdash.cli.options import FILE, FOLDER, json_option, key_value, reference_option, zone_option
from calibdash.cli.output import native_silence, print_json, print_problems, progress_bar, say, talk

if TYPE_CHECKING:
    import pandas as pd

WIDE = 110  # columns that the figures take


@click.command()
@click.argument("folder", type=FOLDER, metavar="DIR")
@click.option("--out", type=FOLDER, required=True, metavar="OUT", help="Folder to write the figures and the page to.")
@click.option("--settings", "settings_file", type=FILE, metavar="FILE", help="Settings as TOML or JSON.")
@click.option("--set", "given", multiple=True, metavar="KEY=VALUE", help="A setting, e.g. lengthscale.mobile=25d.")
@click.option("--drift", type=float, metavar="FACTOR", help="Scale a left-out reference from 1 to this (paper: 1.83).")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of every random number.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Processes.")
@click.option("--scheduler", metavar="ADDRESS", help="Do the work on a Dask cluster, e.g. tcp://host:8786.")
@zone_option
@reference_option
@json_option
def evaluate(
    folder: Path,
    out: Path,
    settings_file: Path | None,
    given: tuple[str, ...],
    drift: float | None,
    seed: int,
    workers: int,
    scheduler: str | None,
    zone: str | None,
    references: tuple[str, ...],
    as_json: bool,
) -> None:
    """Treat each reference of the network in DIR as unknown, and see how well the others recover it.

    With one reference, stretches of its colocations are held out instead; with none, nothing can be said. OUT gets
    metrics.csv, predictions.csv, evaluation.json and evaluation.html. What is done already is not done again.
    """
    from calibdash.evaluation.leave_one_out import Request
    from calibdash.runs.evaluate import evaluate_to_folder

    settings = read_settings(settings_file).with_values(dict(map(key_value, given)))
    request = Request(str(folder.resolve()), zone, references or None, settings.as_dict(), drift, seed)
    network = request.network()
    print_problems(network.problems, talk())
    if workers == 1 and scheduler is None:
        with native_silence():
            importlib.import_module("calibdash.models.fitting")  # loads TensorFlow
    with progress_bar("Evaluating") as show:
        done = evaluate_to_folder(request, network, out, workers=workers, scheduler=scheduler, progress=show)
    if done.cannot:
        say(done.cannot)
    elif as_json:
        print_json({"metrics": done.metrics.to_dict("records")})
    else:
        _print(done.metrics)
    say(f"The page is {out / 'evaluation.html'}.")


def _print(metrics: pd.DataFrame) -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table("left out", "method")
    for name in metrics.columns[2:]:
        shown.add_column(str(name).replace("_", " "), justify="right", no_wrap=True)
    for row in metrics.itertuples(index=False):
        shown.add_row(*(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row))
    console = Console()
    Console(width=max(console.width, WIDE)).print(shown)  # a cut figure is worse than a long line
