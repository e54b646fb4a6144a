"""``calibdash labels``: the class of every item, and who confuses what."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

from calibdash.cli.options import FOLDER, json_option, key_value, zone_option
from calibdash.cli.output import native_silence, print_json, print_problems, progress_bar, say, share_done, talk
from calibdash.models.labelling.posterior import LabelPosterior
from calibdash.models.labelling.settings import LabelSettings
from calibdash.models.progress import Progress
from calibdash.runs.folder import check_target
from calibdash.runs.labels import labels_to_folder, read_labels

NAMES_SHOWN = 8


@click.command()
@click.argument("folder", type=FOLDER, metavar="DIR")
@click.option("--out", type=FOLDER, required=True, metavar="RUN", help="Folder to write the run to.")
@click.option("--set", "given", multiple=True, metavar="KEY=VALUE", help="A setting, e.g. lengthscale=0.2.")
@click.option("--pairwise", is_flag=True, help="The paper's likelihood: a class for each pair of labels.")
@click.option("--learn", is_flag=True, help="Learn first over what time labellers change.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of every random number.")
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="NAME",
    help="Take just the labels of this labeller or column as right (repeatable).",
)
@click.option(
    "--fallible", multiple=True, metavar="NAME", help="A reference that may err: modelled, as a very good labeller."
)
@click.option("--class", "classes", multiple=True, metavar="NAME", help="A class that exists though nobody chose it.")
@zone_option
@json_option
def labels(
    folder: Path,
    out: Path,
    given: tuple[str, ...],
    pairwise: bool,
    learn: bool,
    seed: int,
    references: tuple[str, ...],
    fallible: tuple[str, ...],
    classes: tuple[str, ...],
    zone: str | None,
    as_json: bool,
) -> None:
    """Find the class of every item in DIR, and the confusion matrix of every labeller over time.

    DIR is a folder with labels.csv (item, labeller, label and, better, time or order; or a column a person) and
    labellers.csv (labeller, reference), or a file of labels, Zooniverse exports among them. RUN gets items.csv (item,
    class, probability), confusion.csv (labeller, time, true_class, label, mean, lower, upper; bounds 95 %),
    labellers.csv, next.csv (what to label next, by whom), agreement.csv, prevalence.csv and run.json.
    """
    values: dict[str, object] = dict(map(key_value, given))
    if pairwise:
        values["form"] = "pairwise"
    values |= {name: list(names) for name, names in (("fallible", fallible), ("classes", classes)) if names}
    settings = LabelSettings.from_dict(values)
    check_target(out)
    found = read_labels(folder, zone, references or None)
    print_problems(found.problems, talk())
    with native_silence():
        importlib.import_module("calibdash.models.labelling.fitting")  # loads TensorFlow
    with progress_bar("Fitting") as show:

        def report(progress: Progress) -> None:
            show(share_done(progress), f"{progress.stage} {progress.iteration}")

        posterior = labels_to_folder(
            found,
            settings,
            out,
            references=references or None,
            learn=learn,
            seed=seed,
            about={"network_path": str(folder.resolve()), "zone": zone},
            progress=report,
        )
    for note in posterior.record.notes:
        say(note)
    if as_json:
        print_json({"run": str(out), "elbo": posterior.elbo, "seconds": posterior.record.seconds})
    say(_attention(posterior))
    say(f"The run is in {out}.")


def _attention(posterior: LabelPosterior) -> str:
    """Who gets worse, or else that nobody does."""
    table = posterior.labellers()
    worse = table[table["trend"].str.startswith("worse")] if len(table) else table
    if not len(worse):
        return f"{len(table)} labellers, {len(posterior.data.items)} items; nobody gets worse."
    told = [f"{row.labeller} {row.trend}" for row in worse.head(NAMES_SHOWN).itertuples()]
    return "; ".join(told) + "; …" * (len(worse) > NAMES_SHOWN) + "."
