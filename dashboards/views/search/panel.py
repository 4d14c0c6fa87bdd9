"""Panel of the word search; its script draws the rows of any word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.escape import for_html
from vmfstream.dashboards.looks.theme import theme
from vmfstream.dashboards.panels import PageParts, Panel, chart
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.search.view import SearchView, search_layout, search_looks

_SIZES = {"wide": Size(1240, 0), "phone": Size(362, 0)}


def section(parts: PageParts) -> str:
    """Return the field, its completions, the figure, and the words that are offered instead of an unknown one."""
    field = (
        '<p class="field"><input id="search-word" type="search" list="search-words" autocomplete="off" '
        f'spellcheck="false" maxlength="80" aria-label="{for_html(texts.FIND)}" '
        f'placeholder="{for_html(texts.FIND)}"><datalist id="search-words"></datalist></p>'
    )
    figure = chart("search", texts.SEARCH, "", controls=field, over='\n<div class="cursor" aria-hidden="true"></div>')
    return (
        f'{figure}<p id="search-near" hidden></p>'
        '<p><button class="quiet" id="search-more" hidden></button></p><p class="muted" id="search-foot"></p>'
    )


def keys(rows: RunRows, topics: Sequence[int]) -> list[str]:
    """Return ``search/wide`` and ``search/phone``: the frame of time that the page's script draws rows into."""
    return [f"search/{width}" for width in _SIZES]


def draw(rows: RunRows, key: str) -> dict[str, Any]:
    """Return axis and looks without rows: any word may be asked for, and the words are in the page already."""
    size = _SIZES[key.partition("/")[2]]
    layout = search_layout(SearchView().frame(rows, Selection(reading="smoothed")), size, "light")
    return {"data": list(search_looks(size, theme("light")).values()), "layout": layout}


PANEL = Panel("search", section, "Word search", keys=keys, draw=draw)
