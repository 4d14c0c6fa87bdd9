"""Panel of the comparison; its script fills in the words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.escape import for_html
from vmfstream.dashboards.panels import PageParts, Panel, chart
from vmfstream.dashboards.rows.geometry import as_bytes, sketch_of
from vmfstream.dashboards.rows.history import history_of, lived, topics_of
from vmfstream.dashboards.rows.run_rows import RunRows, reading_called
from vmfstream.dashboards.view import Size
from vmfstream.dashboards.views.compare.view import blank

_MOST_ANGLES = 1_000_000


_SIZES = {"wide": Size(800, 0), "phone": Size(362, 0)}


def keys(rows: RunRows, topics: Sequence[int]) -> list[str]:
    """Return the blank figures, and one per reading and topic with nothing but its angles, while these are few."""
    slices = rows.slices().slice.size
    of_all = len(lived(rows, topics_of(rows).tolist()))  # so that fewer topics never mean more figures
    few = of_all * slices**2 / 2 <= _MOST_ANGLES and rows.sketches("filtered").slice.size > 0
    drift = [f"compare/{reading}/{topic}" for reading, topic in lived(rows, topics)] if few else []
    return [f"compare/{kind}" for kind in _SIZES] + drift


def draw(rows: RunRows, key: str) -> dict[str, Any]:
    """Return a blank figure, or how far a topic is between any two dates."""
    _, reading, *topic = key.split("/")
    if not topic:
        return blank(_SIZES[reading], "light")
    history = history_of(rows, reading_called(reading))
    sketch = sketch_of(rows, history, int(topic[0]))
    between = np.degrees(np.arccos(np.clip(sketch @ sketch.T, -1.0, 1.0)))
    return {"data": [], "layout": {}, "drift": as_bytes(between[np.tril_indices(history.index.size, -1)])}


def section(parts: PageParts) -> str:
    """Return the panel's HTML: a choice of what to compare with, and the place of the figure."""
    return (
        f'<p class="pick"><label for="compare-with">{for_html(texts.COMPARE_WITH)}</label> '
        '<select id="compare-with"><option></option></select></p>'
        f'<div id="compare-box" hidden>{chart("compare", texts.COMPARE, "", " ")}</div>'
    )


PANEL = Panel("compare", section, keys=keys, draw=draw)
