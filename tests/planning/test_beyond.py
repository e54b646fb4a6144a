"""Effort, habits and one more reference: questions about the visits of months, not of a week."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibdash.data.network import Network
from calibdash.models.linear import linear_sites
from calibdash.models.model import assemble, read_pairs
from calibdash.models.outcome import conclude
from calibdash.models.posterior import Posterior
from calibdash.models.settings import Settings
from calibdash.models.sites import posterior as solve
from calibdash.planning import (
    PlanSettings,
    Rider,
    best_reference_site,
    effort_curve,
    plan,
    useless_colocations,
)
from calibdash.planning.covariance import errors
from calibdash.planning.habits import usual
from tests.planning.networks import BELIEFS, by_hand, small, solved


def test_more_visits_a_week_never_widen_bands() -> None:
    posterior, network = small()
    curve = effort_curve(posterior, network, PlanSettings(target=0.2), most=12)
    assert list(curve.table["visits_per_week"]) == list(range(13))
    assert (np.diff(curve.table["mean_band"]) <= 1e-12).all()
    assert (np.diff(curve.table["worst_band"]) <= 1e-12).all()
    assert curve.table["mean_band"].iloc[-1] < 0.8 * curve.table["mean_band"].iloc[0]


def test_the_curve_says_how_many_visits_it_takes() -> None:
    posterior, network = small()
    table = effort_curve(posterior, network, most=12).table
    reachable = effort_curve(posterior, network, PlanSettings(target=float(table["worst_band"].iloc[7])), most=12)
    assert reachable.needed is not None
    assert reachable.needed <= 7
    assert reachable.sentence.startswith(f"About {reachable.needed} visits a week")
    hopeless = effort_curve(posterior, network, PlanSettings(target=0.001), most=3)
    assert hopeless.needed is None
    assert "do not keep" in hopeless.sentence
    idle = effort_curve(posterior, network, PlanSettings(target=9.0), most=1)
    assert (idle.needed, idle.sentence) == (0, "Every sensor stays within ±900 % without any visit.")
    assert effort_curve(posterior, network, PlanSettings(riders=(Rider("M1", days=("mon",)),)), most=2).needed is None


def test_a_colocation_that_repeats_what_others_say_is_useless() -> None:
    # S1 stands beside the reference for good; M meets both; M's visits are all that ties S2
    rows = [(float(hour), "S1", "R") for hour in range(0, 1000, 4)]
    rows += [(float(hour), "M", "R") for hour in range(10, 1000, 48)]
    rows += [(float(hour), "M", "S1") for hour in range(20, 1000, 400)]
    rows += [(float(hour), "M", "S2") for hour in range(30, 1000, 48)]
    network = by_hand(rows, ("M",), ("R",))
    table = useless_colocations(solved(network), network, loss=0.05)
    assert set(table.columns) == {"sensor_a", "sensor_b", "visits_per_week", "loss", "useless"}
    assert (table["loss"] >= -1e-12).all()
    assert table["loss"].is_monotonic_increasing
    pairs = [frozenset(pair) for pair in zip(table["sensor_a"], table["sensor_b"], strict=True)]
    verdict = dict(zip(pairs, table["useless"], strict=True))
    assert verdict[frozenset(("M", "S1"))]
    assert not verdict[frozenset(("M", "S2"))]
    assert not verdict[frozenset(("S1", "R"))]
    assert pairs[-1] in (frozenset(("M", "S2")), frozenset(("S1", "R")))


def test_dropping_the_useless_ones_costs_no_more_than_said() -> None:
    posterior, network = small()
    table = useless_colocations(posterior, network, loss=0.1)
    useless = {frozenset(row) for row in table.loc[table["useless"], ["sensor_a", "sensor_b"]].itertuples(index=False)}
    assert 0 < len(useless) < len(table)
    pairs = [frozenset(pair) for pair in network.colocations[["sensor_a", "sensor_b"]].itertuples(index=False)]
    keep = np.array([pair not in useless for pair in pairs])
    fewer = replace(network, colocations=network.colocations[keep].reset_index(drop=True))
    same_days = PlanSettings(start="2020-08-14")  # whatever the last colocation is now
    before, after = usual(posterior, network, same_days), usual(posterior, fewer, same_days)
    growth = float(before.aims.scale @ after.after) / float(before.aims.scale @ before.after) - 1
    assert 0 <= growth < 0.2


def test_one_more_reference_helps_most_where_riders_pass() -> None:
    rows = [(float(hour), "M", "S1") for hour in range(0, 1000, 24)]
    rows += [(float(hour + 3), "M", f"S{2 + hour // 24 % 4}") for hour in range(0, 1000, 24)]
    rows += [(500.0, "S6", "R"), (100.0, "M", "R")]
    network = by_hand(rows, ("M",), ("R",))
    table = best_reference_site(solved(network), network)
    assert table["sensor"].iloc[0] == "S1"
    assert "M" in table["reason"].iloc[0]
    assert table["gain"].is_monotonic_decreasing
    assert ((table["gain"] >= 0) & (table["gain"] <= 1)).all()
    assert (table["band_after"] <= table["band_before"]).all()
    assert "no rider passes" in table.set_index("sensor").loc["S6", "reason"]


def test_functions_with_more_parameters_can_be_planned_for() -> None:
    _, network = small()
    posterior = with_offsets(network)
    known = errors(posterior, 720.0)
    mean, _ = posterior.latents("S3", np.array([720.0]))
    # at the typical level gain·y + offset = 1: d log/d log gain = 1 − offset, d log/d offset = 1
    np.testing.assert_allclose(known.slope[posterior.number("S3")], [1 - mean[0, 1], 1.0], rtol=1e-4)
    assert not known.slope[posterior.number("R1")].any()
    made = plan(posterior, network, PlanSettings(days=1, budget=3.0, target=None))
    assert len(made.stops) == 3
    assert 0 < made.gain < 1
    assert (made.bands["after"] <= made.bands["before"]).all()


def with_offsets(network: Network) -> Posterior:
    """Gain and offset by one linearised solve."""
    settings = Settings(function="gain-offset").with_values(BELIEFS)
    model = assemble(read_pairs(network, settings), settings)
    sites = linear_sites(model.pairs, model.hyper, model.free)
    q = solve(model.design, sites)
    return conclude(model, sites, q, seed=0, seconds=0.0, elbo=[0.0], converged=True)
