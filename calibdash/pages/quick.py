"""Things that Bokeh does over and over while a page is made, done once or not at all: a third of the time it takes.

The default of a property is found anew at every look, through all classes above a model's. Defaults that are the same
object at every look are kept here; those that are made anew for each model (lists, other models) and those of themes
are Bokeh's as before. And the signature of every callback is inspected, for developers who write their own; those here
are Panel's, thousands a page.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from bokeh.core.has_props import HasProps
from bokeh.core.property.descriptors import PropertyDescriptor
from bokeh.util import callback_manager

_KEPT: dict[tuple[type, PropertyDescriptor], Any] = {}


def make_quick() -> None:
    """Do so from now on, in every document of this process."""
    _keep_defaults()
    callback_manager._check_callback = lambda *_args, **_options: None


def _keep_defaults() -> None:
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
