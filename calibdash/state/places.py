"""Where sensors stand in the drawing of who met whom."""

from __future__ import annotations

import networkx as nx
import numpy as np

from calibdash.data.network import Network, meetings
from calibdash.state.once import once

GAP = 0.08  # between parts, where the largest of them has a radius of at most 1


@once
def layout(network: Network) -> dict[str, tuple[float, float]]:
    """Places of the sensors; the same network, the same drawing.

    Sensors that met often stand close. Parts that no meeting joins would fly apart and squeeze each other into corners:
    the largest stands in the middle, the others on rings around it.
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
    """Centres of discs, the largest first, of which none meets another: that in the middle, the others around it.

    [P] → [P, 2]. A disc takes up an angle of 2 asin(r / ring) on a ring; as many as fit are spread over it evenly.
    """
    centres = np.zeros((len(radii), 2))
    done, edge = 1, radii[0] + GAP / 2 if len(radii) else 0.0
    while done < len(radii):
        room = radii[done:] + GAP / 2
        ring = edge + room[0]
        half = np.arcsin(room / ring)
        many = max(1, int(np.searchsorted(np.cumsum(half), np.pi, side="right")))
        turned = np.pi * (2 * np.cumsum(half[:many]) - half[:many]) / half[:many].sum()
        centres[done : done + many] = ring * np.column_stack([np.cos(turned), np.sin(turned)])
        done, edge = done + many, ring + room[0]
    return centres
