"""Dropped files without a browser: recognised, checked, refused where they must be, and made into a network."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from calibdash.data.colocations import complete_sensors
from calibdash.data.encounters import EncounterOptions, find_encounters
from calibdash.data.files import write_table
from calibdash.data.folder import check_folder, load_labels, load_network
from calibdash.data.simulate import PRESETS, SimulatedNetwork, simulate_measurements, simulate_network, write_network
from calibdash.pages.problems import problem_markup
from calibdash.pages.upload import UploadView, file_frame
from calibdash.state.folders import find_folders
from calibdash.state.session import Session
from calibdash.state.shelf import Shelf
from calibdash.state.upload.check import read_position
from calibdash.state.upload.folder import publish
from calibdash.state.uploads import Uploads
from tests.pages.test_upload_files import zipped

BROKEN = "time,sensor_a,sensor_b,value_a,value_b\n2024-05-01T10:00Z,A,B,12,x3\n2024-05-01T11:00Z,A,B,12,14\n"


@pytest.fixture(scope="module")
def city() -> SimulatedNetwork:
    return simulate_network(replace(PRESETS["city"], days=10, statics=8, pairs=2))


@pytest.fixture(scope="module")
def readings(city: SimulatedNetwork) -> pd.DataFrame:
    return pd.concat(simulate_measurements(city, days=10), ignore_index=True)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "it's [data]")


@pytest.fixture
def uploads(shelf: Shelf) -> Iterator[Uploads]:
    uploads = Uploads(shelf, lambda call: call())
    yield uploads
    uploads.close()


def drop(uploads: Uploads, **files: str | bytes) -> None:
    """Drop files, each in two pieces, and wait until they have been looked at; ``_`` in names stands for a dot."""
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        half = len(data) // 2
        with settled(uploads):
            uploads.take(name.replace("_", "."), 1, 2, data[:half])
            uploads.take(name.replace("_", "."), 2, 2, data[half:])


@contextmanager
def settled(uploads: Uploads) -> Iterator[None]:
    """On leaving, nothing is being done any more."""
    idle = threading.Event()
    watcher = uploads.param.watch(lambda event: None if event.new else idle.set(), "busy")
    yield
    assert not uploads.busy or idle.wait(120)
    uploads.param.unwatch(watcher)


def codes(uploads: Uploads) -> list[str]:
    return [problem.code for problem in uploads.problems]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK\x03\x04 and then nothing", "damaged"),
        (zipped(**{"colocations.csv": BROKEN})[:-30], "damaged"),
        (zipped(**{"colocations.csv": BROKEN}).replace(b"PK\x01\x02", b"PK\x01\x00"), "cannot be opened"),
        (zipped(**{"xl/workbook.xml": "", "[Content_Types].xml": ""}), "Excel workbook"),
        (zipped(**{"a/colocations.csv": "", "b/colocations.csv": ""}), "several files"),
        (zipped(**{"__MACOSX/colocations.csv": "", ".DS_Store": ""}), "holds no file"),
    ],
)
def test_broken_archives_are_said(uploads: Uploads, content: bytes, said: str) -> None:
    drop(uploads, x_zip=content)
    assert said in uploads.problems[0].message
    assert not uploads.ready


def test_a_broken_file_is_explained_and_can_be_mended(uploads: Uploads, shelf: Shelf) -> None:
    drop(uploads, colocations_csv=BROKEN)
    (problem,) = uploads.problems
    assert "<td>colocations.csv</td><td>2</td><td>x3</td>" in problem_markup(uploads.problems)
    assert "plain number" in problem.remedy
    assert not uploads.ready
    uploads.add()
    assert not uploads.busy
    assert not shelf.networks.exists()
    drop(uploads, colocations_csv=BROKEN.replace("x3", "13"))
    assert len(uploads.files) == 1
    assert uploads.ready
    with settled(uploads):
        uploads.add()
    assert uploads.added == shelf.networks / "new-network"
    assert len(load_network(uploads.added).colocations) == 2


def test_colocations_and_sensors_become_the_network_they_were(uploads: Uploads, shelf: Shelf, examples: Path) -> None:
    kampala = examples / "kampala"
    files = {f"{name}_csv": (kampala / f"{name}.csv").read_bytes() for name in ("sensors", "colocations")}
    for number in ("", "-2"):
        drop(uploads, **files)
        assert uploads.ready
        assert not uploads.searching
        uploads.title = "../Kampala\n<b>"
        with settled(uploads):
            uploads.add()
        assert uploads.added == shelf.networks / f"kampala-b{number}"
        assert uploads.files == []
    network, original = load_network(uploads.added), load_network(kampala)
    pd.testing.assert_frame_equal(network.colocations, original.colocations)
    pd.testing.assert_frame_equal(network.sensors, original.sensors)
    assert network.name == "../Kampala <b>"
    assert list(shelf.offered({})) == ["../Kampala <b>", "../Kampala <b> (kampala-b-2)"]


def test_files_that_do_not_fit_together_are_not_taken(uploads: Uploads, shelf: Shelf) -> None:
    drop(uploads, sensors_csv="sensor,kind,reference\nA,static,true\nC,mobile,false\n")
    assert codes(uploads) == ["table-missing"]
    drop(uploads, met_csv="time,sensor_a,sensor_b,value_a,value_b\n0,A,B,1,2\n")
    assert "unknown-id" in codes(uploads)
    assert uploads.problems[0].file == "met.csv"
    assert not uploads.ready
    with settled(uploads):
        uploads.amend(next(file for file in uploads.files if file.kind == "sensors"), kind="leave-out")
    assert uploads.ready
    assert not shelf.networks.exists()


def test_an_unclear_file_is_asked_about(uploads: Uploads) -> None:
    drop(uploads, odd_csv="hour,sensor,value\n0,A,12\n")
    assert codes(uploads) == ["source-unknown"]
    assert file_frame(uploads.files)["What it is"].tolist() == ["Not recognised"]
    with settled(uploads):
        uploads.amend(uploads.files[0], kind="calibdash")
    assert codes(uploads)[0] == "column-missing"


def test_a_zone_is_asked_for_only_where_it_matters(uploads: Uploads) -> None:
    drop(uploads, colocations_csv="time,sensor_a,sensor_b,value_a,value_b\n2024-05-01 10:00,A,B,12,13\n")
    assert uploads.asks_zone
    assert not uploads.asks_pollutant
    assert "Choose the time zone" in uploads.problems[0].remedy
    uploads.zone = "Africa/Kampla"
    assert "Africa/Kampala" in uploads.message
    with settled(uploads):
        uploads.zone = "Africa/Kampala"
    assert uploads.ready
    with settled(uploads):
        uploads.add()
    assert load_network(uploads.added).colocations["time"].iloc[0] == pd.Timestamp("2024-05-01T07:00Z")
    assert (uploads.zone, uploads.asks_zone) == ("", False)


def test_an_archive_of_a_network_brings_its_name_and_zone(
    uploads: Uploads, tmp_path: Path, city: SimulatedNetwork
) -> None:
    write_network(city, tmp_path / "packed")
    drop(uploads, a_zip=zipped(tmp_path / "packed"))
    assert {file.kind for file in uploads.files} == {"colocations", "sensors", "about"}
    assert "archive-deeper" in codes(uploads)
    assert uploads.title == city.recipe.name
    with settled(uploads):
        uploads.add()
    network = load_network(uploads.added)
    assert len(network.colocations) == len(load_network(tmp_path / "packed").colocations)
    assert network.name == city.recipe.name


def test_encounters_are_those_of_the_data_layer(
    uploads: Uploads, tmp_path: Path, city: SimulatedNetwork, readings: pd.DataFrame
) -> None:
    half = len(readings) // 2
    for name, rows in {"one.csv": readings[: half + 500], "two.parquet": readings[half:]}.items():
        write_table(rows, tmp_path / name)  # 500 rows are in both
    write_table(readings, tmp_path / "all.csv")
    write_network(city, tmp_path / "city")
    files = {name.replace(".", "_"): (tmp_path / name).read_bytes() for name in ("one.csv", "two.parquet")}
    drop(uploads, **files, sensors_csv=(tmp_path / "city" / "sensors.csv").read_bytes())
    assert uploads.searching
    assert uploads.ready
    with settled(uploads):
        uploads.add()
    network = load_network(uploads.added)
    expected = find_encounters(tmp_path / "all.csv", complete_sensors(city.sensors), EncounterOptions()).colocations
    pd.testing.assert_frame_equal(network.colocations[expected.columns], expected, check_dtype=False, rtol=1e-9)
    kept = pd.read_parquet(uploads.added / "raw" / "measurements.parquet")
    order = ["time", "sensor", "value"]
    pd.testing.assert_frame_equal(
        kept.sort_values(order, ignore_index=True),
        readings[kept.columns].sort_values(order, ignore_index=True),
        check_dtype=False,
    )


def test_a_search_can_be_cancelled_and_tried_again(uploads: Uploads, shelf: Shelf, readings: pd.DataFrame) -> None:
    drop(uploads, m_csv=readings.to_csv(index=False))
    assert "sensors-assumed" in codes(uploads)
    watcher = uploads.param.watch(lambda event: uploads.cancel() if event.new == "Finding encounters" else None, "busy")
    with settled(uploads):
        uploads.add()
    assert "Nothing was written" in uploads.message
    assert not shelf.networks.exists()
    assert uploads.ready
    uploads.param.unwatch(watcher)
    uploads.distance_m = 0.1
    with settled(uploads):
        uploads.add()
    assert codes(uploads)[0] == "no-encounter"
    assert not shelf.networks.exists()
    assert uploads.ready, "the search can be widened"
    uploads.low = 400.0
    uploads.add()
    assert "not a range" in uploads.message


def test_a_reference_station_and_a_bicycle_meet(uploads: Uploads) -> None:
    hours = pd.date_range("2024-01-01", periods=12, freq="h")
    bam = "".join(f"{hour:%Y-%m-%d %H:%M},{30 + i},0\n" for i, hour in enumerate(hours))
    ride = "".join(
        f"bike-1,{hour:%Y-%m-%dT%H:%M:%SZ},{20 + i},{21 + i},{0.3 + 0.01 * (i % 3)},32.5\n"
        for i, hour in enumerate(hours)
    )
    drop(
        uploads,
        embassy_csv=f"Station,1\n\nTime,ConcHR(ug/m3),Status\n{bam}",
        airqo_csv=f"device_name,datetime,s1_pm2_5,s2_pm2_5,latitude,longitude\n{ride}",
    )
    assert uploads.asks_zone
    assert uploads.asks_pollutant
    with settled(uploads):
        uploads.zone = "UTC"
    assert "position-missing" in codes(uploads)
    with settled(uploads):
        uploads.amend(next(file for file in uploads.files if file.kind == "bam"), position=read_position("0.3, 32.5"))
    assert "position-missing" not in codes(uploads)
    with settled(uploads):
        uploads.add()
    network = load_network(uploads.added)
    assert network.references == ("embassy",)
    assert dict(network.sensors[["sensor", "kind"]].to_numpy()) == {"bike-1": "mobile", "embassy": "static"}
    assert len(network.colocations) == 4
    assert check_folder(uploads.added).folder.about["quantity"] == "PM2.5"


def test_unlisted_sensors_are_said_before_the_search(uploads: Uploads) -> None:
    drop(
        uploads,
        m_csv="time,sensor,value,latitude,longitude\n0,A,12,1,1\n0,B,13,1,1\n",
        sensors_csv="sensor,kind,reference\nA,static,true\n",
    )
    with settled(uploads):
        uploads.add()
    assert [(problem.code, problem.file) for problem in uploads.problems] == [("unknown-id", "m.csv")]


def test_labels_become_a_labels_folder(uploads: Uploads) -> None:
    drop(uploads, wide_csv="item,expert,ann,bob\n1,x,x,y\n2,y,y,y\n3,x,x,x\n")
    with settled(uploads):
        uploads.add()
    found = load_labels(uploads.added)
    assert len(found.labels) == 9
    assert found.labellers.set_index("labeller")["reference"].to_dict() == {"expert": True, "ann": False, "bob": False}


def test_times_of_two_kinds_do_not_mix(uploads: Uploads) -> None:
    header = "time,sensor,value,latitude,longitude"
    drop(uploads, a_csv=f"{header}\n0,A,12,1,1\n", b_csv=f"{header}\n2024-01-01T00:00Z,B,12,1,1\n")
    with settled(uploads):
        uploads.add()
    assert codes(uploads)[0] == "mixed"


def test_every_session_is_offered_what_one_adds(shelf: Shelf, tmp_path: Path, examples: Path) -> None:
    folders = find_folders([examples])
    sessions = [Session(shelf.offered(folders)) for _ in range(2)]
    ends = [shelf.subscribe(lambda session=session: session.offer(shelf.offered(folders))) for session in sessions]
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "colocations.csv").write_text("time,sensor_a,sensor_b,value_a,value_b\n0,A,B,1,2\n")
    target = publish(tmp_path / "new", shelf.networks, "x")
    ends[1]()
    shelf.changed()
    assert [target in session.param.folder.objects for session in sessions] == [True, False]
    assert [session.folder for session in sessions] == [examples / "kampala"] * 2
    sessions[0].folder = target
    assert len(sessions[0].network.colocations) == 1


def test_a_session_that_ends_leaves_nothing_behind(shelf: Shelf, readings: pd.DataFrame) -> None:
    uploads = Uploads(shelf, lambda call: call())
    drop(uploads, m_csv=readings.to_csv(index=False))
    scratch = uploads._incoming.scratch
    assert scratch.is_dir()
    uploads.add()
    uploads.close()
    for thread in threading.enumerate():
        if thread.name.startswith("calibdash-upload"):
            thread.join(60)
    assert not scratch.exists()
    assert not list(shelf.networks.glob("*"))


def test_the_view_follows_the_state(uploads: Uploads) -> None:
    view = UploadView(uploads=uploads)
    assert view.__panel__() is not None
    drop(uploads, colocations_csv=BROKEN)
    assert view._table.value["State"].tolist() == ["1 error"]
    view._table.selection = [0]
    assert view.picked == 0
    uploads.reset()
    assert view._table.value.empty
