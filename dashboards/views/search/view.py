"""Word search: one row per topic that has the word, its weight over time as an area on one scale."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vmfstream.dashboards.looks import phrases, texts
from vmfstream.dashboards.looks.escape import clean, for_plotly
from vmfstream.dashboards.looks.textwidth import shortened
from vmfstream.dashboards.looks.theme import Theme, ThemeName, template, theme
from vmfstream.dashboards.rows.history import Bools, Doubles, History, Ints, history_of, ticks
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.dashboards.rows.topic_names import lifetime, topic_name
from vmfstream.dashboards.view import INSET, PHONE, Selection, Size, View

ROW = 62
MOST = 8
TOP, BOTTOM = 30, 12
BASE, HIGH = 0.88, 0.7  # of a row: where its line lies, and how high the strongest word of all stands on it

_LEFT, _LEFT_PHONE = 178, 112
_RIGHT = 22
_TAPER = 0.5
_HALF_LETTER = 3.1
_LONGEST = 12  # font sizes of a word in a sentence
_LETTERS = 40  # of a word that are compared with those of others
_UP = {"names": 0.3, "numbers": 0.03}
_ABOVE = 0.2  # of a row is left free above the first one, for what is written on its peak


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A topic that has the word: column, first and last row of its life, weight and rank (0: not stored) per slice."""

    t: int
    first: int
    last: int
    weight: Doubles
    rank: Ints


@dataclass(frozen=True, slots=True, eq=False)
class SearchFrame:
    """Topics that use a word.

    Parameters
    ----------
    history : History
    word : str
        The word as it is stored, else as it was asked for; empty if none was.
    rows : tuple of Row
        By highest weight, at most eight unless all were asked for.
    more : int
        How many topics have the word besides.
    near : tuple of str
        The five stored words that are spelt most alike, if the word is not stored.
    """

    history: History
    word: str
    rows: tuple[Row, ...] = ()
    more: int = 0
    near: tuple[str, ...] = ()


class SearchView(View[SearchFrame]):
    """Topics that use a word."""

    name = "search"
    title = texts.SEARCH

    def frame(self, rows: RunRows, selection: Selection) -> SearchFrame:
        """Look the selected word up."""
        history = history_of(rows, selection.reading)
        asked = clean(selection.word or "")
        code = _code(asked, history.vocabulary)
        if code is None:
            near = nearest(_folded(asked), history.vocabulary) if asked else []
            return SearchFrame(history, asked, near=tuple(near))
        found = list(_rows(history, code))
        found.sort(key=lambda row: (-_peak(row, history.settled())[1], row.t))
        most = len(found) if selection.all_topics else MOST
        return SearchFrame(history, history.vocabulary[code], tuple(found[:most]), len(found[most:]))

    def drawing(self, frame: SearchFrame, size: Size, theme: ThemeName) -> dict[str, Any]:
        """Return data and layout; the height follows the number of rows, whatever the size says."""
        return {"data": list(_traces(frame, size, theme)), "layout": search_layout(frame, size, theme)}


def _code(word: str, vocabulary: Sequence[str]) -> int | None:
    """Return the position of a word in the vocabulary, however its letters and accents are written, or None."""
    if word in vocabulary:
        return vocabulary.index(word)
    wanted = _folded(word)
    return next((k for k, stored in enumerate(vocabulary) if wanted and _folded(stored) == wanted), None)


def _folded(word: str) -> str:
    """Return a word with small letters and composed accents, as the tokeniser has words."""
    return unicodedata.normalize("NFC", word).casefold().replace("i\u0307", "i")


def distances(word: str, others: Sequence[str]) -> Ints:
    """Return how many letters must be put in, taken out or changed to turn ``word`` into each other word.

    Words are compared up to their fortieth letter (Levenshtein 1966; all words at once, a letter at a time).
    """
    word, cut = word[:_LETTERS], [other[:_LETTERS] for other in others]
    length = np.array([len(other) for other in cut], dtype=np.int64)
    letters = np.zeros((len(cut), int(length.max(initial=0))), dtype=np.int64)
    for row, other in enumerate(cut):
        letters[row, : len(other)] = [ord(letter) for letter in other]
    before = np.tile(np.arange(letters.shape[1] + 1), (len(cut), 1))
    for k, letter in enumerate(word, start=1):
        now = np.empty_like(before)
        now[:, 0] = k
        for j in range(letters.shape[1]):
            changed = before[:, j] + (letters[:, j] != ord(letter))
            now[:, j + 1] = np.minimum(np.minimum(before[:, j + 1], now[:, j]) + 1, changed)
        before = now
    found: Ints = before[np.arange(len(cut)), length]
    return found


