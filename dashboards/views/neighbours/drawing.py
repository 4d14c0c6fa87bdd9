"""Radial chart of the neighbours as data and layout; names and dates are placed for one width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vmfstream.dashboards.looks.dotlabels import LINE, Box, DotLabel, dated_points, dot, place
from vmfstream.dashboards.looks.escape import for_plotly
from vmfstream.dashboards.looks.textwidth import em_width, shortened
from vmfstream.dashboards.looks.theme import ThemeName, template, theme
from vmfstream.dashboards.rows.history import Bools, Doubles
from vmfstream.dashboards.views.neighbours.frame import RING, NeighboursFrame

NEAREST, LARGEST = 40, 20
"""Where there are more topics than both together, only these are drawn."""

NAMED, DATED = 14, 5

_DISC = 0.88  # diameter of the rim in widths of the drawing
_DOT = 0.155  # diameter of the dot of a topic with all documents, in widths; areas are to scale
_SMALLEST, _BIGGEST = 6.5, 0.075
_FONT, _FONT_SELF, _FONT_DATE = 11.5, 13.5, 10.5
_LONGEST = 12.0  # font sizes of a name
_TRAIL_WIDTHS = (1.4, 2.4, 3.6, 5.0)  # from the oldest quarter to the newest
_SELF_SIDES = ("above", "below", "right", "left")
_DATE_SIDES = ("above", "below", "left", "right")
_AROUND = 14.0  # pixels around the middle that are kept free of other names
_APART = 36.0  # pixels between two dates
_RING_LABEL = 206.0  # at the lower edge of the sector, where only the newest past comes


def drawn(degrees: Doubles, shares: Doubles) -> Bools:
    """Return which of the living topics are drawn: all, or the nearest 40 and the largest 20."""
    living = ~np.isnan(degrees)
    if living.sum() <= NEAREST + LARGEST:
        return living
    out = np.zeros(degrees.size, dtype=np.bool_)
    out[np.argsort(np.where(living, degrees, np.inf), kind="stable")[:NEAREST]] = True
    out[np.argsort(np.where(living, -shares, np.inf), kind="stable")[:LARGEST]] = True
    return out


def neighbour_traces(frame: NeighboursFrame, width: int, name: ThemeName) -> list[dict[str, Any]]:
    """Return, from the back to the front, first angles, trail, dots, and texts; the page moves them by their names.

    ``frame`` is drawn in a square of ``width`` pixels; ``name`` is that of the theme.
    """
    colours = theme(name)
    scale = width * _DISC / 2 / frame.rim
    own = colours.slot(max(frame.topic, 0))
    here = np.zeros(int(frame.topic >= 0))
    shown = np.flatnonzero(drawn(frame.degrees, frame.shares))
    shown = shown[np.argsort(frame.degrees[shown], kind="stable")]
    slots = [colours.slot(int(topic)) for topic in frame.others[shown]]
    x, y = _polar(frame.degrees[shown], frame.direction[shown])
    first = ~np.isnan(frame.first_degrees[shown])
    fx, fy = _polar(frame.first_degrees[shown][first], frame.direction[shown][first])
    at, turns = frame.past.seen_from(frame.date)
    px, py = _polar(turns, frame.past_direction(at))
    sizes = np.clip(_DOT * width * np.sqrt(np.append(frame.shares[shown], frame.share)), _SMALLEST, _BIGGEST * width)
    rings = np.arange(2 * RING, frame.rim + 1, 2 * RING)[: 10 * here.size]
    rx, ry = _polar(rings, np.full(rings.size, _RING_LABEL))

    def mark(a: float, b: float, radius: float, text: str, font: float, bold: bool) -> DotLabel:
        text = shortened(text, _LONGEST)
        return DotLabel(
            width / 2 + a * scale, width / 2 - b * scale, radius, text, em_width(text, bold) * font, LINE * font
        )

    def boxes(a: Doubles, b: Doubles, radius: Doubles | float) -> list[Box]:
        radii = np.broadcast_to(radius, a.shape)
        return [dot(width / 2 + u * scale, width / 2 - v * scale, r) for u, v, r in zip(a, b, radii, strict=True)]

    taken = boxes(x, y, sizes[:-1] / 2) + boxes(fx, fy, 2.5) + boxes(px, py, 2.0) + boxes(rx, ry, 9.0)
    taken += boxes(here, here, sizes[-1] / 2)
    dated = dated_points(px * scale, py * scale, _APART, DATED)
    dates = place(
        [mark(px[k], py[k], 3.0, frame.labels[at[k]], _FONT_DATE, True) for k in dated], taken, width, _DATE_SIDES
    )
    selves: list[tuple[str, Box]] = []
    for text in (frame.name, frame.name.split(" ")[0].rstrip(",")):  # a short one if there is no room
        marks = [mark(0, 0, sizes[-1] / 2, text, _FONT_SELF, True) for _ in here]
        selves = selves or place(marks, taken, width, _SELF_SIDES)
    taken += boxes(here, here, sizes[-1] / 2 + _AROUND)
    marks = [mark(x[i], y[i], sizes[i] / 2, frame.names[k], _FONT, False) for i, k in enumerate(shown)]
    names = place(marks, taken, width, most=NAMED)
    return [
        _texts("rings", rx, ry, [f"{ring:.0f}°" for ring in rings], "middle center", (colours.muted, 10.5, 400)),
        _path("first-lines", _gapped(fx, x[first]), _gapped(fy, y[first]), colours.muted, 1.0),
        _dots("first", fx, fy, 5.0, colours.page, [slot.ink for slot, k in zip(slots, first, strict=True) if k], 1.2),
        *_trail(px, py, own.ink),
        _dots("dated", px[dated], py[dated], 6.5, own.ink, colours.page, 1.2),
        _dots("dots", x, y, sizes[:-1], [slot.fill for slot in slots], [slot.ink for slot in slots], 1.0),
        _dots("self", here, here, sizes[-1], own.fill, own.ink, 2.2),
        _written("names", names, width, scale, (colours.text, _FONT, 400)),
        _written("dates", dates, width, scale, (own.ink, _FONT_DATE, 650)),
        _written("self-name", selves, width, scale, (colours.text, _FONT_SELF, 700)),
    ]


def neighbour_layout(frame: NeighboursFrame, width: int, name: ThemeName) -> dict[str, Any]:
    """Return the layout: rings each 15 degrees, the rim stronger; ``meta`` holds what the page needs to move dots.

    Arguments as in `neighbour_traces`.
    """
    colours = theme(name)
    reach = frame.rim / _DISC
    rings = np.arange(RING, frame.rim + 1, RING).tolist() if frame.topic >= 0 else []
    axis = {"range": [-reach, reach], "visible": False}
    return {
        "template": template(name),
        "width": width,
        "height": width,
        "margin": {"t": 0, "b": 0, "l": 0, "r": 0},
        "shapes": [
            {"type": "circle", "layer": "below", "x0": -r, "y0": -r, "x1": r, "y1": r}
            | {"line": {"color": colours.outline if r == frame.rim else colours.rule, "width": 1.1}}
            for r in rings
        ],
        "xaxis": axis,
        "yaxis": axis,
        "meta": {"view": "neighbours", "topic": frame.topic, "rim": frame.rim, "reach": reach},
    }


def _polar(degrees: Doubles, direction: Doubles) -> tuple[Doubles, Doubles]:
    return degrees * np.cos(np.radians(direction)), degrees * np.sin(np.radians(direction))


def _gapped(a: Doubles, b: Doubles) -> Doubles:
    """Return the pairs of a and b with a gap after each."""
    out: Doubles = np.column_stack([a, b, np.full(a.size, np.nan)]).ravel()
    return out


def _trail(x: Doubles, y: Doubles, ink: str) -> list[dict[str, Any]]:
    """Return the way from the oldest point to the middle in four pieces, thin to thick."""
    x, y = (np.append(v, 0.0) if v.size else v for v in (x, y))
    ends = np.linspace(0, max(x.size - 1, 0), len(_TRAIL_WIDTHS) + 1).round().astype(np.int64)
    return [
        _path(f"past-{k}", x[ends[k] : ends[k + 1] + 1], y[ends[k] : ends[k + 1] + 1], ink, thick)
        for k, thick in enumerate(_TRAIL_WIDTHS)
    ]


def _path(name: str, x: Doubles, y: Doubles, colour: str, width: float) -> dict[str, Any]:
    line = {"color": colour, "width": width}
    return _scatter(name, "lines", x, y) | {"line": line, "connectgaps": False}


def _dots(
    name: str,
    x: Doubles,
    y: Doubles,
    size: Doubles | float,
    fill: Sequence[str] | str,
    ink: Sequence[str] | str,
    line: float,
) -> dict[str, Any]:
    marker = {"size": size, "color": fill, "opacity": 1.0, "line": {"color": ink, "width": line}}
    return _scatter(name, "markers", x, y) | {"marker": marker}


def _texts(
    name: str, x: Doubles, y: Doubles, text: Sequence[str], side: Sequence[str] | str, font: tuple[str, float, int]
) -> dict[str, Any]:
    colour, size, weight = font
    style = {"color": colour, "size": size, "weight": weight}
    return _scatter(name, "text", x, y) | {"text": list(text), "textposition": side, "textfont": style}


def _written(
    name: str, found: Sequence[tuple[str, Box]], width: int, scale: float, font: tuple[str, float, int]
) -> dict[str, Any]:
    """Return the names that found a place, each in the middle of its box."""
    x = np.array([((box.left + box.right - width) / 2) / scale for _, box in found])
    y = np.array([((width - box.top - box.bottom) / 2) / scale for _, box in found])
    return _texts(name, x, y, [for_plotly(text) for text, _ in found], "middle center", font)


def _scatter(name: str, mode: str, x: Doubles, y: Doubles) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": name,
        "mode": mode,
        "hoverinfo": "skip",
        "cliponaxis": False,
        "x": np.asarray(x, np.float32),
        "y": np.asarray(y, np.float32),
    }
