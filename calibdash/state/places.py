"""Where sensors stand in the drawing of who met whom."""

from __future__ import annotations

import networkx as nx
import numpy as np

from calibdash.data.network import Network, meetings
from calibdash.state.once import once

GAP = 0.12  # between parts, where the largest of them has a radius of at most 1


@once
def layout(network: Network) -> dict[str, tuple[float, float]]:
    """Places of the sensors; the same network, the same drawing.

    Sensors that met often stand close. Parts that no meeting joins would fly apart and squeeze each other into corners:
    the largest stands in the middle, the others on a ring around it.
    """
    graph = meetings(network.colocations, network.sensors)
    for _, _, edge in graph.edges(data=True):
        edge["pull"] = float(np.log1p(edge["colocations"]))
    order = {sensor: place for place, sensor in enumerate(graph)}
    parts = sorted(nx.connected_components(graph), key=lambda part: (-len(part), min(order[sensor] for sensor in part)))
    radii = np.sqrt([len(part) / max(len(graph), 1) for part in parts])
    places: dict[str, tuple[float, float]] = {}
    for part, radius, centre in zip(parts, radii, _centres(radii), strict=True):
        members: nx.Graph = nx.Graph()
        members.add_nodes_from(sorted(part, key=order.__getitem__))  # a set's own order is another in every process
        members.add_edges_from(graph.subgraph(part).edges(data=True))
        drawn = nx.spring_layout(members, weight="pull", seed=1, iterations=60 if len(part) < 200 else 25)
        reach = max(np.hypot(*place) for place in drawn.values()) if len(parts) > 1 else 1.0
        scale = radius / reach if reach else 0.0
        places |= {sensor: tuple((scale * place + centre).tolist()) for sensor, place in drawn.items()}
    return places


def _centres(radii: np.ndarray) -> np.ndarray:
    """Centres of discs of which none meets another: the first in the middle, the others around it.   [P] → [P, 2]"""
    centres = np.zeros((len(radii), 2))
    if len(radii) < 2:
        return centres
    others = radii[1:] + GAP / 2
    # Discs that touch on a ring take up an angle of 2 asin(r / ring) each; asin(x) ≤ πx/2.
    ring = max(radii[0] + GAP + radii[1], others.sum() / 2)
    share = others / others.sum()
    angles = 2 * np.pi * (np.cumsum(share) - share / 2)
    centres[1:] = ring * np.column_stack([np.cos(angles), np.sin(angles)])
    return centres
