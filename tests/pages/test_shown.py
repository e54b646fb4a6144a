"""What the calibration page shows, as state; pairs and dropped readings, without a browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibdash.data.problems import DataError
from calibdash.errors import CalibdashError
from calibdash.models.translate import translate
from calibdash.pages.pair import pair_plot, pair_table, ratio_plot
from calibdash.pages.readings import calibrated_plot
from calibdash.runs.queue import JobQueue
from calibdash.runs.store import RunStore
from calibdash.state.fitting import Fitting
from calibdash.state.folders import find_folders
from calibdash.state.readings import calibrate_content
from calibdash.state.session import Session
from calibdash.state.shown import Shown
from calibdash.state.tuning import Tuning


@pytest.fixture(scope="module")
def shown(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    session = Session(find_folders([examples]))
    queue = JobQueue(RunStore(tmp_path_factory.mktemp("runs")))
    return Shown(Fitting(Tuning(session), queue, lambda call: call()))


def test_the_plot_follows_the_selection_and_the_other_way_round(shown: Shown) -> None:
    shown.session.select(["aq-07"])
    assert shown.sensor == "aq-07"
    shown.sensor = "aq-09"
    assert shown.session.selected == ["aq-09"]
    shown.session.select(["aq-09", "aq-01"])
    assert shown.sensor == "aq-09"


def test_references_have_no_plot(shown: Shown) -> None:
    before = list(shown.session.references)
    shown.session.references = [*before, "aq-05"]
    assert "aq-05" not in shown.param["sensor"].objects
    shown.session.references = before
    assert "aq-05" in shown.param["sensor"].objects


def test_a_preview_has_a_gain_alone_and_nothing_to_compare_with(shown: Shown) -> None:
    assert list(shown.param["parameter"].objects) == ["gain"]
    assert list(shown.param["other_id"].objects) == [""]


def test_a_pair_is_looked_at_only_if_it_met(shown: Shown) -> None:
    session = shown.session
    partner = next(iter(session.partners("aq-03")))
    session.select([])
    session.select(["aq-03", partner])
    assert set(session.pair) == {"aq-03", partner}
    session.look_at("aq-03", "nobody")
    assert session.pair is None


def test_a_pair_has_all_its_colocations_the_first_sensor_first(shown: Shown) -> None:
    network = shown.session.network
    partner, count = next(iter(shown.session.partners("aq-03").items()))
    one, two = pair_table(network, "aq-03", partner), pair_table(network, partner, "aq-03")
    assert len(one) == count
    np.testing.assert_array_equal(one["first"], two["second"])
    assert one["period"].between(0, 3).all()
    periods = one["period"].nunique()
    assert len(pair_plot(network, "aq-03", partner, shown.posterior).renderers) == 1 + 3 * periods
    assert len(ratio_plot(network, "aq-03", partner, shown.posterior).renderers) == 3
    assert len(ratio_plot(network, "aq-03", partner, None).renderers) == 1


def test_translating_a_reading_is_the_ratio_of_gains(shown: Shown) -> None:
    posterior, network = shown.posterior, shown.session.network
    time = network.colocations["time"].iloc[len(network.colocations) // 2]
    readings = np.array([10.0, 40.0])
    gains = {
        sensor: posterior.calibration([time], [sensor])["median"].iloc[0] for sensor in ("aq-03", "boda-01", "aq-01")
    }
    line = translate(posterior, "aq-03", "boda-01", time, readings, draws=4000)
    np.testing.assert_allclose(line["median"], readings * gains["aq-03"] / gains["boda-01"], rtol=0.01)
    assert (line["lower"] < line["median"]).all()
    same = translate(posterior, "aq-01", "aq-01", time, readings)
    np.testing.assert_allclose(same[["median", "lower", "upper"]].to_numpy(), np.repeat(readings[:, None], 3, axis=1))


def test_dropped_readings_come_back_calibrated(shown: Shown) -> None:
    rows = "time,sensor,value\n2024-03-01T00:00Z,aq-03,40\n2024-03-02T00:00Z,aq-03,50\n2024-03-02T00:00Z,new,50\n"
    result = calibrate_content("some.csv", rows, shown.posterior)
    assert result.sensors == ["aq-03"]
    assert result.unknown == ("new",)
    gain = shown.posterior.calibration(pd.DatetimeIndex(["2024-03-01T00:00Z"]), ["aq-03"])["median"].iloc[0]
    assert result.table["calibrated"].iloc[0] == pytest.approx(40 * gain)
    assert (result.table["lower"] < result.table["calibrated"]).all()
    assert calibrated_plot(result, "aq-03").title.text == "aq-03"


def test_readings_that_cannot_be_used_say_why(shown: Shown) -> None:
    with pytest.raises(CalibdashError, match="None of the sensors"):
        calibrate_content("a.csv", b"time,sensor,value\n2024-03-01T00:00Z,nobody,1\n", shown.posterior)
    with pytest.raises(DataError):
        calibrate_content("a.csv", b"time,sensor,value\nnever,aq-03,1\n", shown.posterior)
    with pytest.raises(CalibdashError, match="labels"):
        calibrate_content("a.csv", b"item,labeller,label\n1,a,x\n2,a,y\n", shown.posterior)
