"""Panel of the lineage: events, and one figure for each reading, scope and width."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from vmfstream.dashboards.looks import phrases, texts
from vmfstream.dashboards.looks.escape import for_html
from vmfstream.dashboards.panels import PageParts, Panel, chart, switch
from vmfstream.dashboards.rows.history import History
from vmfstream.dashboards.rows.run_rows import RunRows, reading_called, readings_of
from vmfstream.dashboards.rows.topic_names import lifetime
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.lineage.view import LineageView
from vmfstream.runfile.queries import Reading

_OVER = (
    '\n<div class="axis" aria-hidden="true" hidden></div><div class="lane" aria-hidden="true"></div>'
    '<div class="cursor" aria-hidden="true"></div>'
)


_SIZES = {"wide": Size(1240, 0), "phone": Size(362, 0)}


def columns(rows: RunRows, history: History) -> dict[str, Any]:
    """Return the events of each reading, and a sentence that sums them up.

    ``events`` are rows of slice position, kind, topic, other topic (-1: none), number (None: none) and, where a person
    decided it, 1; ``summary`` is a
    sentence, and ``left`` says which topics are not drawn at first, if any.
    """
    return {reading: _described(rows, reading) for reading in readings_of(rows)}


def _described(rows: RunRows, reading: Reading) -> dict[str, Any]:
    frame = LineageView().frame(rows, Selection(reading=reading))
    history = frame.history
    settled, provisional = history.settled(), history.provisional()
    known = set(history.topic[~provisional].tolist())
    kinds = Counter(what.kind for what in frame.events if settled[what.slice] and what.topic in known)
    topics, tried = int((~provisional).sum()), int(provisional.sum())
    lives = {span for t in np.flatnonzero(~provisional).tolist() if (span := lifetime(history, t)) is not None}
    return {
        "events": [
            [
                *(what.slice, what.kind, what.topic, what.other, None if np.isnan(what.value) else round(what.value)),
                *([1] if what.by_hand else []),
            ]
            for what in frame.events
        ],
        "summary": phrases.lineage_sentence(history.labels, topics, tried, kinds, lives, frame.may_change),
        "left": phrases.left_out(frame.smaller, frame.short, history.period()),
    }


def section(parts: PageParts) -> str:
    """Return the figure, a switch for those that are not drawn at first, and a sentence about it."""
    said = _described(parts.rows, parts.history.reading)
    scope = switch("lineage-scope", "Topics drawn", [("top", "largest", True), ("all", "all", True)])
    figure = chart("lineage", texts.LINEAGE, texts.PAGE["lineageCaption"], controls=scope, over=_OVER)
    return f'{figure}<p class="muted" id="lineage-summary">{for_html(said["summary"])} {for_html(said["left"])}</p>'


def keys(rows: RunRows, topics: Sequence[int]) -> list[str]:
    """Return ``lineage/READING/SCOPE/WIDTH`` for all three; scope ``all`` only where it shows more topics."""
    out = []
    for reading in readings_of(rows):
        frame = LineageView().frame(rows, Selection(reading=reading))
        scopes = ("top", "all") if frame.smaller or frame.short else ("top",)
        out += [f"lineage/{reading}/{scope}/{width}" for scope in scopes for width in _SIZES]
    return out


def draw(rows: RunRows, key: str) -> dict[str, Any]:
    """Return the lineage of a reading."""
    _, reading, scope, width = key.split("/")
    view = LineageView()
    chosen = Selection(reading=reading_called(reading), all_topics=scope == "all")
    return view.drawing(view.frame(rows, chosen), _SIZES[width], "light")


PANEL = Panel("lineage", section, "Lineage", columns=columns, keys=keys, draw=draw)
