"""Word search: which topics have a word, when, how strongly, and what is offered instead of an unknown one."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.dashboards.fakes import gazette
from tests.unit.dashboards.node import called, needs_node
from vmfstream.dashboards.looks import phrases, texts
from vmfstream.dashboards.looks.theme import theme
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.search import panel as search
from vmfstream.dashboards.views.search.view import BASE, HIGH, MOST, SearchFrame, SearchView, distances, nearest

WIDE, PHONE = Size(1240, 0), Size(362, 0)


@cache
def rows() -> CachedRows:
    return CachedRows(gazette())


def found(word: str | None, **chosen: Any) -> SearchFrame:
    return SearchView().frame(rows(), Selection(**{"word": word, "reading": "smoothed"} | chosen))


def drawn(frame: SearchFrame, size: Size = WIDE) -> dict[str, dict[str, Any]]:
    return {trace["name"]: trace for trace in SearchView().drawing(frame, size, "light")["data"]}


def test_every_topic_that_stores_the_word_has_a_row_with_its_weights_and_ranks() -> None:
    words = gazette().words("smoothed")
    frame = found("bubble", all_topics=True)
    here = words.word == "bubble"
    assert {int(frame.history.topic[row.t]) for row in frame.rows} == set(words.topic[here].tolist())
    for row in frame.rows:
        own = here & (words.topic == frame.history.topic[row.t])
        np.testing.assert_array_equal(np.flatnonzero(row.rank), words.slice[own])
        np.testing.assert_allclose(row.weight[row.rank > 0], words.weight[own])
        np.testing.assert_array_equal(row.rank[row.rank > 0], words.rank[own])


STORED = ("café", "istanbul", "ışık")


@pytest.mark.parametrize(
    ("asked", "word"),
    [("CAFE\u0301", "café"), ("İstanbul", "istanbul"), ("i\u0307stanbul", "istanbul"), ("IŞIK", None)],
)
def test_words_are_found_however_accents_are_written(asked: str, word: str | None) -> None:
    snapshot = CachedRows(gazette(slices=8, topics=3, words=[[*STORED, "a", "b", "c", "d"]] * 3, settling=0))
    frame = SearchView().frame(snapshot, Selection(word=asked, reading="filtered"))
    assert (frame.word if frame.rows else None) == word


@needs_node
def test_the_script_compares_words_as_pictures_do() -> None:
    texts = ["CAFE\u0301", "café", "İstanbul", "I\u0307stanbul", "istanbul"]
    assert called("format.js", "folded", [(text,) for text in texts]) == ["café"] * 2 + ["istanbul"] * 3


def test_rows_stand_by_their_highest_weight_and_the_rest_is_counted() -> None:
    stories = [["war", "peace", f"word{k}", "a", "b", "c", "d"] for k in range(12)]
    snapshot = CachedRows(gazette(slices=8, topics=12, words=stories, settling=0))
    frame = SearchView().frame(snapshot, Selection(word="war", reading="filtered"))
    peaks = [row.weight.max() for row in frame.rows]
    assert peaks == sorted(peaks, reverse=True)
    assert (len(frame.rows), frame.more) == (MOST, 12 - MOST)
    every = SearchView().frame(snapshot, Selection(word="war", reading="filtered", all_topics=True))
    assert (len(every.rows), every.more) == (12, 0)


def test_areas_have_one_scale_and_end_where_the_word_is_not_stored() -> None:
    frame = found("bubble")
    traces = drawn(frame)
    highest = max(row.weight.max() for row in frame.rows)
    for k, row in enumerate(frame.rows):
        trace = traces[f"topic {frame.history.topic[row.t]}"]
        x = np.array([np.nan if v is None else v for v in trace["x"]])
        y = np.array([np.nan if v is None else v for v in trace["y"]])
        for s in np.flatnonzero(row.rank):
            assert np.nanmin(y[x == s]) == pytest.approx(k + BASE - HIGH * row.weight[s] / highest, abs=1e-4)
        blank = np.flatnonzero(row.rank == 0)
        assert not np.isin(x, blank).any()
        assert trace["fillcolor"] == theme("light").slot(int(frame.history.topic[row.t])).fill


def test_the_peak_is_said_in_words() -> None:
    frame = found("bubble")
    row = frame.rows[0]
    s = int(np.argmax(row.weight))
    assert drawn(frame)["peaks"]["text"][0] == f"word {row.rank[s]} of the topic, {frame.history.labels[s]}"
    assert drawn(frame, PHONE)["peaks"]["text"][0] == f"word {row.rank[s]}, {frame.history.labels[s]}"


def test_settling_slices_are_grey_and_their_weights_no_peak() -> None:
    snapshot = gazette(slices=12, topics=3, settling=4)
    view = SearchView()
    early = next(
        w
        for w in snapshot.words("filtered", topic=1, top=3).word
        if any(row.weight[:4].max() > row.weight[4:].max() > 0 for row in view.frame(snapshot, Selection(word=w)).rows)
    )
    frame = view.frame(snapshot, Selection(word=early))
    areas = [t for t in view.drawing(frame, WIDE, "light")["data"] if t.get("fill")]
    grey = [t for t in areas if t["fillcolor"] == theme("light").rule]
    assert grey
    assert all(v is None or v <= 3.5 for t in grey for v in t["x"])
    assert min(drawn(frame)["peaks"]["x"]) >= 4
    assert not [
        t
        for t in drawn(view.frame(snapshot, Selection(word=early, reading="smoothed"))).values()
        if t.get("fillcolor") == theme("light").rule
    ]


def test_a_word_is_matched_whatever_its_case_and_never_evaluated() -> None:
    assert found("Bubble").word == "bubble"
    assert found("bubble ").word == "bubble"
    for term in (".*", "bubbl.", "'; drop table word; --", "${1+1}", "(", "\\", "%"):
        assert found(term).rows == ()
    assert found(None).rows == found("").rows == ()
    assert found("").near == ()


def test_an_unknown_word_gets_the_five_nearest_by_spelling() -> None:
    frame = found("bubbel")
    assert frame.rows == ()
    assert frame.near[0] == "bubble"
    assert len(frame.near) == 5
    (note,) = SearchView().drawing(frame, WIDE, "light")["layout"]["annotations"]
    assert note["text"].startswith("“bubbel” is among the strongest words of no topic.<br>Similar words:<br>bubble, ")
    hostile = SearchView().drawing(found("<b>$x$</b>"), WIDE, "light")["layout"]["annotations"][0]["text"]
    assert "<" not in hostile.replace("<br>", "", 2)
    assert not found("bubble").near
    assert nearest("tsunmai", ["tsunami", "tenants", "salami"], 2) == ["tsunami", "salami"]
    assert nearest("x", []) == []


@settings(max_examples=80, deadline=None)
@given(st.text("abc", max_size=7), st.lists(st.text("abc", max_size=7) | st.text(max_size=3), max_size=5))
def test_distances_are_those_of_the_definition(word: str, others: list[str]) -> None:
    @cache
    def slow(a: str, b: str) -> int:
        if not a or not b:
            return len(a) + len(b)
        return min(slow(a[1:], b) + 1, slow(a, b[1:]) + 1, slow(a[1:], b[1:]) + (a[0] != b[0]))

    assert distances(word, others).tolist() == [slow(word, other) for other in others]


def test_pages_get_axis_and_looks_without_rows() -> None:
    for key in search.keys(rows(), []):
        figure = search.draw(rows(), key)
        assert [trace["name"] for trace in figure["data"]] == ["lives", "areas", "peaks", "names", "numbers"]
        assert not any(len(trace["x"]) for trace in figure["data"])
        assert figure["layout"]["xaxis"]["ticktext"]


def test_sentences() -> None:
    assert phrases.peak(3, "2000 Q1", short=False) == "word 3 of the topic, 2000 Q1"
    assert texts.PAGE["searchUnknown"].startswith("“{word}” is among the strongest words of no topic.")
