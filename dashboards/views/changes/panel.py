"""Panel of the sentences: recent changes, and changes since each of the last dates."""

from __future__ import annotations

from typing import Any

from vmfstream.dashboards.looks import phrases
from vmfstream.dashboards.panels import PageParts, Panel
from vmfstream.dashboards.rows.history import History
from vmfstream.dashboards.rows.run_rows import RunRows, readings_of
from vmfstream.dashboards.views.changes.sentences import Changes, ChangeSentence, what_changed
from vmfstream.runfile.queries import Reading

_VISITS = 12
_DATES = 250
"""Dates that have sentences of their own; the others tell those of the date before."""


def columns(rows: RunRows, history: History) -> dict[str, Any]:
    """Return the sentences of each reading: on the slices before each date, and since each of the last slices.

    ``rows`` are date, topic, kind and parts of a sentence. ``dates`` and ``visits`` are lists of slices, dates in words
    and positions of sentences in ``rows``: of a date by that date, and of a visit by the first slice it is about.
    """
    return {reading: _lists(rows, reading, history) for reading in readings_of(rows)}


def _lists(rows: RunRows, reading: Reading, history: History) -> dict[str, Any]:
    last = history.index.size - 1
    dates = range(last % (last // _DATES + 1), last + 1, last // _DATES + 1)
    visits = range(max(1, last + 1 - _VISITS), last + 1)
    place: dict[ChangeSentence, int] = {}

    def placed(at: int, changes: Changes) -> list[Any]:
        picks = [place.setdefault(change, len(place)) for change in changes.changes]
        return [at, phrases.span(history.labels[changes.first : changes.last + 1]), picks]

    lists = {
        "dates": [placed(at, what_changed(rows, reading, until=at)) for at in dates],
        "visits": [placed(since, what_changed(rows, reading, since)) for since in visits],
    }
    return {"rows": [[c.at, c.topic, c.kind, list(c.parts)] for c in place], **lists}


def section(parts: PageParts) -> str:
    """Return the panel's HTML; the script fills it."""
    return '<h2 id="changes-title"></h2><ul id="changes"></ul>'


PANEL = Panel("changes", section, columns=columns)
