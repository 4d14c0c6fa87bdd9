"""Seen from here: the selected topic in the middle, every other at its true angle, its own past as a trail."""

from __future__ import annotations

from typing import Any

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.theme import ThemeName
from vmfstream.dashboards.rows.log import LogRows
from vmfstream.dashboards.view import Selection, Size, View
from vmfstream.dashboards.views.neighbours.drawing import ray_layout, ray_traces
from vmfstream.dashboards.views.neighbours.frame import RaysFrame, seen_from_here


class RaysView(View[RaysFrame]):
    """How far a topic has moved, and what is near it."""

    name = "rays"
    title = texts.RAYS

    def frame(self, rows: LogRows, selection: Selection) -> RaysFrame:
        """Look from the selected topic (the lowest id if none is selected) at the selected date (the newest)."""
        return seen_from_here(rows, selection)

    def drawing(self, frame: RaysFrame, size: Size, theme: ThemeName) -> dict[str, Any]:
        """Return data and layout; the drawing is square, whatever height the size says."""
        return {"data": ray_traces(frame, size.width, theme), "layout": ray_layout(frame, size.width, theme)}
