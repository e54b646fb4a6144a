"""Added networks without a browser: whose they are, who sees them, and who may add any."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from calibdash.errors import CalibdashError
from calibdash.pages.dropper import WholeDropper
from calibdash.pages.sight import sight
from calibdash.pages.site import PAGES, build, queue_in, seen
from calibdash.runs.access import EVERYBODY, VIEWER, Person
from calibdash.state.folders import read_folder
from calibdash.state.readings import calibrate_content
from calibdash.state.rider_table import riders_in
from calibdash.state.session import Session
from calibdash.state.shelf import Shelf
from calibdash.state.upload.owner import ACCESS
from calibdash.state.uploads import Uploads
from tests.pages.test_upload import drop, settled

ANN, BOB, VIC = Person("ann"), Person("bob"), Person("vic", lambda: VIEWER)
TITLES = [title for title, _ in PAGES]
TABLE = "time,sensor_a,sensor_b,value_a,value_b\n0,A,B,12,13\n1,A,B,12,14\n"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def added(shelf: Shelf, title: str = "Mine") -> Path:
    uploads = Uploads(shelf, lambda call: call())
    drop(uploads, colocations_csv=TABLE)
    uploads.title = title
    with settled(uploads):
        uploads.add()
    uploads.close()
    return uploads.added


def test_a_network_is_its_owners_until_it_is_shared(shelf: Shelf) -> None:
    heard: list[int] = []
    shelf.subscribe(lambda: heard.append(1))
    folder = added(shelf.of(ANN))
    assert json.loads((folder / ACCESS).read_text()) == {"owner": "ann", "shared": False}
    seen = {name: shelf.of(person).offered({}) for name, person in (("ann", ANN), ("bob", BOB), ("all", EVERYBODY))}
    assert [list(seen[name]) for name in ("ann", "bob", "all")] == [["Mine"], [], ["Mine"]]
    assert not shelf.of(BOB).may_read(folder)
    assert not shelf.of(BOB).may_read(folder.parent / ".." / "networks" / folder.name)
    assert [shelf.of(person).is_shared(folder) for person in (ANN, BOB, VIC, EVERYBODY)] == [False, None, None, None]
    for person in (BOB, VIC, EVERYBODY):
        with pytest.raises(CalibdashError, match="Only who added"):
            shelf.of(person).share(folder, True)
    before = len(heard)
    shelf.of(ANN).share(folder, True)
    assert len(heard) == before + 1
    assert list(shelf.of(BOB).offered({})) == ["Mine"]
    assert list(shelf.of(VIC).offered({})) == ["Mine"]


def test_without_a_login_it_is_everybodys(shelf: Shelf) -> None:
    folder = added(shelf)
    assert not (folder / ACCESS).exists()
    assert list(shelf.of(BOB).offered({})) == ["Mine"]


def test_who_looks_adds_nothing(shelf: Shelf, tmp_path: Path) -> None:
    uploads = Uploads(shelf.of(VIC), lambda call: call())
    uploads.take("colocations.csv", 1, 1, TABLE.encode())
    assert uploads.files == []
    assert "look and download" in uploads.problems[0].message
    (tmp_path / "made").mkdir()
    with pytest.raises(CalibdashError, match="look and download"):
        shelf.of(VIC).publish(tmp_path / "made", "x")
    assert not (tmp_path / "networks").exists()
    assert not (tmp_path / "uploads").exists()


def test_readings_of_who_looks_are_not_taken() -> None:
    with pytest.raises(CalibdashError, match="look and download"):
        calibrate_content("x.csv", "time,sensor,value\n0,a,1\n", None, VIC)  # type: ignore[arg-type]


def test_an_uploaded_file_cannot_say_whose_the_network_is(shelf: Shelf) -> None:
    uploads = Uploads(shelf.of(ANN), lambda call: call())
    uploads.take(ACCESS, 1, 1, b'{"owner": "bob", "shared": true}')
    folder = added(shelf.of(ANN))
    uploads.close()
    assert json.loads((folder / ACCESS).read_text())["owner"] == "ann"


def test_a_network_that_is_no_longer_shared_leaves_the_page(shelf: Shelf, examples: Path) -> None:
    folder = added(shelf.of(ANN))
    shelf.of(ANN).share(folder, True)
    session = Session(shelf.of(BOB).offered({"bees": examples / "bees"}), person=BOB)
    session.folder = folder
    shelf.of(ANN).share(folder, False)
    session.offer(shelf.of(BOB).offered({"bees": examples / "bees"}))
    assert session.folder == examples / "bees"


def test_links_on_the_shelf_are_passed_over(shelf: Shelf, tmp_path: Path, examples: Path) -> None:
    added(shelf)
    (tmp_path / "networks" / "link").symlink_to(examples / "bees")
    assert list(shelf.offered({})) == ["Mine"]


def test_pages_are_built_for_everybody_and_refused_to_strangers(shelf: Shelf, examples: Path, tmp_path: Path) -> None:
    queue = queue_in(tmp_path)
    for person in (EVERYBODY, ANN, VIC, Person("", lambda: VIEWER)):
        assert len(build({"bees": examples / "bees"}, queue, shelf, person).sidebar)
    stranger = build({"bees": examples / "bees"}, queue, shelf, Person("eve", lambda: ""))
    assert not stranger.sidebar


def test_what_goes_wrong_is_not_shown(shelf: Shelf, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    page = build({"x": 3}, queue_in(tmp_path), shelf)  # type: ignore[dict-item]
    assert "could not be made" in page.main[0].object
    assert "Traceback" not in page.main[0].object
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("name", ["..", "a\0b.csv", "/etc/passwd", "", "x" * 5000, "\ud800"])
def test_names_of_dropped_files_are_no_paths(name: str) -> None:
    assert len(riders_in(name, "rider\nann\n")) == 1
    with pytest.raises(CalibdashError):
        calibrate_content(name, "nonsense", None)  # type: ignore[arg-type]


def test_a_dropper_takes_no_more_than_it_says() -> None:
    dropper = WholeDropper(most_bytes=10)

    def piece(number: int, data: bytes, name: str = "a.csv") -> None:
        content = {"name": name, "chunk": number, "total_chunks": 3, "data": data, "type": "text/csv"}
        dropper._process_event(SimpleNamespace(event_name="upload_event", data=content))

    for number in (1, 2, 3):
        piece(number, b"xxxx")
    assert dropper.value == {}
    assert not dropper._file_buffer
    piece(2, b"x", "never begun.csv")
    for number in (1, 2, 3):
        piece(number, b"abc")
    assert dropper.value == {"a.csv": "abcabcabc"}


def test_what_is_seen_in_advance_is_what_one_may_see(shelf: Shelf, examples: Path) -> None:
    folder = added(shelf.of(ANN))
    hers, none = sight(TITLES, read_folder(folder)), sight(TITLES, None)
    assert hers != none
    assert [seen({}, shelf, person) for person in (ANN, BOB, VIC)] == [hers, none, none]
    assert seen({"Kampala": examples / "kampala"}, shelf, Person("", lambda: "")) == ""
    shelf.of(ANN).share(folder, True)
    assert seen({}, shelf, BOB) == hers
