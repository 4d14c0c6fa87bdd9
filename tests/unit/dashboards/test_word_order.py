"""Names of topics have their words in the order of texts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.unit.dashboards.fakes import FakeRows, gazette
from vmfstream.dashboards.rows.history import history_of, read_history
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.rows.topic_names import topic_name
from vmfstream.dashboards.rows.word_order import in_order, word_pairs
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.changes.sentences import what_changed
from vmfstream.dashboards.views.river.view import RiverView

TITLES = ("A day in New York", "New York, again", "York new and old", "One once only", "what & that", "What & That!")


def called(*words: str) -> FakeRows:
    """Return a log whose topics have these words, and of which the titles above are known."""
    rows = gazette(slices=6, topics=3, words=[list(words)] * 8, settling=0)
    titles = np.resize(np.array(TITLES, object), rows.typical_frame.title.size)
    return replace(rows, typical_frame=replace(rows.typical_frame, title=titles))


def test_pairs_are_what_stands_side_by_side_more_often_this_way() -> None:
    pairs = word_pairs(called("york", "new"))
    assert ("new", "york") in pairs
    assert not {("york", "new"), ("one", "once")} & pairs
    assert ("what", "that") in pairs


def test_names_labels_and_sentences_keep_the_order() -> None:
    rows = CachedRows(called("york", "new"))
    history = history_of(rows, "smoothed")
    cells = [(s, t) for s in range(6) for t in range(3)]
    assert ["york", "new"] in [history.strongest(s, t, 2) for s, t in cells]
    assert {topic_name(history, s, t) for s, t in cells} == {"new york"}
    drawn = RiverView().drawing(RiverView().frame(rows, Selection()), Size(1240, 486), "light")
    texts = {text.replace("<br>", " ") for text in drawn["data"][-1]["text"]}
    assert "new york" in texts
    assert "york new" not in texts
    said = " ".join(str(change) for change in what_changed(rows, "smoothed", since=1).changes)
    assert "york new" not in said


def test_without_titles_the_strongest_word_comes_first() -> None:
    rows = called("york", "new")
    nothing = replace(rows, typical_frame=replace(rows.typical_frame, title=np.full_like(rows.typical_frame.title, "")))
    history = read_history(nothing, "smoothed")
    assert "york new" in [topic_name(history, s, t) for s in range(6) for t in range(3)]
    assert in_order([], {("a", "b")}) == []
