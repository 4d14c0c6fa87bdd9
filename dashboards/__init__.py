"""What people look at: views turn rows of the log into figures, pages put them together."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vmfstream.dashboards.view import View

if TYPE_CHECKING:
    from vmfstream.dashboards.panels import Panel


def _river() -> View[Any]:
    from vmfstream.dashboards.shares import SharesView

    return SharesView()


def _words() -> View[Any]:
    from vmfstream.dashboards.words import WordsView

    return WordsView()


def _rays() -> View[Any]:
    from vmfstream.dashboards.rays import RaysView

    return RaysView()


def _lines() -> View[Any]:
    from vmfstream.dashboards.lineage import LinesView

    return LinesView()


def _globe() -> View[Any]:
    from vmfstream.dashboards.globe import GlobeView

    return GlobeView()


def _search() -> View[Any]:
    from vmfstream.dashboards.search import SearchView

    return SearchView()


def _compare() -> View[Any]:
    from vmfstream.dashboards.compare import CompareView

    return CompareView()


def _health() -> View[Any]:
    from vmfstream.dashboards.health import HealthView

    return HealthView()


def _tree() -> View[Any]:
    from vmfstream.dashboards.tree import TreeView

    return TreeView()


VIEWS: dict[str, Callable[[], View[Any]]] = {
    "river": _river,
    "words": _words,
    "rays": _rays,
    "lines": _lines,
    "globe": _globe,
    "tree": _tree,
    "search": _search,
    "compare": _compare,
    "health": _health,
}
"""All views that draw a figure, by name, in the order of the page."""

PANELS: dict[str, str] = {
    "river": "river",
    "sentences": "changes",
    "words": "words",
    "compare": "compare",
    "rays": "rays",
    "documents": "documents",
    "lines": "lineage",
    "globe": "globe",
    "tree": "tree",
    "search": "search",
    "health": "health",
    "table": "table",
}
"""All parts of a page in its order: the module that holds each, as ``PANEL``."""

TABS = ("lines", "globe", "tree", "search", "health", "table")
"""The panels below the topic, one of which is open."""


def panel(name: str) -> Panel:
    """Return a panel by its name; its module is imported now."""
    found: Panel = import_module(f"vmfstream.dashboards.{PANELS[name]}").PANEL
    return found
