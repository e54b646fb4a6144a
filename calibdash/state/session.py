"""What one session looks at: a folder, its references, a stretch of time, and the sensors it has picked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import param

from calibdash.data.folder import Checked
from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.models.multihop import multihop
from calibdash.runs.access import EVERYBODY, Person
from calibdash.state.folders import read_folder
from calibdash.state.once import once
from calibdash.state.places import layout


class Session(param.Parameterized):
    """Choices of one user; views read and write these, and know nothing of each other."""

    folder: Any = param.Selector(doc="The folder on show.")
    checked: Any = param.ClassSelector(class_=Checked, doc="What is in the folder; None when it cannot be read at all.")
    failure = param.String(doc="Why the folder cannot be read at all.")
    references = param.List(item_type=str, doc="Ids of the sensors taken as references.")
    period: Any = param.Range(doc="The hours on show, first and last; None is all.")
    selected = param.List(item_type=str, doc="Ids of the picked sensors.")
    network: Any = param.ClassSelector(class_=Network, doc="The network as chosen: folder, references and period.")
    pair: Any = param.Tuple(default=None, length=2, allow_None=True, doc="Two sensors that met, looked at together.")
    person: Any = param.ClassSelector(class_=Person, default=EVERYBODY, instantiate=False, doc="Whose session it is.")

    def __init__(self, folders: dict[str, Path], **params: Any) -> None:
        self.param["folder"].objects = folders
        super().__init__(folder=next(iter(folders.values()), None), **params)
        self._load()

    @param.depends("folder", watch=True)
    def _load(self) -> None:
        checked, failure = None, ""
        if self.folder is None:
            failure = "There is no network to show yet."
        else:
            try:
                checked = read_folder(self.folder)
            except CalibdashError as problem:
                failure = str(problem)
        whole = checked.network if checked else None
        self.param.update(
            checked=checked,
            failure=failure,
            references=list(whole.references) if whole else [],
            period=None,
            selected=[],
            pair=None,
            network=whole,
        )

    @param.depends("references", "period", watch=True)
    def _choose(self) -> None:
        whole = self.checked.network if self.checked else None
        if whole is not None and (set(self.references) != set(whole.references) or self.period is not None):
            whole = whole.with_references(tuple(self.references)).within(self.period)
        self.network = whole

    def offer(self, folders: dict[str, Path]) -> None:
        """Put other folders on offer; the one on show stays, unless it is no longer there to be seen."""
        self.param["folder"].objects = folders
        if self.folder is not None and self.folder not in folders.values():
            self.folder = next(iter(folders.values()), None)

    def layout(self) -> dict[str, tuple[float, float]]:
        """Places of the sensors in the drawing of who met whom."""
        return layout(self.checked.network)

    def best_path(self, selected: list[str]) -> list[str]:
        """Sensors from a reference to the one picked sensor, along its best multi-hop path of late."""
        if len(selected) != 1 or self.network is None or not self.network.references:
            return []
        return latest_paths(self.network).get(selected[0], [])

    def toggle_references(self) -> None:
        """Mark the picked sensors as references; if all of them are, unmark them."""
        picked, marked = set(self.selected), set(self.references)
        self.references = sorted(marked - picked if picked <= marked else marked | picked)

    def select(self, sensors: list[str]) -> None:
        """Pick sensors; nothing happens if they are picked already, since every view echoes a selection once."""
        if set(sensors) != set(self.selected):
            self.selected = sorted(sensors)
            if len(sensors) == 2:
                self.look_at(*self.selected)

    def partners(self, sensor: str) -> dict[str, int]:
        """Whom a sensor met, and how often; the most frequent first."""
        table = self.network.colocations
        met = pd.concat([table.loc[table["sensor_a"] == sensor, "sensor_b"],
                         table.loc[table["sensor_b"] == sensor, "sensor_a"]])  # fmt: skip
        return {str(name): int(count) for name, count in met.value_counts().items()}

    def look_at(self, a: str, b: str) -> None:
        """Put two sensors side by side, if they met."""
        self.pair = (a, b) if b in self.partners(a) else None


@once
def latest_paths(network: Network) -> dict[str, list[str]]:
    """For each sensor that has one, the sensors along its multi-hop path in the last window of the data."""
    try:
        hops = multihop(network)
    except CalibdashError:
        return {}
    window = hops.windows.first + hops.windows.count - 1
    found = {sensor: [node.sensor for node in hops.path(sensor, window)] for sensor in hops.sensors}
    return {sensor: list(dict.fromkeys(path)) for sensor, path in found.items() if path}
