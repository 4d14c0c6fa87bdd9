"""Panel of the sentences: recent changes, and changes since each of the last dates."""

from __future__ import annotations

from typing import Any

from vmfstream.dashboards.looks import phrases
from vmfstream.dashboards.panels import PageParts, Panel
from vmfstream.dashboards.rows.history import History
from vmfstream.dashboards.rows.run_rows import RunRows, readings_of
from vmfstream.dashboards.views.changes.sentences import Change, what_changed
from vmfstream.runfile.queries import Reading

_VISITS = 12


def columns(rows: RunRows, history: History) -> dict[str, Any]:
    """Return the sentences of each reading: on recent slices, and since each of the last slices.

    ``rows`` are date, topic, kind and parts of a sentence; ``lists`` hold, by the first slice they are about, the dates
    in words and the positions of their sentences in ``rows``; the list ``lately`` is that of a first visit.
    """
    return {reading: _lists(rows, reading, history) for reading in readings_of(rows)}


def _lists(rows: RunRows, reading: Reading, history: History) -> dict[str, Any]:
    lately = what_changed(rows, reading)
    last = history.index.size - 1
    visits = range(max(1, last + 1 - _VISITS), last + 1)
    all_changes = [lately, *(what_changed(rows, reading, since) for since in visits)]
    place: dict[Change, int] = {}
    lists: dict[str, Any] = {}
    for changes in all_changes:
        picks = [place.setdefault(change, len(place)) for change in changes.changes]
        span = phrases.span(history.labels[changes.first : changes.last + 1])
        lists["lately" if changes is lately else str(changes.first)] = [span, picks]
    return {"rows": [[c.at, c.topic, c.kind, list(c.parts)] for c in place], "lists": lists}


def section(parts: PageParts) -> str:
    """Return the panel's HTML; the script fills it."""
    return '<h2 id="changes-title"></h2><ul id="changes"></ul>'


PANEL = Panel("changes", section, columns=columns)
