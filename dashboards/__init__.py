"""What people look at: views turn rows of the log into figures, pages put them together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vmfstream.dashboards.view import View


def _river() -> View[Any]:
    from vmfstream.dashboards.shares import SharesView

    return SharesView()


def _words() -> View[Any]:
    from vmfstream.dashboards.words import WordsView

    return WordsView()


VIEWS: dict[str, Callable[[], View[Any]]] = {"river": _river, "words": _words}
"""All views by name, in the order of the page."""
