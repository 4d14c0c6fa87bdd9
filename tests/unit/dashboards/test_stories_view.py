"""The panel of stories: which are on the page, in what order, and that strangers' titles stay text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.dashboards.fakes import gazette, with_past, with_stories
from tests.unit.dashboards.test_export import data_of, unpacked
from vmfstream.dashboards.export import build_page
from vmfstream.dashboards.looks.texts import BANNED, PAGE
from vmfstream.dashboards.page.script import asset
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.merged import MergedRows
from vmfstream.dashboards.views.stories import panel
from vmfstream.dashboards.views.stories.panel import columns

HOSTILE = "</script><img src=x onerror=alert(1)> \u202eevil \x1b[31m $x$ 'quote\" &amp;"


def test_the_largest_story_comes_first_with_words_and_documents() -> None:
    rows = with_stories(gazette(slices=6, topics=3), (1, 5, 0, 2, "One"), (2, 9, 1, 1, "Two"), (3, 7, 4, 9, "Three"))
    found = columns(rows, history_of(rows, "smoothed"))
    assert found["all"] == 3
    assert found["rows"] == [
        [2, "Two", 9, 1, 1, 1, "ended", ["a2", "b2", "c2"], [["Two", "https://example.org/2", 0]], []],
        [3, "Three", 7, 4, 5, 1, "rising", ["a3", "b3", "c3"], [["Three", "https://example.org/3", 0]], []],
        [1, "One", 5, 0, 2, 1, "steady", ["a1", "b1", "c1"], [["One", "https://example.org/1", 0]], []],
    ]


def test_what_a_story_was_is_told_where_it_is_known() -> None:
    rows = with_stories(gazette(slices=6, topics=3), (1, 9, 0, 4, "One"), (2, 7, 3, 4, "Two"))
    past = (2, 1, 3, "Early"), (4, 1, 9, "One"), (4, 2, 7, "Two")
    found = columns(with_past(rows, *past), history_of(rows, "smoothed"))
    one, two = found["rows"]
    words = ["early1", "a1"]
    assert one[-1] == [[2, 3, 1, "rising", "Early", words], [4, 9, 1, "rising", 0, words]]
    assert two[-1] == [[4, 7, 1, "rising", 0, ["early2", "a2"]]]
    assert found["since"] == 2
    assert found["dates"] == [1, 1, 1, 1, 2, 0]
    assert columns(rows, history_of(rows, "smoothed"))["since"] == 6  # a run file of before


def test_dates_of_several_slices_have_stories_as_at_their_ends() -> None:
    rows = with_stories(gazette(slices=6, topics=3), (1, 9, 0, 5, "One"))
    past = with_past(rows, *((k, 1, k + 1, f"After {k}") for k in (0, 2, 3, 4)))
    merged = MergedRows(past, 2)
    found = columns(merged, history_of(merged, "smoothed"))
    told = [(at, size, title) for at, size, _, _, title, _ in found["rows"][0][-1]]
    assert told == [(0, 1, "After 0"), (1, 4, "After 3"), (2, 5, "After 4")]


def test_documents_have_the_slice_in_which_they_came() -> None:
    rows = with_stories(gazette(slices=4, topics=3), (1, 9, 0, 3, "One"), (2, 7, 0, 3, "Two"))
    assert rows.story_frames is not None
    frame, words, documents = rows.story_frames
    times = rows.slices().ends[[1, 3]] - np.timedelta64(1, "s")
    moved = replace(rows, story_frames=(frame, words, replace(documents, time=times)))
    found = columns(moved, history_of(rows, "smoothed"))
    assert [row[8][0][2] for row in found["rows"]] == [1, 3]
    counted = replace(moved.slices(), ends=np.full(4, "NaT", "datetime64[us]"))
    found = columns(replace(moved, slice_frame=counted), history_of(rows, "smoothed"))
    assert [row[8][0][2] for row in found["rows"]] == [-1, -1]


def test_runs_without_stories_have_an_empty_list() -> None:
    rows = gazette(slices=4, topics=3)
    assert columns(rows, history_of(rows, "smoothed")) == {
        "all": 0,
        "since": 4,
        "dates": [0, 0, 0, 0],
        "topics": {},
        "rows": [],
    }


def test_a_page_has_the_newest_and_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panel, "MOST", 5)
    monkeypatch.setattr(panel, "NEWEST", 2)
    sizes = [40, 10, 30, 20, 50, 60, 3, 4]  # the last two are the newest
    rows = with_stories(gazette(slices=9, topics=3), *((k, size, k, k, f"t{k}") for k, size in enumerate(sizes)))
    found = columns(rows, history_of(rows, "smoothed"))
    assert found["all"] == 8
    assert found["dates"] == [1] * 8 + [0]
    assert found["topics"] == {1: 8}
    assert [row[2] for row in found["rows"]] == [60, 50, 40, 4, 3]


def test_only_addresses_of_the_web_become_links() -> None:
    rows = with_stories(gazette(slices=3, topics=3), (1, 5, 0, 2, "One"))
    assert rows.story_frames is not None
    frame, words, documents = rows.story_frames
    wrong = replace(documents, id=np.array(["javascript:alert(1)"], np.object_))
    found = columns(replace(rows, story_frames=(frame, words, wrong)), history_of(rows, "smoothed"))
    assert found["rows"][0][8] == [["One", "", 0]]


def test_titles_of_strangers_stay_text() -> None:
    text, _ = build_page(with_stories(gazette(slices=3, topics=3), (1, 5, 0, 2, HOSTILE)))
    assert "<img src=x" not in unpacked(text)
    title = data_of(text)["stories"]["rows"][0][1]
    assert title == "</script><img src=x onerror=alert(1)> evil [31m $x$ 'quote\" &amp;"
    assert not any(
        way in asset("stories.js") for way in ("innerHTML", "insertAdjacentHTML", "outerHTML", "document.write")
    )


def test_texts_are_plain() -> None:
    said = " ".join(text.lower() for name, text in PAGE.items() if name.startswith(("stor", "trend")))
    assert not [word for word in BANNED if word in said]
