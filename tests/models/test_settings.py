import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibdash.errors import CalibdashError
from calibdash.models.setting_table import SETTINGS
from calibdash.models.settings import Settings, describe


def test_units_are_understood():
    settings = Settings().with_values({"lengthscale.mobile": "25d", "lengthscale.static": "2201h", "bias": "30%"})
    assert (settings.lengthscale_mobile, settings.lengthscale_static, settings.bias) == (600.0, 2201.0, 0.3)


def test_unknown_key_suggests_the_right_one():
    with pytest.raises(CalibdashError, match=r"Did you mean lengthscale\.mobile"):
        Settings().with_values({"lengthscal.mobile": "25d"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("likelihood", "gaussian"),
        ("drift", "-1"),
        ("drift", "nan"),
        ("iterations", "1.5"),
        ("lengthscale.static", "red"),
        ("tolerance", "auto"),
        ("bounds.bias", "1..0.1"),
        ("bounds.kernel", "1..2"),
        ("bounds.bias", "..1"),
        ("bounds.bias", "0.1.."),
        ("bounds.bias", "auto..1"),
        ("drift.mobile.gain.more", "1"),
    ],
)
def test_bad_values_are_refused(key, value):
    with pytest.raises(CalibdashError):
        Settings().with_values({key: value})


def test_round_trip_and_hash():
    settings = Settings().with_values(
        {"lengthscale.mobile": "25d", "drift.mobile.gain": 0.3, "bounds.bias": "0.1..1", "noise.additive.mobile": 4}
    )
    again = Settings.from_dict(settings.as_dict())
    assert again == settings
    assert again.hash == settings.hash != Settings().hash


def test_nested_file_is_understood():
    assert Settings.from_dict({"lengthscale": {"mobile": "25d"}}).lengthscale_mobile == 600.0


@given(st.sampled_from(SETTINGS), st.one_of(st.text(max_size=30), st.floats(), st.integers(), st.none()))
def test_any_value_is_taken_or_refused_clearly(setting, value):
    try:
        settings = Settings().with_values({setting.key: value})
    except CalibdashError:
        return
    assert Settings.from_dict(settings.as_dict()) == settings


def test_every_setting_is_described():
    for setting in describe():
        assert setting.explanation.endswith(".")
        assert getattr(Settings(), setting.field) == setting.default
        assert setting.unit == "choice" or setting.low < setting.high


def test_settings_pairs_and_preview_need_no_tensorflow():
    code = (
        "import sys, calibdash.models.settings, calibdash.models.pairs, calibdash.models.preview, "
        "calibdash.models.store; sys.exit('tensorflow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
