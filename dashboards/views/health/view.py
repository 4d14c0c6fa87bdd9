"""Diagnostics of a run: input, predictive fit and speed, slice by slice."""

from __future__ import annotations

from typing import Any

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.theme import ThemeName
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.dashboards.view import Selection, Size, View
from vmfstream.dashboards.views.health.drawing import draw_health
from vmfstream.dashboards.views.health.frame import HealthFrame, health_frame


class HealthView(View[HealthFrame]):
    """May I trust this."""

    name = "health"
    title = texts.HEALTH

    def frame(self, rows: RunRows, selection: Selection) -> HealthFrame:
        """Collect the quantities by slice; the selection does not matter."""
        return health_frame(rows)

    def drawing(self, frame: HealthFrame, size: Size, theme: ThemeName) -> dict[str, Any]:
        """Return data and layout; the height follows the number of rows, whatever the size says."""
        return draw_health(frame, size, theme)
