"""``calibdash faults``: sensors that have gone wrong."""

from __future__ import annotations

import json
from pathlib import Path

import click

from calibdash.cli.options import FILE, FOLDER, fault_rate_option, json_option, reference_option, zone_option
from calibdash.cli.output import print_json, say


@click.command()
@click.argument("place", type=FOLDER, metavar="RUN|DIR")
@click.option("--out", type=FILE, metavar="FILE", help="Write the alarms to this table (.csv, .parquet).")
@click.option(
    "--least", type=click.FloatRange(0.01, 0.99), default=0.14, show_default=True, help="Least probability to report."
)
@fault_rate_option
@zone_option
@reference_option
@json_option
def faults(
    place: Path,
    out: Path | None,
    least: float,
    fault_rate: float | None,
    zone: str | None,
    references: tuple[str, ...],
    as_json: bool,
) -> None:
    """Find sensors that went wrong in a RUN, or in the network folder DIR (which is then fitted quickly).

    Each alarm has its kind (sudden, slow, noisy, stuck), the date, the probability, how many visits speak for it, and
    the errors of those visits in standard deviations. The probability depends on how often faults are expected: state
    it with --fault-rate, or once and for all as fault_rate in network.toml.
    """
    from calibdash.data.exports import write_plain
    from calibdash.data.folder import load_network, open_folder
    from calibdash.evaluation.fault_rate import stated_rate
    from calibdash.evaluation.faults import alarms
    from calibdash.models.preview import preview
    from calibdash.runs.folder import RECORD
    from calibdash.runs.report import open_subject

    if (place / RECORD).is_file():
        subject = open_subject(place)
        posterior, network, about = subject.posterior, subject.network, subject.about
    else:
        network, about = load_network(place, zone, references or None), open_folder(place).about
        posterior = preview(network)
    found = alarms(posterior, network, least, fault_rate or stated_rate(about))
    if as_json:
        print_json({"alarms": found.to_dict("records")})
    else:
        for sentence in found["sentence"]:
            click.echo(sentence)
    if out is not None:
        texts = [json.dumps(evidence, ensure_ascii=False) for evidence in found["evidence"]]
        write_plain(found.assign(evidence=texts), out)
        say(f"{len(found)} alarms are in {out}.")
    if found.empty:
        say("No sensor stands out.")
