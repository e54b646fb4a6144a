"""The README names every command and every way in; tests/test_docs.py runs what it says."""

from __future__ import annotations

import re

from calibdash.cli.main import COMMANDS
from tests.documents import ROOT, commands, targets

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_there_is_a_tour() -> None:
    assert sum(line.startswith(".venv/bin/calibdash ") for line in commands(README)) >= 12


def test_every_command_is_mentioned() -> None:
    assert not [name for name in COMMANDS if not re.search(rf"calibdash {name}|make {name}", README)]


def test_make_targets_exist() -> None:
    assert set(re.findall(r"make ([a-z]+)", README)) <= targets()
