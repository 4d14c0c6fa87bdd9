"""Placement of labels beside dots without overlap, and the choice of dates to label on a trail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vmfstream.dashboards.rows.history import Doubles

SIDES = ("right", "left", "above", "below")
GAP = 3.0
"""Pixels between a dot and its name."""

LINE = 1.25
"""Height of a line of text in font sizes."""


class Box(NamedTuple):
    """A rectangle in pixels from the top left corner of the drawing."""

    left: float
    top: float
    right: float
    bottom: float

    def touches(self, other: Box) -> bool:
        """Tell whether two boxes share any area."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


class DotLabel(NamedTuple):
    """A dot that wants a name: its middle and radius, the name, and its width and height, in pixels."""

    x: float
    y: float
    radius: float
    text: str
    width: float
    height: float


def dot(x: float, y: float, radius: float) -> Box:
    """Return the box around a dot of this ``radius`` at ``x``, ``y``, all in pixels."""
    return Box(x - radius, y - radius, x + radius, y + radius)


def beside(mark: DotLabel, side: str) -> Box:
    """Return the box of a mark's name on one of four sides."""
    x, y, far, w, h = mark.x, mark.y, mark.radius + GAP, mark.width, mark.height
    if side == "right":
        return Box(x + far, y - h / 2, x + far + w, y + h / 2)
    if side == "left":
        return Box(x - far - w, y - h / 2, x - far, y + h / 2)
    if side == "above":
        return Box(x - w / 2, y - far - h, x + w / 2, y - far)
    return Box(x - w / 2, y + far, x + w / 2, y + far + h)


def place(
    marks: Sequence[DotLabel], taken: list[Box], size: float, sides: Sequence[str] = SIDES, most: int | None = None
) -> list[tuple[str, Box]]:
    """Give marks, first come first served, the first side on which their names touch nothing; return names and boxes.

    Parameters
    ----------
    marks : in order of importance; a mark without a free side goes without its name
    taken : boxes that no name may touch: dots, other texts; those of the names are added
    size : width and height of the drawing in pixels; no name leaves it
    sides : in order of preference
    most : names to place at most
    """
    out: list[tuple[str, Box]] = []
    for mark in marks:
        if len(out) == most:
            break
        box = next((box for side in sides if _fits(box := beside(mark, side), taken, size)), None)
        if box:
            taken.append(box)
            out.append((mark.text, box))
    return out


def dated_points(x: Doubles, y: Doubles, least: float, most: int) -> list[int]:
    """Choose the points of a trail that tell their date: the oldest, then always the one farthest from all chosen.

    Parameters
    ----------
    x, y : arrays of shape (N,)
        The trail in pixels, oldest first; it ends at the origin.
    least : float
        Smallest distance between two chosen points, and from the origin.
    most : int
        At most so many.
    """
    if not x.size:
        return []
    chosen = [0]
    near = np.minimum(np.hypot(x, y), np.hypot(x - x[0], y - y[0]))
    while len(chosen) < most and near.max() >= least:
        k = int(np.argmax(near))
        chosen.append(k)
        near = np.minimum(near, np.hypot(x - x[k], y - y[k]))
    return chosen


def _fits(box: Box, full: Sequence[Box], size: float) -> bool:
    inside = min(box.left, box.top) >= 0 and max(box.right, box.bottom) <= size
    return inside and not any(box.touches(other) for other in full)
