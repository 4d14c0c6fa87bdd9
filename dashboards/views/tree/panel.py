"""Panel of the hierarchy, with one figure per snapshot that has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.escape import for_html
from vmfstream.dashboards.panels import PageParts, Panel, chart
from vmfstream.dashboards.rows.history import History, history_of
from vmfstream.dashboards.rows.run_rows import RunRows, readings_of
from vmfstream.dashboards.view import Size
from vmfstream.dashboards.views.tree.hierarchy import read_tree, trees
from vmfstream.dashboards.views.tree.view import HEIGHT, TreeView


def columns(rows: RunRows, history: History) -> dict[str, Any]:
    """Return the trees as rows of snapshot and slice position, by time."""
    return {"made": [list(item) for item in trees(rows, history)]}


def section(parts: PageParts) -> str:
    """Return the figure and the way back up, and how to make a tree if there is none."""
    path = '\n<nav id="tree-path" aria-label="Groups"></nav>'
    figure = chart("tree", texts.TREE, "").replace('<div class="chart"', f'{path}<div class="chart"', 1)
    hidden = " hidden" if trees(parts.rows, parts.history) else ""
    return (
        f'<p id="tree-none"{hidden}>{for_html(texts.NO_TREE)} {for_html(texts.TREE_HOW)} '
        f"<code>{for_html(texts.TREE_COMMAND)}</code></p>{figure}"
    )


def keys(rows: RunRows, topics: Sequence[int]) -> list[str]:
    """Return ``tree/SNAPSHOT`` for all trees."""
    return [f"tree/{snapshot}" for snapshot, _ in trees(rows, history_of(rows, readings_of(rows)[0]))]


def draw(rows: RunRows, key: str) -> dict[str, Any]:
    """Return a tree as its snapshot found it; the page's script sets areas and words to its date."""
    history = history_of(rows, readings_of(rows)[0])
    snapshot = int(key.partition("/")[2])
    made = dict(trees(rows, history))[snapshot]
    return TreeView().drawing(read_tree(rows, history, snapshot, made), Size(1240, HEIGHT), "light")


PANEL = Panel("tree", section, "Tree", columns=columns, keys=keys, draw=draw)
