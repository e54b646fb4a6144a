"""The README's commands do what it says, on a copy of the example data."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from calibdash.cli.main import COMMANDS, run

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
LONG = {"reproduce"}  # studies of half an hour; their parts are tested in tests/evaluation
LINES = [line.split("#")[0].strip() for line in README.splitlines() if line.startswith("    .venv/bin/calibdash ")]


def test_every_line_of_the_tour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "example_data", tmp_path / "example_data")
    (tmp_path / "my-airqo-export.csv").write_text(
        "device_name,datetime,s1_pm2_5,s2_pm2_5,latitude,longitude\n"
        "aq-1,2025-01-01 00:05:00Z,30,32,0.31,32.58\naq-2,2025-01-01 00:15:00Z,20,22,0.31,32.5801\n"
    )
    monkeypatch.chdir(tmp_path)
    done = 0
    for line in LINES:
        arguments = shlex.split(line)[1:]
        if arguments[0] not in LONG:
            assert run(arguments) == 0, line
            done += 1
    assert done >= 8
    assert (tmp_path / "runs" / "calibrated.csv").is_file()


def test_every_command_is_mentioned() -> None:
    assert not [name for name in COMMANDS if not re.search(rf"calibdash {name}|make {name}", README)]


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"make ([a-z]+)", README)) <= targets
