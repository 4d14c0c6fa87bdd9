"""Lineage: one lane per topic from its birth to its end, with splits and merges."""

from __future__ import annotations

from typing import Any

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.theme import ThemeName
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.dashboards.view import Selection, Size, View
from vmfstream.dashboards.views.lineage.drawing import lineage_drawing
from vmfstream.dashboards.views.lineage.frame import LineageFrame, lineage_frame


class LineageView(View[LineageFrame]):
    """Where topics came from and where they went."""

    name = "lineage"
    title = texts.LINEAGE

    def frame(self, rows: RunRows, selection: Selection) -> LineageFrame:
        """Read the lives in the reading that the selection asks for."""
        history = history_of(rows, selection.reading)
        return lineage_frame(rows, history, selection.topic, selection.all_topics)

    def drawing(self, frame: LineageFrame, size: Size, theme: ThemeName) -> dict[str, Any]:
        """Return data and layout; the height follows the number of lanes, whatever the size says."""
        return lineage_drawing(frame, size, theme)
