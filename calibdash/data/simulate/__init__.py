"""Simulated networks and labels, seeded, with the truth kept beside the data."""

from calibdash.data.simulate.folders import write_labels, write_network
from calibdash.data.simulate.label_recipe import LabelRecipe
from calibdash.data.simulate.labels import SimulatedLabels, simulate_labels
from calibdash.data.simulate.measurements import simulate_measurements, write_measurements
from calibdash.data.simulate.network import SimulatedNetwork, simulate_network
from calibdash.data.simulate.recipe import PRESETS, NetworkRecipe

__all__ = [
    "PRESETS",
    "LabelRecipe",
    "NetworkRecipe",
    "SimulatedLabels",
    "SimulatedNetwork",
    "simulate_labels",
    "simulate_measurements",
    "simulate_network",
    "write_labels",
    "write_measurements",
    "write_network",
]
