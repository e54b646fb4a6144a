"""Writes docs/reference.md: every command and every setting, as the code has them (``make docs``)."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from calibdash.cli.main import COMMANDS, cli  # noqa: E402
from calibdash.models import multihop_graph  # noqa: E402
from calibdash.models.functions import named, names  # noqa: E402
from calibdash.models.labelling import settings as labelling  # noqa: E402
from calibdash.models.setting_table import LEARNABLE, SETTINGS, SPECIFIC, Setting  # noqa: E402
from calibdash.planning import settings as planning  # noqa: E402
from calibdash.units import format_hours  # noqa: E402

FILE = ROOT / "docs" / "reference.md"
HEAD = """# Reference

*Made from the code by `make docs`; do not edit it by hand.*

Every command ends with 0 when all is well, 2 when something must be mended first, 1 on a bug (set `CALIBDASH_DEBUG=1`
to see where), and says so in a sentence on stderr; stdout holds data only. Lengths of time are written `90s`, `30min`,
`24h`, `100d` or `2w`; a bare number is hours. `--help` (or `-h`) after any command says what stands here.
"""
FIT_HEAD = f"""### Settings of a fit

`calibdash fit DIR --set KEY=VALUE`, or a TOML or JSON file after `--settings`; the dashboard's sliders set the same.
“the data decide” means that a value is found from the network when none is stated. With `--learn`, those of
{", ".join(f"`{key}`" for key in LEARNABLE)} that are not stated are found by the fit itself, within
`bounds.KEY` where that is given (`bounds.bias=0.1..1`).

{", ".join(f"`{key}`" for key in SPECIFIC)} may be given for one kind of sensor, for one parameter, or for both:
`lengthscale.mobile`, `drift.offset`, `drift.static.offset`.
"""
LABELS_HEAD = """### Settings of labellers

`calibdash labels DIR --set KEY=VALUE`. In Python also `fallible` and `classes`, lists of names (`--fallible`,
`--class`). The size that `exact.most` limits is classes × (labellers × steps of time × classes + labels).
"""
PLAN_HEAD = """### Settings of a plan of visits

Options of `calibdash plan` and *Limits* of the page *Visits*; in Python all of `PlanSettings`.
"""
HOPS_HEAD = """### Settings of multi-hop

Options of `calibdash multihop` and the sliders under *Multi-hop*; in Python `MultihopSettings`.
"""


def reference() -> str:
    """The whole page."""
    parts = [HEAD, "## Commands\n", _contents()]
    for name in COMMANDS:
        parts += _commands((name,))
    parts += ["## Settings\n", FIT_HEAD, _table(SETTINGS), _functions()]
    parts += [LABELS_HEAD, _table(labelling.SETTINGS), PLAN_HEAD, _table(planning.SETTINGS)]
    parts += [HOPS_HEAD, _table(multihop_graph.SETTINGS)]
    return "\n".join(parts)


def _contents() -> str:
    rows = [f"| [`{name}`](#calibdash-{name}) | {about} |" for name, (_, about) in COMMANDS.items()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows]) + "\n"


def _commands(path: Sequence[str]) -> Iterator[str]:
    """A command and those below it."""
    context = click.Context(cli, info_name="calibdash")
    command: click.Command = cli
    for name in path:
        found = command.get_command(context, name) if isinstance(command, click.Group) else None
        assert found is not None, f"there is no command {' '.join(path)}"
        command, context = found, click.Context(found, info_name=name, parent=context)
    usage = " ".join(["calibdash", *path, *command.collect_usage_pieces(context)])
    yield f"### calibdash {' '.join(path)}\n"
    yield f"```text\n{usage}\n```\n"
    yield _plain(command.help or "") + "\n"
    if command.epilog:
        yield _plain(command.epilog) + "\n"
    options = [option for option in command.params if isinstance(option, click.Option)]  # all but --help
    if options:
        rows = [f"| {_flags(option, context)} | {_meaning(option, context)} |" for option in options]
        yield "\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from _commands((*path, name))


def _plain(text: str) -> str:
    """Paragraphs of a docstring, each on lines of their own."""
    paragraphs = [" ".join(part.split()) for part in text.replace("\b", "").split("\n\n")]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _flags(option: click.Option, context: click.Context) -> str:
    """How an option is written, as ``--help`` has it."""
    record = option.get_help_record(context)
    assert record is not None
    words = record[0].replace("INTEGER RANGE", "N").replace("FLOAT RANGE", "X").replace("<FLOAT FLOAT>...", "LOW HIGH")
    return "`" + re.sub(r"\bINTEGER$", "N", re.sub(r"\bFLOAT$", "X", words)).replace("|", r"\|") + "`"


def _meaning(option: click.Option, context: click.Context) -> str:
    """What ``--help`` says, with the default and the range in words."""
    record = option.get_help_record(context)
    assert record is not None
    words = " ".join(record[1].split())
    default = option.get_default(context)
    if "[default" not in words and isinstance(default, str | int | float) and default not in ("", False):
        words += f" [default: {default}]"
    words = re.sub(r"\[([^\]]*)\]$", lambda found: f"*({found[1]})*", words)
    return re.sub(r"(\d)<=x<=(\d)", r"\1 to \2", words).replace("x>=0.0", "0 or more").replace("|", r"\|")


def _table(settings: Sequence[Setting]) -> str:
    rows = [
        f"| `{setting.key}` | {_default(setting)} | {_range(setting)} | {setting.explanation} |" for setting in settings
    ]
    return "\n".join(["| setting | default | possible values | meaning |", "|---|---|---|---|", *rows]) + "\n"


def _default(setting: Setting) -> str:
    if setting.default is None:
        return "none" if "none:" in setting.explanation else "the data decide"
    return _value(setting, setting.default)


def _range(setting: Setting) -> str:
    if setting.unit == "choice":
        choices = names() if setting.key == "function" else setting.choices
        return ", ".join(f"`{choice}`" for choice in choices)
    if setting.unit == "switch":
        return "`true`, `false`"
    return f"{_value(setting, setting.low)} to {_value(setting, setting.high)}"


def _value(setting: Setting, value: object) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str):
        return f"`{value}`"
    assert isinstance(value, int | float)
    if setting.unit == "hours":
        return format_hours(value) if value < 1e5 else f"{value:,.0f}h"
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e9 else f"{value:g}".replace("e+", "e")


def _functions() -> str:
    """The calibration functions with their parameters."""
    rows = []
    for name in names():
        function = named(name)
        parameters = ", ".join(f"`{parameter.name}`" for parameter in function.parameters)
        needs = ", ".join(function.covariates) or "nothing further"
        rows.append(f"| `{name}` | {parameters} | {needs} |")
    head = "What the choices of `function` find over time, and which columns (`NAME_a`, `NAME_b`) they need:\n"
    return "\n".join([head, "| function | parameters | needs |", "|---|---|---|", *rows]) + "\n"


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(reference(), encoding="utf-8")
    print(f"{FILE.relative_to(ROOT)} is up to date.")
