from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from calibdash.errors import CalibdashError
from calibdash.runs.folder import read_record, write_run

TABLE = pd.DataFrame({"time": [0.0], "sensor": ["007"]})


def test_a_run_is_written_and_replaced_whole(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "first"
    write_run(run, {"status": "done", "seed": 1}, {"calibration": TABLE}, lambda new: (new / "old.txt").touch())
    assert read_record(run)["seed"] == 1
    write_run(run, {"status": "done", "seed": 2}, {"calibration": TABLE})
    assert read_record(run)["seed"] == 2
    assert sorted(file.name for file in run.iterdir()) == ["calibration.csv", "run.json"]
    assert [file.name for file in run.parent.iterdir()] == ["first"]


def test_a_failure_leaves_the_old_run(tmp_path: Path) -> None:
    run = tmp_path / "first"
    write_run(run, {"seed": 1}, {})

    def fail(_new: Path) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_run(run, {"seed": 2}, {}, fail)
    assert read_record(run)["seed"] == 1
    assert [file.name for file in tmp_path.iterdir()] == ["first"]


def test_other_folders_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").touch()
    with pytest.raises(CalibdashError, match="not a run"):
        write_run(tmp_path, {}, {})
    assert (tmp_path / "thesis.doc").exists()
    with pytest.raises(CalibdashError):
        read_record(tmp_path)
