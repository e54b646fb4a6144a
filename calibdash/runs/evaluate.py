"""An evaluation from its request to its folder, on this machine or on a Dask cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from calibdash import __version__
from calibdash.data.exports import write_plain
from calibdash.data.files import write_atomically
from calibdash.data.network import Network
from calibdash.evaluation.folds import cannot, fold_names
from calibdash.evaluation.leave_one_out import Request, metrics, predictions, tasks, work
from calibdash.evaluation.study import Result, Task, run_study
from calibdash.reports.evaluation import evaluation_page
from calibdash.runs.cluster import connect
from calibdash.runs.folder import now

Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Evaluation:
    """Figures and predictions; ``cannot`` says why there are none."""

    metrics: pd.DataFrame
    predictions: pd.DataFrame
    cannot: str


def evaluate_to_folder(
    request: Request,
    network: Network,
    folder: Path,
    *,
    workers: int = 2,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate and write ``metrics.csv``, ``predictions.csv``, ``evaluation.json`` and ``evaluation.html``."""
    began = now()
    asked = tasks(request, network)
    done = Evaluation(pd.DataFrame(), pd.DataFrame(), cannot(network))
    if asked:
        results = (
            on_cluster(asked, scheduler, progress)
            if scheduler
            else run_study(asked, work, folder / "results", workers=workers, progress=progress)
        )
        table = predictions(network, request, results)
        done = Evaluation(metrics(table), table, "")
        write_plain(done.metrics, folder / "metrics.csv")
        write_plain(table, folder / "predictions.csv")
    _write(request, network, folder, done, began)
    return done


def on_cluster(asked: list[Task], scheduler: str, progress: Progress | None = None) -> list[Result]:
    """The same work on a cluster whose workers see the network's folder under the same path."""
    client = connect(scheduler)
    try:
        futures = client.map(work, asked, pure=False)
        results: list[Result] = []
        for future in futures:
            results.append(future.result())
            if progress is not None:
                progress(len(results) / len(asked), f"{len(results)} of {len(asked)}")
        return results
    finally:
        client.close()


def _write(request: Request, network: Network, folder: Path, done: Evaluation, began: str) -> None:
    about: dict[str, object] = {
        "network": network.name,
        **{key: value for key, value in asdict(request).items() if key != "network_path"},
        "folds": ", ".join(fold_names(network)),
        "calibdash": __version__,
        "began": began,
        "ended": now(),
    }
    record = {**about, "cannot": done.cannot, "metrics": json.loads(done.metrics.to_json(orient="records"))}
    text = json.dumps(record, indent=2, ensure_ascii=False, default=str) + "\n"
    write_atomically(folder / "evaluation.json", lambda file: file.write(text.encode("utf-8", "replace")))
    page = evaluation_page(network, done.metrics, done.predictions, about, done.cannot)
    write_atomically(folder / "evaluation.html", lambda file: file.write(page.encode("utf-8", "replace")))
