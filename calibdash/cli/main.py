"""``calibdash``: the door of every command, where errors become sentences and exit codes."""

from __future__ import annotations

import importlib
import os
import sys
import traceback

import click

from calibdash import __version__
from calibdash.errors import CalibdashError

# name: (where it is, what it does), in the order in which people need them
COMMANDS = {
    "check": ("calibdash.cli.check:check", "What is in a network folder, and what is wrong with it."),
    "import": ("calibdash.cli.importing:import_files", "Turn other people's files into our tables."),
    "encounters": ("calibdash.cli.encounters:encounters", "Find colocations in raw measurements."),
    "fit": ("calibdash.cli.fit:fit", "The calibration of every sensor, with its uncertainty."),
    "multihop": ("calibdash.cli.multihop:multihop", "The simpler calibration, hop by hop from the references."),
    "calibrate": ("calibdash.cli.calibrate:calibrate", "Calibrate raw readings with a fit."),
    "plan": ("calibdash.cli.plan:plan", "Where to send whom next: a plan of visits."),
    "labels": ("calibdash.cli.labels:labels", "The class of every item, and which labeller confuses what."),
    "evaluate": ("calibdash.cli.evaluate:evaluate", "How good calibrations are: each reference left out in turn."),
    "faults": ("calibdash.cli.faults:faults", "Sensors that have gone wrong, how and since when."),
    "report": ("calibdash.cli.report:report", "A run as one file for people: bands, accuracy, alarms."),
    "reproduce": ("calibdash.cli.reproduce:reproduce", "The paper's tables beside ours."),
    "simulate": ("calibdash.cli.simulate:simulate", "Make data with known truth, to try things out."),
    "serve": ("calibdash.cli.serve:serve", "Open the dashboard."),
    "user": ("calibdash.cli.user:user", "Who may log in to the dashboard."),
}


class LazyGroup(click.Group):
    """Commands that are imported when they are named, so that ``--help`` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All names."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list in ``--help``, without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        return getattr(importlib.import_module(module), name)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="calibdash")
def cli() -> None:
    """The calibration of every sensor in a network, over time, with its uncertainty.

    A network is a folder with colocations.csv (time, sensor_a, sensor_b, value_a, value_b) and, better,
    sensors.csv (sensor, kind, reference).
    """


def main(arguments: list[str] | None = None) -> None:
    """Run a command; exit 0 when all is well, 2 on the user's mistake, 1 on a bug."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """The exit code of a command; what it has to say has been said."""
    try:
        return int(cli.main(arguments, prog_name="calibdash", standalone_mode=False) or 0)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as mistake:
        mistake.show()
        return 2
    except CalibdashError as problem:
        _say(problem)
        return 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("Stopped.", err=True)
        return 130
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as bug:  # one of the three doors where everything is caught
        if os.environ.get("CALIBDASH_DEBUG"):
            traceback.print_exc()
        click.echo(f"calibdash failed: {type(bug).__name__}: {bug}", err=True)
        click.echo("  This is a bug. Set CALIBDASH_DEBUG=1 to see where it happened.", err=True)
        return 1


def _say(problem: CalibdashError) -> None:
    from calibdash.cli.output import say_error

    say_error(problem)
