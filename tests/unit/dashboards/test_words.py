"""The words of one topic: rank chart, heatmap, both readings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.dashboards.fakes import FakeRows, gazette
from vmfstream.dashboards.looks.theme import theme
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.view import Form, Selection, Size
from vmfstream.dashboards.views.words.heatmap import heatmap_words
from vmfstream.dashboards.views.words.rank_chart import rank_chart_columns, standing
from vmfstream.dashboards.views.words.view import WordsView
from vmfstream.runfile.queries import kept

WIDE, PHONE = Size(800, 0), Size(362, 0)


def test_form_follows_the_number_of_slices_and_the_width() -> None:
    view = WordsView()
    few = view.frame(gazette(slices=13, topics=3), Selection(topic=1))
    many = view.frame(gazette(slices=15, topics=3), Selection(topic=1))
    assert [few.chosen(WIDE), few.chosen(PHONE), many.chosen(WIDE)] == ["ranks", "heatmap", "heatmap"]


def test_columns_are_counted_back_from_the_newest() -> None:
    assert rank_chart_columns(13, 800).tolist() == [0, 2, 4, 6, 8, 10, 12]
    assert rank_chart_columns(12, 800).tolist() == [1, 3, 5, 7, 9, 11]
    assert rank_chart_columns(8, 800).tolist() == list(range(8))
    assert rank_chart_columns(1, 800).tolist() == [0]


def test_words_enter_return_and_leave() -> None:
    # columns by words; the fourth word enters, leaves and returns
    rank = np.array([[1, 2, 3, 0], [1, 2, 0, 3], [1, 9, 0, 0], [1, 2, 0, 3]])
    state = standing(rank, np.ones(4, dtype=np.bool_))
    assert state[0].tolist() == ["stays", "stays", "last", ""]
    assert state[1].tolist() == ["stays", "stays", "", "new"]
    assert state[2].tolist() == ["stays", "", "", ""]
    assert state[3].tolist() == ["stays", "back", "", "back"]


def test_nothing_enters_while_topics_are_settling() -> None:
    rank = np.array([[1, 2, 0], [1, 0, 2], [1, 2, 0], [1, 0, 2]])
    state = standing(rank, np.array([False, False, True, True]))
    assert (state[:2] != "new").all()
    assert (state[2] != "new").all()
    assert state[3, 2] == "new"


def test_ladder_shows_the_eight_strongest_words_at_their_ranks() -> None:
    rows = gazette(slices=8, topics=4, settling=0)
    view = WordsView()
    figure = view.figure(view.frame(rows, Selection(topic=2, reading="smoothed")), Size(1000, 0), "light")
    shown = {
        (x, y): text.removeprefix("+ ")
        for trace in figure.data
        if trace.name == "words"
        for x, y, text in zip(trace.x, trace.y, trace.text, strict=True)
    }
    words = rows.words("smoothed", topic=2, top=8)
    expected = {(s, r): w for s, r, w in zip(words.slice, words.rank, words.word, strict=True)}
    assert shown == expected


def test_one_slice_is_a_list_with_bars() -> None:
    rows = gazette(slices=1, topics=3, settling=0)
    view = WordsView()
    figure = view.figure(view.frame(rows, Selection(topic=2, reading="smoothed")), WIDE, "light")
    bars = next(t for t in figure.data if t.name == "weights")
    words = rows.words("smoothed", topic=2, top=8)
    length = dict(zip(bars.y, bars.x, strict=True))
    for rank, weight in zip(words.rank, words.weight, strict=True):
        assert length[rank] / length[1] == pytest.approx(weight / words.weight[0], abs=0.005)
    shown = {y: text for t in figure.data if t.name == "words" for y, text in zip(t.y, t.text, strict=True)}
    assert shown == dict(zip(words.rank, words.word, strict=True))
    two = view.figure(view.frame(gazette(slices=2, topics=3), Selection(topic=2)), WIDE, "light")
    assert "weights" not in {t.name for t in two.data}


def test_entering_words_are_bold_and_in_ink() -> None:
    view = WordsView()
    figure = view.figure(
        view.frame(gazette(slices=10, topics=4), Selection(topic=2, reading="smoothed")), WIDE, "light"
    )
    new = [t for t in figure.data if t.name == "words" and any(text.startswith("+ ") for text in t.text)]
    assert len(new) == 1
    assert new[0].textfont.color == theme("light").slot(2).ink
    assert new[0].textfont.weight == 700


def test_words_of_uncertain_slices_are_muted() -> None:
    rows = gazette(slices=6, topics=2, settling=0)
    rows.topic_frames["filtered"].certainty[:] = 0.3
    view = WordsView()
    figure = view.figure(view.frame(rows, Selection(topic=1, reading="filtered")), WIDE, "light")
    assert {t.textfont.color for t in figure.data if t.name == "words"} == {theme("light").muted}


def test_strips_are_a_staircase_of_the_words_that_were_strong() -> None:
    frame = WordsView().frame(gazette(), Selection(topic=4, reading="smoothed", form="heatmap"))
    found = heatmap_words(frame)
    assert 8 <= found.size <= 24
    strong = (frame.rank[:, found] > 0) & (frame.rank[:, found] <= 8)
    assert strong.any(axis=0).all()
    weight = frame.weight[:, found] ** 2
    middle = (weight * np.arange(30)[:, None]).sum(axis=0) / weight.sum(axis=0)
    assert (np.diff(middle) >= 0).all()


def test_long_names_of_few_dates_stand_apart() -> None:
    view = WordsView()
    frame = view.frame(gazette(slices=3, topics=3), Selection(topic=1, form="heatmap"))
    named = replace(frame, labels=("10,001 to 10,500", "10,501 to 11,000", "11,001 to 11,500"))
    axis = view.figure(named, PHONE, "light").layout.xaxis
    assert axis.ticktext == ("10,001 to 10,500", "11,001 to 11,500")
    assert axis.tickvals == (0, 2)


def test_blank_is_only_where_a_word_is_not_stored() -> None:
    view = WordsView()
    frame = view.frame(gazette(stored=12), Selection(topic=4, reading="smoothed", form="heatmap"))
    figure = view.figure(frame, WIDE, "light")
    z = np.array(next(t for t in figure.data if t.name == "words").z)
    np.testing.assert_array_equal(z.T == 0, frame.rank[:, heatmap_words(frame)] == 0)


def test_both_readings_stand_above_each_other() -> None:
    rows = CachedRows(gazette(slices=12, topics=3))
    view = WordsView()
    frame = view.frame(rows, Selection(topic=1, reading="filtered", form="both"))
    then = view.frame(rows, Selection(topic=1, reading="filtered", form="heatmap"))
    late = view.frame(rows, Selection(topic=1, reading="smoothed", form="heatmap"))
    assert frame.other is not None
    for word in set(then.words) & set(late.words):
        k = frame.words.index(word)
        np.testing.assert_allclose(frame.weight[:, k], then.weight[:, then.words.index(word)])
        np.testing.assert_allclose(frame.other[0][:, k], late.weight[:, late.words.index(word)])


def test_a_topic_is_drawn_over_its_own_life() -> None:
    rows = gazette()
    frame = WordsView().frame(rows, Selection(topic=21, reading="smoothed"))
    assert (frame.first, len(frame.labels), frame.labels[0]) == (19, 11, "2000 Q4")


def test_slices_without_documents_are_hollow_rings() -> None:
    view = WordsView()
    frame = view.frame(gazette(slices=12, topics=3, empty=(4, 5)), Selection(topic=1, form="heatmap"))
    rings = [t for t in view.figure(frame, WIDE, "light").data if t.name == "empty"]
    assert list(rings[0].x) == [4, 5]


def test_settling_slices_are_grey_and_have_no_say() -> None:
    view = WordsView()
    rows = gazette(slices=12, topics=3, settling=3)
    early = {w for s, w, r in _stored(rows, 1) if s < 3 and r <= 8} - {w for s, w, r in _stored(rows, 1) if s >= 3}
    frame = view.frame(rows, Selection(topic=1, reading="filtered", form="heatmap"))
    assert not early & {frame.words[w] for w in heatmap_words(frame)}
    traces = {t.name: t for t in view.figure(frame, WIDE, "light").data}
    assert not np.array(traces["words"].z)[:, :3].any()
    assert np.array(traces["words"].z)[:, 3:].any()
    grey = np.array(traces["warm-up"].z)
    assert grey.shape[1] == 3
    assert np.nansum(grey) > 0
    assert [tone for _, tone in traces["warm-up"].colorscale] == list(theme("light").rail)
    late = view.frame(rows, Selection(topic=1, reading="smoothed", form="heatmap"))
    assert "warm-up" not in {t.name for t in view.figure(late, WIDE, "light").data}


def _stored(rows: FakeRows, topic: int) -> list[tuple[int, str, int]]:
    words = rows.words("filtered", topic=topic)
    return list(zip(words.slice, words.word, words.rank, strict=True))


def test_of_words_that_look_alike_the_strongest_is_shown() -> None:
    rows = gazette(slices=4, topics=1, settling=0)
    words = rows.word_frames["filtered"]
    for rank, word in ((1, "flood"), (2, "flo\u202eod")):
        words.word[words.rank == rank] = word
    frame = WordsView().frame(rows, Selection(topic=0, reading="filtered"))
    shown = [k for k, word in enumerate(frame.words) if word == "flood"]
    assert len(shown) == 1
    assert frame.rank[:, shown[0]].tolist() == [1, 1, 1, 1]
    assert frame.weight[:, shown[0]].tolist() == words.weight[words.rank == 1].tolist()


@pytest.mark.parametrize("form", ["ranks", "heatmap", "both"])
def test_topics_without_any_word_are_drawn(form: Form) -> None:
    rows = gazette(slices=4, topics=2, settling=0)
    none = {reading: kept(words, np.zeros(words.slice.size, bool)) for reading, words in rows.word_frames.items()}
    frame = WordsView().frame(replace(rows, word_frames=none), Selection(topic=0, form=form))
    assert (frame.words, len(frame.labels)) == ((), 4)
    assert WordsView().drawing(frame, WIDE, "light")["data"]
