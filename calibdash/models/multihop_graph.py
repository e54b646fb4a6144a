"""Multi-hop calibration, the graph: windows of time, edges where sensors met, edges from a window to the next."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields

import networkx as nx
import numpy as np

from calibdash.errors import CalibdashError
from calibdash.models.pairs import PairData
from calibdash.models.setting_table import Setting
from calibdash.units import format_hours

MICROSECONDS = 3.6e9  # in an hour
MOST_NODES = 20_000_000
POOLING = 10  # how many readings the pooled noise counts for in the noise of one edge
SMALLEST_VARIANCE = 1e-12
ASSUMED_NOISE = 0.2  # log sd of a reading, where no pair met twice in a window
DRIFT_RANGE = (1e-5, 10.0)
DRIFT_LAGS = (1, 2, 4, 8)
ASSUMED_DRIFT = 0.1 / math.sqrt(30)  # 10 % a month, where no pair met in two windows
SETTINGS = (
    Setting("window_hours", "hours", 24.0, 1 / 60, 1e6, "Length of the windows of time."),
    Setting("time_weight", "number", 0.21, 1e-6, 1e3, "Weight of a step to the next window; a colocation weighs 1."),
    Setting("min_observations", "count", 5, 1, 1e6, "Fewest observations of a pair in a window."),
    Setting("drift", "number", None, 0.0, 10.0, "Size (sd) of the change of a log gain over a day; grows as √time."),
)


@dataclass(frozen=True)
class MultihopSettings:
    """What decides a multi-hop calibration, checked when made; ``SETTINGS`` says what each of them means."""

    window_hours: float = 24.0
    time_weight: float = 0.21
    min_observations: int = 5
    drift: float | None = None

    def __post_init__(self) -> None:
        for setting in SETTINGS:
            value = getattr(self, setting.field)
            if not (value is None and setting.default is None):
                _check(setting.key, value, setting.low, setting.high)
        if self.min_observations != round(self.min_observations):
            raise CalibdashError(f"min_observations = {self.min_observations} is not whole.", "Write for example 5.")

    def as_dict(self) -> dict[str, float | int | None]:
        """Plain values by name; ``MultihopSettings(**values)`` is the way back."""
        return asdict(self)


def _check(name: str, value: object, low: float, high: float) -> None:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not low <= number <= high:
        raise CalibdashError(f"{name} = {value} is out of range.", f"It must lie between {low:.3g} and {high:g}.")


@dataclass(frozen=True)
class Windows:
    """Half-open windows [w·width, (w + 1)·width) from the clock's origin, ``count`` of them from number ``first``.

    The width and all times count in whole microseconds, so that a time on a border is in the later window alone.
    """

    microseconds: int
    first: int
    count: int

    @property
    def hours(self) -> float:
        """Width of a window in hours."""
        return self.microseconds / MICROSECONDS

    def number(self, hours: np.ndarray) -> np.ndarray:
        """The window each time is in, counted from the clock's origin.   hours [N], finite → [N]"""
        return np.floor_divide(np.round(np.asarray(hours) * MICROSECONDS).astype(np.int64), self.microseconds)

    def place(self, hours: np.ndarray) -> np.ndarray:
        """Windows counted from the first, −1 where there is none (or no time).   hours [N] → [N]"""
        hours = np.asarray(hours, dtype=np.float64)
        low, high = self.starts()[0] - self.hours, self.starts()[-1] + 2 * self.hours
        near = (hours > low) & (hours < high)
        place = self.number(np.where(near, hours, low)) - self.first
        return np.where(near & (place >= 0) & (place < self.count), place, -1)

    def starts(self) -> np.ndarray:
        """Where each window begins, in hours.   → [W]"""
        return np.arange(self.first, self.first + self.count) * self.microseconds / MICROSECONDS


