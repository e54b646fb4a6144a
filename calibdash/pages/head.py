"""The template of the page: what is seen first, then scripts, then what belongs to the session.

The components' bundle is loaded by the browser itself, and while the server still works. Panel has es-module-shims load
it, which reads 1.4 MB as text at every visit and has it compiled anew. Nothing in the bundle needs that: it imports
nothing.
"""

from __future__ import annotations

from functools import cache, reduce

import panel_material_ui as pmui
from panel.io.resources import parse_template

ID = "sight"
BUNDLE = "/panel-material-ui.bundle.js"
FROM, UNTIL, END = "<!-- a person's own -->", "<!-- everybody's -->", "<!-- a session's own -->"
_TEMPLATE = """{% extends base %}
{% block preamble %}{{ super() }}
<link rel="modulepreload" href="{{ components }}">
{% endblock %}
{% block loader_css %}{% endblock %}
{% block js_resources %}{% endblock %}
{% block loader %}
FROM{{ sight }}UNTIL
{{ bokeh_js }}
<script>
  if (window.importShim) {
    const load = (shim, self, [url, ...rest]) =>
      String(url).includes("BUNDLE") ? import(url) : Reflect.apply(shim, self, [url, ...rest])
    window.importShim = new Proxy(window.importShim, {apply: load})
    import("{{ components }}")
  }
</script>
END
{% endblock %}
{% block loader_script %}
<script>
  {
    const sight = document.getElementById("ID")
    const tell = (words) => document.body.append(Object.assign(document.createElement("p"), {role: "alert",
      textContent: words, style: "position: fixed; inset: auto 0 0; margin: 0; padding: 12px; text-align: center;" +
      "z-index: 10000; background: #c62828; color: #fff"}))
    const look = () => {
      if (typeof Bokeh === "undefined") return tell("Parts of the page did not arrive. Load it again.")
      if (_wsError) return tell("There is no connection with the server. Load the page again.")
      if (Bokeh.index?.roots?.[0]?.is_idle || performance.now() > 30_000) return sight?.remove()
      requestAnimationFrame(look)
    }
    look()
  }
</script>
{% endblock %}
"""


@cache
def page_template() -> object:
    """The template of a page; ``components`` is where its components come from, ``sight`` what is seen first."""
    named = {"BUNDLE": BUNDLE, "FROM": FROM, "UNTIL": UNTIL, "END": END, "ID": ID}
    return parse_template(reduce(lambda text, name: text.replace(name, named[name]), named, _TEMPLATE))


def components() -> str:
    """The address of the bundle, as the components themselves give it."""
    return pmui.Button._render_esm(True, server=True)
