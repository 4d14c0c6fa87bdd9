"""Names of topics at a date: given ones, their phrases and words, or strongest words where the file has no names."""

from __future__ import annotations

import numpy as np

from vmfstream.dashboards.looks.phrases import numbered
from vmfstream.dashboards.rows.history import History
from vmfstream.dashboards.rows.word_order import in_order
from vmfstream.runfile.queries import alike, shortened


def distinct(words: list[str], top: int) -> list[str]:
    """Return the first ``top`` words of which no two begin with the same four letters."""
    kept: list[str] = []
    for word in words:
        if len(kept) < top and not any(alike(word, other) for other in kept):
            kept.append(word)
    return kept


def topic_name(history: History, s: int, t: int, top: int = 2) -> str:
    """Return the name of column ``t`` at row ``s`` of ``history``, or its number.

    A name that people gave comes first. Else that are the first parts of its name with ``top`` words together; without
    a name its ``top`` strongest words, no two with the same first four letters.
    """
    given = history.given.get(int(history.topic[t]))
    if given is not None:
        return given
    if (s, t) in history.names:
        return shortened(history.names[s, t], top)
    words = in_order(distinct(history.strongest(s, t, 4 * top), top), history.pairs)
    return " ".join(words) or numbered(int(history.topic[t]))


def lifetime(history: History, t: int) -> tuple[int, int] | None:
    """Return the first and the last row in which column ``t`` is there, or None."""
    there = np.flatnonzero(~np.isnan(history.documents[:, t]))
    return (int(there[0]), int(there[-1])) if there.size else None
