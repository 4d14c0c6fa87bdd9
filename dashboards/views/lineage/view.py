"""Life lines: where topics came from and where they went, a lane per topic from its birth to its end."""

from __future__ import annotations

from typing import Any

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.theme import ThemeName
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.log import LogRows
from vmfstream.dashboards.view import Selection, Size, View
from vmfstream.dashboards.views.lineage.drawing import draw_lines
from vmfstream.dashboards.views.lineage.lives import LinesFrame, lines_frame


class LinesView(View[LinesFrame]):
    """Where topics came from and where they went."""

    name = "lines"
    title = texts.LINES

    def frame(self, rows: LogRows, selection: Selection) -> LinesFrame:
        """Read the lives in the reading that the selection asks for."""
        history = history_of(rows, selection.reading)
        return lines_frame(rows, history, selection.topic, selection.all_topics)

    def drawing(self, frame: LinesFrame, size: Size, theme: ThemeName) -> dict[str, Any]:
        """Return data and layout; the height follows the number of lanes, whatever the size says."""
        return draw_lines(frame, size, theme)
