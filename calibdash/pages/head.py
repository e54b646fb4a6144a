"""The head of the page: the components' bundle is loaded by the browser itself, and while the server still works.

Panel has es-module-shims load it, which reads 1.4 MB as text at every visit and has it compiled anew. Nothing in the
bundle needs that: it imports nothing. The browser keeps what it loads itself, compiled.
"""

from __future__ import annotations

from functools import cache

import panel_material_ui as pmui
from panel.io.resources import parse_template

BUNDLE = "/panel-material-ui.bundle.js"
TEMPLATE = (
    """{% extends base %}
{% block preamble %}{{ super() }}
<link rel="modulepreload" href="{{ components }}">
{% endblock %}
{% block postamble %}{{ super() }}
<script>
  if (window.importShim) {
    const load = (shim, self, [url, ...rest]) =>
      String(url).includes("BUNDLE") ? import(url) : Reflect.apply(shim, self, [url, ...rest])
    window.importShim = new Proxy(window.importShim, {apply: load})
    import("{{ components }}")
  }
</script>
{% endblock %}
"""
).replace("BUNDLE", BUNDLE)


@cache
def page_template() -> object:
    """The template of a page; ``components`` is where its components come from."""
    return parse_template(TEMPLATE)


def components() -> str:
    """The address of the bundle, as the components themselves give it."""
    return pmui.Button._render_esm(True, server=True)
