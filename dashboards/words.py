"""How the words of one topic changed: a ladder of ranks for few slices, strips for many, strips of both readings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.dashboards.escape import for_plotly
from vmfstream.dashboards.history import NO_WORD, Bools, Floats, History, Ints, history_of, ticks
from vmfstream.dashboards.textwidth import em_width, shortened
from vmfstream.dashboards.theme import STRIP_STEPS, Theme, ThemeName, template, theme
from vmfstream.dashboards.view import Form, LogRows, Selection, Size
from vmfstream.dashboards.wording import CERTAINTY, WORDS

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

RANKS = 8
MOST_LADDER = 14
MOST_STRIPS = 24
PHONE = 480
GUESS = 0.4

_COLUMN = 92
_RUNG = 33
_HEAD = 34
_RAIL = 30
_ROW = 18
_ROW_BOTH = 27
_WORD_SIZE = 12.5
_LEAST_SIZE = 9.5
_WIDTHS = (1.5, 3.2, 5.4)
_CURVE = (0.0, 0.08, 0.2, 0.35, 0.5, 0.65, 0.8, 0.92, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class WordsFrame:
    """The words of one topic over its life.

    Parameters
    ----------
    topic : int
        Its id.
    form : {"auto", "ladder", "strips", "both"}
        ``auto`` is the ladder up to 14 slices on a wide drawing, else strips.
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
    n: Floats
    certainty: Floats
    settled: Bools
    words: tuple[str, ...]
    weight: Floats
    rank: Ints
    other: tuple[Floats, Ints] | None = None

    def chosen(self, size: Size) -> Form:
        """Return the form that is drawn at a size."""
        if self.form == "auto":
            return "ladder" if len(self.labels) <= MOST_LADDER and size.width > PHONE else "strips"
        return "strips" if self.form == "both" and self.other is None else self.form


class WordsView:
    """How the words of one topic changed."""

    name = "words"
    title = WORDS

    def frame(self, rows: LogRows, selection: Selection) -> WordsFrame:
        """Read the words of the selected topic (the lowest id if none is selected)."""
        history = history_of(rows, selection.reading)
        t = None if selection.topic is None else history.position(selection.topic)
        if t is None:
            t = 0 if history.topic.size else None
        there = np.flatnonzero(~np.isnan(history.documents[:, t])) if t is not None else np.empty(0, np.int64)
        if t is None or not there.size:
            none = np.empty((0, 0))
            return WordsFrame(
                topic=selection.topic or 0, form=selection.form, reading=history.reading, labels=(), first=0, n=np.empty(0),
                certainty=np.empty(0), settled=np.empty(0, np.bool_), words=(), weight=none, rank=none.astype(np.int64),
            )  # fmt: skip
        a, b = int(there[0]), int(there[-1]) + 1
        codes = np.unique(history.word[a:b, t])
        other = None
        if selection.form == "both" and rows.has_hindsight():
            # upper half: as known then; lower half: in hindsight
            history, late = history_of(rows, "then"), history_of(rows, "hindsight")
            t, u = history.position(int(history.topic[t])) or 0, late.position(int(history.topic[t])) or 0
            names = {history.vocabulary[w] for w in np.unique(history.word[a:b, t]) if w != NO_WORD}
            names |= {late.vocabulary[w] for w in np.unique(late.word[a:b, u]) if w != NO_WORD}
            words = tuple(sorted(names))
            weight, rank = _table(history, t, a, b, words)
            other = _table(late, u, a, b, words)
        else:
            words = tuple(sorted({history.vocabulary[w] for w in codes if w != NO_WORD}))
            weight, rank = _table(history, t, a, b, words)
        return WordsFrame(
            topic=int(history.topic[t]), form=selection.form, reading=history.reading, labels=history.labels[a:b], first=a,
            n=np.where(history.n[a:b] > 0, np.nan_to_num(history.documents[a:b, t]), 0.0),
            certainty=history.certainty[a:b, t], settled=history.settled()[a:b], words=words, weight=weight, rank=rank, other=other,
        )  # fmt: skip

    def figure(self, frame: WordsFrame, size: Size, theme: ThemeName) -> Figure:
        """Draw ladder or strips; the figure's own height follows the number of rows."""
        import plotly.graph_objects as go

        if not frame.labels:
            return go.Figure({"data": [], "layout": _layout(frame, size, theme, 0, 1, 60, {}, [])})
        form = frame.chosen(size)
        return go.Figure(_ladder(frame, size, theme) if form == "ladder" else _strips(frame, size, theme))


