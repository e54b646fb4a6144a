"""``calibdash simulate``: networks and labels with known truth."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import click

from calibdash.cli.options import FOLDER
from calibdash.cli.output import say
from calibdash.data.simulate import (
    PRESETS,
    LabelRecipe,
    NetworkRecipe,
    simulate_labels,
    simulate_network,
    write_labels,
    write_network,
)
from calibdash.errors import CalibdashError


def _recipe_options(recipe: type) -> Any:
    """One option a field of the recipe; a field that is not given keeps the preset's value."""

    def decorate(command: Any) -> Any:
        for field in reversed(fields(recipe)):
            meta = field.metadata
            unit = f" [{meta['unit']}]" if meta["unit"] else ""
            default = f"  [default: {field.default}]" if recipe is LabelRecipe else ""  # of networks: the preset's
            name = f"--{field.name.replace('_', '-')}"
            if isinstance(field.default, bool):
                option = click.option(f"{name}/--no-{name[2:]}", default=None, help=f"{meta['help']}.{default}")
            else:
                kind = click.Choice(meta["choices"]) if meta["choices"] else type(field.default)
                option = click.option(name, type=kind, default=None, help=f"{meta['help']}{unit}.{default}")
            command = option(command)
        return command

    return decorate


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _new_folder(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CalibdashError(f"{folder} exists and is not empty.", "Choose a new folder: nothing is overwritten.")


@click.group()
def simulate() -> None:
    """Make data with known truth, to try things out."""


@simulate.command()
@click.argument("folder", type=FOLDER, metavar="DIR")
@click.option("--preset", type=click.Choice(list(PRESETS)), default="paper", show_default=True, help="Where to start.")
@_recipe_options(NetworkRecipe)
def network(folder: Path, preset: str, **values: Any) -> None:
    """Write a simulated network folder, with the truth in DIR/truth.

    Options that are not given are the preset's: `paper` is the paper's synthetic network, `city` is like
    Kampala's, in a `chain` sensors meet only their neighbours, `offset` has offsets and humidity.
    """
    _new_folder(folder)
    simulated = simulate_network(replace(PRESETS[preset], **_given(values)))
    write_network(simulated, folder)
    say(f"{len(simulated.colocations)} colocations of {len(simulated.sensors)} sensors are in {folder}.")


@simulate.command()
@click.argument("folder", type=FOLDER, metavar="DIR")
@_recipe_options(LabelRecipe)
def labels(folder: Path, **values: Any) -> None:
    """Write a simulated set of labels, with the truth in DIR/truth."""
    _new_folder(folder)
    simulated = simulate_labels(replace(LabelRecipe(), **_given(values)))
    write_labels(simulated, folder)
    say(f"{len(simulated.labels)} labels by {len(simulated.labellers)} labellers are in {folder}.")
