"""Panel of the diagnostics: verdict, one figure per width, and the values as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.panels import PageParts, Panel, chart
from vmfstream.dashboards.rows.history import History
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.health.view import HealthView


def columns(rows: RunRows, history: History) -> dict[str, Any]:
    """Return names, values as text and oddities of all rows, and the verdict."""
    frame = HealthView().frame(rows, Selection())
    return {
        "missing": list(frame.missing),
        "rows": [
            {
                "name": row.name,
                "odd": np.flatnonzero(row.unusual).tolist(),
                "shown": list(row.shown),
                "usual": row.usually,
            }
            for row in frame.rows
        ],
        "verdict": list(frame.verdict),
    }


_SIZES = {"wide": Size(1240, 0), "phone": Size(362, 0)}


def keys(rows: RunRows, topics: Sequence[int]) -> list[str]:
    """Return ``health/WIDTH``."""
    return [f"health/{kind}" for kind in _SIZES]


def draw(rows: RunRows, key: str) -> dict[str, Any]:
    """Return the rows for a width."""
    view = HealthView()
    return view.drawing(view.frame(rows, Selection()), _SIZES[key.rpartition("/")[2]], "light")


def section(parts: PageParts) -> str:
    """Return the panel's HTML; the script fills in verdict and rows."""
    cursor = '<div class="cursor" aria-hidden="true"></div>'
    vectors = not np.isnan(parts.rows.quality().isotropy).all()
    caption = texts.HEALTH_CAPTION + (texts.ISOTROPY_CAPTION if vectors else "")
    figure = chart("health", texts.HEALTH, caption, over=cursor)
    return f'<ul id="health-verdict"></ul>{figure}<p class="muted" id="health-missing"></p>'


PANEL = Panel("health", section, "Health", columns=columns, keys=keys, draw=draw)
