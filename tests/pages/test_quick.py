"""What is done more quickly comes to the same as what Bokeh and Param do."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import bokeh.models
import numpy as np
import param.parameterized
import pytest
from bokeh.core.properties import Dict, Either, Int, List, String
from bokeh.core.property.bases import ParameterizedProperty, Undefined
from bokeh.core.property.descriptors import PropertyDescriptor, UnsetValueError
from bokeh.document import Document
from bokeh.model import Model, util
from bokeh.models import Button, ColumnDataSource, Plot
from bokeh.plotting import figure
from bokeh.themes import Theme
from panel.io.state import set_curdoc

from calibdash.pages.quick import make_quick
from calibdash.pages.site import build
from calibdash.runs.queue import JobQueue
from calibdash.runs.store import RunStore
from calibdash.state.folders import find_folders

make_quick()
AS_BOKEH = PropertyDescriptor._get_default.__wrapped__
COLLECT = util.collect_filtered_models.__wrapped__


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


def test_which_defaults_are_made_anew_is_as_bokeh_has_it() -> None:
    asked = PropertyDescriptor.has_unstable_default
    for model in plain_models():
        for name in model.properties():
            descriptor = model.lookup(name)
            assert descriptor.has_unstable_default(model) == (
                asked.__wrapped__(descriptor, model) if isinstance(descriptor, PropertyDescriptor) else False
            ), (type(model).__name__, name)
        overridden: dict[str, Any] = {}
        for kind in reversed(type(model).__mro__):
            overridden |= getattr(kind, "__overridden_defaults__", {})
        assert model._overridden_defaults() == overridden


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


def ids(models: list[Model]) -> list[str]:
    assert len({model.id for model in models}) == len(models)
    return sorted(model.id for model in models)


def test_models_of_a_page_are_those_that_bokeh_finds(examples: Path, tmp_path: Path) -> None:
    document = Document()
    with set_curdoc(document):
        build(find_folders([examples]), JobQueue(RunStore(tmp_path / "runs"))).server_doc(document)
        roots = document.roots
        found = util.collect_filtered_models(None, *roots)
        assert len(found) > 100
        assert ids(found) == ids(COLLECT(None, *roots))


def test_models_inside_anything_are_found() -> None:
    plot, one, other = figure(), Button(), Button()
    plot.scatter([1, 2], [3, 4])
    plot.tags = [{"deep": ({"one": one},)}, np.arange(3), None]
    values = [{"plot": plot, other: [1, "two"]}, (plot,)]
    assert ids(util.collect_filtered_models(None, *values)) == ids(COLLECT(None, *values))
    assert {one.id, other.id, plot.x_range.id} <= set(ids(util.collect_filtered_models(None, *values)))
    no_buttons = [lambda model: isinstance(model, Button), plot]
    assert ids(util.collect_filtered_models(*no_buttons)) == ids(COLLECT(*no_buttons))


def test_models_of_a_theme_are_found() -> None:
    plot = Plot()
    Theme(json={"attrs": {"Plot": {"background_fill_color": "#123456"}}}).apply_to_model(plot)
    assert ids(util.collect_filtered_models(None, plot)) == ids(COLLECT(None, plot))


def test_kinds_of_properties_tell_what_they_are() -> None:
    kinds = [List(Int), Dict(String, List(Int)), Either(Int, List(String))]
    for kind in kinds:
        assert [str(kind), str(kind)] == [ParameterizedProperty.__str__.__wrapped__(kind)] * 2


@pytest.mark.parametrize("value", ["a", 1, 1.5, None, True, [], {}, set(), (), deque(), np.zeros(2), object()])
def test_what_can_grow_is_told_apart(value: Any) -> None:
    told = param.parameterized._is_mutable_container
    assert told(value) == told.__wrapped__(value)
