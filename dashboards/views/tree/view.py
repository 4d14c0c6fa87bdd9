"""Hierarchy of topics as a treemap, from the newest snapshot at or before the date."""

from __future__ import annotations

from typing import Any

import numpy as np

from vmfstream.dashboards.looks import phrases, texts
from vmfstream.dashboards.looks.escape import for_plotly
from vmfstream.dashboards.looks.textwidth import shortened
from vmfstream.dashboards.looks.theme import Theme, ThemeName, template, theme
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.dashboards.view import PHONE, Selection, Size, View
from vmfstream.dashboards.views.tree.hierarchy import TreeFrame, at_date, no_tree, read_tree, trees

HEIGHT = 500
STRIP = 26
ROOT = "root"
SIDES = (52.0, 74.0)
"""Sides in pixels of a square cell from which on there is room for a second and a third word."""

GROUPS = (120.0, 200.0)
"""The same for a group, whose words stand beside each other."""

_LONGEST = 11  # font sizes
_SMALLEST_TEXT = 10


class TreeView(View[TreeFrame]):
    """Hierarchy of topics."""

    name = "tree"
    title = texts.TREE

    def frame(self, rows: RunRows, selection: Selection) -> TreeFrame:
        """Read the newest tree at or before the date, or the first one if all are later."""
        history = history_of(rows, selection.reading)
        newest = history.index.size - 1
        date = None if newest < 0 else newest if selection.date is None else min(max(selection.date, 0), newest)
        made = trees(rows, history)
        if date is None or not made:
            return no_tree(history, date)
        snapshot, s = next((item for item in reversed(made) if item[1] <= date), made[0])
        return at_date(read_tree(rows, history, snapshot, s), date)

    def drawing(self, frame: TreeFrame, size: Size, theme: ThemeName) -> dict[str, Any]:
        """Return data and layout; ``layout.meta`` holds what a page needs to move the cursor."""
        layout = _layout(frame, size, theme)
        return {"data": _traces(frame, size.width * layout["height"], theme), "layout": layout}


def _traces(frame: TreeFrame, pixels: float, name: ThemeName) -> list[dict[str, Any]]:
    if frame.made is None:
        return []
    colours = theme(name)
    whole = frame.area.astype(np.float64)
    for k in range(frame.parent.size - 1, -1, -1):  # what lies in a group comes after it
        if frame.parent[k] >= 0:
            whole[frame.parent[k]] += whole[k]
    sides = np.sqrt(whole / max(float(frame.area.sum()), 1e-12) * pixels)
    shown = 1 + np.where(frame.leaf, np.searchsorted(SIDES, sides, "right"), np.searchsorted(GROUPS, sides, "right"))
    return [
        {
            "type": "treemap",
            "name": "tree",
            "hoverinfo": "skip",
            "ids": [ROOT, *(str(k) for k in range(frame.parent.size))],
            "parents": ["", *(str(p) if p >= 0 else ROOT for p in frame.parent)],
            "labels": [texts.PAGE["treeTop"], *(_text(frame, k, int(shown[k])) for k in range(frame.parent.size))],
            "values": np.append(0.0, frame.area).astype(np.float32),
            "branchvalues": "remainder",
            "textinfo": "label",
            "textfont": {"color": colours.text, "size": 13},
            "textposition": "top left",
            "sort": False,
            "pathbar": {"visible": False},
            "tiling": {"packing": "squarify", "pad": 2},
            "marker": {
                "colors": [colours.page, *_colours(frame, colours)],
                "cornerradius": 3,
                "line": {"color": colours.page, "width": 1},
                "pad": {"t": STRIP, "l": 2, "r": 2, "b": 2},
            },
        }
    ]


def _text(frame: TreeFrame, k: int, shown: int) -> str:
    words = [for_plotly(shortened(word, _LONGEST)) for word in frame.words[k][:shown]]
    return ("<br>" if frame.leaf[k] else " ").join(words) or for_plotly(phrases.numbered(int(frame.topic[k])))


def _colours(frame: TreeFrame, colours: Theme) -> list[str]:
    """Return a quarter of page in each topic's colour; a group has its largest topic's, faded; strangers are grey."""
    out = [colours.slot(int(t)).line if t >= 0 else colours.rule for t in frame.topic]
    largest = np.full(frame.parent.size, -1.0)
    for k in np.flatnonzero(frame.topic >= 0):
        above = int(frame.parent[k])
        while above >= 0:
            if frame.share[k] > largest[above]:
                largest[above] = frame.share[k]
                out[above] = colours.slot(int(frame.topic[k])).faded
            above = int(frame.parent[above])
    return out


def _layout(frame: TreeFrame, size: Size, name: ThemeName) -> dict[str, Any]:
    colours = theme(name)
    empty = {
        "x": 0.5,
        "y": 0.5,
        "xref": "paper",
        "yref": "paper",
        "showarrow": False,
        "text": for_plotly(texts.NO_TREE),
        "font": {"color": colours.muted, "size": 12 if size.width <= PHONE else 14},
    }
    return {
        "template": template(name),
        "width": size.width,
        "height": size.height or HEIGHT,
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "uniformtext": {"minsize": _SMALLEST_TEXT, "mode": "hide"},
        "xaxis": {"visible": False},
        "yaxis": {"visible": False},
        "annotations": [] if frame.made is not None else [empty],
        "meta": {
            "view": "tree",
            "sides": [list(GROUPS), list(SIDES)],
            "topic": frame.topic.tolist(),
            "share": [round(float(share), 5) for share in frame.share],
            "leaf": frame.leaf.astype(int).tolist(),
            "words": [list(words) for words in frame.words],
        },
    }
