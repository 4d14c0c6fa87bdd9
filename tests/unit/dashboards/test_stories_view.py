"""The panel of stories: which are on the page, in what order, and that strangers' titles stay text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.dashboards.fakes import gazette, with_stories
from tests.unit.dashboards.test_export import data_of, unpacked
from vmfstream.dashboards.export import build_page
from vmfstream.dashboards.looks.texts import BANNED, PAGE
from vmfstream.dashboards.page.script import asset
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.views.stories import panel
from vmfstream.dashboards.views.stories.panel import columns

HOSTILE = "</script><img src=x onerror=alert(1)> \u202eevil \x1b[31m $x$ 'quote\" &amp;"


def test_the_largest_story_comes_first_with_words_and_documents() -> None:
    rows = with_stories(gazette(slices=6, topics=3), (1, 5, 0, 2, "One"), (2, 9, 1, 1, "Two"), (3, 7, 4, 9, "Three"))
    found = columns(rows, history_of(rows, "smoothed"))
    assert found["all"] == 3
    assert found["rows"] == [
        [2, "Two", 9, 1, 1, 1, "ended", ["a2", "b2", "c2"], [["Two", "https://example.org/2"]]],
        [3, "Three", 7, 4, 5, 1, "rising", ["a3", "b3", "c3"], [["Three", "https://example.org/3"]]],
        [1, "One", 5, 0, 2, 1, "steady", ["a1", "b1", "c1"], [["One", "https://example.org/1"]]],
    ]


def test_runs_without_stories_have_an_empty_list() -> None:
    rows = gazette(slices=4, topics=3)
    assert columns(rows, history_of(rows, "smoothed")) == {"all": 0, "rows": []}


def test_a_page_has_the_newest_and_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panel, "MOST", 5)
    monkeypatch.setattr(panel, "NEWEST", 2)
    sizes = [40, 10, 30, 20, 50, 60, 3, 4]  # the last two are the newest
    rows = with_stories(gazette(slices=9, topics=3), *((k, size, k, k, f"t{k}") for k, size in enumerate(sizes)))
    found = columns(rows, history_of(rows, "smoothed"))
    assert found["all"] == 8
    assert [row[2] for row in found["rows"]] == [60, 50, 40, 4, 3]


def test_only_addresses_of_the_web_become_links() -> None:
    rows = with_stories(gazette(slices=3, topics=3), (1, 5, 0, 2, "One"))
    assert rows.story_frames is not None
    frame, words, documents = rows.story_frames
    wrong = replace(documents, id=np.array(["javascript:alert(1)"], np.object_))
    found = columns(replace(rows, story_frames=(frame, words, wrong)), history_of(rows, "smoothed"))
    assert found["rows"][0][-1] == [["One", ""]]


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
