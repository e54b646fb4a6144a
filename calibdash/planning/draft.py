"""A plan in the making: tours, what they cost, and what every further visit would add.

Posterior covariances after the visits so far are kept as rank-one updates of the ground's, so that a visit is added
or taken back in microseconds: taking it back is the update with noise −r. C' = C − Σ σ u uᵀ and
G' = G − Σ σ (z uᵀ + u zᵀ), with u = Ch/√|s|, s = hᵀCh + r, σ its sign, z = (Gh − u√|s|·hᵀGh/2s)/√|s|.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from calibdash.planning.ground import Ground

SLACK = 1e-6


class Draft:
    """Tours of all shifts, changed by :meth:`add` and :meth:`remove`; :meth:`copy` keeps one as it is.

    tours: sites of each shift in order; used [Q, B]; minutes, km [Q]; cost; value: gain so far; spread [T].
    more_minutes, more_km [Q, B]: what one further stop would add to its tour.
    """

    def __init__(self, ground: Ground, banned: np.ndarray | None = None) -> None:
        self.ground = ground
        Q, B = ground.site.shape
        self.tours: list[tuple[int, ...]] = [()] * Q
        self.kept: frozenset[tuple[int, int]] = frozenset()
        self.closed = np.zeros((Q, B), dtype=bool) if banned is None else banned.copy()
        self.closed |= ~ground.allowed[None, :]
        self.used = np.zeros((Q, B), dtype=bool)
        self.minutes, self.km, self.costs = np.zeros(Q), np.zeros(Q), np.zeros(Q)
        self.value = 0.0
        self.spread = ground.aims.variance.copy()
        self.updates = 0
        self.U = np.zeros((64, ground.C.shape[0]))
        self.Z = np.zeros((64, ground.G.shape[0]))
        self.sign = np.zeros(64)
        M, P = ground.mobile, ground.site
        self.cmm, self.gmm = ground.C[M, M][:, None].copy(), ground.G[M, M][:, None].copy()  # [Q, 1]
        self.cbb, self.gbb = ground.C[P, P], ground.G[P, P]  # [Q, B]
        self.cmb, self.gmb = ground.C[M[:, None], P], ground.G[M[:, None], P]
        self.more_minutes, self.more_km = np.zeros((Q, B)), np.zeros((Q, B))
        self.position = np.zeros((Q, B), dtype=np.int64)
        riders = [ground.riders[shift.rider] for shift in ground.shifts]
        self.visit_minutes = np.array([rider.minutes_per_visit for rider in riders])[:, None]
        self.per_stop = np.array([rider.cost_per_stop for rider in riders])[:, None]
        self.per_km = np.array([rider.cost_per_km for rider in riders])[:, None]
        self.limit = np.array([shift.minutes for shift in ground.shifts])[:, None]
        for shift in range(Q):
            self._measure(shift)

    def copy(self) -> Draft:
        """Another draft, equal now and independent from here on."""
        new = copy(self)
        for name in ("used", "minutes", "km", "costs", "spread", "cmm", "gmm", "cbb", "gbb", "cmb", "gmb"):
            setattr(new, name, getattr(self, name).copy())
        for name in ("more_minutes", "more_km", "position"):
            setattr(new, name, getattr(self, name).copy())
        size = max(64, self.updates + 16)
        for name in ("U", "Z", "sign"):
            old = getattr(self, name)
            fresh = np.empty((size, *old.shape[1:]))
            fresh[: self.updates] = old[: self.updates]
            setattr(new, name, fresh)
        new.tours = list(self.tours)
        return new

    @property
    def cost(self) -> float:
        """Of all tours."""
        return float(self.costs.sum())

    @property
    def stops(self) -> list[tuple[int, int]]:
        """All (shift, site)."""
        return [(shift, site) for shift, tour in enumerate(self.tours) for site in tour]

    def gains(self) -> np.ndarray:
        """What each further visit would add.   → [Q, B]"""
        top = self.gmm - 2 * self.gmb + self.gbb
        return np.maximum(top, 0.0) / (np.maximum(self.cmm - 2 * self.cmb + self.cbb, 0.0) + self.ground.noise)

    def losses(self) -> np.ndarray:
        """What is lost if one visit is taken back; meaningful where ``used``.   → [Q, B]"""
        top = self.gmm - 2 * self.gmb + self.gbb
        bottom = self.ground.noise - (self.cmm - 2 * self.cmb + self.cbb)
        return np.maximum(top, 0.0) / np.maximum(bottom, 1e-12 * self.ground.noise)

    def bundled(self, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gain of meeting a reference in each shift, and of each visit after that.   noise [Q, 1] → [Q, 1], [Q, B]"""
        s = self.cmm + noise
        root = np.sqrt(s)
        first = np.maximum(self.gmm, 0.0) / s
        um, ub = self.cmm / root, self.cmb / root
        gm, gb, q = self.gmm / root, self.gmb / root, self.gmm / s
        top = (self.gmm - 2 * gm * um + q * um**2) + (self.gbb - 2 * gb * ub + q * ub**2)
        top = top - 2 * (self.gmb - gm * ub - um * gb + q * um * ub)
        bottom = (self.cmm - um**2) - 2 * (self.cmb - um * ub) + (self.cbb - ub**2)
        return first, np.maximum(top, 0.0) / (np.maximum(bottom, 0.0) + self.ground.noise)

    def more_cost(self) -> np.ndarray:
        """What one further stop would cost.   → [Q, B]"""
        return self.more_km * self.per_km + self.per_stop

    def open(self) -> np.ndarray:
        """Visits that neither hours nor budget nor anybody forbids.   → [Q, B]"""
        budget = self.ground.settings.budget
        fits = self.minutes[:, None] + self.more_minutes <= self.limit + SLACK
        if budget is not None:
            fits &= self.cost + self.more_cost() <= budget + SLACK
        return fits & ~self.used & ~self.closed

    def add(self, shift: int, site: int) -> None:
        """Make a visit, where it lengthens the tour least."""
        tour, place = self.tours[shift], int(self.position[shift, site])
        self.tours[shift] = (*tour[:place], site, *tour[place:])
        self.used[shift, site] = True
        self._measure(shift)
        self._condition(shift, site, self.ground.noise[shift, site])

    def remove(self, shift: int, site: int) -> None:
        """Take a visit back."""
        self.tours[shift] = tuple(other for other in self.tours[shift] if other != site)
        self.used[shift, site] = False
        self._measure(shift)
        self._condition(shift, site, -self.ground.noise[shift, site])

    def reorder(self, shift: int, tour: tuple[int, ...]) -> None:
        """The same stops in another order."""
        self.tours[shift] = tour
        self._measure(shift)

    def within_limits(self) -> bool:
        """Whether hours and budget are kept."""
        budget = self.ground.settings.budget
        return bool((self.minutes <= self.limit[:, 0] + SLACK).all()) and (
            budget is None or self.cost <= budget + SLACK
        )

    def _condition(self, shift: int, site: int, noise: float) -> None:
        ground, k = self.ground, self.updates
        m, b = int(ground.mobile[shift]), int(ground.site[shift, site])
        columns = ground.G.shape[0]
        U, Z, sign = self.U[:k], self.Z[:k], self.sign[:k]
        du, dz = sign * (U[:, m] - U[:, b]), sign * (Z[:, m] - Z[:, b])  # [k]
        ch = ground.C[:, m] - ground.C[:, b] - du @ U
        gh = ground.G[:, m] - ground.G[:, b] - du @ Z - dz @ U[:, :columns]
        s = ch[m] - ch[b] + noise
        q = gh[m] - gh[b]
        root = np.sqrt(abs(s))
        u, z, sigma = ch / root, (gh - ch[:columns] * (q / (2 * s))) / root, float(np.sign(s))
        self.value += q / s
        if k == len(self.U):
            self.U, self.Z = np.concatenate([self.U, 0 * self.U]), np.concatenate([self.Z, 0 * self.Z])
            self.sign = np.concatenate([self.sign, 0 * self.sign])
        self.U[k], self.Z[k], self.sign[k] = u, z, sigma
        self.updates += 1
        self.spread -= sigma * u[columns:] ** 2
        um, zm = u[ground.mobile][:, None], z[ground.mobile][:, None]  # [Q, 1]
        ub, zb = u[ground.site], z[ground.site]  # [Q, B]
        self.cmm -= sigma * um**2
        self.cbb -= sigma * ub**2
        self.cmb -= sigma * um * ub
        self.gmm -= 2 * sigma * zm * um
        self.gbb -= 2 * sigma * zb * ub
        self.gmb -= sigma * (zm * ub + um * zb)

    def _measure(self, shift: int) -> None:
        """Length of a tour, and where and how cheaply each site would fit into it."""
        ground = self.ground
        rider = ground.shifts[shift].rider
        base = len(ground.sites) + rider
        path = np.array([base, *self.tours[shift], base])
        minutes, km = ground.travel.minutes[rider], ground.travel.km
        B = len(ground.sites)
        legs, ways = minutes[path[:-1], path[1:]], km[path[:-1], path[1:]]
        detour = minutes[path[:-1], :B] + minutes[:B, path[1:]].T - legs[:, None]  # [k + 1, B]
        best = np.argmin(detour, axis=0)
        sites = np.arange(B)
        self.position[shift] = best
        self.more_minutes[shift] = detour[best, sites] + self.visit_minutes[shift]
        self.more_km[shift] = km[path[best], sites] + km[sites, path[best + 1]] - ways[best]
        self.km[shift] = ways.sum()
        self.minutes[shift] = legs.sum() + len(self.tours[shift]) * self.visit_minutes[shift, 0]
        self.costs[shift] = self.km[shift] * self.per_km[shift, 0] + len(self.tours[shift]) * self.per_stop[shift, 0]