def windows_over(hours: np.ndarray, window_hours: float, sensors: int) -> Windows:
    """All windows from the first observation's to the last's.   hours [N]"""
    low, high = float(hours.min()), float(hours.max())
    if (high - low) / window_hours * sensors > MOST_NODES or max(abs(low), abs(high)) * MICROSECONDS > 2**62:
        raise CalibdashError(
            f"Windows of {format_hours(window_hours)} are too many: {sensors} sensors over {format_hours(high - low)}.",
            "Choose a longer window.",
        )
    unplaced = Windows(round(window_hours * MICROSECONDS), 0, 0)
    first, last = unplaced.number(np.array([low, high]))
    return Windows(unplaced.microseconds, int(first), int(last - first) + 1)


@dataclass(frozen=True)
class Edges:
    """Two sensors in a window, all their observations pooled; ``log_gain[a] = log_gain[b] + ratio``.

    window, a, b, count [E]; ratio [E]: mean of log y_b − log y_a; squares [E]: sum of squares about that mean;
    drifting [E]: how many of the two sensors are no references (1 or 2). Reference sensors are always b.
    """

    window: np.ndarray
    a: np.ndarray
    b: np.ndarray
    count: np.ndarray
    ratio: np.ndarray
    squares: np.ndarray
    drifting: np.ndarray

    def subset(self, keep: np.ndarray) -> Edges:
        """Some of the edges.   keep [E] bool"""
        return Edges(**{field.name: getattr(self, field.name)[keep] for field in fields(self)})


def pool(pairs: PairData, windows: Windows) -> Edges:
    """Observations pooled by pair and window; the order of rows leaves no trace, not even in the last digit."""
    if not len(pairs.hours):
        none, nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
        return Edges(none, none, none, none, nothing, nothing, none)
    log_ratio = np.log(pairs.values[:, 1]) - np.log(pairs.values[:, 0])  # [N]
    window = windows.place(pairs.hours)
    order = np.lexsort((log_ratio, window, pairs.b, pairs.a))
    a, b, window, log_ratio = pairs.a[order], pairs.b[order], window[order], log_ratio[order]
    changes = (np.diff(a) != 0) | (np.diff(b) != 0) | (np.diff(window) != 0)
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    count = np.diff(np.append(starts, len(a)))
    ratio = np.add.reduceat(log_ratio, starts) / count  # [E]
    squares = np.add.reduceat((log_ratio - np.repeat(ratio, count)) ** 2, starts)
    drifting = np.where(pairs.reference[b[starts]], 1, 2)
    return Edges(window[starts], a[starts], b[starts], count, ratio, squares, drifting)


def reading_noise(edges: Edges) -> float:
    """Log sd of one reading, σ² = Σ squares / Σ (n − 1)·drifting: references add none."""
    freedom = float(np.sum((edges.count - 1) * edges.drifting))
    return math.sqrt(float(edges.squares.sum()) / freedom) if freedom > 0 else ASSUMED_NOISE


def edge_variance(edges: Edges, noise: float) -> np.ndarray:
    """Variance of each edge's mean log ratio, (squares + POOLING·drifting·σ²) / (n − 1 + POOLING) / n.   → [E]

    The few readings of one edge say little about their own noise, so the noise of all edges counts too.
    """
    pooled = edges.squares + POOLING * edges.drifting * noise**2
    return np.maximum(pooled / (edges.count - 1 + POOLING) / edges.count, SMALLEST_VARIANCE)


