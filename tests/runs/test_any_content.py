"""A store whose files hold anything at all: everything is listed, nothing but a sentence comes back."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import zipfile
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calibdash.errors import CalibdashError
from calibdash.models import kept
from calibdash.models.labelling import LabelPosterior, LabelSettings
from calibdash.models.setting_table import SETTINGS
from calibdash.models.settings import Settings
from calibdash.models.store import load
from calibdash.runs.access import Person, PersonalQueue
from calibdash.runs.checkpoint import HALFWAY, read_checkpoint, read_halfway
from calibdash.runs.queue import JobQueue
from calibdash.runs.request import JobRequest
from calibdash.runs.run import Run
from calibdash.runs.store import RunStore
from calibdash.state.upload.owner import ACCESS, read_access

KEYS = [
    "id", "name", "kind", "status", "owner", "shared", "network", "network_path", "settings", "seed", "learn",
    "created", "started", "ended", "seconds", "elbo", "message", "hint", "process", "references", "period",
    "grid_hours", "warm_run",
]  # fmt: skip
SCRAPS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.sampled_from(
    ["done", "running", "queued", "fit", "labels", "multihop", "2024-01-01T00:00:00Z", "\ud800", "../x", "a\0b"]
)  # fmt: skip
VALUES = st.recursive(SCRAPS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
    st.sampled_from([*KEYS, "host", "pid", "trace", "share"]), inner, max_size=4), max_leaves=8)  # fmt: skip
RECORDS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=10)
relaxed = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@relaxed
@given(RECORDS, VALUES, VALUES)
def test_any_record(record: dict[str, object], progress: object, checkpoint: object) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "runs" / "one"
        folder.mkdir(parents=True)
        for name, values in (("run.json", record), ("progress.json", progress), ("checkpoint.json", checkpoint)):
            (folder / name).write_text(json.dumps(values))
        store = RunStore(folder.parent)
        (run,) = store.runs()
        assert isinstance(run, Run)
        assert store.get("one").owner == run.owner
        json.dumps(run.as_dict())
        for call in (store.snapshot, store.request, store.export, store.requeue, store.delete, store.restore):
            with contextlib.suppress(CalibdashError):
                call("one")
        read_checkpoint(folder)
        owner = record.get("owner")
        seen = PersonalQueue(JobQueue(store), Person("bob")).store.runs()
        if isinstance(owner, str) and owner not in ("", "bob") and record.get("shared") is not True:
            assert seen == []


@relaxed
@given(RECORDS)
def test_any_request(record: dict[str, object]) -> None:
    with contextlib.suppress(CalibdashError):
        asked = JobRequest.from_dict(record)
        assert JobRequest.from_dict(asked.as_dict()) == asked or asked.settings


NAMES = st.sampled_from([
    *(setting.key for setting in SETTINGS), *(field.name for field in fields(LabelSettings)), "bounds", "drift",
    "mobile", "lengthscale", "gain", "noise", "bounds.bias", "drift.mobile.gain", "form", "fallible",
])  # fmt: skip
WORTH = SCRAPS | st.sampled_from(["25d", "30%", "0.1..1", "..1", "auto..1", "1e400", "nan", "auto", "joint", "9" * 400])


@relaxed
@given(
    st.dictionaries(NAMES, WORTH | st.lists(WORTH, max_size=3) | st.dictionaries(NAMES, WORTH, max_size=3), max_size=4)
)
def test_any_settings(values: dict[str, object]) -> None:
    for kind in (Settings, LabelSettings):
        try:
            made = kind.from_dict(values)
        except CalibdashError:
            continue
        assert kind.from_dict(json.loads(json.dumps(made.as_dict()))) == made


@given(st.binary(max_size=60) | VALUES.map(lambda values: json.dumps(values).encode()))
def test_any_file_of_ownership(content: bytes) -> None:
    """What cannot be read belongs to nobody; only a plain statement makes it somebody's or everybody's."""
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / ACCESS).write_bytes(content)
        owner, shared = read_access(Path(scratch))
    stated = None
    with contextlib.suppress(ValueError):
        stated = json.loads(content)
    if not isinstance(stated, dict) or not isinstance(stated.get("owner"), str):
        assert not Person("bob").sees(owner, False)
    assert shared in (True, False)


@pytest.mark.parametrize(
    "about",
    ["", "[]", "{}", '{"version": 1}', '{"version": 1, "hyper": {}}', '{"kind": "labels", "version": 1}', "[" * 100_000,
     '{"version": 1, "hyper": {"kernels": [[], []]}}', '{"kind": "labels", "version": 1, "data": [], "record": 3}'],
)  # fmt: skip
def test_a_damaged_posterior_gets_a_sentence(tmp_path: Path, about: str) -> None:
    np.savez(tmp_path / "posterior.npz", mobile=np.zeros(2))
    (tmp_path / "posterior.json").write_text(about)
    for reading in (load, LabelPosterior.load):
        with pytest.raises(CalibdashError):
            reading(tmp_path)


def test_a_posterior_that_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_BYTES", 1_000_000)
    np.savez_compressed(tmp_path / "posterior.npz", mean=np.zeros(1_000_000))
    (tmp_path / "posterior.json").write_text("{}")
    with pytest.raises(CalibdashError, match="can be read"):
        load(tmp_path)
    liar = io.BytesIO()
    np.lib.format.write_array_header_1_0(liar, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)})
    with zipfile.ZipFile(tmp_path / "posterior.npz", "w") as archive:
        archive.writestr("mean.npy", liar.getvalue())
    with pytest.raises(CalibdashError, match="can be read"):
        load(tmp_path)


def test_pickles_are_never_opened(tmp_path: Path) -> None:
    np.savez(tmp_path / "posterior.npz", mean=np.array([{"a": 1}], dtype=object))
    np.savez(tmp_path / HALFWAY, key=np.array([{"a": 1}], dtype=object))
    (tmp_path / "posterior.json").write_text("{}")
    with pytest.raises(CalibdashError):
        load(tmp_path)
    assert read_halfway(tmp_path, "key") is None
