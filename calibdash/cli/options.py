"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

from calibdash.errors import CalibdashError
from calibdash.units import parse_hours


class Duration(click.ParamType):
    """A length of time such as 30min, as hours."""

    name = "duration"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Hours from text."""
        try:
            return parse_hours(value)
        except CalibdashError as problem:
            self.fail(f"{problem.message} {problem.hint}", param, ctx)


FOLDER = click.Path(path_type=Path)
FILE = click.Path(path_type=Path)
DURATION = Duration()

zone_option = click.option("--zone", metavar="NAME", help="Time zone of times without an offset, e.g. Africa/Kampala.")
reference_option = click.option(
    "--reference", "references", multiple=True, metavar="ID", help="Mark just these sensors as references (repeatable)."
)
fault_rate_option = click.option(
    "--fault-rate",
    type=click.FloatRange(0.001, 100),
    metavar="NUMBER",
    help="Faults expected a sensor-year.  [default: fault_rate in network.toml, or 2]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a script.")


def key_value(text: str) -> tuple[str, str]:
    """Key and value of a ``--set``."""
    key, sign, value = text.partition("=")
    if not sign:
        raise CalibdashError(f"{text[:60]!r} is not KEY=VALUE.", "Write for example --set lengthscale.mobile=25d.")
    return key.strip(), value.strip()
