"""Panel of the neighbours, with what its script needs to change the date."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.panels import PageParts, Panel, chart
from vmfstream.dashboards.rows.geometry import as_bytes
from vmfstream.dashboards.rows.history import History, lived
from vmfstream.dashboards.rows.run_rows import RunRows, reading_called, readings_of
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.neighbours.drawing import neighbour_layout
from vmfstream.dashboards.views.neighbours.frame import neighbours_frame
from vmfstream.dashboards.views.neighbours.view import NeighboursView

_SIZE = Size(400, 400)
_OWN = ("meta", "shapes", "xaxis", "yaxis")  # what the layout of each topic's chart has of its own


def section(parts: PageParts) -> str:
    """Return the place of the chart; its script fills it in, as its words depend on the date."""
    return (
        chart("neighbours", texts.NEIGHBOURS, texts.PAGE["neighbours"]) + '<p class="muted" id="neighbours-note"></p>'
    )


def columns(rows: RunRows, history: History) -> dict[str, Any]:
    """Return what the charts of all topics share."""
    view = NeighboursView()
    empty = view.drawing(view.frame(rows, Selection(reading=readings_of(rows)[0])), _SIZE, "light")
    layout = {key: value for key, value in empty["layout"].items() if key not in ("template", *_OWN)}
    return {"data": [_style(trace) for trace in empty["data"]], "layout": layout}


def keys(rows: RunRows, topics: Sequence[int]) -> list[str]:
    """Return ``neighbours/READING/TOPIC``."""
    return [f"neighbours/{reading}/{topic}" for reading, topic in lived(rows, topics)]


def draw(rows: RunRows, key: str) -> dict[str, Any]:
    """Return what stays of one topic's chart when the date moves: rings, rays, its past and the others at all dates."""
    _, reading, topic = key.split("/")
    frame = neighbours_frame(rows, Selection(topic=int(topic), reading=reading_called(reading)))
    past, angles = as_bytes(frame.past.degrees), as_bytes(frame.angles)
    layout = neighbour_layout(frame, _SIZE.width, "light")
    layout["meta"] |= {
        "others": frame.others.astype(np.int16 if frame.others.max(initial=0) < 2**15 else np.int32),
        "angles": angles,
        "at": frame.past.at.astype(np.int16),
        "date": frame.past.date.astype(np.int16),
        "past": past[~np.isnan(frame.past.degrees)],
    }
    return {"data": [], "layout": {name: layout[name] for name in _OWN}}


def _style(trace: dict[str, Any]) -> dict[str, Any]:
    """Return a trace without what the page computes for its topic and date."""
    kept = {key: value for key, value in trace.items() if key not in ("x", "y", "text")}
    if "marker" in kept:
        kept["marker"] = {"opacity": 1.0, "line": {"width": trace["marker"]["line"]["width"]}}
    return kept


PANEL = Panel("neighbours", section, columns=columns, keys=keys, draw=draw)
