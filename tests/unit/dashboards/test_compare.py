"""Two dates of a topic, or two topics at a date, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit.dashboards.fakes import gazette
from vmfstream.dashboards.looks.textwidth import em_width
from vmfstream.dashboards.looks.theme import theme
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.compare.panel import PANEL
from vmfstream.dashboards.views.compare.view import WORDS, CompareFrame, CompareView, Side, blank

WIDE, PHONE, NARROW = Size(800, 0), Size(362, 0), Size(255, 0)


def drawn(frame: CompareFrame, size: Size = WIDE) -> Any:
    return CompareView().figure(frame, size, "light")


def frame(two_topics: bool = False, degrees: float | None = 52.6) -> CompareFrame:
    left = Side(1, "1987", ("theorem", "proof", "boolean"), (0.8, 0.4, 0.2))
    right = Side(2 if two_topics else 1, "1999", ("svm", "theorem", "proof"), (1.0, 0.5, 0.25))
    return CompareFrame(left, right, degrees)


def traces(figure: Any) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data}


def test_both_sides_are_the_fourteen_strongest_words() -> None:
    rows = gazette(slices=13, topics=4)
    found = CompareView().frame(rows, Selection(topic=2, date=9, other=3, reading="smoothed"))
    words = rows.words("smoothed", 2, WORDS)
    for side, s in ((found.left, 3), (found.right, 9)):
        assert side.words == tuple(words.word[words.slice == s])
        assert side.weights == pytest.approx(tuple(words.weight[words.slice == s]))
    assert (found.left.label, found.right.label) == ("1990", "1996")


def test_the_earlier_date_is_left_whichever_is_chosen() -> None:
    rows = CachedRows(gazette(slices=13, topics=4))
    view = CompareView()
    one = view.frame(rows, Selection(topic=2, date=9, other=3))
    assert one == view.frame(rows, Selection(topic=2, date=3, other=9))
    first = view.frame(rows, Selection(topic=2, date=9))
    assert (first.left.label, first.right.label) == ("1987", "1996")


def test_dates_without_the_topic_are_its_nearest_ones() -> None:
    rows = CachedRows(gazette())  # topic 21 was born in slice 19, topic 7 ended after slice 21
    view = CompareView()
    born = view.frame(rows, Selection(topic=21, date=29, other=2))
    assert (born.left.label, born.right.label) == ("2000 Q4", "2003 Q2")
    ended = view.frame(rows, Selection(topic=7))
    assert ended.right.label == "2001 Q2"


def test_the_angle_is_that_of_the_means() -> None:
    rows = CachedRows(gazette(slices=13, topics=4))
    sketches = rows.sketches("smoothed", 2)
    a, b = sketches.numbers[sketches.slice == 3][0], sketches.numbers[sketches.slice == 9][0]
    true = np.degrees(np.arccos(a @ b / np.linalg.norm(a) / np.linalg.norm(b)))
    found = CompareView().frame(rows, Selection(topic=2, date=9, other=3, reading="smoothed"))
    assert found.degrees == pytest.approx(true, abs=1e-6)
    angles = rows.angles("filtered", 2)
    expected = angles.degrees[(angles.slice == 9) & (np.minimum(angles.topic, angles.other) == 1)]
    topics = CompareView().frame(rows, Selection(topic=2, date=9, other_topic=1))
    assert topics.degrees == pytest.approx(float(expected[0]))


def test_the_headline_says_turned_or_apart_or_nothing() -> None:
    heads = [[note.text for note in drawn(f).layout.annotations] for f in (frame(), frame(True), frame(degrees=None))]
    assert heads == [["1987", "drift of 53°", "1999"], ["1987", "53° apart", "1999"], ["1987", "", "1999"]]


def test_two_topics_are_called_by_their_numbers() -> None:
    rows = CachedRows(gazette(slices=5, topics=4))
    found = CompareView().frame(rows, Selection(topic=2, other_topic=3))
    assert (found.left.label, found.right.label, found.two_topics) == ("topic 2", "topic 3", True)


def test_lines_join_the_words_that_stayed() -> None:
    figure = drawn(frame())
    kept, bars = traces(figure)["kept"], traces(figure)["weights"]
    gaps = [k for k, x in enumerate(kept.x) if x is None]
    assert len(gaps) == 2
    assert (kept.y[0], kept.y[gaps[0] - 1]) == (1, 2)
    assert (kept.y[gaps[0] + 1], kept.y[gaps[1] - 1]) == (2, 3)
    assert {kept.x[0], kept.x[gaps[0] - 1]} == set(bars.base)


def test_bars_are_weights_on_one_scale() -> None:
    bars = traces(drawn(frame()))["weights"]
    long = blank(WIDE, "light")["layout"]["meta"]["long"]
    assert bars.x == pytest.approx([-0.8 * long, -0.4 * long, -0.2 * long, long, 0.5 * long, 0.25 * long], abs=0.06)


def test_gone_words_are_grey_and_new_ones_bold_in_ink() -> None:
    figure, slot = drawn(frame()), theme("light").slot(1)
    bars, words = traces(figure)["weights"], traces(figure)["words"]
    assert list(words.text) == ["theorem", "proof", "boolean", "+ svm", "theorem", "proof"]
    outline, muted, text = theme("light").outline, theme("light").muted, theme("light").text
    assert list(bars.marker.color) == [slot.fill, slot.fill, outline, slot.ink, slot.fill, slot.fill]
    assert list(words.textfont.color) == [text, text, muted, slot.ink, text, text]
    assert list(words.textfont.weight) == [450, 450, 450, 700, 450, 450]


def test_topics_keep_their_colours_and_nothing_is_new() -> None:
    bars, words = (traces(drawn(frame(True)))[name] for name in ("weights", "words"))
    left, right, outline = theme("light").slot(1), theme("light").slot(2), theme("light").outline
    assert list(bars.marker.color) == [outline, outline, left.fill, right.fill, outline, outline]
    assert words.textfont.color[2] == left.ink
    assert words.textfont.color[3] == right.ink
    assert words.text[3] == "svm"


def test_long_words_are_cut_so_that_they_fit() -> None:
    side = Side(1, "1999", ("a" * 60,), (1.0,))
    for size, letters in ((WIDE, 22), (PHONE, 13), (NARROW, 9)):
        words = traces(drawn(CompareFrame(side, side, 0.0), size))["words"]
        assert words.text[0] == "a" * (letters - 1) + "…"


def test_long_names_of_dates_fit_beside_the_bars() -> None:
    then, now = (Side(1, name, ("svm",), (1.0,)) for name in ("10,001 to 10,500", "11,001 to 11,500"))
    figure = drawn(CompareFrame(then, now, 50.0), NARROW)
    left, _, right = figure.layout.annotations
    for note, room in ((left, left.x), (right, NARROW.width - right.x)):
        assert em_width(note.text, bold=True) * note.font.size <= room + 0.1
    assert drawn(frame()).layout.annotations[0].font.size == 14


def test_the_angles_of_a_page_are_those_of_the_view() -> None:
    rows = CachedRows(gazette(slices=6, topics=3))
    assert PANEL.keys is not None
    assert PANEL.draw is not None
    keys = PANEL.keys(rows, [0, 2])
    expected = ["smoothed/0", "smoothed/2", "filtered/0", "filtered/2"]
    assert keys == [f"compare/{key}" for key in ("wide", "phone", *expected)]
    known = PANEL.draw(rows, "compare/filtered/2")
    for later in range(1, 6):
        for earlier in range(later):
            seen = CompareView().frame(rows, Selection(topic=2, date=later, other=earlier))
            assert f"{known['drift'][later * (later - 1) // 2 + earlier]}" == f"{seen.degrees:.0f}"


def test_fewer_topics_never_have_more_angles(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figures of a small page are among those of a large one."""
    rows = CachedRows(gazette(slices=6, topics=3))
    assert PANEL.keys is not None
    monkeypatch.setattr("vmfstream.dashboards.views.compare.panel._MOST_ANGLES", 100)  # of 6 pairs there are 108
    assert PANEL.keys(rows, [0, 1, 2]) == PANEL.keys(rows, [0]) == ["compare/wide", "compare/phone"]


def test_a_page_without_sketches_has_no_angles() -> None:
    rows = gazette(slices=6, topics=3)
    rows.sketch_frames.clear()
    assert PANEL.keys is not None
    assert PANEL.keys(CachedRows(rows), [0, 2]) == ["compare/wide", "compare/phone"]
    assert CompareView().frame(CachedRows(rows), Selection(topic=2, date=5, other=1)).degrees is None
