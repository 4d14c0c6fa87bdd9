"""Life lines: where topics came from and where they went, a lane per topic from its birth to its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vmfstream.dashboards import wording
from vmfstream.dashboards.escape import for_html
from vmfstream.dashboards.history import History, Snapshot, history_of
from vmfstream.dashboards.lifelines import draw_lines
from vmfstream.dashboards.lives import LinesFrame, lines_frame
from vmfstream.dashboards.panels import Panel, Parts, chart, switch
from vmfstream.dashboards.river import readings_of
from vmfstream.dashboards.theme import ThemeName
from vmfstream.dashboards.view import LogRows, Selection, Size

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_OVER = (
    '\n<div class="axis" aria-hidden="true" hidden></div><div class="lane" aria-hidden="true"></div>'
    '<div class="cursor" aria-hidden="true"></div>'
)
_SIZES = {"wide": Size(1240, 0), "phone": Size(362, 0)}


class LinesView:
    """Where topics came from and where they went."""

    name = "lines"
    title = wording.LINES

    def frame(self, rows: LogRows, selection: Selection) -> LinesFrame:
        """Read the lives in the reading that the selection asks for."""
        history = history_of(rows, selection.reading)
        return lines_frame(rows, history, selection.topic, selection.all_topics)

    def drawing(self, frame: LinesFrame, size: Size, theme: ThemeName) -> dict[str, Any]:
        """Return data and layout; the height follows the number of lanes, whatever the size says."""
        return draw_lines(frame, size, theme)

    def figure(self, frame: LinesFrame, size: Size, theme: ThemeName) -> Figure:
        """Draw the life lines."""
        import plotly.graph_objects as go

        return go.Figure(self.drawing(frame, size, theme))


def columns(rows: Snapshot, history: History) -> dict[str, Any]:
    """Return what happened, and what is said of it.

    ``events`` are rows of slice position, kind, topic, other topic (-1: none), number (None: none); ``told`` is a
    sentence, and ``left`` says which lives are not drawn at first, if any.
    """
    frame = LinesView().frame(rows, Selection(reading=history.reading))
    kinds = Counter(what.kind for what in frame.happened)
    return {
        "events": [
            [what.slice, what.kind, what.topic, what.other, None if np.isnan(what.value) else round(what.value)]
            for what in frame.happened
        ],
        "told": wording.lives_sentence(history.labels, history.topic.size, kinds, frame.may_change),
        "left": wording.left_out(frame.smaller, frame.short, wording.period(history.labels)),
    }


def section(parts: Parts) -> str:
    """Return the figure, a switch for those that are not drawn at first, and a sentence about it."""
    said = columns(parts.rows, parts.history)
    scope = switch("lines-scope", "Topics drawn", [("top", "largest", True), ("all", "all", True)])
    figure = chart("lines", wording.LINES, wording.PAGE["linesCaption"], controls=scope, over=_OVER)
    return f'{figure}<p class="muted" id="lines-told">{for_html(said["told"])} {for_html(said["left"])}</p>'


def keys(rows: Snapshot, topics: Sequence[int]) -> list[str]:
    """Return ``lines/READING/SCOPE/WIDTH`` for all three; scope ``all`` only where it shows more lives."""
    frame = LinesView().frame(rows, Selection(reading=readings_of(rows)[0]))
    scopes = ("top", "all") if frame.smaller or frame.short else ("top",)
    return [f"lines/{reading}/{scope}/{width}" for reading in readings_of(rows) for scope in scopes for width in _SIZES]


def draw(rows: Snapshot, key: str) -> dict[str, Any]:
    """Return the life lines of a reading."""
    _, reading, scope, width = key.split("/")
    view = LinesView()
    chosen = Selection(reading="then" if reading == "then" else "hindsight", all_topics=scope == "all")
    return view.drawing(view.frame(rows, chosen), _SIZES[width], "light")


PANEL = Panel("lines", section, "Life lines", columns=columns, keys=keys, draw=draw)
