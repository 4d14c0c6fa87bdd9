"""The place of the life lines on the page, what happened in them, and one figure for each reading, scope and width."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from vmfstream.dashboards.looks import texts, wording
from vmfstream.dashboards.looks.escape import for_html
from vmfstream.dashboards.panels import Panel, Parts, chart, switch
from vmfstream.dashboards.rows.history import History
from vmfstream.dashboards.rows.log import LogRows, reading_called, readings_of
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.lineage.view import LinesView
from vmfstream.runfile.queries import Reading

_OVER = (
    '\n<div class="axis" aria-hidden="true" hidden></div><div class="lane" aria-hidden="true"></div>'
    '<div class="cursor" aria-hidden="true"></div>'
)


_SIZES = {"wide": Size(1240, 0), "phone": Size(362, 0)}


def columns(rows: LogRows, history: History) -> dict[str, Any]:
    """Return by reading what happened, and what is said of it.

    ``events`` are rows of slice position, kind, topic, other topic (-1: none), number (None: none); ``told`` is a
    sentence, and ``left`` says which lives are not drawn at first, if any.
    """
    return {reading: _told(rows, reading) for reading in readings_of(rows)}


def _told(rows: LogRows, reading: Reading) -> dict[str, Any]:
    frame = LinesView().frame(rows, Selection(reading=reading))
    history = frame.history
    settled, provisional = history.settled(), history.provisional()
    known = set(history.topic[~provisional].tolist())
    kinds = Counter(what.kind for what in frame.happened if settled[what.slice] and what.topic in known)
    topics, tried = int((~provisional).sum()), int(provisional.sum())
    return {
        "events": [
            [what.slice, what.kind, what.topic, what.other, None if np.isnan(what.value) else round(what.value)]
            for what in frame.happened
        ],
        "told": wording.lives_sentence(history.labels, topics, tried, kinds, frame.may_change),
        "left": wording.left_out(frame.smaller, frame.short, wording.period(history.labels)),
    }


def section(parts: Parts) -> str:
    """Return the figure, a switch for those that are not drawn at first, and a sentence about it."""
    said = _told(parts.rows, parts.history.reading)
    scope = switch("lines-scope", "Topics drawn", [("top", "largest", True), ("all", "all", True)])
    figure = chart("lines", texts.LINES, texts.PAGE["linesCaption"], controls=scope, over=_OVER)
    return f'{figure}<p class="muted" id="lines-told">{for_html(said["told"])} {for_html(said["left"])}</p>'


def keys(rows: LogRows, topics: Sequence[int]) -> list[str]:
    """Return ``lines/READING/SCOPE/WIDTH`` for all three; scope ``all`` only where it shows more lives."""
    out = []
    for reading in readings_of(rows):
        frame = LinesView().frame(rows, Selection(reading=reading))
        scopes = ("top", "all") if frame.smaller or frame.short else ("top",)
        out += [f"lines/{reading}/{scope}/{width}" for scope in scopes for width in _SIZES]
    return out


def draw(rows: LogRows, key: str) -> dict[str, Any]:
    """Return the life lines of a reading."""
    _, reading, scope, width = key.split("/")
    view = LinesView()
    chosen = Selection(reading=reading_called(reading), all_topics=scope == "all")
    return view.drawing(view.frame(rows, chosen), _SIZES[width], "light")


PANEL = Panel("lines", section, "Life lines", columns=columns, keys=keys, draw=draw)
