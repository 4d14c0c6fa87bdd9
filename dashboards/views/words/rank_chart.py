"""The rank chart: slices as columns, ranks as rows, lines between the same word in adjacent columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.dashboards.looks.escape import for_plotly
from vmfstream.dashboards.looks.textwidth import em_width, shortened
from vmfstream.dashboards.looks.theme import Theme, ThemeName, theme
from vmfstream.dashboards.rows.history import Bools, Doubles, Ints
from vmfstream.dashboards.view import Size
from vmfstream.dashboards.views.words.frame import HEAD, RAIL, RANKS, WordsFrame, rail, words_layout

GUESS = 0.4
"""Certainty under which words are set in muted text."""

_COLUMN = 92
_RUNG = 33
_WORD_SIZE = 12.5
_LEAST_SIZE = 9.5
_WIDTHS = (1.5, 3.2, 5.4)
_LONGEST_BAR, _BESIDE = 0.4, 0.012  # of the column


def rank_chart(frame: WordsFrame, size: Size, name: ThemeName) -> dict[str, Any]:
    """Return data and layout of the rank chart of ``frame`` at the width of ``size``; ``name`` is that of the theme."""
    colours = theme(name)
    slot = colours.slot(frame.topic)
    columns = rank_chart_columns(len(frame.labels), size.width)
    rank, weight = frame.rank[columns], frame.weight[columns]
    state = standing(rank, frame.settled[columns])
    width = size.width / max(columns.size, 1)
    cells: dict[tuple[int, int], dict[str, Any]] = {}
    for c, w in zip(*np.nonzero(state != ""), strict=True):
        cells[int(c), int(w)] = _cell(frame, str(state[c, w]), frame.words[w], int(columns[c]), width, colours)

    traces = _words(cells, rank)
    if len(frame.labels) == 1:  # nothing to join: a list with bars
        traces = _listed(traces, rank[0], weight[0], slot.fill)
    rail_y = RANKS + 0.5 + (RAIL / 2) / _RUNG
    traces += rail(frame, columns, rail_y, 5 / _RUNG, colours, 0.84)
    height = HEAD + RANKS * _RUNG + RAIL
    meta = {"form": "ranks", "columns": (frame.first + columns).tolist(), "rows": []}
    axis = {"tickvals": list(range(columns.size)), "ticktext": [for_plotly(frame.labels[c]) for c in columns]}
    layout = words_layout(frame, size, name, -0.5, columns.size - 0.5, height, meta, [rail_y + 15 / _RUNG, 0.5])
    layout["xaxis"] |= axis
    layout["margin"] |= {"l": 0, "r": 0}
    layout["shapes"] = _lines(cells, rank, weight, frame.settled[columns], width, slot.fill)
    return {"data": traces, "layout": layout}


def _words(cells: dict[tuple[int, int], dict[str, Any]], rank: Ints) -> list[dict[str, Any]]:
    """Return the words, one trace per look."""
    looks = sorted({(cell["colour"], cell["weight"]) for cell in cells.values()})
    traces = []
    for colour, weight in looks:
        own = sorted(key for key, cell in cells.items() if (cell["colour"], cell["weight"]) == (colour, weight))
        sizes = [cells[key]["size"] for key in own]
        traces.append(
            {
                "type": "scatter",
                "mode": "text",
                "name": "words",
                "hoverinfo": "skip",
                "cliponaxis": False,
                "textposition": "middle center",
                "x": [c for c, _ in own],
                "y": [int(rank[c, w]) for c, w in own],
                "text": [cells[key]["text"] for key in own],
                "textfont": {"color": colour, "size": sizes if len(set(sizes)) > 1 else sizes[0], "weight": weight},
            }
        )
    return traces


def _listed(words: list[dict[str, Any]], rank: Ints, weight: Doubles, colour: str) -> list[dict[str, Any]]:
    """Return words on the left of the middle and bars as long as their weights on the right of it."""
    shown = np.flatnonzero((rank > 0) & (rank <= RANKS))
    long = _LONGEST_BAR * weight[shown] / max(float(weight[shown].max(initial=0.0)), 1e-12)
    bars = {
        "type": "bar",
        "name": "weights",
        "hoverinfo": "skip",
        "orientation": "h",
        "base": 0,
        "width": 0.5,
        "x": np.round(long, 3).tolist(),
        "y": rank[shown].tolist(),
        "marker": {"color": colour, "line": {"width": 0}},
    }
    aside = [trace | {"x": [-_BESIDE] * len(trace["x"]), "textposition": "middle left"} for trace in words]
    return [bars, *aside]


def _lines(
    cells: dict[tuple[int, int], dict[str, Any]], rank: Ints, weight: Doubles, settled: Bools, width: float, colour: str
) -> list[dict[str, Any]]:
    """Return curves from each word to the same word in the next column, as one path per thickness."""
    paths: tuple[list[str], ...] = tuple([] for _ in _WIDTHS)
    strongest = max(float(weight.max(initial=0.0)), 1e-12)
    for (c, w), cell in sorted(cells.items()):
        after = cells.get((c + 1, w))
        if after is None or not settled[c]:
            continue
        x0, x1 = c + cell["half"] / width, c + 1 - after["half"] / width
        if x1 <= x0:
            continue
        level = float(weight[c, w] + weight[c + 1, w]) / (2 * strongest)
        y0, y1, bend = rank[c, w], rank[c + 1, w], 0.45 * (x1 - x0)
        curve = f"M{x0:.3f},{y0}C{x0 + bend:.3f},{y0} {x1 - bend:.3f},{y1} {x1:.3f},{y1}"
        paths[0 if level < 0.3 else 1 if level < 0.6 else 2].append(curve)
    return [
        {"type": "path", "path": "".join(path), "layer": "below", "line": {"color": colour, "width": thick}}
        for thick, path in zip(_WIDTHS, paths, strict=True)
        if path
    ]


def _cell(frame: WordsFrame, state: str, word: str, s: int, width: float, colours: Theme) -> dict[str, Any]:
    """Return text, looks and half the width (with a gap for lines) of a word in a column of the rank chart."""
    slot = colours.slot(frame.topic)
    new, bold = state == "new", state == "new"
    unsure = not frame.settled[s] or (frame.certainty[s] < GUESS) or np.isnan(frame.certainty[s])
    text = f"+ {word}" if new else word
    room = width - 22
    size = min(_WORD_SIZE, max(_LEAST_SIZE, room / max(em_width(text, bold), 1e-9)))
    text = shortened(text, room / size, bold)
    colour = slot.ink if state in ("new", "back") else colours.muted if state == "last" else colours.text
    return {
        "text": for_plotly(text),
        "size": round(size, 1),
        "weight": 700 if bold else 450,
        "colour": colours.muted if unsure else colour,
        "half": 0.5 * em_width(text, bold) * size + 4,
    }


def rank_chart_columns(slices: int, width: int) -> Ints:
    """Return the slices that a rank chart shows: all, or every second, third ... counted back from the newest."""
    every = max(1, -(-slices // max(1, width // _COLUMN)))
    return np.arange(slices - 1, -1, -every)[::-1]


def standing(rank: Ints, settled: Bools) -> NDArray[np.str_]:
    """Return what happens to every word in every shown column: ``new``, ``back``, ``last``, ``stays`` or ``""``.

    Parameters
    ----------
    rank : int array of shape (C, W)
        Rank of each word in the shown columns, 0 where it is not stored.
    settled : bool array of shape (C,)
        Columns whose words may be compared with others.
    """
    shown = (rank > 0) & (rank <= RANKS)
    out = np.where(shown, "stays", "").astype("<U5")
    begin = int(np.argmax(settled)) if settled.any() else rank.shape[0]
    for c in range(rank.shape[0]):
        if c > begin:
            before = shown[begin:c]
            out[c, shown[c] & ~before.any(axis=0)] = "new"
            out[c, shown[c] & before.any(axis=0) & ~shown[c - 1]] = "back"
        if begin <= c < rank.shape[0] - 1:
            out[c, shown[c] & ~shown[c + 1 :].any(axis=0) & (out[c] == "stays")] = "last"
    return out