def ladder_columns(slices: int, width: int) -> Ints:
    """Return the slices that a ladder shows: all, or every second, third ... counted back from the newest."""
    every = max(1, -(-slices // max(1, width // _COLUMN)))
    return np.arange(slices - 1, -1, -every)[::-1]


def strip_words(frame: WordsFrame) -> Ints:
    """Return the words of the strips in order of the weighted middle of their time.

    These are the words that ever were among the eight strongest, at most 24: those with the highest weight times stay.
    """
    tables = [(frame.weight, frame.rank)] + ([frame.other] if frame.other else [])
    strong = np.zeros(len(frame.words), dtype=np.bool_)
    total = np.zeros(len(frame.words))
    for weight, rank in tables:
        strong |= ((rank > 0) & (rank <= RANKS)).any(axis=0)
        total += np.where(rank > 0, weight, 0.0).sum(axis=0) + weight.max(axis=0)
    found = np.flatnonzero(strong)
    if found.size > MOST_STRIPS:
        found = np.sort(found[np.argsort(-total[found], kind="stable")[:MOST_STRIPS]])
    weight = tables[-1][0][:, found] ** 2
    time = np.arange(weight.shape[0])[:, None]
    middle = (weight * time).sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-12)
    return found[np.argsort(middle, kind="stable")]


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


def _table(history: History, t: int, a: int, b: int, words: tuple[str, ...]) -> tuple[Floats, Ints]:
    place = {word: k for k, word in enumerate(words)}
    weight = np.zeros((b - a, len(words)))
    rank = np.zeros((b - a, len(words)), dtype=np.int64)
    for s in range(a, b):
        for r, w in enumerate(history.word[s, t]):
            k = place.get(history.vocabulary[w]) if w != NO_WORD else None
            if k is not None and rank[s - a, k] == 0:  # two words may look alike once cleaned: the stronger one counts
                weight[s - a, k], rank[s - a, k] = history.weight[s, t, r], r + 1
    return weight, rank


def _ladder(frame: WordsFrame, size: Size, name: ThemeName) -> dict[str, Any]:
    colours = theme(name)
    slot = colours.slot(frame.topic)
    columns = ladder_columns(len(frame.labels), size.width)
    rank, weight = frame.rank[columns], frame.weight[columns]
    state = standing(rank, frame.settled[columns])
    width = size.width / max(columns.size, 1)
    cells: dict[tuple[int, int], dict[str, Any]] = {}
    for c, w in zip(*np.nonzero(state != ""), strict=True):
        cells[int(c), int(w)] = _cell(frame, str(state[c, w]), frame.words[w], int(columns[c]), width, colours)

    lines: tuple[list[list[float | None]], ...] = tuple([[], []] for _ in _WIDTHS)
    strongest = max(float(weight.max(initial=0.0)), 1e-12)
    for (c, w), cell in cells.items():
        after = cells.get((c + 1, w))
        if after is None or not frame.settled[columns[c]]:
            continue
        x0, x1 = c + cell["half"] / width, c + 1 - after["half"] / width
        if x1 <= x0:
            continue
        level = float(weight[c, w] + weight[c + 1, w]) / (2 * strongest)
        xs, ys = lines[0 if level < 0.3 else 1 if level < 0.6 else 2]
        for u in _CURVE:
            ease = u * u * (3 - 2 * u)
            xs.append(x0 + u * (x1 - x0))
            ys.append(float(rank[c, w] + (rank[c + 1, w] - rank[c, w]) * ease))
        xs.append(None)
        ys.append(None)
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "mode": "lines", "name": "lines", "hoverinfo": "skip", "connectgaps": False,
         "x": np.array(xs, np.float32), "y": np.array(ys, np.float32), "line": {"color": slot.fill, "width": wide}}
        for wide, (xs, ys) in zip(_WIDTHS, lines, strict=True) if xs
    ]  # fmt: skip
    order = sorted(cells)
    traces.append(
        {"type": "scatter", "mode": "text", "name": "words", "hoverinfo": "skip", "cliponaxis": False, "textposition": "middle center",
         "x": [c for c, _ in order], "y": [int(rank[c, w]) for c, w in order], "text": [cells[key]["text"] for key in order],
         "textfont": {"color": [cells[key]["colour"] for key in order], "size": [cells[key]["size"] for key in order],
                      "weight": [cells[key]["weight"] for key in order]}}
    )  # fmt: skip
    rail_y = RANKS + 0.5 + (_RAIL / 2) / _RUNG
    traces += _rail(frame, columns, rail_y, 5 / _RUNG, colours, 0.84)
    height = _HEAD + RANKS * _RUNG + _RAIL
    meta = {"form": "ladder", "columns": (frame.first + columns).tolist(), "rows": []}
    axis = {"tickvals": list(range(columns.size)), "ticktext": [for_plotly(frame.labels[c]) for c in columns]}
    layout = _layout(frame, size, name, -0.5, columns.size - 0.5, height, meta, [rail_y + 15 / _RUNG, 0.5])
    layout["xaxis"] |= axis
    layout["margin"] |= {"l": 0, "r": 0}
    return {"data": traces, "layout": layout}


