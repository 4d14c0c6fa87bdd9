"""Lists of documents of a topic or a story: some of them in the page, or all by pages from the server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from vmfstream.dashboards.looks.escape import clean
from vmfstream.dashboards.rows.history import History
from vmfstream.dashboards.rows.merged import merged_of
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.dashboards.views.stories.panel import stories_of_page
from vmfstream.errors import InputError
from vmfstream.runfile.queries import DocumentChoice, ListedFrame, Reader, kept

PAGE_ROWS = 20
"""Documents that the server sends at once."""

LONGEST_SEARCH = 200
"""Characters of what is searched for."""

_EXCERPT = 240
_ALL = 2**31
"""More documents than a slice has."""


def listed_data(rows: RunRows, history: History, most: int) -> dict[str, Any]:
    """Return from ``rows`` the newest ``most`` documents of each topic and slice of a ``history``, and of each story.

    Also how many there are of each topic and slice, as rows of slice position, topic and number, and whether the run
    keeps documents and texts. For 0 there are no rows, for a page that asks a server.
    """
    settings = rows.meta()
    documents, keeps = settings.get("documents", "none"), settings.get("keep_text") == "True"
    data: dict[str, Any] = {"keeps": documents, "texts": keeps, "most": most, "counts": [], "rows": []}
    if not most or documents == "none" or not history.index.size:
        return data
    counts = rows.listed_counts()
    first, last = int(history.index[0]), int(history.index[-1])
    shown = np.flatnonzero((counts.slice >= first) & (counts.slice <= last))
    data["counts"] = np.stack([counts.slice - first, counts.topic, counts.n], axis=1)[shown].tolist()
    newest = rows.newest_listed(most, tuple(stories_of_page(rows)))
    data["rows"] = _rows(kept(newest, (newest.slice >= first) & (newest.slice <= last)), history)
    return data


def answer(reader: Reader, rows: RunRows, history: History, asked: dict[str, str]) -> dict[str, Any]:
    """Return one page of a list, as `listed_data` has its rows, and how many documents there are in all.

    Parameters
    ----------
    reader : of the run file that the page shows.
    rows : those of the page, which may have several slices in one date.
    history : that of the page.
    asked : ``topic`` or ``story``, maybe ``slice`` (its position), ``search`` and ``skip``.

    Raises
    ------
    InputError
        If a number is none.
    """

    def whole(name: str) -> int | None:
        text = asked.get(name, "")
        if not text:
            return None
        if not text.isascii() or not text.isdecimal() or len(text) > 12:
            raise InputError(f"{name}: expected a whole number, got {clean(text)!r}")
        return int(text)

    position, merged = whole("slice"), merged_of(rows)
    date = None if position is None else position + int(history.index[0])
    first, last = merged.slices_of(date) if merged and date is not None else (date, date)
    choice = DocumentChoice(
        topic=whole("topic"),
        story=whole("story"),
        slice=first if first == last else None,
        part=None if first is None or last is None or first == last else (first, last, 0, _ALL),
        search=asked.get("search", "")[:LONGEST_SEARCH],
    )
    found = reader.listed(choice, limit=PAGE_ROWS, skip=whole("skip") or 0)
    if merged:
        found = replace(found, slice=merged.dates(found.slice))
    return {"all": reader.count_documents(choice), "rows": _rows(found, history)}


def _rows(frame: ListedFrame, history: History) -> list[list[Any]]:
    """Return documents as rows of slice position, topic, story, id, time, probability, text and safe address."""
    # where a document has no time the page shows its slice
    times = [time.replace("NaT", "") for time in np.datetime_as_string(frame.time, "s").tolist()]
    day = all(time.endswith("T00:00:00") for time in times if time)
    position = np.clip(frame.slice - history.index[0], 0, history.index.size - 1).tolist()
    out = []
    for i, (address, time) in enumerate(zip(frame.id.tolist(), times, strict=True)):
        probability = float(frame.probability[i])
        out.append(
            [
                position[i],
                int(frame.topic[i]),
                int(frame.story[i]),
                clean(address, _EXCERPT),
                time[:10] if day else time.replace("T", " "),
                None if np.isnan(probability) else round(probability, 2),
                clean(frame.text[i], _EXCERPT),
                address if address.startswith(("https://", "http://")) else "",
            ]
        )
    return out
