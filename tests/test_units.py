from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibdash.errors import CalibdashError
from calibdash.units import format_hours, parse_hours


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("90s", 0.025),
        ("30min", 0.5),
        ("24h", 24),
        ("100d", 2400),
        ("2w", 336),
        ("2201", 2201),
        (" 1.5 Days ", 36),
        (7, 7),
    ],
)
def test_parse_hours(text: str | float, hours: float) -> None:
    assert parse_hours(text) == pytest.approx(hours)


@pytest.mark.parametrize("text", ["", "abc", "-3h", "0d", "1 fortnight", "1e999", "nan", "3h 4min", "9" * 400, "٣h"])
def test_nonsense_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(CalibdashError) as caught:
        parse_hours(text)
    assert caught.value.hint
    assert len(str(caught.value)) < 300


@given(st.floats(1e-3, 1e6))
def test_round_trip(hours: float) -> None:
    assert parse_hours(format_hours(hours)) == pytest.approx(hours, rel=1e-3)
