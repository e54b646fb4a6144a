"""How many threads linear algebra may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """One BLAS thread within: the engine multiplies many small blocks, for which waking a second thread costs more."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield
