"""``calibdash plan``: where to send whom next."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calibdash.cli.options import DURATION, FILE, FOLDER, json_option, zone_option
from calibdash.cli.output import print_json, print_problems, progress_bar, say, talk
from calibdash.errors import CalibdashError

if TYPE_CHECKING:
    from calibdash.planning import Plan, Promise, Rider

STOPS_SHOWN = 12


class Share(click.ParamType):
    """A width such as 10%, as a share; none for no limit."""

    name = "percent"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float | None:
        """0.1 from 10% or 0.1; a number of 1 and more is taken for per cent."""
        text = str(value).strip().lower()
        if value is None or text in ("none", "off"):
            return None
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number > 0):
            self.fail(f"{str(value)[:60]!r} is not a width. Write for example 10%, or none.", param, ctx)
        return number / 100 if text.endswith("%") or number >= 1 else number


@click.command()
@click.argument("run", type=FOLDER, metavar="RUN")
@click.option("--out", type=FILE, required=True, metavar="FILE", help="Where to write the plan (.csv, .parquet).")
@click.option("--riders", "riders_file", type=FILE, metavar="FILE", help="Table of riders; without it, every mobile.")
@click.option("--days", type=click.IntRange(1, 366), default=7, show_default=True, help="Length of the plan.")
@click.option(
    "--budget",
    type=click.FloatRange(min=0.0),
    metavar="COST",
    help="Most that all visits may cost, in the unit of the riders' costs (by default 1 a stop: a number of visits).",
)
@click.option("--horizon", type=DURATION, default="30d", show_default=True, help="How long bands should be narrow.")
@click.option("--target", type=Share(), default="10%", show_default=True, help="Half-width that is enough, or none.")
@click.option("--forbid", "forbidden", multiple=True, metavar="ID", help="A sensor nobody may visit (repeatable).")
@click.option("--promise", "promises", multiple=True, metavar="DAY,RIDER,ID", help="A visit to keep (repeatable).")
@click.option("--weight", "weights", multiple=True, metavar="ID=N", help="How much a sensor matters (repeatable).")
@click.option("--distances", "distances_file", type=FILE, metavar="FILE", help="Ways: from, to, km and maybe minutes.")
@click.option("--start", metavar="DATE", help="First day; without it, the day after the last colocation.")
@click.option("--network", "network_path", type=FOLDER, metavar="DIR", help="The network's folder, if it moved.")
@click.option("--gpx", type=FILE, metavar="FILE", help="Also write routes for navigation.")
@click.option("--ics", type=FILE, metavar="FILE", help="Also write a calendar.")
@click.option("--with-base", is_flag=True, help="Let the GPX file show where riders start: their homes.")
@click.option("--quick", is_flag=True, help="The first good plan, without a search for better ones.")
@zone_option
@json_option
def plan(
    run: Path,
    out: Path,
    riders_file: Path | None,
    days: int,
    budget: float | None,
    horizon: float,
    target: float | None,
    forbidden: tuple[str, ...],
    promises: tuple[str, ...],
    weights: tuple[str, ...],
    distances_file: Path | None,
    start: str | None,
    network_path: Path | None,
    gpx: Path | None,
    ics: Path | None,
    with_base: bool,
    quick: bool,
    zone: str | None,
    as_json: bool,
) -> None:
    """Plan visits for a RUN of `calibdash fit`: who goes where on which day, and why.

    The plan has a row a stop: day, rider, order, sensor, with_sensor, arrive (local time), minutes, travel_km
    (from the stop before), cost, gain (% of the network's uncertainty that comes back if this stop is left out) and
    reason. Riders are rows of rider, latitude, longitude (their base), sensor (the mobile they carry), speed_kmh,
    cost_per_km, cost_per_stop, minutes_per_visit, start, end, days; only rider is required. Bases of riders are
    used for the ways and written nowhere unless --with-base is given.
    """
    from calibdash.planning import PlanSettings, read_distances, read_riders, write_gpx, write_ics, write_plan
    from calibdash.planning import plan as make_plan
    from calibdash.runs.plan import open_for_planning

    _check_ending(out)
    opened = open_for_planning(run, network_path, zone)
    riders: tuple[Rider, ...] = ()
    distances = None
    if riders_file is not None:
        riders, problems = read_riders(riders_file)
        print_problems(problems, talk())
    if distances_file is not None:
        distances, problems = read_distances(distances_file)
        print_problems(problems, talk())
    settings = PlanSettings(
        riders=riders,
        start=_start(start, dated=opened.posterior.clock.origin is not None),
        days=days,
        budget=budget,
        horizon_hours=horizon,
        target=target,
        forbidden=forbidden,
        promised=tuple(map(_promise, promises)),
        weights=tuple(map(_weight, weights)),
        distances=distances,
        zone=opened.zone,
        effort="quick" if quick else "full",
    )
    if ics is not None and opened.posterior.clock.origin is None:
        raise CalibdashError("A calendar needs dates, but the times of this network are hours.", "Leave --ics away.")
    with progress_bar("Planning"):
        made = make_plan(opened.posterior, opened.network, settings)
    write_plan(made, out)
    if gpx is not None:
        write_gpx(made, gpx, with_base=with_base)
    if ics is not None:
        write_ics(made, ics)
    _tell(made, out, as_json)


def _tell(made: Plan, out: Path, as_json: bool) -> None:
    for note in made.notes:
        say(note)
    if as_json:
        print_json(
            {
                "plan": str(out),
                "summary": made.summary,
                "cost": made.cost,
                "gain": made.gain,
                "km": made.km,
                "notes": list(made.notes),
                "stops": made.stops.to_dict("records"),
                "bands": made.bands.to_dict("records"),
            }
        )
    else:
        for row in made.stops.head(STOPS_SHOWN).itertuples():
            say(f"{row.day} {row.arrive}  {row.rider}: {row.sensor} – {row.reason}")
        if len(made.stops) > STOPS_SHOWN:
            say(f"… and {len(made.stops) - STOPS_SHOWN} more stops.")
    say(made.summary)
    say(f"The plan is in {out}.")


def _check_ending(out: Path) -> None:
    """Before anything is calculated."""
    if not out.name.lower().endswith((".csv", ".tsv", ".txt", ".parquet")):
        raise CalibdashError(f"{out.name} does not say which format to write.", "End the name in .csv or .parquet.")


def _start(text: str | None, *, dated: bool) -> str | float | None:
    if text is None or dated:
        return text
    try:
        return float(text)
    except ValueError as reason:
        raise CalibdashError(
            f"--start {text[:60]!r}: the times of this network are hours.", "Give a number of hours."
        ) from reason


def _promise(text: str) -> Promise:
    from calibdash.planning import Promise

    cells = [cell.strip() for cell in next(csv.reader([text]), [])]
    if len(cells) != 3 or not all(cells):
        raise CalibdashError(
            f"--promise {text[:60]!r} is not DAY,RIDER,ID.", "Write for example --promise 2024-07-01,Ali,S12."
        )
    return Promise(*cells)


def _weight(text: str) -> tuple[str, float]:
    name, sign, value = text.rpartition("=")
    try:
        if not sign:
            raise ValueError
        return name.strip(), float(value)
    except ValueError as reason:
        raise CalibdashError(f"--weight {text[:60]!r} is not ID=N.", "Write for example --weight S12=3.") from reason
