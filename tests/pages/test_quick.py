"""Defaults that are kept are those that Bokeh finds."""

from __future__ import annotations

from typing import Any

import bokeh.models
from bokeh.core.property.bases import Undefined
from bokeh.core.property.descriptors import PropertyDescriptor, UnsetValueError
from bokeh.model import Model
from bokeh.models import ColumnDataSource, Plot
from bokeh.themes import Theme

from calibdash.pages.quick import make_quick

make_quick()
AS_BOKEH = PropertyDescriptor._get_default.__wrapped__


def value(find: Any, model: Model, name: str) -> Any:
    try:
        return find(model.lookup(name), model)
    except UnsetValueError:
        return Undefined


def plain_models() -> list[Model]:
    made = []
    for kind in Model.model_class_reverse_map.values():
        if kind.__module__.startswith("bokeh.models"):
            try:
                made.append(kind())
            except Exception:  # abstract, or wants arguments
                continue
    return made


def test_every_default_of_every_model_is_bokehs() -> None:
    models = plain_models()
    assert len(models) > 200
    for model in models:
        for name in model.properties():
            known = hasattr(model.lookup(name), "instance_default")  # an alias has no default of its own
            if known and name not in model._property_values:
                twice = [value(PropertyDescriptor._get_default, model, name) for _ in range(2)]
                assert twice[0] is twice[1]
                theirs = value(AS_BOKEH, model, name)
                assert twice[0] is theirs or repr(twice[0]) == repr(theirs), (type(model).__name__, name)


def test_models_do_not_share_what_can_change() -> None:
    one, other = ColumnDataSource(), ColumnDataSource()
    one.data["x"] = [1]
    assert "x" not in other.data
    first, second = Plot(), Plot()
    assert first.toolbar is not second.toolbar
    first.renderers.append(bokeh.models.GlyphRenderer())
    assert second.renderers == []


def test_themes_still_count() -> None:
    plain, themed = Plot(), Plot()
    theme = Theme(json={"attrs": {"Plot": {"background_fill_color": "#123456"}}})
    theme.apply_to_model(themed)
    assert themed.background_fill_color == "#123456"
    assert plain.background_fill_color != "#123456"
    assert Plot().background_fill_color == plain.background_fill_color
