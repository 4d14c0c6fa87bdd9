"""Views of a run file as figures, and pages of these figures.

From row to pixel: ``rows/`` turns rows of the run file into arrays, ``views/`` arrays into figures, ``page/`` figures
into a page, and ``browser/`` is the page's script. ``looks/`` is shared by all views. Entry points: ``app.py`` serves
a page, ``export.py`` writes one, ``stills.py`` draws pictures for print, and ``dataframes.py`` reads tables instead of
a run file. ``view.py`` and ``panels.py`` define what a view is and what it contributes to a page.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vmfstream.dashboards.view import View
from vmfstream.runfile.queries import OLD_READINGS

if TYPE_CHECKING:
    from vmfstream.dashboards.panels import Panel


def _made(folder: str, kind: str) -> View[Any]:
    found: View[Any] = getattr(import_module(f"vmfstream.dashboards.views.{folder}.view"), kind)()
    return found


VIEWS: dict[str, Callable[[], View[Any]]] = {
    "river": partial(_made, "river", "RiverView"),
    "words": partial(_made, "words", "WordsView"),
    "neighbours": partial(_made, "neighbours", "NeighboursView"),
    "lineage": partial(_made, "lineage", "LineageView"),
    "globe": partial(_made, "globe", "GlobeView"),
    "tree": partial(_made, "tree", "TreeView"),
    "search": partial(_made, "search", "SearchView"),
    "compare": partial(_made, "compare", "CompareView"),
    "health": partial(_made, "health", "HealthView"),
}
"""All views that draw a figure, by name, in the order of the page; a view is imported when it is made."""

OLD_NAMES: Mapping[str, str] = {
    "rays": "neighbours",
    "lines": "lineage",
    "ladder": "ranks",
    "strips": "heatmap",
    **OLD_READINGS,
}
"""Former names of views, forms of the words and readings, accepted with a warning for one version."""

PANELS: dict[str, str] = {
    "river": "river.panel",
    "changes": "changes.panel",
    "words": "words.panel",
    "compare": "compare.panel",
    "neighbours": "neighbours.panel",
    "topicstories": "topic_stories",
    "documents": "documents",
    "lineage": "lineage.panel",
    "stories": "stories.panel",
    "globe": "globe.panel",
    "tree": "tree.panel",
    "search": "search.panel",
    "health": "health.panel",
    "table": "table",
}
"""All parts of a page in its order: the module below ``views`` that holds each, as ``PANEL``."""

TABS = ("lineage", "stories", "globe", "tree", "search", "health", "table")
"""The panels below the topic, one of which is open."""


def current_name(name: str) -> str:
    """Return the current name of a view, form or reading, with a DeprecationWarning for one that was renamed."""
    if name in OLD_NAMES:
        warnings.warn(f"{name!r} is now called {OLD_NAMES[name]!r}", DeprecationWarning, stacklevel=3)
    return OLD_NAMES.get(name, name)


def panel(name: str) -> Panel:
    """Return a panel by its name; its module is imported now."""
    found: Panel = import_module(f"vmfstream.dashboards.views.{PANELS[name]}").PANEL
    return found
