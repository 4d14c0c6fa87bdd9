"""The words of one topic as a frame, and what rank chart and heatmap share: layout and certainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vmfstream.dashboards.looks.theme import STRIP_STEPS, Theme, ThemeName, template
from vmfstream.dashboards.rows.history import Bools, Doubles, Ints
from vmfstream.dashboards.view import PHONE, Form, Size

RANKS = 8
HEAD = 34
RAIL = 30

_MOST_LADDER = 14


@dataclass(frozen=True, slots=True, eq=False)
class WordsFrame:
    """The words of one topic over its life.

    Parameters
    ----------
    topic : int
        Its id.
    form : {"auto", "ranks", "heatmap", "both"}
        ``auto`` is the rank chart up to 14 slices on a wide drawing, else the heatmap.
    labels : tuple of S str
        Slices from its first to its last.
    first : int
        Position of the first of them in the whole history.
    n : float array of shape (S,)
        Documents of the topic.
    certainty : float array of shape (S,)
        In [0, 1], NaN where the topic was not there.
    settled : bool array of shape (S,)
        False where topic numbers could still change their meaning.
    words : tuple of W str
        All words that are stored for the topic.
    weight, rank : arrays of shape (S, W)
        Weight 0 and rank 0 where a word is not among the stored ones.
    other : (weight, rank) of the other reading with the same shapes, for ``both``
    """

    topic: int
    form: Form
    reading: str
    labels: tuple[str, ...]
    first: int
    n: Doubles
    certainty: Doubles
    settled: Bools
    words: tuple[str, ...]
    weight: Doubles
    rank: Ints
    other: tuple[Doubles, Ints] | None = None

    def chosen(self, size: Size) -> Form:
        """Return the form that is drawn at a size."""
        if self.form == "auto":
            return "ranks" if len(self.labels) <= _MOST_LADDER and size.width > PHONE else "heatmap"
        return "heatmap" if self.form == "both" and self.other is None else self.form


def rail(frame: WordsFrame, columns: Ints, y: float, high: float, colours: Theme, wide: float) -> list[dict[str, Any]]:
    """Return the bar of certainty (strong colour: high) and hollow rings where there were no documents.

    ``columns`` are the slices of ``frame`` that are drawn; the bar lies at height ``y`` of the other axis and is
    ``high`` thick there. Columns have gaps if ``wide``, their share of the room, is below 1. ``colours`` are those of
    the theme.
    """
    full = frame.n[columns] > 0
    level = np.clip(np.nan_to_num(frame.certainty[columns]), 0.0, 1.0)
    steps = np.where(full, np.clip(np.rint(STRIP_STEPS * level), 1, STRIP_STEPS), 0).astype(np.uint8)
    scale = [[k / STRIP_STEPS, tone] for k, tone in enumerate(colours.slot(frame.topic).strip)]
    # a heat map row is as high as its neighbours are far: two empty rows keep it low
    rows = np.array([y - high, y, y + high], np.float32)
    z = np.zeros((3, columns.size), dtype=np.uint8)
    z[1] = steps
    traces: list[dict[str, Any]] = [
        {
            "type": "heatmap",
            "name": "certainty",
            "hoverinfo": "skip",
            "showscale": False,
            "zmin": 0,
            "zmax": STRIP_STEPS,
            "xgap": 2 if wide < 1 else 0,
            "ygap": 0,
            "colorscale": scale,
            "x0": 0,
            "dx": 1,
            "y": rows,
            "z": z,
        }
    ]
    empty = np.flatnonzero(~full)
    if empty.size:
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "empty",
                "hoverinfo": "skip",
                "x": empty.tolist(),
                "y": [y] * empty.size,
                "marker": {
                    "symbol": "circle-open",
                    "size": 7,
                    "color": colours.muted,
                    "line": {"color": colours.muted, "width": 1.5},
                },
            }
        )
    return traces


def words_layout(
    frame: WordsFrame,
    size: Size,
    name: ThemeName,
    x0: float,
    x1: float,
    height: int,
    meta: dict[str, Any],
    rows: list[float],
) -> dict[str, Any]:
    """Return the layout of rank chart or heatmap; ``meta`` holds what a page needs to find slices and words again.

    ``frame`` is drawn at the width of ``size`` and ``height`` pixels, from ``x0`` to ``x1`` and over the range ``rows``
    of the other axis, empty if there is none; ``name`` is that of the theme.
    """
    return {
        "template": template(name),
        "width": size.width,
        "height": height,
        "margin": {"t": HEAD, "b": 0},
        "meta": {"view": "words", "topic": frame.topic, "range": [x0, x1], "vertical": rows} | meta,
        "xaxis": {"range": [x0, x1], "side": "top", "tickangle": 0},
        "yaxis": {"range": rows or None, "visible": False},
    }
