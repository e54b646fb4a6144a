"""Fixtures and settings shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "calibdash", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("calibdash")

ROOT = Path(__file__).parents[1]
LONG = (
    "test_kills",
    "test_walks",
    "test_docs",
    "test_readme",
    "test_sessions",
    "test_labellers_page",
    "test_visits_page",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first: workers take a file at a time, and none should be left alone with a long one in the end."""
    folders = ("service", "pages", "tests", "runs")

    def rank(item: pytest.Item) -> int:
        if item.path.stem in LONG:
            return LONG.index(item.path.stem)
        folder = item.path.parent.name
        return len(LONG) + (folders.index(folder) if folder in folders else len(folders))

    items.sort(key=rank)


@pytest.fixture(scope="session")
def examples() -> Path:
    return ROOT / "example_data"
