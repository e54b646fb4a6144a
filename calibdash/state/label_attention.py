"""Which labellers a coordinator should look at first, and why, in a coordinator's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

WIDE = 0.35  # of an interval of skill, from which little is known of somebody
WORSE, WEAK, UNKNOWN, FINE = "worse", "weak", "unknown", "fine"


def attention(people: pd.DataFrame) -> pd.DataFrame:
    """The table of labellers, those who need attention first, with ``state`` and ``status`` (words).

    Getting worse comes before being below the others, that before being little known; the less able first.
    """
    usual = float(people["skill"].median()) if len(people) else 0.0
    found = [_state(row, usual) for row in people.to_dict("records")]
    rows = people.assign(
        state=np.array([state for state, _ in found], dtype=object),
        status=np.array([words for _, words in found], dtype=object),
    )
    rank = rows["state"].map({WORSE: 0, WEAK: 1, UNKNOWN: 2, FINE: 3}).to_numpy(dtype=np.int64)
    order = np.lexsort((rows["skill"].to_numpy(dtype=float), rank))
    return rows.iloc[order].reset_index(drop=True)


def _state(row: Mapping[Any, Any], usual: float) -> tuple[str, str]:
    trend = str(row["trend"])
    low, high = float(row["skill_lower"]), float(row["skill_upper"])
    if trend.startswith("worse"):
        return WORSE, f"{trend}{_surely(row['trend_probability'])}"
    if high < usual:
        return WEAK, "below the others"
    if high - low > WIDE:
        return UNKNOWN, "too few labels" if trend == "too few labels" else "not known well yet"
    if trend == "improving":
        return FINE, f"improving{_surely(row['trend_probability'])}"
    return FINE, trend or "no trend without times"


def _surely(chance: float) -> str:
    share = float(chance)
    return "" if share != share else f" ({100 * share:.0f} % sure)" if share < 0.99 else " (over 99 % sure)"
