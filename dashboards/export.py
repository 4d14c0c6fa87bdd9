"""One self-contained HTML file from a log: opens from disk, needs no server and no network."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.dashboards import wording
from vmfstream.dashboards.drawings import Drawings, Plan
from vmfstream.dashboards.escape import clean, for_json
from vmfstream.dashboards.history import NO_WORD, History, Snapshot
from vmfstream.dashboards.markup import Parts, page
from vmfstream.dashboards.packing import Arrays
from vmfstream.dashboards.theme import Theme, config, repaint_table, template, theme
from vmfstream.dashboards.view import LogRows, Measure
from vmfstream.errors import InputError
from vmfstream.log.queries import Reader, Reading

REFUSED_MB = 25.0

_MB = 1e6


@dataclass(frozen=True, slots=True)
class ExportReport:
    """Size of the written file and what was left out to keep it small."""

    bytes: int
    dropped: tuple[str, ...]


def export_page(
    log_path: str | os.PathLike[str], out_path: str | os.PathLike[str], *, max_mb: float = 8.0
) -> ExportReport:
    """Write a log as one HTML page.

    Parameters
    ----------
    log_path : path of a log
    out_path : path of the page; an existing file is replaced
    max_mb : float
        Size in megabytes above which parts are left out: first the river of shares, then documents beyond two,
        pictures of the words of small topics, words beyond twenty, pictures of all but sixty topics.

    Returns
    -------
    ExportReport

    Raises
    ------
    InputError
        If the log cannot be read, or the page would be larger than 25 MB.
    ValueError
        If ``max_mb`` is not positive.

    Notes
    -----
    The same log gives the same bytes.
    """
    text, report = build_page(Reader(Path(log_path)), max_mb=max_mb)
    target = Path(out_path)
    draft = target.with_name(target.name + ".part")
    draft.write_text(text, encoding="utf-8", newline="\n")
    draft.replace(target)
    return report


def build_page(rows: LogRows, *, max_mb: float = 8.0) -> tuple[str, ExportReport]:
    """Build the page from rows; see `export_page`."""
    if not max_mb > 0:
        raise ValueError(f"max_mb must be positive, got {max_mb}")
    from plotly.offline import get_plotlyjs

    library = get_plotlyjs()
    snapshot = Snapshot(rows)
    history = snapshot.history("hindsight")
    readings: tuple[Reading, ...] = ("hindsight", "then") if snapshot.has_hindsight() else ("then",)
    drawings = Drawings(snapshot, readings, opening_topic(history))
    for plan in _plans():
        text = _page(snapshot, plan, library, drawings, readings)
        size = len(text.encode("utf-8"))
        if size <= max_mb * _MB:
            break
    if size > REFUSED_MB * _MB:
        raise InputError(
            f"the page would be {size / _MB:.1f} MB, more than {REFUSED_MB:.0f} MB: log fewer topics or longer slices"
        )
    return text, ExportReport(bytes=size, dropped=plan.dropped)


def _plans() -> list[Plan]:
    """Return what to write, each plan leaving out one thing more than the one before."""
    plans = [Plan()]
    for change, what in (
        ({"share": False}, "the river of shares"),
        ({"documents": 2}, "typical documents beyond two"),
        ({"least_share": 0.005}, "pictures of the words of topics that never reached 0.5 %"),
        ({"words": 20}, "words beyond the twenty strongest"),
        ({"pictures": 60}, "pictures of the words of all but the sixty largest topics"),
    ):
        plans.append(replace(plans[-1], **change, dropped=(*plans[-1].dropped, what)))
    return plans


def _page(rows: Snapshot, plan: Plan, library: str, drawings: Drawings, readings: tuple[Reading, ...]) -> str:
    history = rows.history(readings[0])
    table = Arrays()
    many = bool(history.topic.size > 40)
    data: dict[str, Any] = {
        "colours": {name: _colours(theme(name)) for name in ("light", "dark")},
        "config": config(),
        "documents": _documents(rows, history, plan),
        "events": _events(rows, history),
        "labels": list(history.labels),
        "many": many,
        "n": history.n.tolist(),
        "open": {
            "measure": opening_measure(history) if plan.share else "documents",
            "reading": readings[0],
            "topic": opening_topic(history),
        },
        "period": wording.period(history.labels),
        "readings": {name: _columns(rows.history(name), history, plan, table) for name in readings},
        "repaint": dict(repaint_table()),
        "settling": history.settling.astype(int).tolist(),
        "share": plan.share,
        "template": template("light"),
        "title": clean(rows.meta().get("title") or wording.TITLE),
        "topics": history.topic.tolist(),
        "vocabulary": _vocabulary(rows, readings),
        "wording": dict(wording.PAGE),
    }
    figures: dict[str, Any] = {}
    if history.index.size:
        data["order"] = drawings.order
        figures = table.packed(drawings.figures(plan, many))
    data["arrays"] = table.entries
    parts = Parts(
        history=history,
        meta=rows.meta(),
        hindsight=len(readings) == 2,
        many=many,
        share=plan.share,
        dropped=plan.dropped,
    )
    return page(parts, library, for_json(data), for_json(figures))


def opening_topic(history: History) -> int | None:
    """Return the topic of the first visit: the largest turn over the last tenth of time among topics that matter.

    A turn is counted with the root of the documents behind it, because the words of a handful of documents always turn.
    """
    slices = history.index.size
    if not slices or not history.topic.size:
        return None
    recent = slice(-max(2, -(-slices // 10)), None)
    alive = history.alive()
    speed = history.speed if history.reading == "hindsight" else history.speed / history.typical_speed()
    turn = np.nan_to_num(np.where(alive, speed, 0.0))[recent].sum(axis=0)
    documents = np.nan_to_num(np.where(alive, history.documents, 0.0))[recent].sum(axis=0)
    score = np.where(alive[-1] | ~alive[-1].any(), turn * np.sqrt(documents), -1.0)
    if score.max() <= 0:
        score = documents
    return int(history.topic[int(np.argmax(score))])


def opening_measure(history: History) -> Measure:
    """Return what thickness means at first: shares if the fullest slice has over three times the usual documents.

    A stream that grew a lot is a trumpet in documents: its beginning is too thin to be seen, let alone labelled.
    """
    full = history.n[history.n > 0]
    return "share" if full.size > 1 and full.max() > 3 * np.median(full) else "documents"


def _columns(history: History, whole: History, plan: Plan, table: Arrays) -> dict[str, Any]:
    """Return one reading as columns over slices and the page's topics; numbers are rounded to what is shown."""
    slices, topics = whole.index.size, whole.topic.size
    place = np.searchsorted(history.topic, whole.topic)
    place = (
        np.where(
            (place < history.topic.size) & (history.topic[np.minimum(place, history.topic.size - 1)] == whole.topic),
            place,
            -1,
        )
        if history.topic.size
        else np.full(topics, -1)
    )

    def spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.full((slices, topics), np.nan)
        out[:, place >= 0] = values[:, place[place >= 0]]
        return out

    word = np.full((slices, topics, plan.words), NO_WORD, dtype=np.int64)
    weight = np.zeros((slices, topics, plan.words))
    top = min(plan.words, history.word.shape[2] if history.word.ndim == 3 else 0)
    word[:, place >= 0, :top] = history.word[:, place[place >= 0], :top]
    weight[:, place >= 0, :top] = history.weight[:, place[place >= 0], :top]
    stored = word != NO_WORD
    scale = float(weight.max(initial=0.0)) or 1.0
    return {
        "certainty": table.place(spread(history.certainty).astype(np.float32)),
        "documents": table.place(spread(history.documents).astype(np.float32)),
        "share": table.place(spread(history.share).astype(np.float32)),
        "speed": table.place(spread(history.speed).astype(np.float32)),
        "usual": [
            None if np.isnan(v) else round(float(v), 2)
            for v in spread(history.typical_speed()[None, :].repeat(slices, axis=0))[0]
        ]
        if slices
        else [],
        "count": table.place(stored.sum(axis=2).astype(np.uint8)),
        "word": table.place(word[stored].astype(np.uint16 if len(history.vocabulary) < 65536 else np.uint32)),
        "weight": table.place(np.rint(np.sqrt(weight[stored] / scale) * 255).astype(np.uint8)),  # small ones finer
        "scale": round(scale / 255**2, 12),
    }


