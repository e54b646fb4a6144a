"""What a source of data is, and how its files are told from others by their header."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

import pandas as pd

from calibdash.data.files import RawTable
from calibdash.data.problems import Problem
from calibdash.data.readers.options import ReadOptions

Reading = tuple[pd.DataFrame, list[Problem]]


@dataclass(frozen=True)
class Source:
    """A kind of file people bring.

    signature: patterns of column names, all of which the header must hold; ``a|b`` is either, ``*`` anything.
    read: the table it yields and what was wrong. Labels may carry a flag ``reference`` for their labeller.
    below: the header may stand a few lines down, under lines to be skipped.
    """

    name: str
    title: str
    table: Literal["measurements", "labels"]
    signature: tuple[str, ...]
    read: Callable[[RawTable, ReadOptions], Reading]
    below: bool = False

    def fits(self, header: Iterable[str]) -> bool:
        """Whether a header holds every column of the signature."""
        names = {plain(name) for name in header}
        return all(_holds(names, pattern) for pattern in self.signature)


def plain(name: str) -> str:
    """A column's name as compared: lower case, without blanks around it."""
    return str(name).strip().strip("\ufeff").strip().lower()


def _holds(names: set[str], pattern: str) -> bool:
    for choice in pattern.split("|"):
        if choice in names or ("*" in choice and any(fnmatchcase(name, choice) for name in names)):
            return True
    return False
