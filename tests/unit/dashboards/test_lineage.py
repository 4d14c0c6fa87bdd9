"""Lineage: who is drawn, on which lane, as thick as what, with which marks, curves and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.dashboards.fakes import FakeRows, gazette
from vmfstream.dashboards.looks import phrases
from vmfstream.dashboards.looks.theme import theme
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.rows.topic_names import distinct
from vmfstream.dashboards.view import Selection, Size
from vmfstream.dashboards.views.lineage import panel as lineage
from vmfstream.dashboards.views.lineage.drawing import LANE
from vmfstream.dashboards.views.lineage.frame import LARGEST, LineageFrame, thickness
from vmfstream.dashboards.views.lineage.lane_assignment import Life, Link, assign_lanes, family
from vmfstream.dashboards.views.lineage.view import LineageView
from vmfstream.runfile.queries import EventFrame, kept

WIDE, PHONE = Size(1240, 0), Size(362, 0)

Event = tuple[int, str, int, int, float]


def with_events(rows: FakeRows, events: Sequence[Event]) -> FakeRows:
    """Return the same log with other events."""
    texts = np.empty(len(events), np.object_)
    texts[:] = [e[1] for e in events]
    columns = [np.array([e[k] for e in events], np.int64) for k in (0, 2, 3)]
    number, nan = np.array([e[4] for e in events], np.float64), np.full(len(events), np.nan)
    frame = EventFrame(columns[0], columns[0], texts, columns[1], columns[2], number, nan, nan, columns[0] * 0 - 1)
    return replace(rows, event_frame=frame)


def lines(rows: FakeRows, **chosen: Any) -> LineageFrame:
    return LineageView().frame(rows, Selection(**{"reading": "smoothed"} | chosen))


def drawn(frame: LineageFrame, size: Size = WIDE) -> dict[str, Any]:
    return LineageView().drawing(frame, size, "light")


def trace(figure: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(t for t in figure["data"] if t["name"] == name)
    return found


def test_children_stand_under_their_parent_and_the_absorbed_under_the_absorber() -> None:
    lives = [Life(0, 20, 0.5), Life(0, 20, 0.9), Life(8, 20, 0.1), Life(0, 5, 0.2), Life(12, 20, 0.1)]
    links = [Link(2, 0, 8, False), Link(3, 0, 6, True), Link(4, 0, 12, False)]
    lanes = assign_lanes(lives, links, 30.0)
    assert lanes[1] == 0  # the largest of those that began first
    assert lanes[0] == 1
    assert [lanes[3], lanes[4], lanes[2]] == [2, 3, 4]  # absorbed first, then who came last, so that no curve crosses


def test_strangers_share_a_lane_only_if_there_is_room() -> None:
    lives = [Life(0, 5, 0.5), Life(9, 20, 0.4), Life(2, 20, 0.3)]
    assert assign_lanes(lives, [], 4.0) == [0, 0, 1]
    assert assign_lanes(lives, [], 5.0) == [0, 2, 1]


def test_kin_do_not_share_with_strangers() -> None:
    lives = [Life(0, 3, 0.5), Life(0, 20, 0.4), Life(10, 20, 0.3)]
    lanes = assign_lanes(lives, [Link(2, 1, 10, False)], 1.0)
    assert lanes == [0, 1, 2]


def test_circles_of_relatives_are_cut() -> None:
    links = [Link(0, 1, 3, False), Link(1, 2, 4, True), Link(2, 0, 5, True), Link(0, 2, 9, True)]
    assert family(links) == links[:2]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_two_lives_overlap_on_a_lane_and_no_lane_is_empty(data: st.DataObject) -> None:
    spans = st.tuples(st.integers(0, 30), st.integers(0, 30), st.floats(0, 1)).map(
        lambda v: Life(min(v[0], v[1]), max(v[0], v[1]), v[2])
    )
    lives = data.draw(st.lists(spans, min_size=1, max_size=12))
    who = st.integers(0, len(lives) - 1)
    links = data.draw(st.lists(st.builds(Link, who, who, st.integers(0, 30), st.booleans()), max_size=8))
    lanes = assign_lanes(lives, [link for link in links if link.child != link.parent], 2.0)
    assert sorted(set(lanes)) == list(range(max(lanes) + 1))
    for i, one in enumerate(lives):
        for j, other in enumerate(lives[:i]):
            if lanes[i] == lanes[j]:
                assert one.last + 2 <= other.first or other.last + 2 <= one.first


@pytest.mark.thorough
def test_the_largest_and_all_with_relatives_are_drawn() -> None:
    rows = gazette(topics=90)
    frame = lines(rows)
    shown = {int(frame.history.topic[line.t]) for line in frame.lines}
    peak = np.nan_to_num(frame.history.share).max(axis=0)
    assert {int(t) for t in frame.history.topic[np.argsort(-peak)[:LARGEST]]} <= shown
    assert {7, 20, 27, 2} <= shown  # flowed into topic 2
    assert len(shown) <= LARGEST + 4
    assert frame.smaller == 90 - len(shown)
    small = next(t for t in range(90) if t not in shown)
    assert small in {int(frame.history.topic[line.t]) for line in lines(rows, topic=small).lines}
    assert lines(rows, all_topics=True).smaller == 0


def test_a_handful_of_smaller_topics_is_not_left_out() -> None:
    few, many = (with_events(gazette(slices=6, topics=n, stored=8), []) for n in (LARGEST + 6, LARGEST + 7))
    assert (lines(few).smaller, len(lines(few).lines)) == (0, LARGEST + 6)
    assert (lines(many).smaller, len(lines(many).lines)) == (7, LARGEST)


def test_lives_over_within_three_slices_are_counted_unless_they_have_relatives_or_are_new() -> None:
    rows = gazette(slices=12, topics=4)
    keep = rows.topic_frames["smoothed"]
    gone = ((keep.topic == 1) & (keep.slice > 1)) | ((keep.topic == 2) & (keep.slice < 11))
    left = kept(keep, ~gone)
    short = replace(rows, topic_frames={"filtered": rows.topic_frames["filtered"], "smoothed": left})
    frame = lines(with_events(short, []))
    assert frame.short == 1
    assert [int(frame.history.topic[line.t]) for line in frame.lines] == [0, 2, 3]
    kin = lines(with_events(short, [(2, "merged", 1, 0, 50.0)]))
    assert kin.short == 0
    assert 1 in {int(kin.history.topic[line.t]) for line in kin.lines}


def test_ribbons_are_as_thick_as_the_root_of_the_share() -> None:
    frame = lines(gazette(slices=13, topics=5))
    figure = drawn(frame)
    x, y = (np.concatenate([t[axis] for t in figure["data"] if t["name"].startswith("lives")]) for axis in "xy")
    line = frame.lines[0]
    share = frame.history.share
    for s in range(13):
        here = y[(x == s) & (np.abs(y - line.lane) < 0.5)]
        pixels = 1 + 13 * np.sqrt(share[s, line.t] / 1.25 ** np.ceil(np.log(np.nanmax(share)) / np.log(1.25)))
        assert abs(np.ptp(here) * LANE - pixels) < 0.02


def test_thickness_has_its_limits() -> None:
    wide = thickness(lines(gazette(slices=6, topics=3, empty=(2,))).history, 1, 14)
    assert 1 + 13 / np.sqrt(1.25) < wide.max() <= 14
    assert (wide[2] == 1).all()


def test_lanes_and_thickness_stay_when_a_slice_is_added() -> None:
    rows = gazette(slices=14, topics=12, stored=12)
    frame = rows.topic_frames["smoothed"]
    share = frame.share.copy()
    smallest = min(range(12), key=lambda topic: share[frame.topic == topic].max())
    share[(frame.slice == 13) & (frame.topic == smallest)] = 1.01 * share.max()
    every = replace(frame, share=share)
    early = kept(every, frame.slice < 13)
    later, before = (
        lines(replace(rows, topic_frames={"filtered": rows.topic_frames["filtered"], "smoothed": which}))
        for which in (every, early)
    )
    assert [line.lane for line in before.lines] == [line.lane for line in later.lines]
    np.testing.assert_allclose(thickness(before.history, 1, 14)[:13], thickness(later.history, 1, 14)[:13])


def test_a_topic_with_documents_in_hindsight_does_not_sleep() -> None:
    rows = with_events(gazette(slices=20, topics=3), [(6, "dormant", 1, -1, 3.0)])
    assert lines(rows).lines[1].active.all()
    assert np.flatnonzero(~lines(rows, reading="filtered").lines[1].active).tolist() == list(range(6, 20))


def test_sleep_is_dotted_and_leaves_no_ribbon() -> None:
    rows = with_events(
        gazette(slices=20, topics=3, settling=0), [(6, "dormant", 1, -1, 3.0), (11, "woken", 1, -1, 30.0)]
    )
    frame = lines(rows, reading="filtered")
    line = frame.lines[1]
    assert np.flatnonzero(~line.active).tolist() == [6, 7, 8, 9, 10]
    figure = drawn(frame)
    x = trace(figure, "lives 1")["x"]
    assert not ((x > 5) & (x < 11)).any()
    dotted = [shape for shape in figure["layout"]["shapes"] if shape["line"].get("dash")]
    assert [shape["path"] for shape in dotted] == [f"M5,{line.lane}L11,{line.lane}"]
    ended = lines(
        with_events(gazette(slices=20, topics=3, settling=0), [(6, "dormant", 1, -1, 3.0)]), reading="filtered"
    )
    assert np.flatnonzero(~ended.lines[1].active).tolist() == list(range(6, 20))


def test_a_curve_leads_from_the_last_row_to_the_absorber() -> None:
    frame = lines(gazette())
    figure = drawn(frame)
    lanes = {int(frame.history.topic[line.t]): line.lane for line in frame.lines}
    curves = "".join(s["path"] for s in figure["layout"]["shapes"] if s["line"]["width"] == 2)
    assert curves.count("M") == 3
    assert f"M21.00,{lanes[7]}C" in curves
    assert f" 22.00,{lanes[2]}" in curves


def test_a_curve_reaches_a_topic_that_begins_later_or_ended_before() -> None:
    rows = with_events(gazette(), [(22, "merged", 7, 2, 41.0), (14, "split", 3, 26, 9.0)])
    frame = lines(rows)
    column = {int(topic): t for t, topic in enumerate(frame.history.topic)}
    lives: dict[int, dict[str, Any]] = {column[2]: {"first": 25}, column[3]: {"last": 11}}
    apart = replace(frame, lines=tuple(replace(line, **lives.get(line.t, {})) for line in frame.lines))
    lanes = {int(frame.history.topic[line.t]): line.lane for line in frame.lines}
    curves = "".join(s["path"] for s in drawn(apart)["layout"]["shapes"] if s["line"]["width"] == 2)
    assert f"M21.00,{lanes[7]}C" in curves
    assert f" 25.00,{lanes[2]}" in curves
    assert f"M11.00,{lanes[3]}C" in curves
    assert f" 14.00,{lanes[26]}" in curves


def test_marks_stand_where_a_life_begins_and_ends_and_near_ones_become_one() -> None:
    rows = with_events(
        gazette(),
        [(19, "born", 21, -1, 40.0), (15, "ended", 7, -1, 9.0), (25, "drift", 3, -1, 30.0), (26, "drift", 3, -1, 20.0)],
    )
    frame = lines(rows, all_topics=True)
    lanes = {int(frame.history.topic[line.t]): line.lane for line in frame.lines}
    marks = trace(drawn(frame), "marks")
    found = {(marks["marker"]["symbol"][k], round(marks["x"][k]), round(marks["y"][k])) for k in range(len(marks["x"]))}
    assert ("circle", 19, lanes[21]) in found
    assert ("x-thin", 21, lanes[7]) in found
    assert sum(symbol == "triangle-down" for symbol, _, _ in found) == 2
    assert set(marks["marker"]["line"]["color"]) <= set(theme("light").tones())
    narrow = trace(drawn(frame, Size(170, 0)), "marks")
    assert sum(symbol == "triangle-down" for symbol in narrow["marker"]["symbol"]) == 1
    assert "2" in narrow["text"]


def test_a_line_tells_where_topics_were_still_being_found() -> None:
    rows = gazette(slices=12, topics=4, settling=3)
    then, late = (drawn(LineageView().frame(rows, Selection(reading=r)))["layout"] for r in ("filtered", "smoothed"))
    assert [note["x"] for note in then["annotations"]] == [2.5]
    assert late["annotations"] == []
    assert len(then["shapes"]) == len(late["shapes"]) + 1


def test_words_at_first_are_those_of_the_first_settled_slice() -> None:
    frame = LineageView().frame(gazette(slices=12, topics=4, settling=3), Selection(reading="filtered"))
    text = trace(drawn(frame), "first words")["text"]
    for line, words in zip(frame.lines, text, strict=True):
        assert words == " ".join(distinct(frame.history.strongest(3, line.t, 8), 2))


def test_words_that_do_not_fit_are_left_out_rather_than_cut() -> None:
    frame = lines(gazette())
    wide, narrow = (trace(drawn(frame, size), "last words")["text"] for size in (WIDE, PHONE))
    assert len(wide) >= len(narrow)
    assert sum(" " in text for text in narrow) < sum(" " in text for text in wide)
    assert all(len(text) <= 20 for text in narrow)


def test_two_words_of_a_name_begin_differently() -> None:
    assert distinct(["app", "apps", "phone", "phones", "phonetic", "screen"], 3) == ["app", "phone", "screen"]
    assert distinct(["tax", "t"], 2) == ["tax"]
    assert distinct([], 2) == []


def test_a_thousand_slices_are_binned() -> None:
    frame = lines(gazette(slices=1000, topics=3, stored=12))
    ribbon = trace(drawn(frame), "lives 0")["x"]
    assert ribbon.size <= 2 * 300 + 3
    assert (ribbon.min(), ribbon.max()) == (0, 999)


def test_the_sentence_says_what_happened_or_why_nothing_did() -> None:
    labels = ("1987", "1999")
    quiet = phrases.lineage_sentence(labels, 30, 0, {}, {(0, 1)}, may_change=False)
    assert quiet == "All 30 topics existed from 1987 to 1999; the number of topics was fixed in this run."
    alone = phrases.lineage_sentence(labels, 1, 0, {}, {(1, 1)}, may_change=True)
    assert alone == "The one topic existed in 1999."
    assert phrases.lineage_sentence(labels, 0, 0, {}, (), may_change=True) == "0 topics over 1987–1999."
    sentence = phrases.lineage_sentence(labels, 30, 0, {"born": 1, "merged": 2, "started": 30}, (), may_change=True)
    assert sentence == "30 topics over 1987–1999: 1 was born, 2 merged into others."
    assert phrases.left_out(3, 0, "year") == "Not drawn: 3 smaller topics."
    assert phrases.left_out(0, 0, "year") == ""


def test_topics_that_began_later_are_not_said_to_have_existed_always() -> None:
    whole = with_events(gazette(slices=8, topics=4, settling=0), [])
    frame = whole.topics("filtered")
    late = replace(
        whole, topic_frames={**whole.topic_frames, "filtered": kept(frame, (frame.topic > 0) | (frame.slice > 2))}
    )
    said = [
        lineage.columns(rows, history_of(rows, "filtered"))["filtered"]["summary"]
        for rows in map(CachedRows, (whole, late))
    ]
    fixed = "; the number of topics was fixed in this run."
    assert said == [f"All 4 topics existed from 1996 Q1 to 1997 Q4{fixed}", f"4 topics over 1996 Q1–1997 Q4{fixed}"]


def test_columns_hold_what_happened_by_position() -> None:
    events = [(3, "merged", 1, 2, 48.6), (4, "started", 1, -1, np.nan), (5, "ended", 3, -1, np.nan)]
    rows = with_events(gazette(slices=8, topics=4), events)
    snapshot = CachedRows(rows)
    found = lineage.columns(snapshot, history_of(snapshot, "filtered"))["filtered"]
    assert found["events"] == [[3, "merged", 1, 2, 49], [5, "ended", 3, -1, None]]
    assert found["summary"].endswith("1 merged into another, 1 ended.")
    assert found["left"] == ""


def test_every_key_is_drawn_and_scope_all_exists_only_where_it_shows_more() -> None:
    few, many = CachedRows(gazette(slices=6, topics=5)), CachedRows(gazette(slices=6, topics=60, stored=10))
    assert lineage.keys(few, []) == [
        f"lineage/{r}/top/{w}" for r in ("smoothed", "filtered") for w in ("wide", "phone")
    ]
    assert len(lineage.keys(many, [])) == 8
    heights = {key: lineage.draw(many, key)["layout"]["height"] for key in lineage.keys(many, [])}
    assert heights["lineage/filtered/all/wide"] > heights["lineage/filtered/top/wide"]
