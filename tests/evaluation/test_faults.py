"""Alarms: predictive errors against brute force, CUSUM by hand, and faults with known dates."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from calibdash.data.network import Network
from calibdash.data.simulate import PRESETS, simulate_network
from calibdash.errors import CalibdashError
from calibdash.evaluation import hypotheses
from calibdash.evaluation.breaks import breaks
from calibdash.evaluation.cusum import cusum
from calibdash.evaluation.fault_rate import stated_rate
from calibdash.evaluation.faults import ALARM, COLUMNS, alarms, online, probabilities
from calibdash.evaluation.injected import Fault, with_fault
from calibdash.evaluation.innovations import innovations, prior_covariance
from calibdash.evaluation.visits import find_visits
from calibdash.models.preview import preview
from calibdash.models.settings import Settings
from tests.models.networks import KNOWN, random_table, table

CITY = replace(
    PRESETS["city"],
    days=60,
    statics=8,
    mobiles=3,
    pairs=1,
    reference_visits=0.4,
    other_visits=2.4,
    proportional_noise=0.06,
    noise=1.5,
    gain_drift=0.15,
    seed=4,
)
BEGIN = 30 * 24.0
# As simulated, so that no test waits for a search over hyperparameters.
AS_MADE = Settings.from_dict(
    {
        "kernel": "matern32",
        "lengthscale.static": "100d",
        "lengthscale.mobile": "50d",
        "drift": 0.15,
        "bias": 0.2,
        "noise.additive": 1.5,
        "noise.proportional": 0.06,
    }
)


def test_a_sure_fault_far_away_drowns_no_other() -> None:
    """Against sums of exact fractions, for log weights that no float can hold once they are weights."""
    visits = SimpleNamespace(sensors=tuple("stuvw"), a=np.array([0, 2]), b=np.array([1, 3]))  # s–t, u–v, w alone
    logs = np.array([[2000.0, 1.0], [-3.0, 0.5], [-1.0, 2.0], [-2.0, -np.inf], [0.3, -900.0]])
    chance = probabilities(logs, visits)
    assert np.isfinite(chance).all()
    for column in range(2):
        weight = [Fraction(0) if log == -np.inf else Fraction(Decimal(log).exp()) for log in logs[:, column]]
        against = [weight[1], weight[0], weight[3], weight[2], Fraction(0)]
        expected = [float(own / (1 + own + other)) for own, other in zip(weight, against, strict=True)]
        np.testing.assert_allclose(chance[:, column], expected, rtol=1e-12, atol=1e-300)
    np.testing.assert_array_equal(probabilities(logs[:, 0], visits), chance[:, 0])


@pytest.fixture(scope="module")
def healthy() -> Network:
    return simulate_network(CITY).network()


def test_errors_are_those_of_predictions_from_earlier_visits_alone() -> None:
    network = random_table(np.random.default_rng(0), rows=30)
    posterior = preview(network, Settings.from_dict(KNOWN))
    visits = find_visits(posterior, network)
    prior = prior_covariance(visits, posterior.basis.hyper)
    found = innovations(visits, prior, 1.0)
    C = prior + np.diag(visits.variance)
    # Up to the first clipped error, the filter is plain conditioning of a Gaussian.
    plain = int(np.argmax(np.abs(found.z) > 3)) or len(visits)
    for row in range(1, plain):
        gain = np.linalg.solve(C[:row, :row], C[:row, row])
        assert found.expected[row] == pytest.approx(gain @ visits.ratio[:row], abs=1e-5)
        assert found.sd[row] ** 2 == pytest.approx(C[row, row] - gain @ C[:row, row], rel=1e-4)


def test_covariance_of_visits_is_that_of_the_model() -> None:
    network = random_table(np.random.default_rng(1), rows=12)
    posterior = preview(network, Settings.from_dict(KNOWN))
    visits = find_visits(posterior, network)
    kernel = posterior.basis.hyper.kernels[0][0]
    expected = np.zeros((len(visits), len(visits)))
    for i in range(len(visits)):
        for j in range(len(visits)):
            for side_i, sign_i in ((visits.a[i], 1), (visits.b[i], -1)):
                for side_j, sign_j in ((visits.a[j], 1), (visits.b[j], -1)):
                    if side_i == side_j and not visits.reference[side_i]:
                        between = kernel.matrix(visits.hours[[i]], visits.hours[[j]])[0, 0]
                        expected[i, j] += sign_i * sign_j * between
    np.testing.assert_allclose(prior_covariance(visits, posterior.basis.hyper), expected, atol=1e-9)


def test_readings_without_a_pause_are_one_visit() -> None:
    rows = [(hour, "A", "R", 20.0, 22.0) for hour in (0.0, 0.2, 0.4, 5.0, 5.1)]
    rows += [(30 + step / 2, "B", "R", 20.0, 22.0) for step in range(100)]  # two days and a bit without a pause
    network = table([*rows, (100.0, "B", "A", 30.0, 30.0)])
    visits = find_visits(preview(network, Settings.from_dict(KNOWN)), network)
    assert visits.count.tolist() == [3, 2, 48, 48, 4, 1]
    assert visits.ratio[0] == pytest.approx(np.log(20 / 22))
    assert visits.scatter[:2] == pytest.approx(0.0, abs=1e-20)
    assert (np.diff(visits.hours) > 0).all()


def test_cusum_by_hand() -> None:
    found = cusum(np.array([2.0, 2.0, 2.0, 2.0, 0.0, -3.0, -3.5]))
    assert found.up.tolist() == [1.5, 3.0, 4.5, 6.0, 0.0, 0.0, 0.0]
    assert found.down.tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, 2.5, 5.5]
    assert found.alarms == (3, 6)


def test_cusum_runs_about_470_visits_in_control() -> None:
    alarmed = cusum(np.random.default_rng(0).standard_normal(100_000)).alarms
    assert 400 < 100_000 / len(alarmed) < 540


def test_breaks_are_found_where_they_are() -> None:
    z = np.random.default_rng(3).standard_normal(60)
    assert breaks(z) == ()
    z[35:] += 3
    assert len(breaks(z)) == 1
    assert abs(breaks(z)[0] - 35) <= 1
    assert breaks(np.array([1.0, 2.0])) == ()


def test_evidence_for_a_step_is_its_marginal_likelihood() -> None:
    network = random_table(np.random.default_rng(2), rows=25)
    posterior = preview(network, Settings.from_dict(KNOWN))
    visits = find_visits(posterior, network)
    found = innovations(visits, prior_covariance(visits, posterior.basis.hyper), 1.0)
    L = np.linalg.inv(found.inverse)
    C, data = L @ L.T, L @ found.filtered
    sensor = int(np.bincount(np.concatenate([visits.a, visits.b])).argmax())
    weights = {every: hypotheses.weigh(found, sensor, 0.7, every=every) for every in (True, False)}
    rows = weights[True].rows
    start = int(rows[2])
    for kind, size in ((hypotheses.SUDDEN, hypotheses.STEP_SIZE), (hypotheses.SLOW, hypotheses.SLOPE_SIZE)):
        g = hypotheses.signature(found, sensor, kind, start)
        years = (visits.hours[start] - visits.hours[rows[1]]) / hypotheses.HOURS_A_YEAR
        share = hypotheses.REFERENCE_SHARE if visits.reference[sensor] else 1.0
        prior = np.log(years * share * 0.7 * hypotheses.SHARES[kind])
        for place, end in ((6, rows[6] + 1), (-1, rows[-1] + 1), (None, len(visits))):  # None: the whole record
            few = slice(0, int(end))
            here = C[few, few]
            ratio = _log_density(data[few], here + size**2 * np.outer(g[few], g[few])) - _log_density(data[few], here)
            found_here = weights[place is not None].by_kind[kind][-1 if place is None else place, 2]
            assert found_here == pytest.approx(prior + ratio, abs=1e-6)


def _log_density(r: np.ndarray, C: np.ndarray) -> float:
    _, logdet = np.linalg.slogdet(2 * np.pi * C)
    return -0.5 * (float(r @ np.linalg.solve(C, r)) + logdet)


@pytest.mark.parametrize(
    ("sensor", "kind", "size", "expected"),
    [
        ("S4", "step", np.log(1.5), "sudden"),
        ("M2", "step", -np.log(1.4), "sudden"),
        ("S5", "clogged", 0.7, "slow"),
        ("S6", "stuck", 0.0, "stuck"),
        ("S3", "noisy", 0.5, "noisy"),
        ("R1", "step", np.log(1.6), "sudden"),
    ],
)
def test_faults_are_found_named_and_dated(healthy: Network, sensor: str, kind: str, size: float, expected: str) -> None:
    faulty = with_fault(healthy, Fault(sensor, kind, BEGIN, size))
    found = alarms(preview(faulty, AS_MADE), faulty, 0.5)
    assert list(found.columns) == list(COLUMNS)
    first = found.iloc[0]
    assert (first["sensor"], first["kind"]) == (sensor, expected)
    since = (first["since"] - healthy.clock.origin) / pd.Timedelta(hours=1)
    assert abs(since - BEGIN) < 24 * (20 if expected == "slow" else 7)
    assert first["noticed"] >= first["since"]
    assert sensor in first["sentence"]
    after = [visit for visit in first["evidence"]["visits"] if visit["after"]]
    assert len(after) == first["visits"]
    if kind == "step":
        assert np.sign(first["size"]) == np.sign(size)
        assert abs(first["size"] - size) < 0.2


def test_a_healthy_network_raises_no_alarm(healthy: Network) -> None:
    found = alarms(preview(healthy, AS_MADE), healthy, 0.5)
    assert found.empty
    assert list(found.columns) == list(COLUMNS)


def test_nothing_is_known_of_a_fault_before_it_happens(healthy: Network) -> None:
    statics = healthy.sensors.loc[~healthy.sensors["reference"], "sensor"]
    faulty = with_fault(healthy, Fault(statics.iloc[1], "step", BEGIN, 1.0))
    posterior = preview(healthy, AS_MADE)
    paths = []
    for network in (healthy, faulty):
        visits = find_visits(posterior, network)
        found = innovations(visits, prior_covariance(visits, posterior.basis.hyper), 1.0)
        paths.append(online(found)[:, visits.hours < BEGIN])
    np.testing.assert_allclose(*paths, atol=1e-9)


def test_the_order_of_sides_and_of_sensors_does_not_matter(healthy: Network) -> None:
    name = healthy.sensors.loc[~healthy.sensors["reference"], "sensor"].iloc[2]
    faulty = with_fault(healthy, Fault(name, "step", BEGIN, 0.5))
    swapped = faulty.colocations.rename(
        columns=lambda column: {"a": f"{column[:-2]}_b", "b": f"{column[:-2]}_a"}.get(
            column[-1] if column[-2:] in ("_a", "_b") else "", column
        )
    )
    other = replace(faulty, colocations=swapped, sensors=faulty.sensors.iloc[::-1].reset_index(drop=True))
    one, two = (alarms(preview(network, AS_MADE), network, 0.5) for network in (faulty, other))
    assert one["sensor"].tolist() == two["sensor"].tolist()
    np.testing.assert_allclose(one["probability"], two["probability"], atol=0.02)


def test_more_faults_are_expected_where_the_operator_says_so(healthy: Network) -> None:
    faulty = with_fault(healthy, Fault("S4", "step", BEGIN, np.log(1.25)))
    posterior = preview(faulty, AS_MADE)
    few, many = (alarms(posterior, faulty, 0.01, rate).set_index("sensor")["probability"] for rate in (0.05, 20.0))
    assert few.get("S4", 0.0) < many["S4"]
    visits = find_visits(posterior, faulty)
    found = innovations(visits, prior_covariance(visits, posterior.basis.hyper), 1.0)
    one, ten = (hypotheses.weigh(found, 5, rate, every=False).log_totals()[-1] for rate in (1.0, 10.0))
    assert ten - one == pytest.approx(np.log(10))


def test_old_suspicions_are_dropped_unless_they_harden(healthy: Network) -> None:
    """What is only to be watched began in the sensor's last visits; a sure fault stays, however long ago it began."""
    faulty = with_fault(healthy, Fault("S4", "step", BEGIN, np.log(1.5)))
    found = alarms(preview(faulty, AS_MADE), faulty, 0.02)
    sure = found["probability"] >= ALARM
    assert found[sure]["sensor"].tolist() == ["S4"]
    assert found[sure]["visits"].iloc[0] > hypotheses.RECENT
    assert (found[~sure]["visits"] <= hypotheses.RECENT).all()
    visits = find_visits(preview(healthy, AS_MADE), healthy)
    hyper = preview(healthy, AS_MADE).basis.hyper
    weights = hypotheses.weigh(innovations(visits, prior_covariance(visits, hyper), 1.0), 5)
    for kind, part in weights.recent().by_kind.items():
        for place in (3, len(weights.rows) - 1):
            kept = np.isfinite(part[place])
            first = max(0, place + 1 - hypotheses.RECENT)
            assert not kept[:first].any()
            np.testing.assert_array_equal(part[place, first:], weights.by_kind[kind][place, first:])


def test_the_rate_of_faults_is_read_from_the_network() -> None:
    assert stated_rate({}) == hypotheses.RATE
    assert stated_rate({"fault_rate": "0.5"}) == 0.5
    for bad in ("often", "-1", "nan", "0", "1e9"):
        with pytest.raises(CalibdashError, match="faults a sensor-year"):
            stated_rate({"fault_rate": bad})


@pytest.mark.parametrize("references", [(), ("R",)])
def test_tiny_networks_have_no_alarms_and_no_errors(references: tuple[str, ...]) -> None:
    network = table([(0.0, "A", "R", 20.0, 22.0), (5.0, "A", "B", 20.0, 22.0)], references)
    assert alarms(preview(network, AS_MADE), network).empty


def test_there_is_no_such_fault() -> None:
    with pytest.raises(CalibdashError, match="faults are"):
        Fault("A", "tired", 0.0, 1.0)
