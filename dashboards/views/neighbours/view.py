"""Neighbours: the selected topic in the middle, the others at their true angles, its own past as a trail."""

from __future__ import annotations

from typing import Any

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.theme import ThemeName
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.dashboards.view import Selection, Size, View
from vmfstream.dashboards.views.neighbours.drawing import neighbour_layout, neighbour_traces
from vmfstream.dashboards.views.neighbours.frame import NeighboursFrame, neighbours_frame


class NeighboursView(View[NeighboursFrame]):
    """How far a topic has moved, and what is near it."""

    name = "neighbours"
    title = texts.NEIGHBOURS

    def frame(self, rows: RunRows, selection: Selection) -> NeighboursFrame:
        """Look from the selected topic (the lowest id if none is selected) at the selected date (the newest)."""
        return neighbours_frame(rows, selection)

    def drawing(self, frame: NeighboursFrame, size: Size, theme: ThemeName) -> dict[str, Any]:
        """Return data and layout; the drawing is square, whatever height the size says."""
        return {
            "data": neighbour_traces(frame, size.width, theme),
            "layout": neighbour_layout(frame, size.width, theme),
        }
