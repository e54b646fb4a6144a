"""Defaults of Bokeh's models, found once a class.

Bokeh finds out the default of a property anew at every look, through all classes above a model's: a third of the time
that it takes to make a page went into that. Defaults that are the same object at every look are kept here; those that
are made anew for each model (lists, other models) and those of themes are Bokeh's as before.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from bokeh.core.has_props import HasProps
from bokeh.core.property.descriptors import PropertyDescriptor

_KEPT: dict[tuple[type, PropertyDescriptor], Any] = {}


def keep_defaults() -> None:
    """Have defaults kept from now on, in every document of this process."""
    found = PropertyDescriptor._get_default
    if hasattr(found, "__wrapped__"):
        return

    @wraps(found)
    def default(descriptor: PropertyDescriptor, model: HasProps) -> Any:
        themed = model.themed_values()
        if themed is not None and descriptor.name in themed:
            return found(descriptor, model)
        key = (type(model), descriptor)
        try:
            return _KEPT[key]
        except KeyError:
            value = found(descriptor, model)
            if descriptor.name not in model._unstable_default_values:  # it is nobody's own
                _KEPT[key] = value
            return value

    PropertyDescriptor._get_default = default  # type: ignore[method-assign]
