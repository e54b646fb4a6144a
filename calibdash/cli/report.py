"""``calibdash report``: a run as one file for people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from calibdash.cli.options import FILE, FOLDER, fault_rate_option
from calibdash.cli.output import say


@click.command()
@click.argument("run", type=FOLDER, metavar="RUN")
@click.option("--out", type=FILE, required=True, metavar="FILE", help="Where to write the report (.html).")
@click.option("--pdf", type=FILE, metavar="FILE", help="Print it to this PDF too (needs Chromium or Chrome).")
@click.option("--network", type=FOLDER, metavar="DIR", help="Where the run's network is now.  [default: where it was]")
@fault_rate_option
def report(run: Path, out: Path, pdf: Path | None, network: Path | None, fault_rate: float | None) -> None:
    """Report on a RUN of `calibdash fit` or `multihop`: network, bands, accuracy, alarms, settings, versions.

    The file stands on its own: nothing is fetched, no script runs, and mobile sensors have no positions in it.
    """
    from calibdash.evaluation.fault_rate import KEY
    from calibdash.reports.pdf import write_pdf
    from calibdash.reports.report import build_report
    from calibdash.runs.report import open_subject, write_report

    subject = open_subject(run, network)
    if fault_rate is not None:
        subject = replace(subject, about={**subject.about, KEY: str(fault_rate)})
    write_report(build_report(subject), out)
    say(f"The report is {out}.")
    if pdf is not None:
        write_pdf(out, pdf)
        say(f"The PDF is {pdf}.")
