"""``calibdash multihop``: gains along the shortest chain of colocations to a reference."""

from __future__ import annotations

from pathlib import Path

import click

from calibdash.cli.options import DURATION, FOLDER, json_option, reference_option, zone_option
from calibdash.cli.output import print_json, print_problems, progress_bar, say, talk
from calibdash.data.folder import load_network
from calibdash.models.multihop_graph import MultihopSettings
from calibdash.models.multihop_search import Search
from calibdash.runs.folder import check_target
from calibdash.runs.multihop import multihop_to_folder
from calibdash.units import format_hours

NAMES_SHOWN = 8


@click.command()
@click.argument("folder", type=FOLDER, metavar="DIR")
@click.option("--out", type=FOLDER, required=True, metavar="RUN", help="Folder to write the run to.")
@click.option("--window", type=DURATION, default="24h", show_default=True, help="Length of the windows of time.")
@click.option(
    "--time-weight",
    type=float,
    default=0.21,
    show_default=True,
    help="Weight of a step to the neighbouring window; a colocation weighs 1.",
)
@click.option(
    "--min-observations", type=int, default=5, show_default=True, help="Fewest observations of a pair in a window."
)
@click.option("--search", "tune", is_flag=True, help="Find window and time weight on held-out reference visits.")
@zone_option
@reference_option
@json_option
def multihop(
    folder: Path,
    out: Path,
    window: float,
    time_weight: float,
    min_observations: int,
    tune: bool,
    zone: str | None,
    references: tuple[str, ...],
    as_json: bool,
) -> None:
    """Calibrate the network in DIR hop by hop from its references, one gain a sensor and window.

    RUN gets run.json, calibration.csv (as of `calibdash fit`; each gain holds from its time to the next) and
    paths.csv (where each gain comes from). Sensors without a path to a reference have no gain.
    """
    settings = MultihopSettings(window, time_weight, min_observations)
    check_target(out)
    network = load_network(folder, zone, references or None)
    print_problems(network.problems, talk())
    with progress_bar("Searching") as show:
        run = multihop_to_folder(network, settings, out, tune=tune, progress=show)
    for note in run.result.dropped:
        say(note)
    if run.searched:
        say(_found(run.searched))
    lost = run.result.without_path
    if as_json:
        used = {**run.result.settings.as_dict(), "drift": run.result.drift}
        print_json({"run": str(out), "settings": used, "without_path": list(lost), "seconds": run.seconds})
    say(_reach(lost, len(run.result.sensors)))
    say(f"The run is in {out}.")


def _found(search: Search) -> str:
    best = search.table.iloc[0]
    better = "." if best["score"] < search.raw else ": no better than raw."
    return (
        f"Best at held-out visits to references: --window {format_hours(best['window_hours'])} "
        f"--time-weight {best['time_weight']:g}, error of the log gain {best['score']:.3f} "
        f"(raw readings {search.raw:.3f}){better}"
    )


def _reach(lost: tuple[str, ...], sensors: int) -> str:
    if not lost:
        return "Every sensor has a path to a reference."
    names = ", ".join(lost[:NAMES_SHOWN]) + ", …" * (len(lost) > NAMES_SHOWN)
    return (
        f"{len(lost)} of {sensors} sensors have no path to a reference: {names}. "
        "Longer windows or fewer observations may give them one."
    )
