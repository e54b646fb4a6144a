"""``calibdash calibrate``: raw readings in, calibrated readings with intervals out."""

from __future__ import annotations

from pathlib import Path

import click

from calibdash.cli.options import FILE, FOLDER, zone_option
from calibdash.cli.output import print_problems, say, talk
from calibdash.data.exports import FORMATS, write_calibrated
from calibdash.data.schema import MEASUREMENTS
from calibdash.data.tables import load_table
from calibdash.errors import CalibdashError
from calibdash.models.store import load
from calibdash.runs.calibrated import network_facts, version_of

COLUMNS = ["time", "sensor", "value", "calibrated", "lower", "upper"]


@click.command()
@click.argument("run", type=FOLDER, metavar="RUN")
@click.argument("measurements", type=FILE, metavar="MEASUREMENTS")
@click.option("--out", type=FILE, required=True, metavar="FILE", help="Where to write it (.csv, .parquet, .nc).")
@zone_option
def calibrate(run: Path, measurements: Path, out: Path, zone: str | None) -> None:
    """Calibrate raw MEASUREMENTS (time, sensor, value) with a run of `calibdash fit`.

    The result has time, sensor, value, calibrated (the median), lower and upper: a 95 % interval of the true
    level that includes the noise of the reading; and which calibration made it: run, hashes of settings and data,
    version. NetCDF follows the CF conventions. In CSV, texts that a spreadsheet would run get a leading apostrophe.
    """
    if not out.name.lower().endswith(FORMATS):
        raise CalibdashError(f"{out.name} does not say which format to write.", "End it in .csv, .parquet or .nc.")
    posterior = load(run)
    table = load_table(measurements, MEASUREMENTS, zone)
    print_problems(table.problems, talk())
    calibrated = posterior.calibrate(table.frame)
    calibrated = calibrated[COLUMNS + [name for name in calibrated if name not in COLUMNS]]
    write_calibrated(calibrated, version_of(run, posterior), out, network_facts(run))
    say(f"{len(calibrated)} calibrated readings are in {out}.")
