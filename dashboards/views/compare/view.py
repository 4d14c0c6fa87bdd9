"""Comparison of a topic at two dates, or of two topics at one date: two lists of words, joined by lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.escape import for_plotly
from vmfstream.dashboards.looks.textwidth import em_width
from vmfstream.dashboards.looks.theme import Theme, ThemeName, template, theme
from vmfstream.dashboards.rows.geometry import angles_seen_from, degrees_between, sketch_of
from vmfstream.dashboards.rows.history import History, history_of
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.dashboards.view import PHONE, Selection, Size, View

WORDS = 14

_HEAD = 40
_ROW = 27
# a curve between two rows: parts of the way across and of the way down
_ACROSS = np.linspace(0.0, 1.0, 25)
_DOWN = _ACROSS**2 * (3.0 - 2.0 * _ACROSS)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two lists: whose words when, the strongest first, with their weights."""

    topic: int
    label: str
    words: tuple[str, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class CompareFrame:
    """Two lists of words and the angle between the means behind them, None where the run file does not hold it."""

    left: Side
    right: Side
    degrees: float | None

    @property
    def two_topics(self) -> bool:
        """Whether two topics are compared, rather than two dates of one."""
        return self.left.topic != self.right.topic


class CompareView(View[CompareFrame]):
    """Two dates of one topic, or two topics at one date."""

    name = "compare"
    title = texts.COMPARE

    def frame(self, rows: RunRows, selection: Selection) -> CompareFrame:
        """Read both lists.

        The dates are ``date`` (the newest if None) and ``other`` (the topic's first), as positions in the history; with
        ``other_topic`` it is ``topic`` and that one at ``date``.
        """
        history = history_of(rows, selection.reading)
        t, there = history.life(selection.topic)
        if t is None or not there.size:
            nothing = Side(selection.topic or 0, "", (), ())
            return CompareFrame(nothing, nothing, None)
        now = _nearest(there, history.index.size - 1 if selection.date is None else selection.date)
        topic = int(history.topic[t])
        u = None if selection.other_topic is None else history.position(selection.other_topic)
        if u is not None and u != t:
            degrees = float(angles_seen_from(rows, history, topic)[now, u])
            known = None if np.isnan(degrees) else degrees
            return CompareFrame(_side(history, now, t, named=True), _side(history, now, u, named=True), known)
        then = int(there[0]) if selection.other is None else _nearest(there, selection.other)
        sketch = sketch_of(rows, history, topic)
        degrees = float(degrees_between(sketch[now], sketch[then]))
        first, last = min(now, then), max(now, then)
        return CompareFrame(_side(history, first, t), _side(history, last, t), None if np.isnan(degrees) else degrees)

    def drawing(self, frame: CompareFrame, size: Size, theme: ThemeName) -> dict[str, Any]:
        """Return data and layout; the height follows the number of words, whatever the size says."""
        return filled(blank(size, theme), frame, theme)


def blank(size: Size, name: ThemeName) -> dict[str, Any]:
    """Return the figure without words: where lists, bars and lines go stands in ``layout.meta``."""
    phone = size.width <= PHONE
    unit = size.width / 100.0
    text, bar = (27.0, 8.0) if phone else (24.0, 12.0)
    gap = 1.2
    colours = theme(name)
    meta: dict[str, Any] = {
        "view": "compare",
        "letters": min(13, int(text * unit / 7.5)) if phone else 22,
        "down": np.round(_DOWN, 4).tolist(),
        "text": [round(text * unit, 1), round((100 - text) * unit, 1)],
        "bar": [round((text + gap + bar) * unit, 1), round((100 - text - gap - bar) * unit, 1)],
        "long": round(bar * unit, 1),
    }
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines",
                "name": "kept",
                "hoverinfo": "skip",
                "connectgaps": False,
                "x": [],
                "y": [],
                "line": {"color": colours.outline, "width": 3 if phone else 5, "simplify": False},
            },
            {
                "type": "bar",
                "name": "weights",
                "hoverinfo": "skip",
                "orientation": "h",
                "width": 0.56,
                "base": [],
                "x": [],
                "y": [],
                "marker": {"color": [], "line": {"width": 0}},
            },
            {
                "type": "scatter",
                "mode": "text",
                "name": "words",
                "hoverinfo": "skip",
                "cliponaxis": False,
                "x": [],
                "y": [],
                "text": [],
                "textposition": [],
                "textfont": {"size": 11.5 if phone else 13, "color": [], "weight": []},
            },
        ],
        "layout": {
            "template": template(name),
            "width": size.width,
            "height": _HEAD + WORDS * _ROW,
            "margin": {"t": _HEAD, "b": 0, "l": 0, "r": 0},
            "meta": meta,
            "annotations": _heads(meta, colours),
            "xaxis": {"range": [0, size.width], "visible": False},
            "yaxis": {"range": [WORDS + 0.7, 0.5], "visible": False},
        },
    }


