"""What a report is about: a run, its network, and what they allow to be said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from calibdash.data.network import Network, meetings, without_path
from calibdash.evaluation.fault_rate import stated_rate
from calibdash.models.posterior import Posterior

POINTS = 100  # times a band is drawn at
SHORT_DAYS = 14.0
STALE_DAYS = 30.0


@dataclass(frozen=True)
class Subject:
    """A run and what it was made from.

    record: ``run.json`` without paths; about: ``network.toml``; bands: calibration of a run without posterior
    (multi-hop), whose alarms and assessments then come from a quick fit; changed: the data are no longer the run's
    """

    network: Network
    posterior: Posterior
    record: Mapping[str, object]
    about: Mapping[str, str] = field(default_factory=dict)
    measurements: pd.DataFrame | None = None
    bands: pd.DataFrame | None = None
    changed: bool = False

    @property
    def unit(self) -> str:
        """The unit of the readings, '' where unknown."""
        return self.about.get("unit", "")

    @property
    def pollutant(self) -> str:
        """What is measured, as the standards call it."""
        return self.about.get("quantity", "PM2.5").strip().upper().replace("PM25", "PM2.5")

    @property
    def zone(self) -> str:
        """The zone of local days."""
        return self.about.get("timezone") or "UTC"

    @property
    def fault_rate(self) -> float:
        """Faults expected a sensor-year."""
        return stated_rate(self.about)

    @property
    def hours(self) -> tuple[float, float]:
        """First and last colocation."""
        hours = self.network.clock.hours(self.network.colocations["time"])
        return float(hours.min()), float(hours.max())

    def calibration(self) -> pd.DataFrame:
        """``sensor, parameter, hours, median, lower, upper`` over the record."""
        if self.bands is not None:
            return self.bands.assign(hours=self.network.clock.hours(self.bands["time"]))
        low, high = self.hours
        grid = np.linspace(low, max(high, low + 1.0), POINTS)
        if self.posterior.reference.all():
            return pd.DataFrame(columns=["sensor", "parameter", "hours", "median", "lower", "upper"])
        table = self.posterior.calibration(self.network.clock.times(grid))
        return table.assign(hours=np.tile(grid, len(table) // len(grid)))


def cautions(subject: Subject) -> list[str]:
    """What this network cannot tell, one sentence each."""
    network = subject.network
    low, high = subject.hours
    references = network.references
    graph = meetings(network.colocations, network.sensors)
    said = []
    if subject.changed:
        said.append("The network's tables have changed since this run: figures from them may not fit its calibration.")
    if not references:
        said.append(
            "No sensor is a reference: only ratios between sensors are known. The gains below are relative to a "
            "typical sensor, and nothing here says how far calibrated readings are from the truth."
        )
    elif len(references) == 1:
        said.append(
            f"There is one reference, {references[0]}: nothing can check it. If it is wrong, every calibration is "
            "wrong by the same factor."
        )
    lost = without_path(graph, references) if references else ()
    if lost:
        said.append(f"No chain of colocations ties {listed(lost)} to a reference: their level is unknown.")
    if high - low < 24 * SHORT_DAYS:
        said.append(
            f"The record spans {(high - low) / 24:.1f} days. How sensors drift over weeks cannot be seen in it; the "
            "bands rest on the settings in this respect, and daily or monthly figures are not possible."
        )
    last = last_visits(network)
    stale = [name for name, hours in last.items() if high - hours > 24 * STALE_DAYS]
    if stale:
        said.append(
            f"Not met by anyone in the last {STALE_DAYS:.0f} days of the record: {listed(stale)}. Their bands widen "
            "from then on."
        )
    if subject.record.get("converged") is False:
        said.append("The fit stopped before it had converged: its figures are provisional.")
    return said


def last_visits(network: Network) -> dict[str, float]:
    """Hour of each sensor's last colocation, of those that had one, in the order of the sensors table."""
    table = network.colocations
    hours = network.clock.hours(table["time"])
    both = pd.Series(np.tile(hours, 2)).groupby(pd.concat([table["sensor_a"], table["sensor_b"]]).to_numpy()).max()
    return {str(name): float(both[name]) for name in network.sensors["sensor"] if name in both.index}


def listed(names: tuple[str, ...] | list[str], most: int = 12) -> str:
    """Names in a sentence, not too many of them."""
    shown = ", ".join(str(name)[:40] for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
