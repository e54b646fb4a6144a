"""What is known of items and labellers after a fit: draws of the posterior, and the tables made of them.

No TensorFlow: a posterior is read, drawn and asked without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from calibdash.errors import CalibdashError
from calibdash.models.labelling import agreement, people, suggest
from calibdash.models.labelling.arrays import LabelData
from calibdash.models.labelling.design import Design, design, log_confusion
from calibdash.models.labelling.record import LabelRecord
from calibdash.models.labelling.settings import LabelSettings

GRID = 25  # times of a labeller in tables, where none are given
DRAWS_USED = 400  # for tables: an interval of 95 % is steady by then
QUANTILES = (0.025, 0.975)
Times = Sequence[float] | np.ndarray | pd.DatetimeIndex | pd.Series


@dataclass(frozen=True)
class LabelPosterior:
    """The posterior of every item's class and every labeller's confusion matrix.

    probability [I, K]: of each class of each item. draws [S, D] of all unknowns, or none of them and mean and spread
    [D] of a diagonal Gaussian, where there are too many unknowns to keep draws.
    """

    settings: LabelSettings
    record: LabelRecord
    data: LabelData
    probability: np.ndarray
    draws: np.ndarray
    mean: np.ndarray
    spread: np.ndarray

    @cached_property
    def design(self) -> Design:
        """The model."""
        return design(self.data, self.settings)

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes in the order of tables: by name."""
        return tuple(sorted(self.data.classes))

    @property
    def people(self) -> tuple[str, ...]:
        """Labellers who are modelled, by name; references that fix the class are not among them."""
        return tuple(sorted(self.data.labellers))

    @property
    def elbo(self) -> float:
        """The bound at the end."""
        return self.record.elbo[-1] if self.record.elbo else float("nan")

    def items(self) -> pd.DataFrame:
        """``item, class, probability``: every class of every item, items in the order of the table."""
        order = self._class_order
        return pd.DataFrame(
            {
                "item": np.repeat(np.array(self.data.items, dtype=object), len(order)),
                "class": np.tile(np.array(self.classes, dtype=object), len(self.data.items)),
                "probability": self.probability[:, order].ravel(),
            }
        )

    def prevalence(self) -> pd.DataFrame:
        """``class, mean, lower, upper``: how common each class is."""
        share = self._prevalence[:, self._class_order]  # [S, K]
        low, high = np.quantile(share, QUANTILES, axis=0)
        return pd.DataFrame({"class": list(self.classes), "mean": share.mean(axis=0), "lower": low, "upper": high})

    def sample(self, labeller: str, times: Times | None = None, count: int | None = None) -> np.ndarray:
        """Draws of p(label | class) at given times, classes in the order of :attr:`classes`.   → [S, T, K(ψ), K(y)]"""
        number = self.number(labeller)
        progress = self._progress(number, times)
        order = self._class_order
        return self._confusion(number, progress, count)[:, :, order][:, :, :, order]

    def confusion(self, times: Times | None = None, labellers: Iterable[str] | None = None) -> pd.DataFrame:
        """``labeller, time, true_class, label, mean, lower, upper`` (95 %).

        times: as in the table of labels; None: 25 from each labeller's first label to their last, or a single one
        (time empty) where nobody changes.
        """
        tables = []
        for name in self.people if labellers is None else labellers:
            number = self.number(name)
            shown = self._times(number) if times is None else times
            probabilities = self.sample(name, shown if self.data.moving else None)  # [S, T, K, K]
            low, high = np.quantile(probabilities, QUANTILES, axis=0)
            K, length = len(self.classes), probabilities.shape[1]
            classes = np.array(self.classes, dtype=object)
            tables.append(
                pd.DataFrame(
                    {
                        "labeller": name,
                        "time": pd.Series(shown).repeat(K * K).array if self.data.moving else np.nan,
                        "true_class": np.tile(np.repeat(classes, K), length),
                        "label": np.tile(classes, length * K),
                        "mean": probabilities.mean(axis=0).ravel(),
                        "lower": low.ravel(),
                        "upper": high.ravel(),
                    }
                )
            )
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=COLUMNS)

    def skill(self, labeller: str, times: Times | None = None) -> np.ndarray:
        """Draws of the probability of a right label, over classes as common as they are.   → [S, T]"""
        number = self.number(labeller)
        return self._skill(number, self._progress(number, times))

    def labellers(self) -> pd.DataFrame:
        """A row a labeller: counts, skill now with interval, skill by class, trend, agreement with experts."""
        return people.table(self)

    def agreement(self) -> pd.DataFrame:
        """``first, second, items, agreement, kappa``: pairs who labelled the same items, experts among them."""
        return agreement.pairs(self.data)

    @cached_property
    def krippendorff_alpha(self) -> float:
        """Agreement of all labels beyond chance: 1 is perfect, 0 is chance; NaN where no item has two labels."""
        return agreement.krippendorff(self.data)

    def next_labels(self, most: int = 200, experts: bool = True) -> pd.DataFrame:
        """``rank, item, labeller, expert, gain, item_gain, labeller_gain, cost, gain_per_cost``, best first."""
        return suggest.table(self, most=most, experts=experts)

    def save(self, folder: Path | str) -> None:
        """Write ``posterior.json`` and ``posterior.npz``."""
        from calibdash.models.labelling.store import save

        save(self, folder)

    @staticmethod
    def load(folder: Path | str) -> LabelPosterior:
        """The posterior that :meth:`save` wrote."""
        from calibdash.models.labelling.store import load

        return load(folder)

    def number(self, labeller: str) -> int:
        """Which labeller has this name."""
        try:
            return self._numbers[labeller]
        except KeyError:
            hint = "References have no confusion matrix: their labels are taken as right." * (
                labeller in self.data.references
            )
            raise CalibdashError(
                f"There is no labeller {str(labeller)[:60]!r} in this fit.", hint or "Spell it as the table does."
            ) from None

    def times(self, labeller: str, count: int = GRID) -> np.ndarray | pd.DatetimeIndex:
        """Times from a labeller's first label to the last, as the table of labels has them.   → [count]"""
        return self._times(self.number(labeller), count)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.data.labellers)}

    @cached_property
    def _class_order(self) -> np.ndarray:
        return np.argsort(np.array(self.data.classes, dtype=object))

    def _times(self, number: int, count: int = GRID) -> np.ndarray | pd.DatetimeIndex:
        if not self.data.moving:
            return np.array([np.nan])
        data = self.data
        last = data.first[number] + self.last_progress[number] * data.span[number]
        return data.clock.times(np.linspace(data.first[number], last, count))

    @cached_property
    def last_progress(self) -> np.ndarray:
        """Progress of each labeller at their last label (1 without any).   → [J]"""
        last = np.full(len(self.data.labellers), -1.0)
        np.maximum.at(last, self.data.labeller, self.data.progress)
        return np.where(last < 0, 1.0, last)

    def _progress(self, number: int, times: Times | None) -> np.ndarray:
        if not self.data.moving:
            return np.zeros(1)
        given = self._times(number) if times is None else times
        hours = self.data.clock.hours(np.atleast_1d(given) if np.ndim(given) == 0 else given)  # type: ignore[arg-type]
        return (hours - self.data.first[number]) / self.data.span[number]

    @cached_property
    def _kept(self) -> np.ndarray:
        """Which draws tables use, evenly chosen.   → [≤ DRAWS_USED]"""
        return (
            np.unique(np.linspace(0, len(self.draws) - 1, DRAWS_USED).astype(np.int64))
            if len(self.draws)
            else np.zeros(0, np.int64)
        )

    def _unknowns(self, places: np.ndarray, stream: int) -> np.ndarray:
        """Draws of some unknowns.   places [P] → [S, P]"""
        if len(self.draws):
            return self.draws[self._kept][:, places].astype(np.float64)
        noise = np.random.default_rng([self.record.seed, 11, stream]).standard_normal((DRAWS_USED // 2, len(places)))
        return self.mean[places] + self.spread[places] * np.concatenate([noise, -noise])

    @cached_property
    def _shared(self) -> dict[str, np.ndarray]:
        return self.design.shared(self._unknowns(np.arange(self.design.places["population"].stop), 0))

    @cached_property
    def _prevalence(self) -> np.ndarray:
        weight = np.exp(self._shared["prevalence"])
        return weight / weight.sum(axis=1, keepdims=True)

    def _confusion(self, number: int, progress: np.ndarray, count: int | None = None) -> np.ndarray:
        """Draws of p(y | ψ), classes as numbered.   → [S, T, K, K]"""
        own = self._unknowns(self.design.mine(number), 1 + number)[:count]
        shared = {name: block[:count] for name, block in self._shared.items()}
        return np.exp(log_confusion(self.design, shared, own, number, progress))

    def _skill(self, number: int, progress: np.ndarray) -> np.ndarray:
        right = np.einsum("stkk->stk", self._confusion(number, progress))
        return np.einsum("stk,sk->st", right, self._prevalence)


COLUMNS = ["labeller", "time", "true_class", "label", "mean", "lower", "upper"]
