"""``calibdash import``: other people's files into our tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from calibdash.cli.options import FILE, zone_option
from calibdash.cli.output import print_problems, say, talk
from calibdash.data.files import write_table
from calibdash.data.readers import SOURCES, ReadOptions
from calibdash.data.readers import import_files as read_files
from calibdash.data.readers.options import HOUR_STAMPS, POLLUTANTS, VARIANTS
from calibdash.errors import CalibdashError


@click.command("import", epilog="Sources: " + ", ".join(SOURCES) + ".")
@click.argument("arguments", nargs=-1, required=True, metavar="[SOURCE] FILE...")
@click.option("--out", type=FILE, required=True, metavar="FILE", help="Where to write the table (.csv, .parquet).")
@zone_option
@click.option("--pollutant", type=click.Choice(POLLUTANTS), default="pm2_5", show_default=True, help="Which pollutant.")
@click.option(
    "--sensor", metavar="ID", help="Id of the only sensor of a file that names none (default: the file's name)."
)
@click.option("--variant", type=click.Choice(VARIANTS), help="PurpleAir columns.  [default: cf_1 if there is one]")
@click.option("--field", "fields", multiple=True, metavar="NAME", help="ThingSpeak column of the value (up to two).")
@click.option("--hour-stamp", type=click.Choice(HOUR_STAMPS), default="start", help="What a BAM's stamps mean.")
@click.option("--item", metavar="COLUMN", help="Item column of a label table.")
@click.option("--reference", metavar="COLUMN", help="Column (or labeller) of a label table that holds the truth.")
@click.option("--workflow", metavar="ID", help="Which workflow of a Zooniverse export.")
@click.option("--task", metavar="ID", help="Which task of a Zooniverse workflow.")
def import_files(arguments: tuple[str, ...], out: Path, **choices: Any) -> None:
    """Read FILEs of one SOURCE (found from the header when not named) into a measurements or labels table.

    A labels table whose experts are known comes with a labellers table beside it.
    """
    named = arguments[0] if arguments[0] in SOURCES and not Path(arguments[0]).is_file() else None
    files = arguments[1:] if named else arguments
    if not files:
        raise CalibdashError("No file was named.", f"Write: calibdash import {named} FILE --out {out}")
    imported = read_files(files, named, ReadOptions(**choices))
    beside = out.with_name(f"labellers{out.suffix}")
    if imported.labellers is not None and beside.exists():
        raise CalibdashError(f"{beside} exists already.", "Move it away, or write to another folder.")
    print_problems(imported.problems, talk())
    write_table(imported.frame, out)
    say(f"{len(imported.frame)} {imported.table} are in {out}.")
    if imported.labellers is not None:
        write_table(imported.labellers, beside)
        say(f"{len(imported.labellers)} labellers are in {beside}.")
