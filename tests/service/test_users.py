"""The file of users: hashes only, for its owner's eyes, and never a plain password."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibdash.cli.main import run
from calibdash.errors import CalibdashError
from calibdash.service import users as module
from calibdash.service.users import User, UserFile, changing, hashed, matches, read_users

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost is for guessers; tests are none."""
    monkeypatch.setattr(module, "COST", 16)
    monkeypatch.setattr(module, "PARALLEL", 1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "users.json"
    assert run(["user", "add", "ann", "--file", str(file), "--password", PASSWORD]) == 0
    return file


def test_no_password_is_written_and_nobody_else_can_read(file: Path) -> None:
    assert PASSWORD not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [name for name in os.listdir(file.parent) if not name.startswith(".")] == ["users.json"]
    assert not list(file.parent.glob(".*.part"))
    assert UserFile(file).admits("ann", PASSWORD)
    assert not UserFile(file).admits("ann", PASSWORD + " ")
    assert not UserFile(file).admits("nobody", PASSWORD)
    assert not UserFile(file).admits("", "")


def test_panels_own_login_cannot_take_the_hash_for_a_password(file: Path) -> None:
    """Panel compares the typed text with the entry."""
    assert all(not isinstance(entry, str) for entry in json.loads(file.read_text()).values())


def test_roles_and_new_passwords(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["user", "add", "vic", "--role", "viewer", "--file", str(file), "--password", PASSWORD]) == 0
    before = read_users(file)["vic"]
    assert run(["user", "add", "vic", "--file", str(file), "--password", "another one of mine"]) == 0
    after = read_users(file)["vic"]
    assert (before.role, after.role) == ("viewer", "viewer")
    assert before.proof != after.proof
    assert not UserFile(file).admits("vic", PASSWORD)
    capsys.readouterr()
    assert run(["user", "list", "--file", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"ann": "member", "vic": "viewer"}
    assert run(["user", "remove", "vic", "--file", str(file)]) == 0
    assert run(["user", "remove", "vic", "--file", str(file)]) == 2
    assert set(read_users(file)) == {"ann"}


@pytest.mark.parametrize("name", ["", " ann", "ann\n", "guest", "Guest", "x" * 101, "a\0b", "a\u202eb"])
def test_names_that_nobody_may_have(file: Path, name: str) -> None:
    before = file.read_bytes()
    assert run(["user", "add", "--file", str(file), "--password", PASSWORD, "--", name]) == 2
    assert file.read_bytes() == before


@pytest.mark.parametrize("password", ["", "short", "x" * 1025])
def test_passwords_have_a_length(file: Path, password: str) -> None:
    assert run(["user", "add", "bob", "--file", str(file), "--password", password]) != 0
    assert set(read_users(file)) == {"ann"}


def test_plain_text_passwords_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "users.json"
    file.write_text('{"ann": "secret"}')
    with pytest.raises(CalibdashError, match="plain text") as refusal:
        UserFile(file)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{", '{"ann": {}}', '{"ann": {"role": "king", "scrypt": "x"}}', '{"ann": {"scrypt": "16$8$1$a$b"}}',
        '{"ann": {"scrypt": "999999999999$8$1$MTIzNDU2Nzg=$MTIzNDU2Nzg="}}', '{"": {}}', "[" * 100_000,
    ],
)  # fmt: skip
def test_damaged_files_let_nobody_in(file: Path, text: str) -> None:
    known = UserFile(file)
    assert known.find("ann") is not None
    file.write_text(text)
    os.utime(file, ns=(1, 1))
    assert known.find("ann") is None
    assert not known.admits("ann", PASSWORD)
    with pytest.raises(CalibdashError):
        UserFile(file)


def test_who_is_taken_out_is_out_at_once(file: Path) -> None:
    known = UserFile(file)
    with changing(file) as users:
        users["bob"] = User("member", hashed(PASSWORD))
        del users["ann"]
    assert known.find("ann") is None
    assert known.find("bob") is not None
    file.unlink()
    assert known.find("bob") is None


def test_nothing_is_written_when_something_goes_wrong(file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(ZeroDivisionError), changing(file) as users:
        users["bob"] = User("member", f"{1 / 0}")
    assert file.read_bytes() == before


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_a_hash_knows_its_password(one: str, other: str) -> None:
    stored = hashed(one)
    assert matches(one, stored)
    assert matches(other, stored) == (one == other)


@given(st.text(max_size=80) | st.from_regex(r"[0-9$A-Za-z=+/]{0,60}"))
def test_any_stored_text_is_checked_or_refused_clearly(stored: str) -> None:
    try:
        module._parts(stored)
    except CalibdashError:
        return
    cost, block, parallel = map(int, stored.split("$")[:3])
    assert 128 * cost * block <= 128 * module.MOST_COST * module.MOST_BLOCK
    assert parallel <= module.MOST_PARALLEL
