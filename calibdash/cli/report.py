"""``calibdash report``: a run as one file for people."""

from __future__ import annotations

from pathlib import Path

import click

from calibdash.cli.options import FILE, FOLDER
from calibdash.cli.output import say


@click.command()
@click.argument("run", type=FOLDER, metavar="RUN")
@click.option("--out", type=FILE, required=True, metavar="FILE", help="Where to write the report (.html).")
@click.option("--pdf", type=FILE, metavar="FILE", help="Print it to this PDF too (needs Chromium or Chrome).")
@click.option("--network", type=FOLDER, metavar="DIR", help="Where the run's network is now.  [default: where it was]")
def report(run: Path, out: Path, pdf: Path | None, network: Path | None) -> None:
    """Report on a RUN of `calibdash fit` or `multihop`: network, bands, accuracy, alarms, settings, versions.

    The file stands on its own: nothing is fetched, no script runs, and mobile sensors have no positions in it.
    """
    from calibdash.reports.pdf import write_pdf
    from calibdash.reports.report import build_report
    from calibdash.runs.report import open_subject, write_report

    write_report(build_report(open_subject(run, network)), out)
    say(f"The report is {out}.")
    if pdf is not None:
        write_pdf(out, pdf)
        say(f"The PDF is {pdf}.")
