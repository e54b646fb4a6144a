"""``calibdash reproduce``: the paper's tables beside ours."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table as RichTable

from calibdash.cli.options import FOLDER
from calibdash.cli.output import native_silence, progress_bar, say
from calibdash.reports.page import Section, Table, write_page

WORDS = {
    "synthetic": (
        "Ten low-cost sensors, four references, 180 days; noise is the sd added to raw readings. NMSE and MAE are of "
        "calibrated readings, NLPD and coverage of the log gain. The floor uses the true gains.",
        "The paper's NLPD figures are not comparable: they come from a broadcasting mistake (every prediction against "
        "every truth). Its fit also leans on a prior for the level of pollution rather than on the references; the "
        "default model here has no such prior, so it works at any level and in any unit.",
    ),
    "drift": (
        "Fifty-one sensors, 203 days. The second reference is treated as unknown, and its readings are scaled from "
        "1.0 to 1.83 over 69 days; the rest of the network must recover it. The paper's figures are of the real "
        "Kampala network, whose noise and visits differ from the simulated city's.",
    ),
    "labels": (
        "300 items of three classes, three labellers whose skill changes over the list, an expert on 58 %. Accuracy "
        "and summed NLPD are of the items without the expert's label. The oracle knows the true confusion matrices. "
        "The paper's figures are of its one draw.",
    ),
}


@click.command()
@click.argument("what", type=click.Choice(["synthetic", "drift", "labels"]))
@click.option(
    "--out", type=FOLDER, default=Path("reproduced"), show_default=True, metavar="DIR", help="Results and page."
)
@click.option("--quick", is_flag=True, help="One dataset each.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Processes.")
def reproduce(what: str, out: Path, quick: bool, workers: int) -> None:
    """Do one of the paper's experiments on simulated data and print its table beside ours.

    Results are kept in DIR as they come: what was interrupted goes on where it stopped. DIR/WHAT.html has the
    figures.
    """
    from calibdash.evaluation import drift, labels, reproduce_figures, synthetic
    from calibdash.evaluation.reproduce import drift_table, labels_table, synthetic_table
    from calibdash.evaluation.study import run_study

    study = {"synthetic": synthetic, "drift": drift, "labels": labels}[what]
    count = 1 if quick else {"synthetic": 10, "drift": 20, "labels": 10}[what]
    with progress_bar("Reproducing") as show:
        results = run_study(study.tasks(count), study.work, out / "results", workers=workers, progress=show)
    tables = {"synthetic": synthetic_table, "drift": drift_table, "labels": labels_table}
    table = tables[what](results)
    Console().print(_rich(table))
    say("Drawing the figures…")
    with native_silence():
        figures = {
            "synthetic": reproduce_figures.synthetic_figures,
            "drift": reproduce_figures.drift_figures,
            "labels": reproduce_figures.labels_figures,
        }[what]()
    page = out / f"{what}.html"
    write_page(
        page, f"calibdash: {what}", [Section("Table", WORDS[what], [table]), Section("Figures", figures=figures)]
    )
    say(f"The page is {page}.")


def _rich(table: Table) -> RichTable:
    shown = RichTable(*table.heading)
    for row in table.rows:
        shown.add_row(*row)
    return shown