def nearest(word: str, others: Sequence[str], top: int = 5) -> list[str]:
    """Return the ``top`` words of ``others`` that are spelt most like ``word``.

    They are in the order of the alphabet where it is a draw.
    """
    far = distances(word, others)
    return [others[k] for k in sorted(range(len(others)), key=lambda k: (int(far[k]), others[k]))[:top]]


def _rows(history: History, code: int) -> Iterator[Row]:
    s, t, r = np.nonzero(history.word == code)
    for topic in np.unique(t):
        span = lifetime(history, int(topic))
        if span is None:
            continue
        weight, rank = np.zeros(history.index.size), np.zeros(history.index.size, dtype=np.int64)
        # two words may look alike once cleaned: the stronger one counts
        for k in np.flatnonzero(t == topic)[::-1]:
            weight[s[k]], rank[s[k]] = history.weight[s[k], topic, r[k]], r[k] + 1
        yield Row(int(topic), *span, weight, rank)


def _peak(row: Row, settled: Bools) -> tuple[int, float]:
    """Return slice and weight of the peak; slices of the warm-up count only if there are no others."""
    strength = row.weight * settled if (row.weight * settled).any() else row.weight
    s = int(np.argmax(strength))
    return s, float(strength[s])


def search_looks(size: Size, colours: Theme) -> dict[str, dict[str, Any]]:
    """Return the five kinds of traces without their data: in pages the script fills them in."""
    common = {"type": "scatter", "hoverinfo": "skip", "cliponaxis": False, "x": [], "y": []}
    written = common | {"mode": "markers+text", "text": [], "textposition": "middle left"}
    # plotly hides what is anchored outside of the axis: a marker nobody sees keeps the distance
    unseen = {"color": colours.page, "opacity": 0, "size": 14}
    muted = {"color": colours.muted, "size": 11.5}
    bold = {"color": colours.text, "size": 13, "weight": 650}
    return {
        "lives": common | {"mode": "lines", "name": "lives", "line": {"color": colours.outline, "width": 2}},
        "areas": common | {"mode": "lines", "name": "areas", "fill": "toself", "line": {"width": 1.5}},
        "peaks": written | {"name": "peaks", "textfont": muted, "marker": {"size": 7}},
        "names": written | {"name": "names", "textfont": bold, "marker": unseen},
        "numbers": written | {"name": "numbers", "textfont": muted, "marker": unseen},
    }


def _traces(frame: SearchFrame, size: Size, name: ThemeName) -> Iterator[dict[str, Any]]:
    history, colours = frame.history, theme(name)
    settled = history.settled()
    looks = search_looks(size, colours)
    if not frame.rows:
        return
    x: list[float | None] = []
    y: list[float | None] = []
    for k, row in enumerate(frame.rows):
        x += [*((row.first, row.last) if row.last > row.first else (row.first - _TAPER, row.last + _TAPER)), None]
        y += [k + BASE, k + BASE, None]
    yield looks["lives"] | {"x": x, "y": y}
    highest = max(_peak(row, settled)[1] for row in frame.rows)
    for k, row in enumerate(frame.rows):
        topic = int(history.topic[row.t])
        slot = colours.slot(topic)
        for sure, fill, ink in ((True, slot.fill, slot.ink), (False, colours.rule, colours.muted)):
            xs, ys = _area(row, settled == sure, history.index.size)
            if xs:
                yield looks["areas"] | {
                    "name": phrases.numbered(topic),
                    "x": xs,
                    "y": [None if v is None else round(k + BASE - HIGH * min(v / highest, 1.0), 4) for v in ys],
                    "fillcolor": fill,
                    "line": looks["areas"]["line"] | {"color": ink},
                }
    yield from _labels(frame, size, colours, looks, highest)


