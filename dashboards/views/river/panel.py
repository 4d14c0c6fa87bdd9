"""Panel of the river, with one figure for each reading, measure and width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vmfstream.dashboards.looks import phrases, texts
from vmfstream.dashboards.looks.escape import clean, for_html
from vmfstream.dashboards.panels import PageParts, Panel, chart, switch
from vmfstream.dashboards.rows.history import LONGEST_GAP, History, history_of, shown_slices
from vmfstream.dashboards.rows.initial_selection import initial_topic
from vmfstream.dashboards.rows.run_rows import RunRows, reading_called, readings_of
from vmfstream.dashboards.rows.topic_names import topic_name
from vmfstream.dashboards.rows.unfinished import judged
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.river.bands import MOST_TOPICS, crowded, stack
from vmfstream.dashboards.views.river.view import RiverView, label_trace, labels, named_dates, without_labels
from vmfstream.runfile.queries import kept

_WIDE = Size(1240, 486)
_PHONE = Size(362, 480)
_LABEL_WIDTHS = (3600, 1800, 1500, 1240, 1000, 760, 560)
_LABEL_WIDTHS_PHONE = (450, 362, 320)
_PER_LABEL = ("x", "y", "text", "customdata", "textfont")
_OVER = (
    '\n<svg class="over" aria-hidden="true"><path class="veil" fill-rule="evenodd"></path>'
    '<path class="outline hover"></path><path class="outline chosen"></path>'
    '<g class="stories"></g><g class="open"></g></svg>\n'
    '<span id="so-far" hidden></span>'
    '<div class="cursor" aria-hidden="true"><b></b></div>'
)


def section(parts: PageParts) -> str:
    """Return the river's figure; its notes tell what to do and which slices are not settled."""
    history = parts.history
    scope = switch("scope", "Topics drawn", [("top", f"top {MOST_TOPICS}", True), ("all", "all", True)])
    zoom = (
        f'<div class="switch" role="group" aria-label="{texts.ZOOM}" id="zoom">'
        f'<button data-value="out" aria-label="{texts.ZOOM_OUT}" disabled>−</button>'
        f'<button data-value="in" aria-label="{texts.ZOOM_IN}">+</button>'
        f'<button data-value="all" disabled>{texts.ALL_DATES}</button></div>'
    )
    measure = switch("measure", "Thickness", [(name, name, name in parts.measures) for name in ("documents", "share")])
    caption = texts.PAGE["river"].replace("{measure}", texts.PAGE["thicknessDocuments"])
    said = columns(parts.rows, history)
    return (
        chart(
            "river",
            texts.RIVER,
            caption,
            said["words"],
            controls=zoom + (scope if parts.many or parts.live else "") + measure,
            over=_OVER,
            level=2,
        )
        + f'<div id="river-notes">{"".join(_note(note) for note in said["notes"])}</div>'
        + f'<p class="note" id="warm-up" hidden>{for_html(said["warmUp"])}</p>'
        + f'<p class="note" id="unfinished"{"" if said["unfinished"] else " hidden"}>{for_html(said["unfinished"])}</p>'
    )


def columns(rows: RunRows, history: History) -> dict[str, Any]:
    """Return what is said about the river, which the script of a live page writes again when there is more to say.

    ``words`` describe it to those who do not see it, ``warmUp`` and ``unfinished`` name slices that are not settled,
    empty without any, and ``notes`` say what is not shown.
    """
    warm_up = [history.labels[s] for s in np.flatnonzero(history.warm_up)]
    whole = judged(rows, history).index.size == history.index.size
    return {
        "words": _sentence(history),
        "warmUp": phrases.warm_up_sentence(warm_up) if warm_up else "",
        "unfinished": "" if whole else phrases.unfinished(history.labels[-1]),
        "notes": list(_notes(rows, history)),
    }


def _note(text: str) -> str:
    return f'<p class="note">{for_html(text)}</p>'


def _notes(rows: RunRows, history: History) -> Iterator[str]:
    """Say why there are no topics, and which documents lie too far away to be shown."""
    slices = rows.slices()
    if history.per > 1:
        dates = history.index.size
        yield phrases.merged_dates(dates * history.per, dates, history.per)
    if not history.topic.size:
        yield phrases.no_topics(int(history.n.sum()), rows.stories().story.size)
    away = kept(slices, ~shown_slices(slices) & (slices.n > 0))
    if away.slice.size:
        first, last = (clean(str(away.label[at]), 24) for at in (0, -1))
        yield phrases.far_away(int(away.n.sum()), first, last, LONGEST_GAP)


def keys(rows: RunRows, topics: Sequence[int]) -> list[str]:
    """Return ``river/READING/MEASURE/WIDTH`` for all three; ``all`` topics only where there are more than fit."""
    widths = ("wide", "phone", "all") if many(rows) else ("wide", "phone")
    return [
        f"river/{reading}/{measure}/{width}"
        for reading in readings_of(rows)
        for measure in ("documents", "share")
        for width in widths
    ]


def draw(rows: RunRows, key: str) -> dict[str, Any]:
    """Return the bands, and the labels and dates that fit for several widths; the page takes those of its own."""
    _, reading, measure, width = key.split("/")
    chosen = Selection(
        topic=initial_topic(judged(rows, history_of(rows, readings_of(rows)[0]))),
        reading=reading_called(reading),
        measure="share" if measure == "share" else "documents",
        all_topics=width == "all",
    )
    frame = RiverView().frame(rows, chosen)
    size, widths = (_PHONE, _LABEL_WIDTHS_PHONE) if width == "phone" else (_WIDE, _LABEL_WIDTHS)
    bands = stack(frame, size)
    figure = without_labels(frame, bands, size, "light")
    fitted, plain = {}, {}
    for across in widths:
        fit = Size(across, size.height)
        trace = label_trace(labels(frame, bands, fit), frame, bands, fit, "light")
        fitted[str(across)] = {name: trace.pop(name) for name in _PER_LABEL}
        plain = trace  # the same for all widths
    layout = _quantise(figure["data"], figure["layout"], fitted)
    dates = {str(across): named_dates(frame.history, across) for across in widths}
    return {"data": figure["data"], "layout": layout, "labels": fitted, "dates": dates, "text": plain}


def many(rows: RunRows) -> bool:
    """Tell whether some reading has more topics than are drawn one by one."""
    return any(crowded(history_of(rows, reading)) for reading in readings_of(rows))


def _quantise(
    traces: Sequence[dict[str, Any]], layout: dict[str, Any], fitted: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Replace heights by whole numbers up to 65535, a hundredth of a pixel each: half the bytes."""
    bottom, top = layout["yaxis"]["range"]
    unit = (bottom - top) / 65535
    for trace in traces:
        trace["y"] = np.rint((trace["y"] - top) / unit).astype(np.uint16)
    for labels_of_width in fitted.values():
        labels_of_width["y"] = [round((y - top) / unit) for y in labels_of_width["y"]]
    return layout | {"yaxis": layout["yaxis"] | {"range": [65535, 0]}}


def _sentence(history: History) -> str:
    last = history.index.size - 1
    alive = np.where(history.alive()[last], history.documents[last], -1.0) if history.topic.size else np.empty(0)
    largest = topic_name(history, last, int(np.argmax(alive)), 3) if alive.size and alive.max() > 0 else ""
    return phrases.river_sentence(history.labels, int(history.n.sum()), int((~history.provisional()).sum()), largest)


PANEL = Panel("river", section, columns=columns, keys=keys, draw=draw)
