"""Every topic as a row at the selected date: the text alternative of all figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from vmfstream.dashboards.looks import texts
from vmfstream.dashboards.looks.escape import for_html
from vmfstream.dashboards.panels import PageParts, Panel, save_table
from vmfstream.dashboards.rows.geometry import all_sketches, as_bytes
from vmfstream.dashboards.rows.history import Doubles, History, Ints, history_of, topics_of
from vmfstream.dashboards.rows.run_rows import RunRows, readings_of

# key of a column, and whether it holds numbers
_COLUMNS = (
    ("topic", True),
    ("now", False),
    ("first", False),
    ("documents", True),
    ("share", True),
    ("drift", True),
    ("last drift", True),
    ("certainty", True),
    ("isotropy", True),
    ("begun", False),
    ("ended", False),
)


def section(parts: PageParts) -> str:
    """Return the table's head, whose buttons sort it; the script fills in a row per topic."""
    heads = "".join(
        f'<th scope="col"{_class("number" if number else "")}{_hidden(key)} aria-sort="none">'
        f'<button data-sort="{key}">{for_html(texts.TABLE_HEADS[key])}</button></th>'
        for key, number in _COLUMNS
    )
    return (
        f'<div class="head"><h3 id="table-title">{texts.TABLE}</h3></div>'
        f'<p class="muted">{texts.TABLE_CAPTION}</p>'
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="table-title">'
        f'<table id="topics"><thead><tr>{heads}</tr></thead><tbody></tbody></table></div>'
        f'<div class="tools">{save_table("table")}</div>'
    )


def columns(rows: RunRows, history: History) -> dict[str, Any]:
    """Return what the topics are at each date, as bytes of shape (S, T) row by row.

    By reading the drift of each since its first date; where documents are vectors also the isotropy in percent.
    """
    out: dict[str, Any] = {}
    topics = topics_of(rows)
    isotropy = _isotropy(rows, history, topics)
    if not np.isnan(isotropy).all():
        out["isotropy"] = as_bytes(100.0 * isotropy).ravel()
    for reading in readings_of(rows):
        own = history_of(rows, reading)
        drift = np.full((history.index.size, topics.size), np.nan)
        drift[:, np.searchsorted(topics, own.topic)] = drift_since_first(rows, own)
        out[reading] = as_bytes(drift).ravel()
    return out


def _isotropy(rows: RunRows, history: History, topics: Ints) -> Doubles:
    """Return the isotropy of each of the ``topics`` at each slice, shape (S, T), NaN where unknown."""
    frame = rows.quality()
    out = np.full((history.index.size, topics.size), np.nan)
    s = frame.slice - (history.index[0] if history.index.size else 0)
    t = np.searchsorted(topics, frame.topic)
    there = (s >= 0) & (s < history.index.size) & np.isin(frame.topic, topics)
    out[s[there], t[there]] = frame.isotropy[there]
    return out


def drift_since_first(rows: RunRows, history: History) -> Doubles:
    """Return the degrees between each topic's mean and its first settled one, shape (S, T), NaN where unknown."""
    sketches = all_sketches(rows, history)
    there = ~np.isnan(sketches).any(axis=2) & history.settled()[:, None]
    first = np.argmax(there, axis=0)
    cosine = np.einsum("std,td->st", sketches, sketches[first, np.arange(history.topic.size)])
    drift = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0, dtype=np.float64)))
    out: Doubles = np.where(there.any(axis=0) & (np.arange(history.index.size)[:, None] >= first), drift, np.nan)
    return out


def _hidden(key: str) -> str:
    """Return what hides the column of documents that are vectors; the script shows it."""
    return " hidden" if key == "isotropy" else ""


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


PANEL = Panel("table", section, "Table", columns=columns)