def filled(figure: dict[str, Any], frame: CompareFrame, name: ThemeName) -> dict[str, Any]:
    """Return a blank figure with the words of a ``frame``; ``compare.js`` does the same for the page.

    ``figure`` is from `blank`; ``name`` is that of the theme.
    """
    colours = theme(name)
    meta = figure["layout"]["meta"]
    kept, weights, words = figure["data"]
    sides = (frame.left, frame.right)
    ranks = [{word: r + 1 for r, word in enumerate(side.words)} for side in sides]
    strongest = max((w for side in sides for w in side.weights), default=0.0) or 1.0
    x, y, shared = [], [], [word for word in frame.left.words if word in ranks[1]]
    across = np.linspace(meta["bar"][0], meta["bar"][1], len(meta["down"]))
    for word in shared:
        a, b = ranks[0][word], ranks[1][word]
        x += [*np.round(across, 1).tolist(), None]
        y += [*(round(a + (b - a) * down, 3) for down in meta["down"]), None]
    kept |= {"x": x, "y": y}
    kept["line"] = kept["line"] | {
        "color": colours.outline if frame.two_topics else colours.slot(frame.left.topic).fill
    }
    bars: dict[str, list[Any]] = {"base": [], "x": [], "y": []}
    texts: dict[str, list[Any]] = {"x": [], "y": [], "text": [], "textposition": []}
    fills, tones, heavy = [], [], []
    for k, side in enumerate(sides):
        for r, (word, weight) in enumerate(zip(side.words, side.weights, strict=True)):
            both = word in ranks[1 - k]
            bar, tone = _tones(frame, k, both, colours)
            new = k == 1 and not both and not frame.two_topics
            bars["base"].append(meta["bar"][k])
            bars["x"].append(round((1 if k else -1) * meta["long"] * weight / strongest, 1))
            bars["y"].append(r + 1)
            fills.append(bar)
            texts["x"].append(meta["text"][k])
            texts["y"].append(r + 1)
            texts["text"].append(for_plotly(_cut(f"+ {word}" if new else word, meta["letters"])))
            texts["textposition"].append("middle right" if k else "middle left")
            tones.append(tone)
            heavy.append(700 if new else 450)
    weights |= bars
    weights["marker"] = weights["marker"] | {"color": fills}
    words |= texts
    words["textfont"] = words["textfont"] | {"color": tones, "weight": heavy}
    notes = figure["layout"]["annotations"]
    for note, text in zip(notes, _headings(frame), strict=True):
        note["text"] = for_plotly(text)
    room = meta["bar"][0]  # of the names of both sides
    longest = max(em_width(side.label, bold=True) for side in sides)
    for note in (notes[0], notes[2]):
        note["font"] = note["font"] | {"size": min(note["font"]["size"], room / longest if longest else room)}
    return figure


def _tones(frame: CompareFrame, k: int, both: bool, colours: Theme) -> tuple[str, str]:
    """Return the colours of a bar and its word: kept, gone or new; between two topics, shared or a topic's own."""
    slot = colours.slot((frame.left, frame.right)[k].topic)
    if both:
        return (colours.outline if frame.two_topics else slot.fill), colours.text
    if frame.two_topics:
        return slot.fill, slot.ink
    return (slot.ink, slot.ink) if k else (colours.outline, colours.muted)


def _heads(meta: dict[str, Any], colours: Theme) -> list[dict[str, Any]]:
    """Return the places of the three headings: left, turn or distance, right."""
    middle = 0.5 * (meta["bar"][0] + meta["bar"][1])
    heads = [
        (meta["bar"][0], "right", colours.text, 14, 700),
        (middle, "center", colours.muted, 13, 450),
        (meta["bar"][1], "left", colours.text, 14, 700),
    ]
    return [
        {
            "x": round(x, 1),
            "xanchor": anchor,
            "y": 1,
            "yref": "paper",
            "yanchor": "bottom",
            "yshift": 6,
            "showarrow": False,
            "text": "",
            "font": {"color": tone, "size": size, "weight": weight},
        }
        for x, anchor, tone, size, weight in heads
    ]


def _headings(frame: CompareFrame) -> tuple[str, str, str]:
    form = texts.PAGE["apart" if frame.two_topics else "driftOf"]
    said = "" if frame.degrees is None else form.replace("{turn}", f"{frame.degrees:.0f}")
    return frame.left.label, said, frame.right.label


def _side(history: History, s: int, t: int, named: bool = False) -> Side:
    words: dict[str, float] = {}
    for w, weight in zip(history.word[s, t], history.weight[s, t], strict=True):
        if w >= 0 and len(words) < WORDS:  # two words may look alike once cleaned: the stronger one counts
            words.setdefault(history.vocabulary[w], float(weight))
    topic = int(history.topic[t])
    label = texts.PAGE["topic"].replace("{topic}", str(topic)) if named else history.labels[s]
    return Side(topic, label, tuple(words), tuple(words.values()))


def _nearest(there: Any, s: int) -> int:
    """Return the slice with the topic that is ``s``, else the last one before, else the first."""
    before = there[there <= s]
    return int(before[-1] if before.size else there[0])


def _cut(word: str, letters: int) -> str:
    return word if len(word) <= letters else word[: letters - 1] + "…"