def _vocabulary(rows: Snapshot, readings: tuple[Reading, ...]) -> dict[str, list[str]]:
    return {name: list(rows.history(name).vocabulary) for name in readings}


def _documents(rows: Snapshot, history: History, plan: Plan) -> list[list[Any]]:
    """Return typical documents as rows of slice position, topic, title, date, score and safe address."""
    if not history.index.size:
        return []
    frame = rows.typical()
    shown = _precision(frame.time)
    out = []
    for k in range(frame.slice.size):
        s = int(frame.slice[k] - history.index[0])
        if not (0 <= s < history.index.size and frame.rank[k] <= plan.documents):
            continue
        address = str(frame.id[k])
        safe = address if address.startswith(("https://", "http://")) else ""
        date = "" if np.isnat(frame.time[k]) else str(frame.time[k].astype("datetime64[D]"))[:shown]
        score = None if np.isnan(frame.score[k]) else round(float(frame.score[k]), 2)
        out.append([s, int(frame.topic[k]), clean(str(frame.title[k]), 160) or clean(address), date, score, safe])
    return out


def _precision(times: NDArray[np.datetime64]) -> int:
    """Return how many characters of an ISO date tell something: none if all dates begin a year, else month or day."""
    days = times[~np.isnat(times)].astype("datetime64[D]")
    if (days == days.astype("datetime64[Y]")).all():
        return 0
    return 7 if (days == days.astype("datetime64[M]")).all() else 10


def _events(rows: Snapshot, history: History) -> list[list[Any]]:
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
