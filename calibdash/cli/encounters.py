"""``calibdash encounters``: from raw measurements to colocations."""

from __future__ import annotations

from pathlib import Path

import click

from calibdash.cli.options import DURATION, FILE, zone_option
from calibdash.cli.output import print_problems, progress_bar, say, talk
from calibdash.data.colocations import check_sensors, complete_sensors
from calibdash.data.encounters import EncounterOptions, find_encounters
from calibdash.data.files import write_table
from calibdash.data.problems import raise_errors
from calibdash.data.schema import SENSORS
from calibdash.data.tables import read_table


@click.command()
@click.argument("measurements", type=FILE, metavar="MEASUREMENTS")
@click.option(
    "--out", type=FILE, required=True, metavar="FILE", help="Where to write the colocations (.csv, .parquet)."
)
@click.option("--sensors", "sensors_file", type=FILE, metavar="FILE", help="Sensors table with positions of statics.")
@click.option("--distance", type=float, default=40.0, show_default=True, help="Farthest apart [m].")
@click.option("--within", type=DURATION, default="30min", show_default=True, help="Longest time apart.")
@click.option("--average", type=DURATION, default="10min", show_default=True, help="Period to average over.")
@click.option(
    "--range", "limits", type=(float, float), default=(10.0, 300.0), show_default=True, help="Readings to believe."
)
@zone_option
def encounters(
    measurements: Path,
    out: Path,
    sensors_file: Path | None,
    distance: float,
    within: float,
    average: float,
    limits: tuple[float, float],
    zone: str | None,
) -> None:
    """Find every encounter of two sensors in raw MEASUREMENTS (time, sensor, value, latitude, longitude).

    Readings outside the range are dropped first; every pair of readings of two sensors close enough in space
    and time is an encounter; encounters are averaged for each pair and period. Static sensors that have a
    position in the sensors table need none in each row.
    """
    options = EncounterOptions(distance, within, average, *limits)
    sensors = None
    if sensors_file:
        table = check_sensors(read_table(sensors_file, SENSORS))
        raise_errors(table.problems)
        sensors = complete_sensors(table.frame)
    with progress_bar("Finding encounters") as show:
        found = find_encounters(measurements, sensors, options, zone=zone, progress=show)
    print_problems(found.problems, talk())
    write_table(found.colocations, out)
    say(f"{len(found.colocations)} colocations are in {out}.")
