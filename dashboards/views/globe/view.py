"""The globe: topics at their positions, with trails as long as their recent drift."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.dotlabels import LINE, DotLabel, dot, place
from vmfstream.dashboards.looks.escape import for_plotly
from vmfstream.dashboards.looks.textwidth import em_width, shortened
from vmfstream.dashboards.looks.theme import SLOTS, Theme, ThemeName, template, theme
from vmfstream.dashboards.rows.geometry import unit
from vmfstream.dashboards.rows.history import Doubles, Ints
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.dashboards.view import Selection, Size, View
from vmfstream.dashboards.views.globe.frame import BACK, SCALE, GlobeFrame, globe_frame

LARGEST = 60
NAMED = 16

_PAD = 0.025  # of the width, beside the globe
_DOT, _SMALLEST, _BIGGEST = 0.14, 7.0, 0.06  # diameters as in the neighbours
_RING = 6.0
_WIDTHS = (1.0, 2.0, 3.2)  # of a trail, from its oldest third to its newest
_FONT = 12.5
_LONGEST = 12.0
_STEEPEST = np.sin(np.radians(50.0))  # latitude in sight at most, so that the poles stay above and below
_BAR = 30  # degrees of turning


class GlobeView(View[GlobeFrame]):
    """Where topics stand towards each other, and where they are going."""

    name = "globe"
    title = texts.GLOBE

    def frame(self, rows: RunRows, selection: Selection) -> GlobeFrame:
        """Read the whole reading; the selected date is drawn."""
        return globe_frame(rows, selection)

    def drawing(self, frame: GlobeFrame, size: Size, theme: ThemeName) -> dict[str, Any]:
        """Return data and layout; the drawing is square, whatever height the size says."""
        return {"data": _traces(frame, size.width, theme), "layout": globe_layout(size.width, theme, sight(frame))}


def shown_topics(frame: GlobeFrame) -> Ints:
    """Return the columns that are drawn, the largest first: at most sixty that have a place at the date."""
    there = np.flatnonzero(~np.isnan(frame.place[frame.date, :, 0]) & (np.array(frame.names, np.object_) != ""))
    return there[np.argsort(-frame.share[there], kind="stable")][:LARGEST]


def sight(frame: GlobeFrame) -> Doubles:
    """Return the middle of the side in sight: where most documents are at the date, as a unit vector."""
    columns = shown_topics(frame) if frame.place.size else np.empty(0, np.int64)
    heavy = frame.share[columns] @ frame.place[frame.date, columns] if columns.size else np.zeros(3)
    middle = heavy if np.linalg.norm(heavy) > 1e-9 else np.array([1.0, 0.0, 0.0])
    lon, lat = np.arctan2(middle[1], middle[0]), np.arcsin(np.clip(unit(middle)[2], -_STEEPEST, _STEEPEST))
    return np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def _traces(frame: GlobeFrame, width: int, name: ThemeName) -> list[dict[str, Any]]:
    """Return trails by colour and thickness, rings at their beginnings, dots, and names on the visible side."""
    colours = theme(name)
    trail, rings, dots, names = globe_styles(colours)
    columns = shown_topics(frame) if frame.place.size else np.empty(0, np.int64)
    ids = frame.topics[columns]
    paths = [frame.trail(int(t)) for t in columns]
    slots = [colours.slot(int(topic)) for topic in ids]
    out = []
    for slot in np.unique(ids % SLOTS):
        for k, wide in enumerate(_WIDTHS):
            pieces = [_third(path, k) for path, topic in zip(paths, ids, strict=True) if topic % SLOTS == slot]
            points = np.concatenate([np.concatenate([piece, np.full((1, 3), np.nan)]) for piece in pieces])
            line = {"color": colours.slots[slot].ink, "width": wide}
            out.append(trail | {"name": f"trail-{slot}-{k}", "line": line} | _at(points))
    moving = [k for k, path in enumerate(paths) if len(path) > 1]
    rings = rings | _at(_stacked([paths[k][0] for k in moving]))
    rings["marker"] = rings["marker"] | {"line": {"width": 1.2, "color": [slots[k].ink for k in moving]}}
    sizes = np.clip(_DOT * width * np.sqrt(frame.share[columns]), _SMALLEST, _BIGGEST * width)
    now = _stacked([path[-1] for path in paths])
    chosen = [2.6 if topic == frame.topic else 1.0 for topic in ids.tolist()]
    marker = dots["marker"] | {"size": sizes, "color": [slot.fill for slot in slots]}
    marker["line"] = {"color": [slot.ink for slot in slots], "width": chosen}
    return [*out, rings, dots | _at(now) | {"marker": marker}, names | _names(frame, columns, now, sizes, width)]


def _names(frame: GlobeFrame, columns: Ints, now: Doubles, sizes: Doubles, width: int) -> dict[str, Any]:
    """Return the names of the 16 largest topics on the visible side that find room inside the disc."""
    radius = width * (0.5 - _PAD)
    away, up, right = _axes(sight(frame))
    x, y, front = now @ right, now @ up, now @ away
    px, py = width / 2 + radius * x, width / 2 - radius * y
    seen = np.flatnonzero(front > 0.1)
    taken = [dot(px[k], py[k], sizes[k] / 2) for k in np.flatnonzero(front > 0)]
    marks = []
    for k in seen[:NAMED]:
        text = shortened(frame.names[columns[k]], _LONGEST)
        marks.append(DotLabel(px[k], py[k], sizes[k] / 2, text, em_width(text, True) * _FONT, LINE * _FONT))
    found = place(marks, taken, width)
    middle = np.array([[(b.left + b.right) / 2 - width / 2, width / 2 - (b.top + b.bottom) / 2] for _, b in found])
    disc = middle.reshape(-1, 2) / radius
    depth = np.sqrt(np.where((disc**2).sum(axis=1) < 1, 1 - (disc**2).sum(axis=1), np.nan))
    at = disc[:, :1] * right + disc[:, 1:] * up + depth[:, None] * away
    inside = ~np.isnan(at[:, 0])
    return {"text": [for_plotly(text) for (text, _), k in zip(found, inside, strict=True) if k], **_at(at[inside])}


def globe_styles(colours: Theme) -> list[dict[str, Any]]:
    """Return the traces without points: trail, rings, dots, names."""
    common = {"type": "scattergeo", "hoverinfo": "skip"}
    return [
        common | {"name": "trail", "mode": "lines"},
        common
        | {"name": "rings", "mode": "markers"}
        | {"marker": {"size": _RING, "color": colours.page, "opacity": 1.0, "line": {"width": 1.2}}},
        common | {"name": "dots", "mode": "markers", "marker": {"opacity": 1.0}},
        common
        | {"name": "names", "mode": "text", "textposition": "middle center"}
        | {"textfont": {"color": colours.text, "size": _FONT, "weight": 650}},
    ]


def globe_layout(width: int, name: ThemeName, middle: Doubles) -> dict[str, Any]:
    """Return the empty globe, seen from above the unit vector ``middle`` (3,), and its scale.

    ``width`` in pixels is also the height; ``name`` is that of the theme.
    """
    colours = theme(name)
    grid = {"showgrid": True, "gridcolor": colours.rule, "gridwidth": 1, "dtick": 30}
    lon, lat = lon_lat(middle)
    bar = np.sin(np.radians(SCALE * _BAR)) * (0.5 - _PAD)
    return {
        "template": template(name),
        "width": width,
        "height": width,
        "margin": {"t": 0, "b": 0, "l": 0, "r": 0},
        "dragmode": "pan",
        "meta": {"view": "globe", "scale": SCALE, "back": BACK, "pad": _PAD},
        "geo": {
            "projection": {
                "type": "orthographic",
                "rotation": {"lon": float(lon), "lat": float(lat)},
                "scale": 1.0 - 2.0 * _PAD,
            },
            "bgcolor": colours.page,
            "showland": False,
            "showcoastlines": False,
            "showframe": True,
            "framecolor": colours.outline,
            "framewidth": 1,
            "lonaxis": grid,
            "lataxis": grid,
        },
        "shapes": [
            {"type": "line", "xref": "paper", "yref": "paper", "x0": 0.01, "x1": 0.01 + bar, "y0": 0.012, "y1": 0.012}
            | {"line": {"color": colours.muted, "width": 2}}
        ],
        "annotations": [
            {"xref": "paper", "yref": "paper", "x": 0.01, "y": 0.016, "xanchor": "left", "yanchor": "bottom"}
            | {"text": texts.GLOBE_SCALE.replace("{turn}", str(_BAR)), "showarrow": False}
            | {"font": {"color": colours.muted, "size": 11.5}}
        ],
    }


def lon_lat(points: Doubles) -> tuple[Doubles, Doubles]:
    """Return longitude and latitude of unit vectors."""
    lon: Doubles = np.degrees(np.arctan2(points[..., 1], points[..., 0]))
    lat: Doubles = np.degrees(np.arcsin(np.clip(points[..., 2], -1.0, 1.0)))
    return lon, lat


def _at(points: Doubles) -> dict[str, Any]:
    lon, lat = lon_lat(points)
    return {"lon": lon.astype(np.float32), "lat": lat.astype(np.float32)}


def _stacked(points: Sequence[Doubles]) -> Doubles:
    return np.array(points, dtype=np.float64).reshape(-1, 3)


def _third(path: Doubles, k: int) -> Doubles:
    """Return one of the three parts of a path; each begins where the one before ends."""
    ends = np.linspace(0, len(path) - 1, len(_WIDTHS) + 1).round().astype(np.int64)
    return path[ends[k] : ends[k + 1] + 1]


def _axes(away: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Return the middle of the side in sight, and what is up and right of it."""
    right = unit(np.array([-away[1], away[0], 0.0]))
    return away, np.cross(away, right), right
