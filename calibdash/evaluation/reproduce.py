"""The paper's tables beside ours: as text for a terminal and as sections of a page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from calibdash.evaluation import drift, labels, synthetic
from calibdash.evaluation.metrics import mean_and_error
from calibdash.evaluation.study import Result
from calibdash.reports.page import Table


def synthetic_table(results: Sequence[Result]) -> Table:
    """Mean (standard error) over datasets, a row a noise and method."""
    frame = pd.DataFrame(list(results))
    rows = []
    for noise in synthetic.NOISES:
        for method in synthetic.METHODS:
            mine = frame[(frame["noise"] == noise) & (frame["method"] == method)]
            paper = synthetic.PAPER_NMSE.get(method, {}).get(noise)
            figures = [_figure(mine, name) for name in ("nmse", "mae", "nlpd", "coverage")]
            rows.append([f"{noise:g}", method, "" if paper is None else f"{paper:.2f}", *figures])
    return Table(["noise", "method", "NMSE, paper", "NMSE", "MAE", "NLPD of log gain", "coverage of 95 %"], rows)


def drift_table(results: Sequence[Result]) -> Table:
    """Mean (standard error) over networks, a row a method."""
    frame = pd.DataFrame(list(results))
    rows = []
    for method in drift.METHODS:
        mine = frame[frame["method"] == method]
        paper = drift.PAPER.get(method)
        figures = [_figure(mine, name) for name in ("mae", "nmse", "nlpd", "coverage")]
        rows.append([method, *(("", "") if paper is None else map(str, paper)), *figures])
    return Table(["method", "MAE, paper", "NMSE, paper", "MAE", "NMSE", "NLPD of log gain", "coverage of 95 %"], rows)


def labels_table(results: Sequence[Result]) -> Table:
    """Mean (standard error) over datasets, a row a method."""
    frame = pd.DataFrame(list(results))
    rows = []
    for method in labels.METHODS:
        mine = frame[frame["method"] == method]
        paper = labels.PAPER.get(method)
        figures = [_figure(mine, name, 1) for name in ("accuracy", "nlpd")]
        rows.append([method, *(("", "") if paper is None else map(str, paper)), *figures])
    return Table(["method", "accuracy %, paper", "NLPD, paper", "accuracy %", "NLPD, summed"], rows)


def _figure(frame: pd.DataFrame, name: str, digits: int | None = None) -> str:
    if name not in frame or not np.isfinite(frame[name].astype(float)).any():
        return ""
    mean, error = mean_and_error(frame[name].astype(float).tolist())
    digits = digits or (4 if abs(mean) < 0.02 else 3)
    return f"{mean:.{digits}f}" + (f" ({error:.{digits}f})" if np.isfinite(error) else "")
