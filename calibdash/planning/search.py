"""Which visits, by whom and when: the best of several greedies, then drop and refill until nothing helps.

Gains are not submodular: a static visited with a mobile that nobody recalibrated is worth little, a reference alone
nothing, both together much. So greedies may take "a reference first" as one step, and single steps are not trusted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibdash.planning.draft import Draft
from calibdash.planning.ground import Ground
from calibdash.planning.tours import shortest
from calibdash.planning.value import band

TRIALS = 400  # drops and refills of a full search
WORK = 3e7  # of which as many as this many scored visits allow
MANY = 20_000  # possible visits beyond which two greedies must do; beyond five times as many, one
ALIKE = 1e-9


@dataclass(frozen=True)
class Mode:
    """How a greedy chooses.   per: cost, minutes or stop; bundles: with a reference first; widest: where the band is"""

    per: str = "cost"
    bundles: bool = True
    widest: bool = False


MODES = (
    Mode("cost"),
    Mode("minutes"),
    Mode("stop"),
    Mode("cost", bundles=False),
    Mode("stop", bundles=False),
    Mode("cost", widest=True),
)


def search(ground: Ground, kept: list[tuple[int, int]], banned: np.ndarray, first: list[tuple[int, int]]) -> Draft:
    """The best draft found.   kept: visits (shift, site) that stay; banned [Q, B]; first: visits to begin with"""
    start = Draft(ground, banned)
    start.kept = frozenset(kept)
    for shift, site in kept:
        start.add(shift, site)
    shorten(start)
    quick = ground.settings.effort == "quick" or bool(first)
    drafts = []
    if first:
        warm = start.copy()
        for shift, site in first:
            if warm.open()[shift, site]:
                warm.add(shift, site)
        drafts.append(filled(warm, MODES[0]))
    most = 1 if start.used.size > 5 * MANY else 2 if quick or start.used.size > MANY else len(MODES)
    modes = [mode for mode in MODES if mode.per != "minutes" or not _only_minutes(start)]
    drafts += [filled(start.copy(), mode) for mode in modes[:most]]
    best = drafts[0]
    for draft in drafts[1:]:
        best = draft if better(draft, best) else best
    best = lean(best)
    if not quick:
        best = improved(best, np.random.default_rng(ground.settings.seed))
    shorten(best)
    return lean(filled(best, MODES[0]))


def filled(draft: Draft, mode: Mode, most: int | None = None) -> Draft:
    """Add visits, the best by the mode's measure at each step, while any is worth it; changes the draft."""
    least = least_gain(draft.ground)
    blocked = np.zeros_like(draft.used)
    added = 0
    while draft.used.size and (most is None or added < most) and not satisfied(draft):
        gains, possible = draft.gains(), draft.open()
        effort = _effort(draft, mode)
        wanted = possible & (gains > least)
        if mode.widest:
            wanted = _widest(draft, wanted)
        score = np.where(wanted, gains / effort, 0.0)
        bundle = _bundles(draft, possible & ~blocked, effort, least) if mode.bundles else None
        if bundle is not None and bundle[0].max() > score.max():
            shift, site = np.unravel_index(int(np.argmax(bundle[0])), score.shape)
            reference = int(bundle[1][shift])
            draft.add(int(shift), reference)
            if draft.open()[shift, site]:
                draft.add(int(shift), int(site))
                added += 2
            else:
                draft.remove(int(shift), reference)
                blocked[shift, site] = True
            continue
        if score.max() <= 0.0:
            break
        shift, site = np.unravel_index(int(np.argmax(score)), score.shape)
        draft.add(int(shift), int(site))
        added += 1
    return draft


def _effort(draft: Draft, mode: Mode) -> np.ndarray:
    """What a further stop takes, by the mode; never nothing.   → [Q, B]"""
    if mode.per == "stop":
        return np.ones_like(draft.more_minutes)
    # a little of the other measure settles ties and keeps effort above zero
    minutes = np.maximum(draft.more_minutes, 1.0)
    cost = draft.more_cost()
    typical = max(float(np.median(cost)) if cost.size else 1.0, 1e-12)
    if mode.per == "minutes" or _only_minutes(draft):
        return minutes
    return np.maximum(cost / typical, 0.0) + 1e-3 * minutes / 60.0


def _only_minutes(draft: Draft) -> bool:
    """Whether cost is no limit, so that only time counts."""
    return draft.ground.settings.budget is None and not draft.per_km.any()


def _widest(draft: Draft, wanted: np.ndarray) -> np.ndarray:
    """Of the wanted visits those to the sensor with the widest band, if any.   [Q, B] → [Q, B]"""
    aims, ground = draft.ground.aims, draft.ground
    width = dict(zip(aims.sensors, aims.by_sensor(draft.spread) * (aims.weight > 0), strict=True))
    widths = np.array([width.get(site, -1.0) for site in ground.sites])
    there = wanted.any(axis=0) & (widths > 0)
    if not there.any():
        return wanted
    return wanted & (np.arange(len(widths)) == int(np.argmax(np.where(there, widths, -1.0))))[None, :]


