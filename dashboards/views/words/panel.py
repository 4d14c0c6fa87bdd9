"""Panel of the words, with one figure for each reading, topic and form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from vmfstream.dashboards.looks.texts import WORDS
from vmfstream.dashboards.panels import PageParts, Panel, chart, switch
from vmfstream.dashboards.rows.history import lived
from vmfstream.dashboards.rows.run_rows import RunRows, reading_called
from vmfstream.dashboards.view import Form, Selection, Size
from vmfstream.dashboards.views.words.view import WordsView


def section(parts: PageParts) -> str:
    """Return the place of rank chart and heatmap, and of the same words as rows."""
    forms = [("ranks", "ranks", True), ("heatmap", "heatmap", True)]
    if parts.smoothed or parts.live:
        forms.append(("both", "both readings", True))
    figure = chart(
        "words",
        WORDS,
        "",
        controls=switch("form", "Form", forms),
        over='\n<div class="column" aria-hidden="true"></div>',
    )
    as_rows = '<button class="quiet" id="words-table" aria-expanded="false">as table</button>'
    figure = figure.replace('<div class="tools">', f'<div class="tools">{as_rows}')
    return f'{figure}<div class="scroll" id="words-rows" hidden></div>'


def keys(rows: RunRows, topics: Sequence[int]) -> list[str]:
    """Return ``words/READING/TOPIC/KIND`` for all topics, where reading may be ``both``."""
    pairs = lived(rows, topics)
    times = Counter(topic for _, topic in pairs)
    both = [kind for kind in _FORMS if kind.startswith("both")]
    one = [kind for kind in _FORMS if kind not in both]
    return [f"words/{reading}/{topic}/{kind}" for reading, topic in pairs for kind in one] + [
        f"words/both/{topic}/{kind}" for topic in topics if times[topic] == 2 for kind in both
    ]


def draw(rows: RunRows, key: str) -> dict[str, Any]:
    """Return one rank chart, or a heatmap for a width."""
    _, reading, topic, kind = key.split("/")
    form, size = _FORMS[kind]
    view = WordsView()
    chosen = Selection(topic=int(topic), reading=reading_called(reading), form=form)
    return view.drawing(view.frame(rows, chosen), size, "light")


_WIDE, _PHONE = Size(800, 0), Size(362, 0)


_FORMS: Mapping[str, tuple[Form, Size]] = {
    "ranks": ("ranks", _WIDE),
    "heatmap": ("heatmap", _WIDE),
    "heatmap-phone": ("heatmap", _PHONE),
    "both": ("both", _WIDE),
    "both-phone": ("both", _PHONE),
}


PANEL = Panel("words", section, keys=keys, draw=draw)
