"""Data of the page's script: columns of both readings, documents, colours, texts, columns of the views."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.dashboards import OLD_NAMES, PANELS, TABS, panel
from vmfstream.dashboards.looks import phrases, texts
from vmfstream.dashboards.looks.escape import clean
from vmfstream.dashboards.looks.theme import Theme, config, repaint_table, template, theme
from vmfstream.dashboards.page.compression import ArrayTable
from vmfstream.dashboards.page.document_lists import listed_data
from vmfstream.dashboards.page.drawings import PagePlan
from vmfstream.dashboards.panels import PageParts
from vmfstream.dashboards.rows.history import NO_WORD, History, Ints, history_of, topics_of
from vmfstream.dashboards.rows.initial_selection import initial_measure, initial_topic
from vmfstream.dashboards.rows.merged import merged_of
from vmfstream.dashboards.rows.run_rows import RunRows, once, readings_of
from vmfstream.dashboards.rows.stable_layout import river_order
from vmfstream.dashboards.rows.unfinished import judged
from vmfstream.dashboards.views.river.panel import many

_STRONG = 8


def parts_of(rows: RunRows, plan: PagePlan, *, live: bool = False) -> PageParts:
    """Return what the page's HTML is made of: ``rows``, the ``plan`` of its figures, and whether it is ``live``."""
    history = history_of(rows, readings_of(rows)[0])
    return PageParts(
        rows=rows,
        history=history,
        meta=rows.meta(),
        smoothed=rows.has_smoothed(),
        many=many(rows),
        measures=plan.measures,
        dropped=plan.dropped,
        live=live,
    )


def page_data(rows: RunRows, plan: PagePlan, table: ArrayTable) -> dict[str, Any]:
    """Return everything of ``rows`` but the figures of the ``plan``, its arrays placed in ``table``."""
    readings = readings_of(rows)
    history, topics = history_of(rows, readings[0]), topics_of(rows)
    data: dict[str, Any] = {
        "colours": {name: _colours(theme(name)) for name in ("light", "dark")},
        "config": config(),
        "documents": _documents(rows, history, plan),
        "events": _events(rows, history),
        "former": dict(OLD_NAMES),
        "given": {str(topic): name for topic, name in history.given.items()},
        "pinned": rows.pinned_topics().tolist(),
        "labels": list(history.labels),
        "listed": listed_data(rows, history, plan.listed),
        "last": _last_slice(rows, history),
        "measures": list(plan.measures),
        "many": many(rows),
        "counts": history.n.tolist(),
        "open": {
            "measure": initial_measure(history),
            "reading": readings[0],
            "topic": initial_topic(judged(rows, history)),
        },
        "order": river_order(rows) if history.index.size else [],
        "names": _names(rows, history, topics, table),
        "pairs": _pairs([history_of(rows, name) for name in readings]),
        "per": history.per,
        "period": history.period(),
        "readings": {name: _columns(history_of(rows, name), topics, plan, table) for name in readings},
        "repaint": dict(repaint_table()),
        "warm_up": history.warm_up.astype(int).tolist(),
        "subtitle": {name: subtitle(history_of(rows, name)) for name in readings},
        "tabs": list(TABS),
        "template": template("light"),
        "title": clean(rows.meta().get("title") or texts.TITLE),
        "topics": topics.tolist(),
        "vocabulary": {name: list(history_of(rows, name).vocabulary) for name in readings},
        "wording": dict(texts.PAGE),
    }
    views = {name: columns for name in PANELS if (columns := panel(name).columns)} if history.index.size else {}
    data["columns"] = list(views)
    for name, columns in views.items():
        # the same for all plans
        data[name] = table.with_references(once(rows, ("columns", name), partial(columns, rows, history)))
    return data


def _last_slice(rows: RunRows, history: History) -> int:
    """Return the number of the newest slice in the run file, -1 without any."""
    if not history.index.size:
        return -1
    last, merged = int(history.index[-1]), merged_of(rows)
    return merged.slices_of(last)[1] if merged else last


def subtitle(history: History) -> str:
    """Return the line beside the title: documents, span, topics."""
    tried = int(history.provisional().sum())
    return phrases.subtitle(history.labels, int(history.n.sum()), int(history.topic.size) - tried, tried)


