"""Things that Bokeh and Param do over and over while a page is made, done once or not at all: half the time it takes.

- The default of a property is found anew at every look, through all classes above a model's. Defaults that are the same
  object at every look are kept here; those that are made anew for each model (lists, other models) and those of themes
  are Bokeh's as before. Which ones those are is the same for all models of a class, and found once.
- To know all models of a page, every property of every model is looked at, the unset ones too.
- The text that would tell what a dictionary should have held is written for every dictionary, right or wrong.
- The signature of every callback is inspected, for developers who write their own; those here are Panel's, thousands a
  page.
- Param asks abstract classes whether a text or a number can be changed in place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import numpy as np
import param.parameterized
from bokeh.core.has_props import HasProps
from bokeh.core.property.bases import ParameterizedProperty
from bokeh.core.property.descriptors import PropertyDescriptor
from bokeh.model import Model, util
from bokeh.util import callback_manager
from bokeh.util.dataclasses import entries, is_dataclass

_KEPT: dict[tuple[type, PropertyDescriptor], Any] = {}
_TEXT = "_calibdash_text"
_PLAIN = frozenset({str, int, float, bool, type(None), np.ndarray})  # hold no model, and cannot grow


def make_quick() -> None:
    """Do so from now on, in every document of this process."""
    if hasattr(PropertyDescriptor._get_default, "__wrapped__"):
        return
    HasProps.themed_values = _themed_values  # type: ignore[method-assign]
    PropertyDescriptor._get_default = _kept_default(PropertyDescriptor._get_default)  # type: ignore[method-assign]
    PropertyDescriptor.has_unstable_default = _once_a_class(PropertyDescriptor.has_unstable_default)  # type: ignore[method-assign]
    HasProps._overridden_defaults = classmethod(cache(HasProps._overridden_defaults.__func__))  # type: ignore
    util.collect_filtered_models = _collected(util.collect_filtered_models)
    ParameterizedProperty.__str__ = _once_told(ParameterizedProperty.__str__)  # type: ignore[method-assign]
    callback_manager._check_callback = lambda *_args, **_options: None
    param.parameterized._is_mutable_container = _quickly_told(param.parameterized._is_mutable_container)


def _themed_values(self: HasProps) -> dict[str, Any] | None:
    return self.__dict__.get("__themed_values__")


def _kept_default(found: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(found)
    def default(descriptor: PropertyDescriptor, model: HasProps) -> Any:
        name = descriptor.name
        themed = model.themed_values()
        if themed is not None and name in themed:
            return found(descriptor, model)
        unstable = model._unstable_default_values
        if name in unstable:
            return unstable[name]
        key = (type(model), descriptor)
        try:
            return _KEPT[key]
        except KeyError:
            value = found(descriptor, model)
            if name not in unstable:  # it is nobody's own
                _KEPT[key] = value
            return value

    return default


def _once_a_class(asked: Callable[..., bool]) -> Callable[..., bool]:
    known: dict[tuple[type, PropertyDescriptor], bool] = {}

    @wraps(asked)
    def has_unstable_default(descriptor: PropertyDescriptor, model: HasProps) -> bool:
        key = (type(model), descriptor)
        if key not in known:
            known[key] = asked(descriptor, model)
        return known[key]

    return has_unstable_default


def _collected(collect: Callable[..., list[Model]]) -> Callable[..., list[Model]]:
    @wraps(collect)
    def collect_filtered_models(discard: Callable[[Model], bool] | None, *values: Any) -> list[Model]:
        found: dict[str, Model] = {}

        def look(value: Any) -> None:
            kind = type(value)
            if kind in _PLAIN:
                return
            if issubclass(kind, list | tuple):
                for item in value:
                    if type(item) not in _PLAIN:
                        look(item)
            elif issubclass(kind, dict):
                for item in (*value.keys(), *value.values()):
                    if type(item) not in _PLAIN:
                        look(item)
            elif issubclass(kind, Model):
                if value.id not in found and not (discard and discard(value)):
                    found[value.id] = value
                    waiting.append(value)
            elif issubclass(kind, HasProps):
                look_into(value)
            elif is_dataclass(value):
                for _, item in entries(value):
                    look(item)

        def look_into(model: HasProps) -> None:
            own, unstable = model._property_values, model._unstable_default_values
            kind, themed = type(model), model.themed_values()
            for name, descriptor in _referring(kind):
                if name in own:
                    look(own[name])
                elif themed is None and name in unstable:
                    look(unstable[name])
                elif themed is not None or (kind, descriptor) not in _KEPT:  # what all share holds no model
                    look(getattr(model, name))

        waiting: deque[Model] = deque()
        for value in values:
            look(value)
        while waiting:
            look_into(waiting.popleft())
        return list(found.values())

    return collect_filtered_models


@cache
def _referring(kind: type[HasProps]) -> tuple[tuple[str, Any], ...]:
    """Names and descriptors of the properties of a class that can hold models."""
    return tuple((name, kind.lookup(name)) for name in kind.properties_with_refs())


def _once_told(told: Callable[[ParameterizedProperty], str]) -> Callable[[ParameterizedProperty], str]:
    @wraps(told)
    def text(kind: ParameterizedProperty) -> str:
        known = kind.__dict__.get(_TEXT)
        if known is None:
            known = kind.__dict__[_TEXT] = told(kind)
        return known

    return text


def _quickly_told(told: Callable[[Any], bool]) -> Callable[[Any], bool]:
    @wraps(told)
    def is_mutable_container(value: Any) -> bool:
        return type(value) not in _PLAIN and told(value)

    return is_mutable_container
