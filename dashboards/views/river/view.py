"""The river: one band per topic, as thick as its documents, labelled with characteristic words."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from vmfstream.dashboards.looks.escape import for_plotly
from vmfstream.dashboards.looks.phrases import binned, period, rest
from vmfstream.dashboards.looks.texts import NO_DOCUMENTS, RIVER, WARM_UP
from vmfstream.dashboards.looks.theme import RIVER_MIX, ThemeName, template, theme
from vmfstream.dashboards.rows.history import Doubles, History, Ints, history_of, ticks
from vmfstream.dashboards.rows.run_rows import CachedRows, RunRows, once
from vmfstream.dashboards.rows.similarity import characteristic_words
from vmfstream.dashboards.rows.stable_layout import columns_in_order
from vmfstream.dashboards.view import INSET, PHONE, Selection, Size, View
from vmfstream.dashboards.views.river.bands import REST, Bands, RiverFrame, stack
from vmfstream.dashboards.views.river.labels import BandLabel, place_labels

TOP, BOTTOM = 36, 30

_GAP = 16.0  # pixels that a line of text needs
_MOST_GAPS = 12
_STOPS = 24
_NEUTRAL = 2  # paleness of slices that get no judgement
_RELATIVE_STEPS = (1.6, 1.25, 1.0, 0.8, 0.6)


class RiverView(View[RiverFrame]):
    """What was written about, and when."""

    name = "river"
    title = RIVER

    def frame(self, rows: RunRows, selection: Selection) -> RiverFrame:
        """Read the reading and measure that the selection asks for."""
        history = history_of(rows, selection.reading)
        return RiverFrame(
            history=history,
            measure=selection.measure,
            order=columns_in_order(rows, history),  # that of both readings: switching moves no band past another
            tone=paleness(history),
            words_at=once(rows, ("words of a date", history.reading), lambda: _words_at(history)),
            selected=None if selection.topic is None else history.position(selection.topic),
            all_topics=selection.all_topics,
            layout=rows.layout if isinstance(rows, CachedRows) else None,
        )

    def drawing(self, frame: RiverFrame, size: Size, theme: ThemeName) -> dict[str, Any]:
        """Return data and layout; ``layout.meta`` holds what a page needs to find slices and bands again."""
        bands = stack(frame, size)
        figure = without_labels(frame, bands, size, theme)
        figure["data"].append(label_trace(labels(frame, bands, size), frame, bands, size, theme))
        return figure


def without_labels(frame: RiverFrame, bands: Bands, size: Size, theme: ThemeName) -> dict[str, Any]:
    """Return data and layout of the ``bands`` of a ``frame``, without the trace of `label_trace`.

    ``bands`` were made for a drawing of this ``size``; ``theme`` is the name of the colours.
    """
    return {"data": _band_traces(frame, bands, theme), "layout": _layout(frame, bands, size, theme)}


def paleness(history: History) -> Ints:
    """Return the paleness of every topic and slice, 0 (words were changing) to 5 (they stood still), shape (S, T).

    Smoothed steps are compared with all steps of all topics. A filtered step is mostly noise of
    estimation, so it is compared with the topic's own usual step; the first slices of a topic get no judgement,
    those of the warm-up are pale.
    """
    steps = len(RIVER_MIX)
    drift = np.where(history.alive(), history.drift_angle, np.nan)
    known = ~np.isnan(drift)
    if history.reading == "smoothed":
        edges = np.quantile(drift[known], np.arange(1, steps) / steps) if known.any() else np.zeros(steps - 1)
        value = drift
    else:
        own = history.usual_drift_angle()
        early = np.cumsum(known & history.settled()[:, None], axis=0) <= 2
        value = np.where(early, np.nan, drift / np.where(own > 0, own, np.nan))
        edges = np.array(_RELATIVE_STEPS[::-1])
    value = _calmed(value)
    tone = (steps - 1) - np.searchsorted(edges, np.where(np.isnan(value), 0.0, value))
    tone = np.where(np.isnan(value), _NEUTRAL, tone)
    tone[~history.settled()] = steps - 1
    return tone.astype(np.int64)


def labels(frame: RiverFrame, bands: Bands, size: Size) -> list[BandLabel]:
    """Place the words of the moment into the ``bands`` of a ``frame`` for a drawing of this ``size``."""
    history = frame.history
    if bands.x.size == 0:
        return []
    scale = _pixels(bands, size)
    columns = {t: history.given.get(int(topic)) for t, topic in enumerate(history.topic)}
    given = {t: for_plotly(name) for t, name in columns.items() if name}
    sources = bands.source.tolist()
    placed = place_labels(
        x=_x_pixels(bands.x, history.index.size, size.width),
        edges=bands.edges * scale,
        columns=_x_pixels(bands.column, history.index.size, size.width),
        thickness=bands.thickness * scale,
        words=[
            [] if t == REST else [[given[t]]] * len(sources) if t in given else [frame.words_at(s, t) for s in sources]
            for t in bands.topics.tolist()
        ],
        fixed={b: for_plotly(rest(bands.smaller)) for b, t in enumerate(bands.topics) if t == REST},
        width=size.width,
        inset=INSET,
        apart=120.0 if size.width <= PHONE else 170.0,
        pairs=history.pairs,
        taken=[
            BandLabel(-1, float(at), sum(bands.extent) * scale / 2, 14.0, 90.0, 1, 11.0, 400, NO_DOCUMENTS)
            for at in _x_pixels(_gaps(history, size), history.index.size, size.width)
        ],
    )
    return placed


def _gaps(history: History, size: Size) -> Doubles:
    """Return the middles of the longest runs of slices without documents, as far as there is room to tell of them."""
    empty = np.flatnonzero(history.n == 0)
    runs = np.split(empty, np.flatnonzero(np.diff(empty) > 1) + 1) if empty.size else []
    slices = _GAP / ((size.width - 2 * INSET) / max(history.index.size - 1, 1))
    told = sorted((run for run in runs if run.size + 1 >= slices), key=len, reverse=True)[:_MOST_GAPS]
    return np.array([float(run.mean()) for run in told])


def _words_at(history: History) -> Callable[[int, int], list[str]]:
    """Return what tells what is written at a date: the phrase that the topic is named by, if any, and its words."""
    telling = characteristic_words(history)

    @cache  # drawings of all widths ask for the same
    def at(s: int, t: int) -> list[str]:
        words = [for_plotly(history.vocabulary[w]) for w in telling[s, t] if w >= 0]
        first = next(iter(history.names.get((s, t), ())), "")
        if " " not in first or not words:
            return words
        own = set(for_plotly(first).split(" "))
        return [for_plotly(first), *(word for word in words if word not in own)]

    return at


def _calmed(value: Doubles) -> Doubles:
    """Average neighbouring slices 1:2:1, so that the gradient inside a band does not flicker."""
    if value.shape[0] < 3:
        return value
    padded = np.vstack([value[:1], value, value[-1:]])
    parts = np.stack([padded[:-2], padded[1:-1], padded[2:]])
    weights = np.array([1.0, 2.0, 1.0])[:, None, None] * ~np.isnan(parts)
    total = weights.sum(axis=0)
    out: Doubles = np.where(
        total > 0, (np.nan_to_num(parts) * weights).sum(axis=0) / np.where(total > 0, total, 1.0), np.nan
    )
    out[np.isnan(value)] = np.nan
    return out


def _band_traces(frame: RiverFrame, bands: Bands, name: ThemeName) -> list[dict[str, Any]]:
    colours = theme(name)
    history = frame.history
    traces = []
    for b, t in enumerate(bands.topics):
        lower, upper = bands.edges[b], bands.edges[b + 1]
        inside = np.flatnonzero(upper - lower > 0)
        if not inside.size:
            continue
        first, last = max(int(inside[0]) - 1, 0), min(int(inside[-1]) + 1, bands.x.size - 1)
        part = slice(first, last + 1)
        x = bands.x[part]
        trace: dict[str, Any] = {
            "type": "scatter",
            "mode": "lines",
            "fill": "toself",
            "hoverinfo": "skip",
            "line": {"color": colours.page, "width": 0.8},
            "x": np.concatenate([x, x[::-1]]).astype(np.float32),
            "y": np.concatenate([lower[part], upper[part][::-1]]).astype(np.float32),
        }
        if t == REST:
            trace |= {"name": rest(bands.smaller), "meta": REST, "fillcolor": colours.rule}
        else:
            topic = int(history.topic[t])
            trace |= {"name": f"topic {topic}", "meta": topic}
            trace |= _fill(frame.tone[bands.source, t], bands, x, colours.slot(topic).river)
        traces.append(trace)
    return traces


def _fill(tone: Ints, bands: Bands, x: Doubles, tones: tuple[str, ...]) -> dict[str, Any]:
    """Return one colour, or a horizontal gradient with at most 24 stops over the band's own extent."""
    a, b = float(x[0]), float(x[-1])
    columns = np.flatnonzero((bands.column >= a) & (bands.column <= b))
    if columns.size > _STOPS:
        columns = columns[np.unique(np.linspace(0, columns.size - 1, _STOPS).round().astype(int))]
    values = tone[columns]
    if not columns.size or (values == values[0]).all() or b <= a:
        return {"fillcolor": tones[int(values[0]) if columns.size else _NEUTRAL]}
    stops = [((float(bands.column[c]) - a) / (b - a), tones[int(v)]) for c, v in zip(columns, values, strict=True)]
    kept = [  # a stop between two of its own colour says nothing
        s for k, s in enumerate(stops) if k in (0, len(stops) - 1) or not stops[k - 1][1] == s[1] == stops[k + 1][1]
    ]
    scale = [[0.0, kept[0][1]], *([round(place, 4), tone] for place, tone in kept if 0 < place < 1), [1.0, kept[-1][1]]]
    return {"fillgradient": {"type": "horizontal", "start": a, "stop": b, "colorscale": scale}}


