"""Dropped files one by one: what they are, how they arrive, and what an archive may not do."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibdash.data.problems import DataError
from calibdash.data.readers import SOURCES
from calibdash.errors import CalibdashError
from calibdash.state.upload import archive, incoming
from calibdash.state.upload.archive import safe_name, unpack
from calibdash.state.upload.folder import slug, tidy
from calibdash.state.upload.incoming import Incoming
from calibdash.state.upload.kinds import recognise


def zipped(folder: Path | None = None, **entries: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(folder.rglob("*")) if folder else []:
            file.write(path, path.relative_to(folder.parent))
        for name, text in entries.items():
            file.writestr(name, text)
    return data.getvalue()


@pytest.mark.parametrize(
    ("name", "header", "kind"),
    [
        ("a.csv", "time,sensor_a,sensor_b,value_a,value_b", "colocations"),
        ("a.csv", "Time;Sensor A;Sensor B;Value A", "colocations"),
        ("colocations.csv", "when,one,two", "colocations"),
        ("x.txt", "sensor,kind,reference", "sensors"),
        ("x.tsv", "labeller\treference", "labellers"),
        ("x", "time,sensor,value,latitude", "calibdash"),
        ("labels.csv", "task,worker,label", "labels-long"),
        ("bam.csv", "Station,1\nSerial,2\n\nTime,ConcHR(ug/m3),Status", "bam"),
        ("network.toml", 'name = "x"', "about"),
        ("x.csv", "a,b,c", "unknown"),
        ("x.csv", "", "unknown"),
    ],
)
def test_what_a_file_is(tmp_path: Path, name: str, header: str, kind: str) -> None:
    (tmp_path / name).write_text(f"{header}\n1,2,3\n" if header else "")
    assert recognise(tmp_path / name) == kind


def test_every_source_is_recognised_by_its_own_columns(tmp_path: Path) -> None:
    for source in SOURCES.values():
        columns = [pattern.split("|")[0].replace("*", "1") for pattern in source.signature]
        (tmp_path / "x.csv").write_text(",".join(columns) + "\n")
        assert recognise(tmp_path / "x.csv") == source.name


@given(st.text(st.characters(codec=None), max_size=300))
def test_names_are_safe_whatever_they_are(name: str) -> None:
    for safe in (safe_name(name), slug(name)):
        assert Path(safe).name == safe
        assert safe not in ("", ".", "..")
        assert not safe.startswith(".")
        assert len(os.fsencode(safe)) < 200
        assert safe.isprintable()
    assert tidy(tidy(name)) == tidy(name) != ""


@pytest.mark.parametrize("name", ["../x.csv", "a/../../x.csv", "/etc/x.csv", "C:\\x.csv", "..\\x.csv"])
def test_an_archive_does_not_write_outside(tmp_path: Path, name: str) -> None:
    (tmp_path / "x.zip").write_bytes(zipped(**{name: "1"}))
    with pytest.raises(DataError, match="points outside"):
        unpack(tmp_path / "x.zip", tmp_path / "in")
    assert [path.name for path in tmp_path.rglob("*")] == ["x.zip"]


def test_an_archive_holds_no_links(tmp_path: Path) -> None:
    entry = zipfile.ZipInfo("colocations.csv")
    entry.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr(entry, "/etc/passwd")
    with pytest.raises(DataError, match="is a link"):
        unpack(tmp_path / "x.zip", tmp_path / "in")


def test_bombs_do_not_go_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = tmp_path / "x.zip"
    bomb.write_bytes(zipped(**{"a.csv": "0" * 5_000_000}))
    monkeypatch.setattr(archive, "MOST_BYTES", 4_000_000)
    with pytest.raises(DataError, match="unpacks to more"):
        unpack(bomb, tmp_path / "in")
    bomb.write_bytes(zipped(**{f"{i}.csv": "" for i in range(archive.MOST_ENTRIES + 1)}))
    with pytest.raises(DataError, match="more than 2000 files"):
        unpack(bomb, tmp_path / "in")
    monkeypatch.setattr(archive, "_ENTRY_BYTES", 1)  # the table of contents alone is too long to be read
    monkeypatch.setattr(zipfile, "ZipFile", None)
    with pytest.raises(DataError, match="more than 2000 files"):
        unpack(bomb, tmp_path / "in")
    assert not (tmp_path / "in").exists()


def test_pieces_of_several_files_may_mix(tmp_path: Path) -> None:
    taking = Incoming(tmp_path)
    assert taking.take("a", 1, 2, b"1") is None
    assert taking.under_way() == {"a": 0.5}
    assert taking.take("/x/b", 1, 1, b"") == tmp_path / "1" / "b"
    assert taking.take("a", 2, 2, b"2").read_bytes() == b"12"
    taking.take("a", 1, 3, b"1")
    with pytest.raises(CalibdashError, match="whole"):
        taking.take("a", 3, 3, b"3")
    assert taking.take("a", 2, 3, b"2") is None
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1"}


def test_no_more_is_kept_than_there_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming, "MOST_BYTES", 10)
    taking = Incoming(tmp_path)
    assert taking.take("a", 1, 1, b"x" * 8)
    assert taking.take("a", 1, 1, b"x" * 9), "a file of the same name takes the place of the old one"
    with pytest.raises(CalibdashError, match="does not fit"):
        taking.take("b", 1, 1, b"xx")
    assert taking.take("c", 1, 1, b"x")


def test_archives_that_list_what_they_cannot_hold(tmp_path: Path) -> None:
    """Found by fuzzing: a nameless entry, and one that would lie before the file's beginning."""
    good = zipped(**{"colocations.csv": "time,sensor_a,sensor_b,value_a,value_b\n0,a,b,1,2\n"})
    start = good.index(b"PK\x01\x02")
    nameless = good[: start + 28] + b"\0\0" + good[start + 30 :]
    end = good.index(b"PK\x05\x06")
    before = good[: end + 16] + (int.from_bytes(good[end + 16 : end + 20], "little") + 500).to_bytes(4, "little")
    for number, data in enumerate((nameless, before + good[end + 20 :])):
        (tmp_path / f"{number}.zip").write_bytes(data)
        with pytest.raises(DataError):
            unpack(tmp_path / f"{number}.zip", tmp_path / f"in{number}")
        assert not (tmp_path / f"in{number}").exists()
