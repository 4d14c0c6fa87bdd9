"""Documents whose times lie far from all others, and runs without topics: pages are made, and say so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.unit.dashboards.fakes import FakeRows, gazette, with_stories
from vmfstream.dashboards.export import build_page
from vmfstream.dashboards.rows.history import LONGEST_GAP, read_history
from vmfstream.dashboards.rows.merged import rows_of_page
from vmfstream.runfile.queries import kept

FAR = 24_000


def moved(rows: FakeRows, before: int, by: int) -> FakeRows:
    """Return a log whose slices up to ``before`` lie ``by`` slices earlier."""

    def shifted(frame: Any) -> Any:
        column = frame.slice
        return replace(frame, slice=np.where(column < before, column - by, column))

    frames: dict[str, Any] = {
        name: {reading: shifted(frame) for reading, frame in getattr(rows, name).items()}
        for name in ("topic_frames", "word_frames", "sketch_frames")
    }
    own: dict[str, Any] = {
        name: shifted(getattr(rows, name)) for name in ("slice_frame", "typical_frame", "event_frame")
    }
    return replace(rows, **frames, **own)


def of_size(rows: FakeRows, sizes: dict[int, int]) -> FakeRows:
    """Return a log whose slices have other numbers of documents."""
    n = rows.slice_frame.n.copy()
    for at, size in sizes.items():
        n[at] = size
    return replace(rows, slice_frame=replace(rows.slice_frame, n=n))


def test_a_page_leaves_out_documents_that_lie_far_before_the_others_and_says_so() -> None:
    rows = moved(of_size(gazette(slices=8, topics=4), {0: 3}), 1, FAR)
    history = read_history(rows, "smoothed")
    assert history.index.tolist() == list(range(1, 8))
    assert history.labels == tuple(rows.slice_frame.label[1:])
    text, _ = build_page(rows)
    assert f"3 documents of {rows.slice_frame.label[0]} not shown: more than {LONGEST_GAP:,} empty dates" in text


def test_the_newest_documents_are_shown_after_a_long_silence_but_not_a_few_wrong_ones() -> None:
    rows = gazette(slices=8, topics=4)
    after_silence = read_history(moved(rows, 6, FAR), "filtered")
    assert after_silence.index.tolist() == [6, 7]
    wrong = of_size(rows, {6: 1, 7: 1})
    assert read_history(moved(wrong, 6, FAR), "filtered").index.tolist() == [at - FAR for at in range(6)]


@pytest.mark.parametrize(("gap", "slices"), [(LONGEST_GAP, LONGEST_GAP + 8), (LONGEST_GAP + 1, 7)])
def test_shorter_gaps_are_shown(gap: int, slices: int) -> None:
    rows = of_size(gazette(slices=8, topics=2), {0: 100})
    assert read_history(moved(rows, 1, gap), "filtered").index.size == slices
    assert "not shown: more than" not in build_page(gazette(slices=8, topics=2))[0]


def test_dates_of_a_silence_have_the_names_of_the_calendar() -> None:
    rows = moved(gazette(slices=8, topics=2), 4, 20)
    history = read_history(rows, "filtered")
    assert history.labels[-8:] == ("1996 Q1", "1996 Q2", "1996 Q3", "1996 Q4", *rows.slice_frame.label[4:])
    assert history.period() == "quarter"
    merged = read_history(rows_of_page(rows, most=14), "filtered")
    assert merged.labels[-4:] == ("1996 Q2", "1996 Q4", "1997 Q2", "1997 Q4")


def test_dates_without_a_calendar_are_numbered() -> None:
    rows = moved(gazette(slices=8, topics=2), 4, 20)
    for settings, ends in (({"slices": "100"}, "2000-01-01"), ({}, "2000-01-01"), ({"slices": "quarter"}, "NaT")):
        found = np.full(8, ends, "datetime64[us]")
        odd = replace(rows, settings=settings, slice_frame=replace(rows.slice_frame, ends=found))
        assert read_history(odd, "filtered").labels[-5] == "slice 3"


def test_a_page_without_topics_says_why() -> None:
    rows = gazette(slices=5, topics=3)
    frames: dict[str, Any] = {
        name: {reading: kept(frame, np.zeros(len(frame.slice), np.bool_)) for reading, frame in found.items()}
        for name, found in ((name, getattr(rows, name)) for name in ("topic_frames", "word_frames", "sketch_frames"))
    }
    text, _ = build_page(replace(rows, **frames))
    assert "documents and no topics yet. They need words that are in at least two documents" in text
    assert "Stories are below." not in text
    assert (
        "at most half of them. Numbers, emoji and words of more than 40 characters do not count. Stories are below."
        in build_page(with_stories(replace(rows, **frames), (1, 5, 0, 2, "flood")))[0]
    )
    assert 'id="notice" hidden' in text
    assert "no topics yet" not in build_page(rows)[0]