def _columns(history: History, topics: Ints, plan: PagePlan, table: ArrayTable) -> dict[str, Any]:
    """Return one reading as columns over slices and the page's topics; numbers are rounded to what is shown."""
    slices = history.index.size
    place = np.searchsorted(topics, history.topic)

    def spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.full((slices, topics.size), np.nan)
        out[:, place] = values
        return out

    word = np.full((slices, topics.size, plan.words), NO_WORD, dtype=np.int64)
    weight = np.zeros((slices, topics.size, plan.words))
    top = min(plan.words, history.word.shape[2])
    word[:, place, :top] = history.word[:, :, :top]
    weight[:, place, :top] = history.weight[:, :, :top]
    stored = word != NO_WORD
    scale = float(weight.max(initial=0.0)) or 1.0
    return {
        "certainty": table.place(spread(history.certainty).astype(np.float32)),
        "documents": table.place(spread(history.documents).astype(np.float32)),
        "share": table.place(spread(history.share).astype(np.float32)),
        "drift_angle": table.place(spread(history.drift_angle).astype(np.float32)),
        "usual": [
            None if np.isnan(v) else round(float(v), 2)
            for v in spread(history.usual_drift_angle()[None, :].repeat(slices, axis=0))[0]
        ]
        if slices
        else [],
        "count": table.place(stored.sum(axis=2).astype(np.uint8)),
        "word": table.place(word[stored].astype(np.uint16 if len(history.vocabulary) < 65536 else np.uint32)),
        "weight": table.place(np.rint(np.sqrt(weight[stored] / scale) * 255).astype(np.uint8)),  # small ones finer
        "scale": round(scale / 255**2, 12),
    }


def _documents(rows: RunRows, history: History, plan: PagePlan) -> list[list[Any]]:
    """Return representative documents as rows of slice position, topic, title, date, score and safe address."""
    if not history.index.size:
        return []
    frame = rows.representative()
    shown = _precision(frame.time)
    out = []
    position = frame.slice - history.index[0]
    for k in np.flatnonzero((position >= 0) & (position < history.index.size) & (frame.rank <= plan.documents)):
        s = int(position[k])
        address = str(frame.id[k])
        safe = address if address.startswith(("https://", "http://")) else ""
        date = "" if np.isnat(frame.time[k]) else str(frame.time[k].astype("datetime64[D]"))[:shown]
        score = None if np.isnan(frame.score[k]) else round(float(frame.score[k]), 2)
        out.append([s, int(frame.topic[k]), clean(str(frame.title[k]), 160) or clean(address), date, score, safe])
    return out


def _names(rows: RunRows, history: History, topics: Ints, table: ArrayTable) -> dict[str, Any]:
    """Return all different names, each as its parts, and which of them each topic has at each date; 0 is none."""
    number: dict[tuple[str, ...], int] = {(): 0}
    at = np.zeros((history.index.size, topics.size), np.uint32)
    place = {int(topic): t for t, topic in enumerate(topics)}
    first = int(history.index[0]) if history.index.size else 0
    for (s, topic), parts in rows.names().parts().items():
        if topic in place and 0 <= s - first < history.index.size:
            cleaned = tuple(clean(part) for part in parts)
            at[s - first, place[topic]] = number.setdefault(cleaned, len(number))
    return {"list": [list(parts) for parts in number], "at": table.place(at)}


def _pairs(histories: Sequence[History]) -> list[str]:
    """Return the pairs of words of names, each as one text in the order in which they stand in titles."""
    strong = {h.vocabulary[w] for h in histories for w in np.unique(h.word[:, :, :_STRONG]) if w != NO_WORD}
    return sorted({f"{one} {other}" for h in histories for one, other in h.pairs if {one, other} <= strong})


def _precision(times: NDArray[np.datetime64]) -> int:
    """Return how many characters of an ISO date are informative: none if all dates begin a year, else month or day."""
    days = times[~np.isnat(times)].astype("datetime64[D]")
    if (days == days.astype("datetime64[Y]")).all():
        return 0
    return 7 if (days == days.astype("datetime64[M]")).all() else 10


def _events(rows: RunRows, history: History) -> list[list[Any]]:
    """Return drift alarms and births as rows of slice position, kind and topic."""
    frame = rows.events()
    if not history.index.size:
        return []
    return [
        [int(s - history.index[0]), str(kind), int(topic)]
        for s, kind, topic in zip(frame.slice, frame.kind, frame.topic, strict=True)
        if kind in ("drift", "born") and 0 <= s - history.index[0] < history.index.size
    ]


def _colours(colours: Theme) -> dict[str, Any]:
    return {
        "fill": [slot.fill for slot in colours.slots],
        "ink": [slot.ink for slot in colours.slots],
        "page": colours.page,
        "text": colours.text,
        "muted": colours.muted,
        "rule": colours.rule,
        "outline": colours.outline,
        "alarm": colours.alarm,
    }
