from __future__ import annotations

import pandas as pd

from calibdash.data.network import Clock, Network
from calibdash.state.once import KEPT, once_a_network


def test_a_network_is_looked_at_once_and_old_ones_are_let_go() -> None:
    networks = [Network(str(number), pd.DataFrame(), pd.DataFrame(), Clock()) for number in range(KEPT + 1)]
    asked: list[str] = []

    @once_a_network
    def name(network: Network) -> str:
        asked.append(network.name)
        return network.name

    for network in (*networks[:KEPT], networks[0], networks[0]):
        assert name(network) == network.name
    assert len(asked) == KEPT
    name(networks[KEPT])  # the one asked for longest ago, number 1, makes room
    name(networks[0])
    assert len(asked) == KEPT + 1
    name(networks[1])
    assert asked[-1] == "1"
