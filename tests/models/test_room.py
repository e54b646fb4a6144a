"""Memory is asked for before a fit: what is lent, who waits, who is refused, and what limits a group sets."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from calibdash.data.folder import load_network
from calibdash.data.simulate import PRESETS, simulate_network, write_network
from calibdash.errors import CalibdashError
from calibdash.models import footprint, room
from calibdash.models.fitting import fit
from calibdash.models.footprint import LOADED, bytes_after, fit_bytes, sizes
from calibdash.models.learning import learn
from calibdash.models.model import read_pairs
from calibdash.models.preview import preview
from calibdash.models.progress import FitCancelledError
from calibdash.models.settings import Settings

GB = 1_000_000_000


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten gigabytes that nobody else touches."""
    monkeypatch.setattr(room, "available", lambda: 10 * GB)
    monkeypatch.setattr(room, "_held", lambda: GB)


def remedy(left: int) -> str:
    return f"left {left / GB:.0f}"


def test_too_much_is_refused_with_what_there_is() -> None:
    said = "This fit needs about 12 GB of memory; 10 GB can be had"
    with pytest.raises(CalibdashError, match=said) as told, room.room_for(12 * GB, "This fit", remedy):
        raise AssertionError
    assert told.value.hint == "left 10"


def test_who_does_not_fit_beside_others_waits_for_them() -> None:
    begun, over = threading.Event(), threading.Event()

    def second() -> None:
        with room.room_for(6 * GB, "second", remedy):
            begun.set()
            over.wait(10)

    thread = threading.Thread(target=second)
    with room.room_for(6 * GB, "first", remedy), room.room_for(3 * GB, "small", remedy):  # fits beside it
        thread.start()
        assert not begun.wait(0.2)
    assert begun.wait(10)
    over.set()
    thread.join(10)
    assert not room._lent


def test_who_waits_can_be_cancelled() -> None:
    second = room.room_for(6 * GB, "second", remedy, cancel=lambda: True)
    with room.room_for(6 * GB, "first", remedy), pytest.raises(FitCancelledError), second:
        raise AssertionError


def test_what_was_lent_and_is_used_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with room.room_for(6 * GB, "first", remedy):
        monkeypatch.setattr(room, "_held", lambda: 7 * GB)  # it has taken all of its six,
        monkeypatch.setattr(room, "available", lambda: 4 * GB)  # which the machine no longer has
        with room.room_for(3 * GB, "second", remedy):
            pass


@pytest.mark.parametrize("name", ["/system.slice/calibdash.service", "/"])
def test_limits_of_a_group(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    group = tmp_path / name.strip("/")
    group.mkdir(parents=True, exist_ok=True)
    (group / "memory.max").write_text(f"{2 * GB}\n")
    (group / "memory.current").write_text(f"{GB}\n")
    (group / "memory.stat").write_text(f"anon 5\ninactive_file {GB // 2}\n")
    assert list(room._group(tmp_path, name, "memory.max", "memory.current", "inactive_file")) == [3 * GB // 2]
    (group / "memory.max").write_text("max\n")
    assert list(room._group(tmp_path, name, "memory.max", "memory.current", "inactive_file")) == []
    monkeypatch.setattr(room, "_groups", lambda: iter([123, None]))
    assert room.available() == 123


def test_words() -> None:
    assert [room.gigabytes(size) for size in (1, 0.44e9, 2.26e9, 12.4e9)] == ["0.1 GB", "0.4 GB", "2.3 GB", "12 GB"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("room") / "n"
    write_network(simulate_network(replace(PRESETS["city"], days=20, statics=8, references=2, pairs=1)), folder)
    return folder


def test_a_fit_that_does_not_fit_is_refused_before_it_starts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = load_network(folder)
    settings = Settings().with_values({"lengthscale.mobile": "1d", "lengthscale.static": "1d"})
    pairs = read_pairs(network, settings)
    need = fit_bytes(pairs, settings) - LOADED
    monkeypatch.setattr(room, "available", lambda: need - 1)
    monkeypatch.setattr(footprint, "LEARNING_POINTS", 1.0)
    for refused in (lambda: fit(network, settings), lambda: learn(network, settings)):
        with pytest.raises(CalibdashError, match=r"needs about .* of memory") as told:
            refused()
        assert "inducing.most=" in told.value.hint
    fewer = int(told.value.hint.partition("inducing.most=")[2].partition(" ")[0])
    fit(network, settings.with_values({"inducing.most": str(fewer), "iterations": "1"}))


def test_the_estimate_grows_as_the_work_does(folder: Path) -> None:
    network = load_network(folder)
    pairs = read_pairs(network, Settings())
    plain, finer, more = sizes(pairs, 1, 10), sizes(pairs, 1, 40), sizes(pairs, 3, 40)
    assert plain.bytes < finer.bytes < more.bytes
    blocks, larger = (one.bytes - LOADED - footprint.WORKING * (1 + one.latents) for one in (finer, more))
    assert 6 < larger / blocks < 10  # n² rules


def test_a_preview_tells_the_same(folder: Path) -> None:
    network = load_network(folder)
    quick = preview(network, Settings())
    fixed = Settings().with_values({"kernel": "eq", "function": "gain-offset"})
    assert bytes_after(quick, fixed, learn=False) == pytest.approx(fit_bytes(quick_pairs(network), fixed), rel=0.2)


def quick_pairs(network: object) -> object:
    return read_pairs(network, Settings())
