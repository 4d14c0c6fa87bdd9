"""Panel of the globe, with the position of every topic at every date."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.escape import for_html
from vmfstream.dashboards.looks.theme import theme
from vmfstream.dashboards.panels import PageParts, Panel, chart
from vmfstream.dashboards.rows.geometry import as_bytes
from vmfstream.dashboards.rows.history import Doubles
from vmfstream.dashboards.rows.run_rows import RunRows, readings_of
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.globe.frame import BACK
from vmfstream.dashboards.views.globe.view import GlobeView, globe_layout, globe_styles, lon_lat, sight

_SIZE = Size(640, 640)


_HUNDREDTHS = 100.0


_NOWHERE = -32768


def section(parts: PageParts) -> str:
    """Return the place of the globe, and two buttons that turn it."""
    turns = "".join(
        f'<button data-turn="{step}" aria-label="{for_html(label)}">{arrow}</button>'
        for step, label, arrow in ((-40, texts.TURN_LEFT, "←"), (40, texts.TURN_RIGHT, "→"))
    )
    history = parts.history
    back = min(BACK, len(history.labels))
    caption = texts.PAGE["globe"].replace("{n}", str(back)).replace("{periods}", f"{history.period()}s")
    return chart("globe", texts.GLOBE, caption, controls=turns) + '<p class="muted" id="globe-note"></p>'


def keys(rows: RunRows, topics: Sequence[int]) -> list[str]:
    """Return ``globe/READING``."""
    return [f"globe/{reading}" for reading in readings_of(rows)]


def draw(rows: RunRows, key: str) -> dict[str, Any]:
    """Return styles without points, and in ``meta`` where every topic stands at every date."""
    chosen = Selection(reading="filtered" if key == "globe/filtered" else "smoothed")
    frame = GlobeView().frame(rows, chosen)
    lon, lat = lon_lat(frame.place)
    layout = globe_layout(_SIZE.width, "light", sight(frame))
    layout["meta"] |= {
        "topics": frame.topics.astype(np.int32),
        "lon": _whole(lon),
        "lat": _whole(lat),
        "drift": as_bytes(frame.drift),
    }
    return {"data": globe_styles(theme("light")), "layout": layout}


def _whole(degrees: Doubles) -> np.ndarray[Any, np.dtype[np.int16]]:
    """Return hundredths of degrees, -32768 for nowhere."""
    return np.where(np.isnan(degrees), _NOWHERE, np.rint(np.nan_to_num(degrees) * _HUNDREDTHS)).astype(np.int16)


PANEL = Panel("globe", section, "Globe", keys=keys, draw=draw)
