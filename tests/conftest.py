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


@pytest.fixture(scope="session")
def examples() -> Path:
    return ROOT / "example_data"
