"""The places of views that are not drawn yet."""

from __future__ import annotations

import numpy as np

from vmfstream.dashboards import wording
from vmfstream.dashboards.escape import for_html
from vmfstream.dashboards.history import History
from vmfstream.dashboards.panels import Panel, Parts


def _nothing(parts: Parts) -> str:
    return ""


def _later(parts: Parts) -> str:
    return '<p class="muted">This view is not drawn yet.</p>'


def _documents(parts: Parts) -> str:
    return '<div id="documents" aria-live="off"><h3></h3><ol></ol><p class="muted"></p></div>'


def _table(parts: Parts) -> str:
    """Return every topic as a row: its words when it was last seen and at first, and its numbers there."""
    history: History = parts.history
    heads = [
        ("topic", "number"),
        ("words now", ""),
        ("words at first", ""),
        ("documents", "number"),
        ("share", "number"),
        ("last step", "number"),
        ("sure of its words", "number"),
        ("first", ""),
        ("last", ""),
    ]
    rows = []
    for t, topic in enumerate(history.topic):
        seen = np.flatnonzero(~np.isnan(history.documents[:, t]))
        if not seen.size:
            continue
        a, b = int(seen[0]), int(seen[-1])
        speed = history.speed[b, t]
        step = "" if np.isnan(speed) or history.reading == "then" else f"{speed:.0f}°"
        sure = history.certainty[b, t]
        cells = [
            (f'<a href="#t={int(topic)}">{int(topic)}</a>', "number"),
            (for_html(" ".join(history.strongest(b, t, 5))), ""),
            (for_html(" ".join(history.strongest(a, t, 5))), ""),
            (f"{history.documents[b, t]:.0f}", "number"),
            (wording.percent(float(np.nan_to_num(history.share[b, t]))), "number"),
            (step, "number"),
            ("" if np.isnan(sure) else f"{100 * sure:.0f} %", "number"),
            (for_html(history.labels[a]), ""),
            (for_html(history.labels[b]), ""),
        ]
        rows.append("<tr>" + "".join(f"<td{_class(c)}>{text}</td>" for text, c in cells) + "</tr>")
    head = "".join(f'<th scope="col"{_class(c)}>{text}</th>' for text, c in heads)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


SENTENCES = Panel("sentences", _nothing)
COMPARE = Panel("compare", _nothing)
RAYS = Panel("rays", _nothing)
DOCUMENTS = Panel("documents", _documents)
GLOBE = Panel("globe", _later, "Globe")
TREE = Panel("tree", _later, "Tree")
SEARCH = Panel("search", _later, "Word search")
HEALTH = Panel("health", _later, "Health")
TABLE = Panel("table", _table, "Table")
