"""Labels that people (or programs) gave to items."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from calibdash.data.problems import Problem, note, warning
from calibdash.data.tables import Table


@dataclass(frozen=True)
class LabelSet:
    """Validated labels; nobody changes them in place.

    labels: ``item, labeller, label`` (text) and ``time`` (UTC stamps or float hours) or ``order`` (float64)
    where given; labellers: ``labeller`` (text), ``reference`` (bool).
    """

    name: str
    labels: pd.DataFrame
    labellers: pd.DataFrame
    problems: tuple[Problem, ...] = field(default=(), repr=False)

    @property
    def classes(self) -> tuple[str, ...]:
        """Every class that somebody chose, sorted."""
        return tuple(sorted(self.labels["label"].unique()))


def check_labels(table: Table) -> Table:
    """Leave out repeated rows; say who labelled one item differently at different times."""
    keys = ["item", "labeller", "label", *(name for name in ("time", "order") if name in table.frame)]
    repeated = table.frame.duplicated(keys).to_numpy()
    if repeated.any():
        table = table.drop(
            repeated,
            warning(
                "duplicate-row",
                "Repeated rows were counted once.",
                "Delete the copies, if they are copies.",
                **table.places(repeated, "item"),
            ),
        )
    again = table.frame.duplicated(["item", "labeller"]).to_numpy()
    if again.any():
        message = "Somebody labelled an item more than once; each label counts."
        problem = warning("label-again", message, "Delete labels that were withdrawn.", **table.places(again, "item"))
        table = table.adding(problem)
    if len(table.frame["label"].unique()) == 1:
        message = "Every label is the same class, so nobody can be told apart."
        problem = warning("one-class", message, "Check that the column `label` is the right one.", file=table.file)
        table = table.adding(problem)
    return table


def assumed_labellers(labels: pd.DataFrame) -> tuple[pd.DataFrame, Problem]:
    """Labellers from their labels, none of them an expert, and what was assumed."""
    names = sorted(labels["labeller"].unique())
    problem = note(
        "labellers-assumed",
        f"There is no labellers table: {len(names)} labellers were taken from the labels, none of them an expert.",
        "Add labellers.csv with the columns labeller, reference.",
        file="labellers.csv",
    )
    return pd.DataFrame({"labeller": names, "reference": False}), problem
