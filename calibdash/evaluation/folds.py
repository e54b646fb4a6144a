"""What is held out to judge a calibration: a whole reference at a time, or stretches of the only one's visits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.evaluation.methods import Points

BLOCKS = 5
FEWEST_ROWS = 10  # colocations with the only reference, below which nothing can be held out


@dataclass(frozen=True)
class Fold:
    """A network from which something is missing, and readings whose truth that gives away.

    noisy: the truth of the gains is a ratio of readings, with their noise; else it is exact (a reference that was
    treated as unknown). times: of the points; covariates: of the points' sensors, by name
    """

    name: str
    network: Network
    points: Points
    noisy: bool
    covariates: dict[str, np.ndarray]


def fold_names(network: Network) -> list[str]:
    """The folds a network allows: its references, the blocks of its only one, or none."""
    references = _met(network)
    if len(references) >= 2:
        return references
    if len(references) == 1 and len(_visits(network, references[0])) >= FEWEST_ROWS:
        return [f"block {number + 1} of {BLOCKS}" for number in range(BLOCKS)]
    return []


def cannot(network: Network) -> str:
    """Why a network has no folds; '' if it has."""
    if fold_names(network):
        return ""
    if not network.references:
        return "There is no reference: nothing can say how far calibrated readings are from the truth."
    return "The references met too few sensors: nothing can be held out, and nothing is left to judge by."


def make_fold(network: Network, name: str, drift: float | None = None) -> Fold:
    """One of :func:`fold_names`. drift: factor on a left-out reference's last reading, 1 at its first."""
    if name in network.references:
        return _without_reference(network, name, drift)
    if not name.startswith("block ") or len(_met(network)) != 1:
        raise CalibdashError(f"There is no fold {name[:60]!r}.", "Choose one of the references.")
    return _without_block(network, int(name.split()[1]) - 1)


def _met(network: Network) -> list[str]:
    """References that met anyone: the others can neither be tested nor test."""
    return [name for name in network.references if _concerned(network, name).any()]


def _concerned(network: Network, sensor: str) -> np.ndarray:
    table = network.colocations
    return ((table["sensor_a"] == sensor) | (table["sensor_b"] == sensor)).to_numpy()


def _without_reference(network: Network, tested: str, drift: float | None) -> Fold:
    """A reference treated as unknown; all of its colocations stay, as in the paper."""
    table = network.colocations
    hours = network.clock.hours(table["time"])
    mine = hours[_concerned(network, tested)]
    span = max(float(np.ptp(mine)), 1e-9)
    factor = 1 + ((drift or 1.0) - 1) * np.clip((hours - mine.min()) / span, 0, 1)
    changed = table.copy()
    parts = []
    for side in "ab":
        rows = (table[f"sensor_{side}"] == tested).to_numpy()
        values = table[f"value_{side}"].to_numpy(dtype=np.float64)
        changed[f"value_{side}"] = np.where(rows, values * factor, values)
        more = {name: table[f"{name}_{side}"][rows] for name in network.covariates}
        parts.append(pd.DataFrame({"hours": hours[rows], "level": values[rows], "factor": factor[rows], **more}))
    readings = pd.concat(parts).drop_duplicates("hours").sort_values("hours")
    readings = readings[readings["level"] > 0]
    others = tuple(name for name in network.references if name != tested)
    level, scale = readings["level"].to_numpy(), readings["factor"].to_numpy()
    names = np.full(len(readings), tested, dtype=object)
    points = Points(names, readings["hours"].to_numpy(), level * scale, level, -np.log(scale))
    covariates = {name: readings[name].to_numpy() for name in network.covariates}
    left = replace(network, colocations=changed).with_references(others)
    return Fold(tested, left, points, False, covariates)


def _visits(network: Network, reference: str) -> pd.DataFrame:
    """Readings beside the reference by time: ``row, hours, sensor, value, level`` and covariates; positive ones."""
    table = network.colocations
    parts = []
    for own, other in (("a", "b"), ("b", "a")):
        rows = np.flatnonzero((table[f"sensor_{other}"] == reference).to_numpy())
        names = {f"sensor_{own}": "sensor", f"value_{own}": "value", f"value_{other}": "level"}
        names |= {f"{name}_{own}": name for name in network.covariates}
        parts.append(table.iloc[rows][list(names)].rename(columns=names).assign(row=rows))
    both = pd.concat(parts, ignore_index=True)
    both["hours"] = network.clock.hours(table["time"])[both["row"].to_numpy()]
    both = both[(both["value"] > 0) & (both["level"] > 0)]
    return both.sort_values(["hours", "row"], kind="stable", ignore_index=True)


def _without_block(network: Network, number: int) -> Fold:
    """The only reference's colocations of one stretch of time are foretold from all the others."""
    visits = _visits(network, _met(network)[0])
    edges = np.quantile(visits["hours"], np.linspace(0, 1, BLOCKS + 1)[1:-1])
    mine = visits[np.searchsorted(edges, visits["hours"].to_numpy(), side="right") == number]
    keep = np.ones(len(network.colocations), dtype=bool)
    keep[mine["row"].to_numpy()] = False
    value, level = mine["value"].to_numpy(), mine["level"].to_numpy()
    points = Points(
        mine["sensor"].to_numpy(dtype=object), mine["hours"].to_numpy(), value, level, np.log(level / value)
    )
    covariates = {name: mine[name].to_numpy() for name in network.covariates}
    left = replace(network, colocations=network.colocations[keep].reset_index(drop=True))
    return Fold(f"block {number + 1} of {BLOCKS}", left, points, True, covariates)
