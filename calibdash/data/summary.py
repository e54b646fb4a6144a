"""A folder in a few figures."""

from __future__ import annotations

from calibdash.data.folder import Checked
from calibdash.data.labels import LabelSet
from calibdash.data.network import Network, meetings, without_path


def summarise(checked: Checked) -> dict[str, object]:
    """Name and figures of what is in a folder, in the order in which people ask for them."""
    figures: dict[str, object] = {"name": checked.folder.name}
    if checked.network:
        figures |= summarise_network(checked.network)
    if checked.labels:
        figures |= summarise_labels(checked.labels)
    return figures


def summarise_network(network: Network) -> dict[str, object]:
    """Counts, period, and the sensors that no chain of meetings ties to a reference."""
    graph = meetings(network.colocations, network.sensors)
    times = network.colocations["time"]
    return {
        "sensors": len(network.sensors),
        "mobile_sensors": int((network.sensors["kind"] == "mobile").sum()),
        "references": len(network.references),
        "colocations": len(network.colocations),
        "pairs_that_met": graph.number_of_edges(),
        "first": str(times.iloc[0]),
        "last": str(times.iloc[-1]),
        "without_path_to_reference": len(without_path(graph, network.references)),
    }


def summarise_labels(labels: LabelSet) -> dict[str, object]:
    """Counts of items, labellers, experts, labels and classes."""
    return {
        "items": int(labels.labels["item"].nunique()),
        "labellers": len(labels.labellers),
        "experts": int(labels.labellers["reference"].sum()),
        "labels": len(labels.labels),
        "classes": len(labels.classes),
    }
