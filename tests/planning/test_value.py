"""What visits are worth: against a refit, and the laws any such value obeys."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibdash.data.network import Network
from calibdash.errors import CalibdashError
from calibdash.models import inducing
from calibdash.models.model import assemble, read_pairs
from calibdash.models.outcome import conclude
from calibdash.models.posterior import Posterior
from calibdash.models.preview import preview_settings
from calibdash.models.ratios import Pooled, ratio_sites, ratios
from calibdash.models.settings import Settings
from calibdash.models.sites import posterior as solve
from calibdash.planning.draft import Draft
from calibdash.planning.ground import ground
from calibdash.planning.settings import PlanSettings
from calibdash.planning.value import Visits, gains, network_targets, together, value_of_visits, visits
from tests.planning.networks import BELIEFS, by_hand, small, solved

PURE = preview_settings(Settings().with_values({**BELIEFS, "noise.additive": 0.0}))


def fitted_on(network: Network, times: np.ndarray | None) -> Posterior:
    """The one-solve fit on given inducing times."""
    pairs = read_pairs(network, PURE)
    model = assemble(pairs, PURE, times=times)
    logs = ratios(Pooled(pairs, pairs, np.arange(len(pairs.hours))), model.hyper)
    sites = ratio_sites(model.design, logs)
    q = solve(model.design, sites)
    return conclude(model, sites, q, seed=0, seconds=0.0, elbo=[0.0], converged=True)


def visit(network: Network, hour: float, a: str, b: str, value: float = 20.0) -> pd.DataFrame:
    when = network.clock.times(np.array([hour]))
    return pd.DataFrame({"time": when, "sensor_a": a, "sensor_b": b, "value_a": value, "value_b": value})


@pytest.mark.parametrize("pair", [("M1", "S3"), ("M2", "R1"), ("R2", "S1"), ("S1", "S2")])
@pytest.mark.parametrize("hour", [500.0, 760.0])
def test_a_rank_one_update_equals_a_refit(pair: tuple[str, str], hour: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inducing, "JITTER", 1e-14)  # what jitter leaves open the two would spread differently
    _, network = small()
    own = fitted_on(network, None).basis.times
    # one set of inducing times for both, with the visit's own among them: then the model is the same
    times = np.sort(np.concatenate([own, np.full((len(own), 1), hour)], axis=1), axis=1)
    before = fitted_on(network, times)
    extra = visit(network, hour, *pair)
    after = fitted_on(
        Network("more", pd.concat([network.colocations, extra], ignore_index=True), network.sensors, network.clock),
        times,
    )
    known, aims = network_targets(before, network, 720.0)
    _, aims_after = network_targets(after, network, 720.0)
    candidate = visits(before, known, extra)
    np.testing.assert_allclose(
        together(before, known, aims, candidate).variance, aims_after.variance, rtol=1e-9, atol=1e-11
    )
    expected = float(aims.scale @ (aims.variance - aims_after.variance))
    assert gains(before, known, aims, candidate)[0] == pytest.approx(expected, rel=1e-6, abs=1e-11)
    assert expected > 1e-8


@settings(max_examples=25)
@given(st.data())
def test_a_gain_is_never_negative_and_never_more_than_there_is(data: st.DataObject) -> None:
    posterior, network = small()
    names = st.sampled_from(posterior.sensors)
    rows = data.draw(
        st.lists(st.tuples(names, names, st.floats(-200, 3000), st.integers(1, 50)), min_size=1, max_size=8)
    )
    table = pd.DataFrame(rows, columns=["sensor_a", "sensor_b", "hours", "readings"])
    table["time"] = network.clock.times(table["hours"].to_numpy())
    gain = value_of_visits(posterior, network, table)
    _, aims = network_targets(posterior, network, 720.0)
    assert (gain >= 0).all()
    assert (gain <= aims.scale @ aims.variance).all()
    both = posterior.reference[[posterior.number(name) for name in table["sensor_a"]]]
    both &= posterior.reference[[posterior.number(name) for name in table["sensor_b"]]]
    assert (gain[both | (table["sensor_a"] == table["sensor_b"]).to_numpy()] == 0).all()
    swapped = table.rename(columns={"sensor_a": "sensor_b", "sensor_b": "sensor_a"})
    np.testing.assert_allclose(value_of_visits(posterior, network, swapped), gain, rtol=1e-9, atol=1e-15)


def test_two_references_tell_nothing() -> None:
    posterior, network = small()
    assert value_of_visits(posterior, network, visit(network, 750.0, "R1", "R2"))[0] == 0.0


def test_many_readings_are_worth_more_but_not_endlessly() -> None:
    posterior, network = small()
    table = pd.concat([visit(network, 750.0, "M1", "S3").assign(readings=n) for n in (1, 4, 1000, 100_000)])
    one, four, many, endless = value_of_visits(posterior, network, table)
    assert one < four < many < endless
    assert endless - many < 0.01 * (many - one)
    independent = value_of_visits(posterior, network, table, correlation=0.0)
    assert independent[0] == one
    assert (independent[1:] > [four, many, endless]).all()


def test_only_sensors_with_weight_count() -> None:
    posterior, network = small()
    others = [(name, 0.0) for name in posterior.sensors if name != "S4"]
    table = pd.concat([visit(network, 750.0, "R1", name) for name in ("S4", "S5")])
    first, second = value_of_visits(posterior, network, table, weights=others)
    assert first > 20 * second
    nothing = value_of_visits(posterior, network, table, weights=[*others, ("S4", 0.0)])
    assert (nothing == 0).all()
    with pytest.raises(CalibdashError, match="S99"):
        value_of_visits(posterior, network, table, weights=[("S99", 1.0)])
    with pytest.raises(CalibdashError, match="X1"):
        value_of_visits(posterior, network, table.assign(sensor_a="X1"))


def test_a_reference_before_a_static_is_worth_more_than_after_where_drift_is_fast() -> None:
    network = by_hand([(0, "M", "R"), (5, "M", "S"), (10, "M", "R"), (12, "M", "S")], ("M",), ("R",))
    posterior = solved(network, **{"lengthscale.mobile": "3d", "lengthscale.static": "8d", "noise.additive": 0.0})
    known, aims = network_targets(posterior, network, 300.0)
    m, r, s = (posterior.number(name) for name in ("M", "R", "S"))
    noise = np.array([known.noise[m] + known.noise[r], known.noise[m] + known.noise[s]])

    def worth(at_reference: float, at_static: float) -> float:
        made = Visits(np.array([m, m]), np.array([r, s]), np.array([at_reference, at_static]), noise)
        return together(posterior, known, aims, made).gain

    assert worth(276.0, 300.0) > 1.05 * worth(300.0, 276.0)
    alone = gains(posterior, known, aims, Visits(np.array([m, m]), np.array([r, s]), np.array([276.0, 300.0]), noise))
    assert worth(276.0, 300.0) > 1.5 * alone.sum()  # visits complement each other


def test_a_draft_adds_up_and_takes_back_exactly() -> None:
    posterior, network = small()
    base = ground(posterior, network, PlanSettings(days=2, target=None))
    rng = np.random.default_rng(0)
    draft = Draft(base)
    stops = list({(int(rng.integers(4)), int(rng.integers(8))) for _ in range(14)})
    for stop in stops:
        expected = draft.gains()[stop]
        before = draft.value
        draft.add(*stop)
        assert draft.value - before == pytest.approx(expected, rel=1e-9)
    dropped = stops[::2]
    for stop in dropped:
        expected = draft.losses()[stop]
        before = draft.value
        draft.remove(*stop)
        assert before - draft.value == pytest.approx(expected, rel=1e-6, abs=1e-12)
    kept = [stop for stop in stops if stop not in dropped]
    m = [posterior.number(base.riders[base.shifts[shift].rider].sensor) for shift, _ in kept]
    b = [posterior.number(base.sites[site]) for _, site in kept]
    hours = [base.days[base.shifts[shift].day].midnight + 12.5 for shift, _ in kept]
    made = Visits(np.array(m), np.array(b), np.array(hours), np.array([base.noise[stop] for stop in kept]))
    whole = together(posterior, base.known, base.aims, made)
    assert draft.value == pytest.approx(whole.gain, rel=1e-7)
    np.testing.assert_allclose(draft.spread, whole.variance, rtol=1e-7)
    lost = [draft.losses()[stop] for stop in kept]
    np.testing.assert_allclose(whole.without @ base.aims.scale, lost, rtol=1e-6, atol=1e-12)
