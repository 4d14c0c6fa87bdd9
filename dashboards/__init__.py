"""What people look at: views turn rows of the log into figures, pages put them together.

The way of a row to a pixel: ``rows/`` makes arrays of the log, ``views/`` figures of the arrays, ``page/`` a page of
the figures, and ``browser/`` moves it under the reader's hands. ``looks/`` is what all views share. The doors are here:
``app.py`` serves a page, ``export.py`` writes one, ``stills.py`` makes pictures for print, and ``dataframes.py`` lets
in logs that are tables; ``view.py`` and ``panels.py`` say what a view is and what it gives to a page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vmfstream.dashboards.view import View

if TYPE_CHECKING:
    from vmfstream.dashboards.panels import Panel


def _made(folder: str, kind: str) -> View[Any]:
    found: View[Any] = getattr(import_module(f"vmfstream.dashboards.views.{folder}.view"), kind)()
    return found


VIEWS: dict[str, Callable[[], View[Any]]] = {
    "river": partial(_made, "river", "RiverView"),
    "words": partial(_made, "words", "WordsView"),
    "rays": partial(_made, "neighbours", "RaysView"),
    "lines": partial(_made, "lineage", "LinesView"),
    "globe": partial(_made, "globe", "GlobeView"),
    "tree": partial(_made, "tree", "TreeView"),
    "search": partial(_made, "search", "SearchView"),
    "compare": partial(_made, "compare", "CompareView"),
    "health": partial(_made, "health", "HealthView"),
}
"""All views that draw a figure, by name, in the order of the page; a view is imported when it is made."""

PANELS: dict[str, str] = {
    "river": "river.panel",
    "sentences": "changes.panel",
    "words": "words.panel",
    "compare": "compare.panel",
    "rays": "neighbours.panel",
    "documents": "documents",
    "lines": "lineage.panel",
    "globe": "globe.panel",
    "tree": "tree.panel",
    "search": "search.panel",
    "health": "health.panel",
    "table": "table",
}
"""All parts of a page in its order: the module below ``views`` that holds each, as ``PANEL``."""

TABS = ("lines", "globe", "tree", "search", "health", "table")
"""The panels below the topic, one of which is open."""


def panel(name: str) -> Panel:
    """Return a panel by its name; its module is imported now."""
    found: Panel = import_module(f"vmfstream.dashboards.views.{PANELS[name]}").PANEL
    return found
