"""Where sensors stand in the drawing: parts that never met do not squeeze each other."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibdash.data.network import meetings
from calibdash.state.places import GAP, _centres, layout
from tests.models.networks import simulated, table

CHAIN = [(float(hour), "ABCDEFG"[hour], "ABCDEFG"[hour + 1], 1.0, 1.0) for hour in range(6)]
PAIRS = [(1.0, f"{name}1", f"{name}2", 1.0, 1.0) for name in "XYZ"]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=60))
def test_discs_never_meet(radii: list[float]) -> None:
    sizes = np.sort(radii)[::-1]
    centres = _centres(sizes)
    for i, j in combinations(range(len(sizes)), 2):
        assert np.hypot(*(centres[i] - centres[j])) >= sizes[i] + sizes[j] + GAP * 0.999


@pytest.mark.parametrize(("together", "alone"), [(400, 100), (70, 30), (20, 1), (10, 10)])
def test_the_largest_part_keeps_its_room_however_many_met_nobody(together: int, alone: int) -> None:
    radii = np.sqrt(np.array([together, *[1] * alone]) / (together + alone))
    reach = (np.hypot(*_centres(radii).T) + radii).max()
    assert radii[0] > 0.45 * reach


def test_a_network_in_one_part_stands_as_springs_pull_it() -> None:
    network = simulated("city", days=20, statics=12)[1]
    graph = meetings(network.colocations, network.sensors)
    assert nx.is_connected(graph)
    for _, _, edge in graph.edges(data=True):
        edge["pull"] = np.log1p(edge["colocations"])
    pulled = nx.spring_layout(graph, weight="pull", seed=1, iterations=60)
    assert {sensor: pytest.approx(place) for sensor, place in pulled.items()} == layout(network)


def test_parts_keep_apart() -> None:
    network = table([*CHAIN, *PAIRS], extra=("alone", "lonely"))
    places = layout(network)
    assert set(places) == set(network.sensors["sensor"])
    assert layout(table([*CHAIN, *PAIRS], extra=("alone", "lonely"))) == places
    parts = [set("ABCDEFG"), *({f"{name}1", f"{name}2"} for name in "XYZ"), {"alone"}, {"lonely"}]
    for one, other in combinations(parts, 2):
        assert min(np.hypot(*np.subtract(places[a], places[b])) for a in one for b in other) >= GAP * 0.999


def test_one_sensor_that_met_nobody_does_not_squeeze_the_others() -> None:
    network = table(CHAIN, extra=("alone",))
    spread = np.ptp(np.array([place for sensor, place in layout(network).items() if sensor != "alone"]), axis=0)
    whole = np.ptp(np.array(list(layout(network).values())), axis=0)
    assert (spread > 0.5 * whole).all()


def test_nobody_met_anybody() -> None:
    assert len(set(layout(table([], extra=tuple("ABCDE"))).values())) == 5