def find_drift(edges: Edges, variance: np.ndarray, window_hours: float) -> float:
    """The most likely drift (log sd over a day), from pairs that met in several windows.   variance [E]

    Between two meetings of a pair, d = ratio₂ − ratio₁ ~ N(0, v₁ + v₂ + drifting·Δdays·drift²): gains walk at random.
    Meetings 1, 2, 4 and 8 apart all count (a composite likelihood): near ones show fast drift, far ones slow drift.
    Zero where the noise explains all of d; ASSUMED_DRIFT where no pair met in two windows.
    """
    order = np.lexsort((edges.window, edges.b, edges.a))
    a, b, window, ratio = edges.a[order], edges.b[order], edges.window[order], edges.ratio[order]
    earlier = [np.flatnonzero((a[lag:] == a[:-lag]) & (b[lag:] == b[:-lag])) for lag in DRIFT_LAGS]
    later = np.concatenate([rows + lag for rows, lag in zip(earlier, DRIFT_LAGS, strict=True)])
    first = np.concatenate(earlier)
    if not len(first):
        return ASSUMED_DRIFT
    square = (ratio[later] - ratio[first]) ** 2
    noise = variance[order][first] + variance[order][later]
    days = (window[later] - window[first]) * edges.drifting[order][first] * window_hours / 24

    def cost(drift: float) -> float:
        total = noise + days * drift**2
        return float(np.sum(np.log(total) + square / total))

    low, high = DRIFT_RANGE
    for _ in range(4):  # a grid, then finer ones between the neighbours of its best
        grid = np.geomspace(low, high, 25)
        best = int(np.argmin([cost(drift) for drift in grid]))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 24)]
    return float(grid[best]) if cost(grid[best]) < cost(0.0) else 0.0


@dataclass(frozen=True)
class Arcs:
    """The graph as Dijkstra walks it, from references outwards: node = sensor·W + place of the window.

    tail, head [A] nodes; colocation [A] bool (else a step in time); gain [A]: log gain of the head less the tail's;
    variance [A]; count [A]: observations behind it (0 for a step in time). No arc leads to a reference.
    """

    nodes: int
    tail: np.ndarray
    head: np.ndarray
    colocation: np.ndarray
    gain: np.ndarray
    variance: np.ndarray
    count: np.ndarray


def make_arcs(edges: Edges, variance: np.ndarray, reference: np.ndarray, windows: int, time_variance: float) -> Arcs:
    """Both ways along every edge, and to and fro between neighbouring windows of every sensor.

    edges already those with enough observations, variance [E], reference [S] bool.
    """
    first = edges.a * windows + edges.window
    second = edges.b * windows + edges.window
    drifting = np.flatnonzero(~reference)
    earlier = (drifting[:, None] * windows + np.arange(windows - 1)).ravel()
    zeros = np.zeros(2 * len(earlier))
    parts = {
        "tail": [second, first, earlier, earlier + 1],
        "head": [first, second, earlier + 1, earlier],
        "colocation": [np.ones(2 * len(first), dtype=bool), zeros.astype(bool)],
        "gain": [edges.ratio, -edges.ratio, zeros],
        "variance": [variance, variance, zeros + max(time_variance, SMALLEST_VARIANCE)],
        "count": [edges.count, edges.count, zeros.astype(np.int64)],
    }
    columns = {name: np.concatenate(pieces) for name, pieces in parts.items()}
    keep = ~reference[columns["head"] // windows]
    return Arcs(len(reference) * windows, **{name: column[keep] for name, column in columns.items()})


def as_networkx(arcs: Arcs, sensors: tuple[str, ...], windows: Windows, time_weight: float) -> nx.DiGraph:
    """The same graph for drawing and exploring: nodes (sensor, window), arcs with weight, gain, variance and count."""
    graph: nx.DiGraph = nx.DiGraph()
    names = [(sensor, windows.first + place) for sensor in sensors for place in range(windows.count)]
    graph.add_nodes_from(names)
    weight = np.where(arcs.colocation, 1.0, time_weight)
    columns = (arcs.tail, arcs.head, weight, arcs.gain, arcs.variance, arcs.count)
    for tail, head, *values in zip(*(column.tolist() for column in columns), strict=True):
        graph.add_edge(
            names[tail], names[head], **dict(zip(("weight", "gain", "variance", "count"), values, strict=True))
        )
    return graph
