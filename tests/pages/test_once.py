from __future__ import annotations

import pandas as pd

from calibdash.data.network import Clock, Network
from calibdash.state.once import KEPT, once


def test_a_network_is_looked_at_once_and_old_ones_are_let_go() -> None:
    networks = [Network(str(number), pd.DataFrame(), pd.DataFrame(), Clock()) for number in range(KEPT + 1)]
    asked: list[str] = []

    @once
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


def test_what_else_is_asked_counts_too() -> None:
    network = Network("x", pd.DataFrame(), pd.DataFrame(), Clock())
    asked: list[int] = []

    def double(_: Network, number: int) -> int:
        asked.append(number)
        return 2 * number

    kept = once(double, kept=2)
    assert [kept(network, number) for number in (1, 2, 1, 2, 3, 2)] == [2, 4, 2, 4, 6, 4]
    assert asked == [1, 2, 3]
    assert kept(network, 1) == 2
    assert asked == [1, 2, 3, 1]
