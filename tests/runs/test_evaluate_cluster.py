"""An evaluation on a real Dask cluster gives what this machine gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from calibdash.data.simulate import PRESETS, simulate_network, write_network
from calibdash.errors import CalibdashError
from calibdash.evaluation.leave_one_out import HOPS, Request, tasks, work
from calibdash.runs import cluster
from calibdash.runs.evaluate import on_cluster

distributed = pytest.importorskip("distributed")


def test_folds_on_a_cluster(tmp_path: Path) -> None:
    recipe = replace(PRESETS["city"], days=15, statics=5, mobiles=2, pairs=1, reference_visits=1.0, seed=5)
    write_network(simulate_network(recipe), tmp_path / "net")
    request = Request(str(tmp_path / "net"), None, None, {}, 1.5)
    asked = [task for task in tasks(request, request.network()) if task["method"] == HOPS]
    assert len(asked) == 2
    heard: list[float] = []
    with distributed.LocalCluster(
        n_workers=1, processes=True, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1"
    ) as local:
        results = on_cluster(asked, local.scheduler_address, lambda share, _: heard.append(share))
    assert results == [work(task) for task in asked]
    assert heard[-1] == 1.0


def test_no_cluster_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.3)
    with pytest.raises(CalibdashError, match="No Dask scheduler"):
        on_cluster([{}], "tcp://127.0.0.1:9")