def _cell(frame: WordsFrame, state: str, word: str, s: int, width: float, colours: Theme) -> dict[str, Any]:
    """Return text, looks and half the width (with a gap for lines) of a word in a ladder column."""
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


def _strips(frame: WordsFrame, size: Size, name: ThemeName) -> dict[str, Any]:
    colours = theme(name)
    slot = colours.slot(frame.topic)
    slices = len(frame.labels)
    found = strip_words(frame)
    phone = size.width <= PHONE
    both = frame.other is not None
    left = 96 if phone else 118
    wide = size.width - left - 8
    tables = [(frame.weight, frame.rank)] + ([frame.other] if frame.other else [])
    strongest = max(max(float(weight[:, found].max(initial=0.0)) for weight, _ in tables), 1e-12)
    halves = [_levels(weight[:, found], rank[:, found], strongest) for weight, rank in tables]
    row = _ROW_BOTH if both else _ROW
    gap = 1.0 if wide / slices >= 6 else 0.0
    traces: list[dict[str, Any]] = []
    if both:  # two rows of cells per word and an empty one between words
        z = np.zeros((3 * found.size, slices), dtype=np.uint8)
        z[0::3], z[1::3] = halves[0].T, halves[1].T
        y = (np.arange(found.size)[:, None] + np.array([-0.2, 0.2, 0.5])).ravel()
    else:
        z, y = halves[0].T, np.arange(found.size, dtype=np.float64)
    scale = [[k / STRIP_STEPS, tone] for k, tone in enumerate(slot.strip)]
    traces.append(
        {"type": "heatmap", "name": "words", "hoverinfo": "skip", "showscale": False, "zsmooth": False, "zmin": 0, "zmax": STRIP_STEPS,
         "xgap": gap, "ygap": 0.5 if both else 2, "colorscale": scale, "x0": 0, "dx": 1, "y": np.round(y, 2).astype(np.float32), "z": z}
    )  # fmt: skip
    if both:
        traces += _entries(frame, found, tables, colours)
    rail_y = found.size - 0.5 + (_RAIL / 2) / row
    traces += _rail(frame, np.arange(slices), rail_y, 5 / row, colours, 1.0)
    height = _HEAD + found.size * row + _RAIL
    names = [for_plotly(shortened(frame.words[w], (left - 12) / 12)) for w in found]
    meta = {"form": "both" if both else "strips", "columns": list(range(frame.first, frame.first + slices)),
            "rows": [frame.words[w] for w in found]}  # fmt: skip
    layout = _layout(frame, size, name, -0.5, slices - 0.5, height, meta, [rail_y + 15 / row, -0.5])
    marked = ticks(frame.labels, wide, 46.0)
    layout["xaxis"] |= {"tickvals": [i for i, _ in marked], "ticktext": [for_plotly(text) for _, text in marked]}
    layout["margin"] |= {"l": left, "r": 8}
    layout["yaxis"] |= {
        "visible": True, "tickvals": [*range(found.size), rail_y], "ticktext": [*names, f"<i>{CERTAINTY}</i>"], "ticklabelstandoff": 6,
        "tickfont": {"color": colours.text, "size": 12},
    }  # fmt: skip
    return {"data": traces, "layout": layout}


