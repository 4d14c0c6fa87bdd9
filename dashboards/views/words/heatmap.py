"""The heatmap: one row per word, one column per slice, colour by weight; both readings as halves of a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.dashboards.looks.escape import for_plotly
from vmfstream.dashboards.looks.texts import CERTAINTY
from vmfstream.dashboards.looks.textwidth import shortened
from vmfstream.dashboards.looks.theme import STRIP_STEPS, Theme, ThemeName, theme
from vmfstream.dashboards.rows.history import Doubles, Ints, ticks
from vmfstream.dashboards.view import PHONE, Size
from vmfstream.dashboards.views.words.frame import HEAD, RAIL, RANKS, WordsFrame, rail, words_layout

MOST_STRIPS = 24

_ROW = 18
_ROW_BOTH = 27


def heatmap(frame: WordsFrame, size: Size, name: ThemeName) -> dict[str, Any]:
    """Return data and layout of the heatmap of ``frame`` at the width of ``size``; ``name`` is that of the theme."""
    colours = theme(name)
    slot = colours.slot(frame.topic)
    slices = len(frame.labels)
    found = heatmap_words(frame)
    phone = size.width <= PHONE
    both = frame.other is not None
    left = 96 if phone else 118
    wide = size.width - left - 8
    tables = [(frame.weight, frame.rank)] + ([frame.other] if frame.other else [])
    strongest = max(max(float(weight[:, found].max(initial=0.0)) for weight, _ in tables), 1e-12)
    halves = [_levels(weight[:, found], rank[:, found], strongest) for weight, rank in tables]
    row = _ROW_BOTH if both else _ROW
    gap = 1.0 if wide / slices >= 6 else 0.0
    if both:  # two rows of cells per word and an empty one between words
        z = np.zeros((3 * found.size, slices), dtype=np.uint8)
        z[0::3], z[1::3] = halves[0].T, halves[1].T
        y = (np.arange(found.size)[:, None] + np.array([-0.2, 0.2, 0.5])).ravel()
    else:
        z, y = halves[0].T, np.arange(found.size, dtype=np.float64)
    # a slice of the warm-up may have been about something else: it is shown, but not in the topic's colour
    open_until = int(np.flatnonzero(~frame.settled)[-1]) + 1 if not frame.settled.all() else 0
    grey = np.zeros(z.shape, dtype=np.bool_)
    grey[0 :: 3 if both else 1, :open_until] = ~frame.settled[:open_until]
    cells = {
        "type": "heatmap",
        "hoverinfo": "skip",
        "showscale": False,
        "zsmooth": False,
        "zmin": 0,
        "zmax": STRIP_STEPS,
        "xgap": gap,
        "ygap": 0.5 if both else 2,
        "x0": 0,
        "dx": 1,
        "y": np.round(y, 2).astype(np.float32),
    }
    traces: list[dict[str, Any]] = [
        cells | {"name": "words", "colorscale": _scale(slot.strip), "z": np.where(grey, 0, z).astype(np.uint8)}
    ]
    if open_until:
        early = np.where(grey & (z > 0), z.astype(np.float32), np.nan)[:, :open_until].astype(np.float32)
        traces.append(cells | {"name": "warm-up", "colorscale": _scale(colours.rail), "z": early})
    if both:
        traces += _entries(frame, found, tables, colours)
    rail_y = found.size - 0.5 + (RAIL / 2) / row
    traces += rail(frame, np.arange(slices), rail_y, 5 / row, colours, 1.0)
    height = HEAD + found.size * row + RAIL
    names = [for_plotly(shortened(frame.words[w], (left - 12) / 12)) for w in found]
    meta = {
        "form": "both" if both else "heatmap",
        "columns": list(range(frame.first, frame.first + slices)),
        "rows": [frame.words[w] for w in found],
    }
    layout = words_layout(frame, size, name, -0.5, slices - 0.5, height, meta, [rail_y + 15 / row, -0.5])
    marked = ticks(frame.labels, wide * (slices - 1) / slices, 46.0)  # between the middles of the outer cells
    layout["xaxis"] |= {"tickvals": [i for i, _ in marked], "ticktext": [for_plotly(text) for _, text in marked]}
    layout["margin"] |= {"l": left, "r": 8}
    layout["yaxis"] |= {
        "visible": True,
        "tickvals": [*range(found.size), rail_y],
        "ticktext": [*names, f"<i>{CERTAINTY}</i>"],
        "ticklabelstandoff": 6,
        "tickfont": {"color": colours.text, "size": 12},
    }
    return {"data": traces, "layout": layout}


def _scale(tones: tuple[str, ...]) -> list[list[Any]]:
    return [[k / STRIP_STEPS, tone] for k, tone in enumerate(tones)]


def _levels(weight: Doubles, rank: Ints, strongest: float) -> NDArray[np.uint8]:
    """Return steps 1 to 9 of strength, 0 where a word is not among the stored ones."""
    steps = np.clip(np.ceil(STRIP_STEPS * weight / strongest), 1, STRIP_STEPS)
    return np.where(rank > 0, steps, 0).astype(np.uint8)


def _entries(
    frame: WordsFrame, found: Ints, tables: list[tuple[Doubles, Ints]], colours: Theme
) -> list[dict[str, Any]]:
    """Return a bar at the left of the first cell in which a word is among the eight strongest, per half."""
    x: list[float | None] = []
    y: list[float | None] = []
    for half, (_, rank) in enumerate(tables):
        strong = (rank[:, found] > 0) & (rank[:, found] <= RANKS)
        if half == 0:
            strong &= frame.settled[:, None]
        for k in np.flatnonzero(strong.any(axis=0)):
            s = float(np.argmax(strong[:, k])) - 0.5
            top = k - 0.4 + 0.4 * half
            x += [s, s, None]
            y += [top, top + 0.4, None]
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "first",
            "hoverinfo": "skip",
            "connectgaps": False,
            "cliponaxis": False,
            "x": np.array(x, np.float32),
            "y": np.array(y, np.float32),
            "line": {"color": colours.text, "width": 2.5},
        }
    ]


def heatmap_words(frame: WordsFrame) -> Ints:
    """Return the words of the heatmap in order of the weighted middle of their time.

    These are the words that ever were among the eight strongest, at most 24: those with the highest weight times stay.
    Slices of the warm-up have no say as long as there are others.
    """
    settled = frame.settled if frame.settled.any() else np.ones_like(frame.settled)
    tables = [(frame.weight[settled], frame.rank[settled])] + ([frame.other] if frame.other else [])
    strong = np.zeros(len(frame.words), dtype=np.bool_)
    total = np.zeros(len(frame.words))
    for weight, rank in tables:
        strong |= ((rank > 0) & (rank <= RANKS)).any(axis=0)
        total += np.where(rank > 0, weight, 0.0).sum(axis=0) + weight.max(axis=0)
    found = np.flatnonzero(strong)
    if found.size > MOST_STRIPS:
        found = np.sort(found[np.argsort(-total[found], kind="stable")[:MOST_STRIPS]])
    weight = tables[-1][0][:, found] ** 2
    time = np.flatnonzero(settled)[:, None] if frame.other is None else np.arange(weight.shape[0])[:, None]
    middle = (weight * time).sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-12)
    return found[np.argsort(middle, kind="stable")]