def label_trace(
    placed: list[BandLabel], frame: RiverFrame, bands: Bands, size: Size, name: ThemeName
) -> dict[str, Any]:
    """Return the trace that writes the labels ``placed`` by `labels`; ``customdata`` holds the topic of each.

    ``frame``, ``bands`` and ``size`` are those they were placed for; ``name`` is that of the theme.
    """
    history = frame.history
    scale = _pixels(bands, size) if bands.x.size else 1.0
    width = max(history.index.size - 1, 1) / (size.width - 2 * INSET)
    single = history.index.size == 1
    return {
        "type": "scatter",
        "mode": "text",
        "name": "words",
        "meta": "labels",
        "hoverinfo": "skip",
        "cliponaxis": False,
        "textposition": "middle right" if single else "middle center",
        "x": [round(((label.x - size.width / 2) if single else (label.x - INSET)) * width, 4) for label in placed],
        "y": [round(label.y / scale, 5) for label in placed],
        "text": [label.text for label in placed],
        "customdata": [
            REST if bands.topics[label.band] == REST else int(history.topic[bands.topics[label.band]])
            for label in placed
        ],
        "textfont": {
            "color": theme(name).text,
            "size": [label.size for label in placed],
            "weight": [label.weight for label in placed],
        },
    }


def _layout(frame: RiverFrame, bands: Bands, size: Size, name: ThemeName) -> dict[str, Any]:
    colours = theme(name)
    history = frame.history
    slices = history.index.size
    low, high = bands.extent
    axis = named_dates(history, size.width)
    notes: list[dict[str, Any]] = []
    for gap in _gaps(history, size).tolist():
        notes.append(
            {
                "x": gap,
                "y": 0.5,
                "yref": "paper",
                "text": NO_DOCUMENTS,
                "textangle": -90,
                "showarrow": False,
                "font": {"color": colours.muted, "size": 11},
            }
        )
    lines: list[dict[str, Any]] = [
        {
            "type": "line",
            "layer": "below",
            "x0": i,
            "x1": i,
            "y0": 0,
            "y1": 1,
            "yref": "paper",
            "line": {"color": colours.rule, "width": 1},
        }
        for i in axis["tickvals"]
    ]
    open_until = np.flatnonzero(~history.settled())
    if open_until.size and slices > 1:
        edge = min(float(open_until[-1]) + 0.5, slices - 1.0)
        lines.append(
            {
                "type": "line",
                "x0": edge,
                "x1": edge,
                "y0": 0,
                "y1": 1,
                "yref": "paper",
                "line": {"color": colours.muted, "width": 1, "dash": "dot"},
            }
        )
        notes.append(
            {
                "x": edge,
                "xanchor": "left" if edge < slices / 4 else "right",
                "y": 1,
                "yref": "paper",
                "yanchor": "bottom",
                "text": f"◂ {WARM_UP}" if edge < slices / 4 else f"{WARM_UP} ▸",
                "showarrow": False,
                "font": {"color": colours.muted, "size": 11},
            }
        )
    if bands.per_column * history.per > 1:
        notes.append(
            {
                "x": 1,
                "xref": "paper",
                "xanchor": "right",
                "y": 1,
                "yref": "paper",
                "yanchor": "bottom",
                "showarrow": False,
                "text": binned(bands.per_column * history.per, period(history.labels)),
                "font": {"color": colours.muted, "size": 11},
            }
        )
    return {
        "template": template(name),
        "width": size.width,
        "height": size.height,
        "margin": {"l": INSET, "r": INSET, "t": TOP, "b": BOTTOM},
        "meta": {"view": "river", "slices": slices, "range": [-0.5, 0.5] if slices == 1 else [0, max(slices - 1, 1)]},
        "xaxis": {
            "range": [-0.5, 0.5] if slices == 1 else [0, max(slices - 1, 1)],
            **axis,
        },
        "yaxis": {"range": [high, low], "visible": False},
        "shapes": lines,
        "annotations": notes,
    }


def named_dates(history: History, width: float) -> dict[str, list[Any]]:
    """Return which dates are written below a river of a ``width``, as settings of its axis."""
    marked = ticks(history.labels, width - 2 * INSET, 46.0 if width <= PHONE else 74.0)
    return {"tickvals": [i for i, _ in marked], "ticktext": [for_plotly(text) for _, text in marked]}


def _pixels(bands: Bands, size: Size) -> float:
    """Return pixels per unit of thickness."""
    low, high = bands.extent
    return (size.height - TOP - BOTTOM) / (high - low)


def _x_pixels(x: Doubles, slices: int, width: int) -> Doubles:
    if slices == 1:
        return np.asarray(width / 2 + x * (width - 2 * INSET))
    return np.asarray(INSET + x * (width - 2 * INSET) / (slices - 1))
