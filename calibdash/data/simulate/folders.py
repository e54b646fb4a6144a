"""Simulated data as the folder every command takes, with the truth in a folder of its own."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from calibdash.data.files import write_atomically, write_table
from calibdash.data.simulate.labels import SimulatedLabels
from calibdash.data.simulate.network import SimulatedNetwork, significant


def write_network(simulated: SimulatedNetwork, folder: Path) -> None:
    """``colocations.csv``, ``sensors.csv``, ``network.toml`` and ``truth/`` (calibration, colocations, recipe)."""
    recipe = simulated.recipe
    write_table(simulated.colocations, folder / "colocations.csv")
    write_table(_plain(simulated.sensors), folder / "sensors.csv")
    _write_text(
        folder / "network.toml",
        "".join(
            f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
            for key, value in {
                "name": recipe.name,
                "timezone": recipe.timezone,
                "quantity": "PM2.5",
                "unit": "µg/m³",
            }.items()
        ),
    )
    write_table(simulated.calibration(), folder / "truth" / "calibration.csv")
    write_table(true_colocations(simulated), folder / "truth" / "colocations.csv")
    write_recipe(recipe, folder)


def true_colocations(simulated: SimulatedNetwork) -> pd.DataFrame:
    """Row by row of the colocations: the true level, and each side's true gain and offset (if there are any)."""
    names = ["gain_a", "gain_b"]
    if simulated.recipe.offset_drift or simulated.recipe.offset_bias:
        names += ["offset_a", "offset_b"]
    truth = simulated.truth
    numbers = {name: significant(truth[name].to_numpy()) for name in ("level", *names)}
    return truth[["time", "sensor_a", "sensor_b"]].assign(**numbers)


def write_labels(simulated: SimulatedLabels, folder: Path) -> None:
    """``labels.csv``, ``labellers.csv`` and ``truth/`` (items, classes, confusion, recipe)."""
    write_table(simulated.labels, folder / "labels.csv")
    write_table(_plain(simulated.labellers), folder / "labellers.csv")
    write_table(simulated.items, folder / "truth" / "items.csv")
    write_table(simulated.classes, folder / "truth" / "classes.csv")
    write_table(simulated.confusions(), folder / "truth" / "confusion.csv")
    write_recipe(simulated.recipe, folder)


def write_recipe(recipe: Any, folder: Path) -> None:
    """``truth/recipe.json``: the values that make the same data again."""
    _write_text(folder / "truth" / "recipe.json", json.dumps(asdict(recipe), indent=2, ensure_ascii=False) + "\n")


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Booleans in the words of the documented format."""
    return frame.assign(reference=frame["reference"].map({True: "true", False: "false"}))


def _write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda file: file.write(text.encode()))