def _levels(weight: Floats, rank: Ints, strongest: float) -> NDArray[np.uint8]:
    """Return steps 1 to 9 of strength, 0 where a word is not among the stored ones."""
    steps = np.clip(np.ceil(STRIP_STEPS * weight / strongest), 1, STRIP_STEPS)
    return np.where(rank > 0, steps, 0).astype(np.uint8)


def _entries(frame: WordsFrame, found: Ints, tables: list[tuple[Floats, Ints]], colours: Theme) -> list[dict[str, Any]]:
    """Return a bar at the left of the first cell in which a word is among the eight strongest, per half."""
    x: list[float | None] = []
    y: list[float | None] = []
    for half, (_, rank) in enumerate(tables):
        strong = (rank[:, found] > 0) & (rank[:, found] <= RANKS)
        for k in np.flatnonzero(strong.any(axis=0)):
            s = float(np.argmax(strong[:, k])) - 0.5
            top = k - 0.4 + 0.4 * half
            x += [s, s, None]
            y += [top, top + 0.4, None]
    return [
        {"type": "scatter", "mode": "lines", "name": "first", "hoverinfo": "skip", "connectgaps": False, "cliponaxis": False,
         "x": np.array(x, np.float32), "y": np.array(y, np.float32), "line": {"color": colours.text, "width": 2.5}}
    ]  # fmt: skip


def _rail(frame: WordsFrame, columns: Ints, y: float, high: float, colours: Theme, wide: float) -> list[dict[str, Any]]:
    """Return the rail of certainty (strong: sure of the words) and hollow rings where there were no documents."""
    full = frame.n[columns] > 0
    level = np.clip(np.nan_to_num(frame.certainty[columns]), 0.0, 1.0)
    steps = np.where(full, np.clip(np.rint(STRIP_STEPS * level), 1, STRIP_STEPS), 0).astype(np.uint8)
    scale = [[k / STRIP_STEPS, tone] for k, tone in enumerate(colours.slot(frame.topic).strip)]
    # a heat map row is as high as its neighbours are far: two empty rows keep it low
    rows = np.array([y - high, y, y + high], np.float32)
    z = np.zeros((3, columns.size), dtype=np.uint8)
    z[1] = steps
    traces: list[dict[str, Any]] = [
        {"type": "heatmap", "name": "certainty", "hoverinfo": "skip", "showscale": False, "zmin": 0, "zmax": STRIP_STEPS,
         "xgap": 2 if wide < 1 else 0, "ygap": 0, "colorscale": scale, "x0": 0, "dx": 1, "y": rows, "z": z}
    ]  # fmt: skip
    empty = np.flatnonzero(~full)
    if empty.size:
        traces.append(
            {"type": "scatter", "mode": "markers", "name": "empty", "hoverinfo": "skip", "x": empty.tolist(), "y": [y] * empty.size,
             "marker": {"symbol": "circle-open", "size": 7, "color": colours.muted, "line": {"color": colours.muted, "width": 1.5}}}
        )  # fmt: skip
    return traces


def _layout(
    frame: WordsFrame, size: Size, name: ThemeName, x0: float, x1: float, height: int, meta: dict[str, Any], rows: list[float]
) -> dict[str, Any]:
    return {
        "template": template(name),
        "width": size.width,
        "height": height,
        "margin": {"t": _HEAD, "b": 0},
        "meta": {"view": "words", "topic": frame.topic, "range": [x0, x1], "vertical": rows} | meta,
        "xaxis": {"range": [x0, x1], "side": "top", "tickangle": 0},
        "yaxis": {"range": rows or None, "visible": False},
    }
