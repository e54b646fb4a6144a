"""Damaged network folders end in data or in a clear error with exit code 2, never in a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calibdash.cli.main import run
from tests.mutations import MUTATIONS

FILES = {
    "colocations.csv": (
        "time,sensor_a,sensor_b,value_a,value_b\n"
        "2024-01-01T00:00:00Z,R1,M1,30.5,41.2\n"
        "2024-01-01T01:00:00Z,M1,S1,33.1,22.0\n"
        "2024-01-01T02:00:00Z,M1,S2,28.4,31.7\n"
        "2024-01-02T00:00:00+03:00,R1,S2,55.0,61.3\n"
    ),
    "sensors.csv": (
        "sensor,kind,reference,latitude,longitude,weight\n"
        "R1,static,true,0.31,32.58,1\nM1,mobile,false,,,0\nS1,static,false,0.32,32.59,1.5\nS2,static,false,0.3,32.6,2\n"
    ),
    "labels.csv": (
        "time,item,labeller,label\n2024-01-01T00:00:00Z,i1,Ann,hortorum\n2024-01-01T00:01:00Z,i1,Ben,pratorum\n"
        "2024-01-01T00:02:00Z,i2,Ann,pratorum\n"
    ),
    "labellers.csv": "labeller,reference\nAnn,true\nBen,false\n",
}


def test_the_undamaged_folder_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert run(["check", str(tmp_path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["colocations"], report["sensors"], report["labels"]) == (4, 4, 3)
    assert report["problems"] == []


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize("name", FILES)
def test_mutated(name: str, mutation: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for other, text in FILES.items():
        (tmp_path / other).write_text(text)
    damaged = MUTATIONS[mutation](FILES[name].encode())
    (tmp_path / name).write_bytes(damaged)
    code = run(["check", str(tmp_path), "--json"])
    report = json.loads(capsys.readouterr().out)
    errors = [problem for problem in report["problems"] if problem["severity"] == "error"]
    assert code == (2 if errors else 0)
    for problem in report["problems"]:
        assert problem["file"]
        assert problem["message"]
        assert problem["remedy"]
        assert len(problem["message"]) < 700
    assert run(["check", str(tmp_path)]) == code
    assert "Traceback" not in capsys.readouterr().out
    assert (tmp_path / name).read_bytes() == damaged
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(FILES)