def _bundles(
    draft: Draft, possible: np.ndarray, effort: np.ndarray, least: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Score of going to a reference and then to each site; the cheapest reference of each shift.   → [Q, B], [Q]"""
    reference = draft.ground.reference
    met = (draft.used & reference).any(axis=1)
    options = np.where(possible & reference & ~met[:, None], effort, np.inf)
    if not np.isfinite(options).any():
        return None
    nearest = np.argmin(options, axis=1)
    rows = np.arange(len(nearest))
    first, after = draft.bundled(draft.ground.noise[rows, nearest][:, None])
    budget = draft.ground.settings.budget
    fits = possible & ~reference[None, :] & np.isfinite(options[rows, nearest])[:, None]
    fits &= draft.minutes[:, None] + draft.more_minutes + draft.more_minutes[rows, nearest][:, None] <= draft.limit
    if budget is not None:
        cost = draft.more_cost()
        fits &= draft.cost + cost + cost[rows, nearest][:, None] <= budget + 1e-6
    gain = first + after
    together = effort + effort[rows, nearest][:, None]
    return np.where(fits & (gain > 2 * least), gain / together, 0.0), nearest


def least_gain(ground: Ground) -> float:
    """The gain below which a visit is not worth the way."""
    weight = ground.aims.weight
    sensors = float(weight.sum() ** 2 / np.sum(weight**2)) if weight.any() else 1.0  # that count as if equal
    return ground.settings.least * float(ground.aims.scale @ ground.aims.variance) / sensors


def satisfied(draft: Draft) -> bool:
    """Whether every sensor that counts is within the target."""
    target = draft.ground.settings.target
    if target is None:
        return False
    aims = draft.ground.aims
    widths = band(aims.by_sensor(draft.spread))[aims.weight > 0]
    return bool((widths <= target).all())


def better(one: Draft, other: Draft) -> bool:
    """Whether a draft is to be preferred: target first, then cost if it is reached, else gain."""
    reached = satisfied(one), satisfied(other)
    if reached[0] != reached[1]:
        return reached[0]
    if reached[0]:
        costs = (one.cost, len(one.stops)), (other.cost, len(other.stops))
        return costs[0] < costs[1] or (costs[0] == costs[1] and one.value > other.value * (1 + ALIKE))
    return one.value > other.value * (1 + ALIKE)


def lean(draft: Draft) -> Draft:
    """Take back visits that the target does not need, and those that others have made useless."""
    least = least_gain(draft.ground)
    whole = satisfied(draft)
    tried: set[tuple[int, int]] = set()
    while True:
        losses = draft.losses()
        free = [stop for stop in draft.stops if stop not in draft.kept and stop not in tried]
        if not free:
            return draft
        shift, site = min(free, key=lambda stop: losses[stop])
        if not whole and losses[shift, site] >= 0.5 * least:
            return draft
        trial = draft.copy()
        trial.remove(shift, site)
        tried.add((shift, site))
        if trial.within_limits() and (not whole or satisfied(trial)):
            draft = trial


def improved(draft: Draft, rng: np.random.Generator) -> Draft:
    """Drop one visit, or a few, and refill otherwise; keep what is better; until a whole pass changes nothing."""
    stops = len(draft.stops) - len(draft.kept)
    trials = int(min(TRIALS, WORK / max(draft.used.size * (stops + 5), 1)))
    while trials > 0 and stops:
        before = draft
        free = [stop for stop in draft.stops if stop not in draft.kept]
        losses = draft.losses()
        for stop in sorted(free, key=lambda stop: losses[stop])[:trials]:
            if draft.used[stop]:
                trials -= 1
                draft = _retried(draft, [stop], MODES[trials % 3])
        for _ in range(min(trials, 2 * len(free))):
            trials -= 1
            draft = _retried(draft, _some(draft, rng), MODES[trials % 3])
        if draft is before:
            break
        draft = afresh(draft)
        shorten(draft)
    return draft


def afresh(draft: Draft) -> Draft:
    """The same tours without the history of how they came about: quicker to work on, and free of its rounding."""
    new = Draft(draft.ground, draft.closed)
    new.kept = draft.kept
    for shift, tour in enumerate(draft.tours):
        for place, site in enumerate(tour):
            new.position[shift, site] = place
            new.add(shift, site)
    return new


def _some(draft: Draft, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Two to four visits: of one shift, of one sensor or any."""
    free = [stop for stop in draft.stops if stop not in draft.kept]
    if len(free) < 2:
        return free
    anchor = free[int(rng.integers(len(free)))]
    kind = int(rng.integers(3))
    near = [stop for stop in free if stop != anchor and (kind == 2 or stop[kind] == anchor[kind])]
    count = min(int(rng.integers(1, 4)), len(near))
    return [anchor, *(near[int(k)] for k in rng.choice(len(near), count, replace=False))] if near else [anchor]


def _retried(draft: Draft, dropped: list[tuple[int, int]], mode: Mode) -> Draft:
    """The draft without some visits and filled up without them, then with them; or as it was if that is no better."""
    trial = draft.copy()
    for shift, site in dropped:
        trial.remove(shift, site)
    if not trial.within_limits():
        return draft
    closed = trial.closed
    trial.closed = closed.copy()
    for stop in dropped:
        trial.closed[stop] = True
    filled(trial, mode, most=len(dropped) + 2)
    trial.closed = closed
    filled(trial, mode)
    if satisfied(trial):
        trial = lean(trial)
    return trial if better(trial, draft) else draft


def shorten(draft: Draft) -> None:
    """The shortest order of every tour."""
    ground = draft.ground
    for shift, tour in enumerate(draft.tours):
        rider = ground.shifts[shift].rider
        if len(tour) > 1 and ground.travel.known:
            order = shortest(ground.travel.minutes[rider], tour, len(ground.sites) + rider, ground.settings.seed)
            if order != tour:
                old_cost, old_tour = draft.cost, tour
                draft.reorder(shift, order)
                if draft.cost > old_cost + 1e-9 and not draft.within_limits():
                    draft.reorder(shift, old_tour)
