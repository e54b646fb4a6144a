"""``calibdash check``: what is in a folder, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from calibdash.cli.options import FOLDER, json_option, reference_option, zone_option
from calibdash.cli.output import print_json, print_problems
from calibdash.data.folder import Checked, check_folder
from calibdash.data.problems import Severity
from calibdash.data.summary import summarise


@click.command()
@click.argument("folder", type=FOLDER, metavar="DIR")
@zone_option
@reference_option
@json_option
def check(folder: Path, zone: str | None, references: tuple[str, ...], as_json: bool) -> int:
    """Check the tables of a network folder: every problem at once, each with its remedy.

    Exit code 0: usable (there may be warnings); 2: something must be mended first.
    """
    checked = check_folder(folder, zone, references or None)
    errors = sum(problem.severity is Severity.ERROR for problem in checked.problems)
    if as_json:
        problems = [problem.as_dict() for problem in checked.problems]
        print_json({"ok": not errors, **summarise(checked), "problems": problems})
    else:
        _print(checked, errors)
    return 2 if errors else 0


def _print(checked: Checked, errors: int) -> None:
    console = Console(soft_wrap=True, highlight=False, markup=False)
    for name, amount in summarise(checked).items():
        console.print(f"{name.replace('_', ' '):<28}{amount}")
    print_problems(checked.problems, console)
    if errors:
        console.print(f"{errors} to mend before this folder can be used.")
    else:
        console.print("This folder can be used.")