def _area(row: Row, where: Bools, slices: int) -> tuple[list[float | None], list[float | None]]:
    """Return the outline of every stretch in which the word is stored, tapering to nothing half a slice around it."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    stored = np.flatnonzero((row.rank > 0) & where)
    for run in np.split(stored, np.flatnonzero(np.diff(stored) > 1) + 1) if stored.size else []:
        a, b = int(run[0]), int(run[-1])
        x0, y0 = _edge(row, a, -1, row.first if slices > 1 else -1)
        x1, y1 = _edge(row, b, 1, row.last if slices > 1 else -1)
        xs += [*([None] if xs else []), x0, x0, *run.tolist(), x1, x1, x0]
        ys += [*([None] if ys else []), 0.0, y0, *row.weight[run].tolist(), y1, 0.0, 0.0]
    return xs, ys


def _edge(row: Row, s: int, step: int, end: int) -> tuple[float, float]:
    """Return the end of a stretch that ends at a slice: there with the life, else half a slice on."""
    if s == end:
        return float(s), float(row.weight[s])
    beyond = s + step
    there = 0 <= beyond < row.rank.size and row.rank[beyond] > 0
    return s + _TAPER * step, float(row.weight[s] + row.weight[beyond]) / 2 if there else 0.0


def _labels(
    frame: SearchFrame, size: Size, colours: Theme, looks: dict[str, dict[str, Any]], highest: float
) -> Iterator[dict[str, Any]]:
    """Give the peaks in words, and what the topics are called at their peak."""
    history = frame.history
    slices, settled = history.index.size, history.settled()
    phone = size.width <= PHONE
    peaks = [_peak(row, settled) for row in frame.rows]
    topics = [int(history.topic[row.t]) for row in frame.rows]
    text = [
        phrases.peak(int(row.rank[s]), history.labels[s], short=phone)
        for row, (s, _) in zip(frame.rows, peaks, strict=True)
    ]
    yield looks["peaks"] | {
        "x": [s for s, _ in peaks],
        "y": [round(k + BASE - HIGH * weight / highest, 4) for k, (_, weight) in enumerate(peaks)],
        "text": [for_plotly(words) for words in text],
        "textposition": [_beside(s, words, slices, size) for (s, _), words in zip(peaks, text, strict=True)],
        "marker": looks["peaks"]["marker"] | {"color": [colours.slot(topic).ink for topic in topics]},
    }
    room = (_LEFT_PHONE if phone else _LEFT) - 22
    names = [
        shortened(topic_name(history, s, row.t, 1 if phone else 2), room / 13, bold=True)
        for row, (s, _) in zip(frame.rows, peaks, strict=True)
    ]
    for name, words in (("names", names), ("numbers", [phrases.numbered(topic) for topic in topics])):
        yield looks[name] | {
            "x": [_range(slices)[0]] * len(words),
            "y": [round(k + BASE - _UP[name], 4) for k in range(len(words))],
            "text": [for_plotly(word) for word in words],
        }


def _beside(s: int, words: str, slices: int, size: Size) -> str:
    """Return on which side of its point a text stands so that it does not run over the names or the edge."""
    low, high = _range(slices)
    wide = size.width - (_LEFT_PHONE if size.width <= PHONE else _LEFT) - _RIGHT
    x, half = (s - low) / (high - low) * wide, _HALF_LETTER * len(words)
    return "top right" if x < half else "top left" if wide + _RIGHT - x < half else "top center"


def _range(slices: int) -> list[float]:
    return [0.0, slices - 1.0] if slices > 1 else [-0.5, 0.5]


def search_layout(frame: SearchFrame, size: Size, name: ThemeName) -> dict[str, Any]:
    """Return axis and room for the rows of a ``frame``.

    Of ``size`` in pixels only the width counts; ``name`` is that of the theme.
    """
    history = frame.history
    phone = size.width <= PHONE
    left = _LEFT_PHONE if phone else _LEFT
    marked = ticks(history.labels, size.width - left - _RIGHT, 46.0 if phone else 74.0)
    rows = max(len(frame.rows), 1)
    return {
        "template": template(name),
        "width": size.width,
        "height": round(TOP + (rows + _ABOVE) * ROW) + BOTTOM,
        "margin": {"l": left, "r": _RIGHT, "t": TOP, "b": BOTTOM},
        "meta": {
            "view": "search",
            "range": _range(history.index.size),
            "row": ROW,
            "base": BASE,
            "high": HIGH,
            "up": _UP,
        },
        "xaxis": {
            "range": _range(history.index.size),
            "side": "top",
            "tickangle": 0,
            "tickvals": [i for i, _ in marked],
            "ticktext": [for_plotly(text) for _, text in marked],
        },
        "yaxis": {"range": [rows, -_ABOVE], "visible": False},
        "annotations": _instead(frame, left, theme(name)),
    }


def _instead(frame: SearchFrame, left: int, colours: Theme) -> list[dict[str, Any]]:
    """Return the message in place of rows if the word is not stored."""
    if frame.rows or not frame.word:
        return []
    asked = for_plotly(shortened(frame.word, _LONGEST))
    text = texts.PAGE["searchUnknown"].replace(". ", ".<br>").replace("{word}", asked)
    near = ", ".join(for_plotly(shortened(word, _LONGEST)) for word in frame.near)
    return [
        {
            "x": 0,
            "y": 0.4,
            "xref": "paper",
            "xanchor": "left",
            "xshift": INSET - left,
            "align": "left",
            "showarrow": False,
            "text": f"{text}<br>{near}",
            "font": {"color": colours.muted, "size": 12},
        }
    ]
