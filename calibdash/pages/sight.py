"""What is seen of the dashboard before it works: the same figures, the same graph, in the same places, as plain markup.

Scripts, components and their data take the browser a second; markup takes it none. What can be read stands there at
once, what can be pressed comes when it can be. The markup has a shadow root of its own, closed: neither styles nor
scripts nor whoever looks for a button on the page meet it, and where a browser knows no such roots there is nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from calibdash.data.folder import Checked
from calibdash.data.network import Network
from calibdash.pages.head import ID
from calibdash.pages.layout import ABREAST, grid
from calibdash.pages.network import GRAPH, HINT, MAP, has_map
from calibdash.pages.network_figures import RING, SIZE
from calibdash.pages.plots import COLOURS, edge_looks, graph_edges, role
from calibdash.pages.problems import NOTICED, PROBLEMS_STYLE, problem_markup
from calibdash.pages.tables import CARDS_STYLE, cards
from calibdash.state.once import once
from calibdash.state.places import layout

MOST_EDGES = 1500  # the strongest; more would take longer than the page
PADDING, LEAST = 0.1, 2.0  # of Bokeh's ranges around their data, and where all have one place

# As the components have them: bar 68, side 280, tabs 48 pixels.
STYLE = (
    CARDS_STYLE
    + PROBLEMS_STYLE
    + """
:host { position: fixed; inset: 0; z-index: 9999; display: flex; flex-direction: column; background: #fff;
  color: #000000de; font-family: Roboto, sans-serif; line-height: 1.43; letter-spacing: 0.15px; }
header { flex: 0 0 68px; box-sizing: border-box; padding: 20px 68px; background: #0072b5; color: #fff; z-index: 1;
  font: bold 24px/24px Roboto, sans-serif; letter-spacing: 0;
  box-shadow: 0 2px 4px -1px #0003, 0 4px 5px #0002, 0 1px 10px #0001; }
main { flex: 1; min-height: 0; margin: 4px 0 0 280px; overflow: hidden scroll; box-shadow: -1px 0 #0000001f; }
nav { display: flex; overflow: hidden; color: #0009; }
nav span { flex: none; box-sizing: border-box; min-width: 90px; height: 48px; padding: 15.25px 16px; text-align: center;
  font: 500 14px/17.5px Roboto, sans-serif; letter-spacing: 0.02857em; text-transform: uppercase; }
nav span:first-child { color: #1976d2; box-shadow: inset 0 -2px #1976d2; }
section { padding: 16px 24px 0; }
section > h6 { margin-bottom: 6px; }
.problems { margin-bottom: 8px; }
.cards { padding-top: 8px; }
.told { margin: 70.5px 10px 4px; font-size: 16px; line-height: 24px; }
.views { GRID }
h6 { margin: 20px 0 11px; font: 500 20px/32px Roboto, sans-serif; }
svg { display: block; width: calc(100% - 35px); height: 390px; margin: 0 5px; overflow: visible; }
@media (max-width: 599px) { :host { display: none; } }
""".replace("GRID", grid(ABREAST))
)


def sight(titles: Sequence[str], checked: Checked | None) -> str:
    """The page of these tabs, the first of them open, with what is in a folder."""
    tabs = "".join(f"<span>{escape(title)}</span>" for title in titles)
    content = _content(checked) if checked is not None else ""
    return (
        f'<div id="{ID}" inert aria-hidden="true"><template shadowrootmode="closed"><style>{STYLE}</style>'
        f"<header>calibdash</header><main><nav>{tabs}</nav>{content}</main></template></div>"
    )


@once
def _content(checked: Checked) -> str:
    """What stands on the page of the network, from above."""
    problems = f"<h6>{NOTICED}</h6>{problem_markup(checked.problems)}" if checked.problems else ""
    shown, network = cards(checked, checked.network), checked.network
    if network is None:
        return f"<section>{problems}{shown}</section>"
    views = f"<div><h6>{GRAPH}</h6>{graph(network)}</div>"
    if has_map(network):
        views += f"<div><h6>{MAP}</h6></div>"
    return f'<section>{problems}{shown}<div class="told">{HINT}</div><div class="views">{views}</div></section>'


def graph(network: Network) -> str:
    """Who met whom as the page's figure draws it, in percent of its frame."""
    places = layout(network)
    x, y = np.array([places[sensor] for sensor in network.sensors["sensor"]]).T
    edges = graph_edges(network, places)
    edges = edges.join(edge_looks(edges, ())).sort_values("colocations").tail(MOST_EDGES).sort_index()
    ends = [_share(edges["x0"], x), 100 - _share(edges["y0"], y), _share(edges["x1"], x), 100 - _share(edges["y1"], y)]
    lines = "".join(
        f'<line x1="{a:.2f}%" y1="{b:.2f}%" x2="{c:.2f}%" y2="{d:.2f}%" stroke="{colour}" stroke-width="{width:.2f}"/>'
        for a, b, c, d, colour, width in zip(*ends, edges["colour"], edges["width"], strict=True)
    )
    placed = zip(_share(x, x), 100 - _share(y, y), role(network.sensors), strict=True)
    marks = "".join(
        f'<g fill="{COLOURS[kind]}">{_mark(across, down, kind)}</g>'
        for across, down, kind in sorted(placed, key=lambda mark: mark[2] == "reference")  # above all others
    )
    strength = edges["strength"].max() if len(edges) else 1.0
    return f'<svg><g stroke-opacity="{strength}">{lines}</g>{marks}</svg>'


def _share(values: Any, data: np.ndarray) -> np.ndarray:
    """Percent of the range that Bokeh takes for the data.   [N], [S] → [N]"""
    low, high = data.min(), data.max()
    span = (high - low) * (1 + PADDING) or LEAST
    return 100 * ((np.asarray(values, dtype=float) - (low + high) / 2) / span + 0.5)


def _mark(across: float, down: float, kind: str) -> str:
    """A sensor, with a ring if it is a reference."""
    place = f'cx="{across:.2f}%" cy="{down:.2f}%"'
    ring = f'<circle {place} r="{RING / 2}" fill="none" stroke="{COLOURS[kind]}" stroke-width="2"/>'
    return f'<circle {place} r="{SIZE / 2}" stroke="#fff"/>' + (ring if kind == "reference" else "")
