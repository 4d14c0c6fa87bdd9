"""The sentences about what changed lately, on rows made for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.dashboards.fakes import FakeRows, gazette
from vmfstream.dashboards.looks.phrases import changed
from vmfstream.dashboards.looks.texts import BANNED
from vmfstream.dashboards.rows.history import history_of
from vmfstream.dashboards.rows.run_rows import CachedRows
from vmfstream.dashboards.views.changes.panel import columns
from vmfstream.dashboards.views.changes.sentences import MOST, ChangeSentence, what_changed
from vmfstream.runfile.queries import EventFrame, Reading, TopicFrame, WordFrame, kept

SLICES = 20
TopicEvent = tuple[int, str, int, int, float]


def story(
    documents: list[list[float]],
    words: dict[int, list[str]],
    events: tuple[TopicEvent, ...] = (),
    speed: dict[tuple[int, int], float] | None = None,
    later_words: dict[tuple[int, int], list[str]] | None = None,
    settling: int = 0,
    late_documents: list[list[float]] | None = None,
) -> FakeRows:
    """Return a log of given documents (topics by slices, NaN: not there), words by topic, and events."""
    slices = len(documents[0])
    base = gazette(slices=slices, topics=1, settling=settling)

    def frames(counts: np.ndarray) -> tuple[TopicFrame, WordFrame]:
        t, s = np.nonzero(~np.isnan(counts))
        total = np.maximum(np.nansum(counts, axis=0), 1)
        steps = np.array([(speed or {}).get((int(a), int(b)), 5.0) for a, b in zip(s, t, strict=True)])
        steps[s == 0] = np.nan
        ones = np.ones(s.size)
        n = counts[t, s]
        rows = [
            (int(a), int(b), r + 1, word)
            for a, b in zip(s, t, strict=True)
            for r, word in enumerate((later_words or {}).get((int(a), int(b)), words[int(b)]))
        ]
        texts = np.array([r[3] for r in rows], dtype=object)
        order = np.lexsort((t, s))
        topic = TopicFrame(
            slice=s[order],
            topic=t[order],
            n=n[order],
            share=(n / total[s])[order],
            kappa=ones,
            gamma=ones,
            tightness=ones,
            certainty=ones,
            drift_angle=steps[order],
            drift_angle_error=ones,
        )
        ranks = np.array([r[2] for r in rows])
        word = WordFrame(np.array([r[0] for r in rows]), np.array([r[1] for r in rows]), ranks, texts, 1.0 / ranks)
        return topic, word

    then = np.array(documents, dtype=np.float64)
    late = then if late_documents is None else np.array(late_documents, dtype=np.float64)
    topics: dict[Reading, TopicFrame] = {"filtered": frames(then)[0], "smoothed": frames(late)[0]}
    named: dict[Reading, WordFrame] = {"filtered": frames(then)[1], "smoothed": frames(late)[1]}
    number = np.array([e[0] for e in events], np.int64)
    none = np.full(len(events), np.nan)
    happened = EventFrame(
        slice=number,
        epoch=number + 1,
        kind=np.array([e[1] for e in events], dtype=object),
        topic=np.array([e[2] for e in events], np.int64),
        other=np.array([e[3] for e in events], np.int64),
        value=np.array([e[4] for e in events], np.float64),
        evidence=none,
        chance=none,
        decision=np.full(len(events), -1),
    )
    n = np.nansum(then, axis=0).astype(np.int64)
    return replace(
        base,
        slice_frame=replace(base.slice_frame, n=n),
        topic_frames=topics,
        word_frames=named,
        event_frame=happened,
    )


def sentences(rows: FakeRows, reading: Reading = "filtered", since: int | None = None) -> list[str]:
    return [str(change) for change in what_changed(CachedRows(rows), reading, since).changes]


WORDS = {0: ["court", "supreme", "judge"], 1: ["iraq", "baghdad", "war"], 2: ["katrina", "hurricane", "flood"]}
STEADY = [[40.0] * SLICES, [60.0] * SLICES, [50.0] * SLICES]
LAST, BEFORE = "2000 Q4", "2000 Q3"


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ((19, "born", 2, -1, 41.0), f"New in {LAST}: katrina hurricane flood, 41 recent documents."),
        ((19, "born", 2, -1, 1.0), f"New in {LAST}: katrina hurricane flood, 1 recent document."),
        (
            (18, "split", 1, 2, 12.0),
            f"katrina hurricane flood split off from iraq baghdad war in {BEFORE}, 12 recent documents.",
        ),
        (
            (19, "merged", 0, 1, 60.6),
            f"court supreme judge merged into iraq baghdad war in {LAST}, 61° apart.",
        ),
        (
            (19, "ended", 0, -1, 3.0),
            f"court supreme judge ended in {LAST}, after 3 quarters with hardly any documents.",
        ),
        ((19, "ended", 0, -1, 1.0), f"court supreme judge ended in {LAST}, after 1 quarter with hardly any documents."),
        (
            (19, "ended", 0, -1, 0.0),
            f"court supreme judge ended in {LAST}: its newest documents became a topic of their own.",
        ),
        (
            (19, "ended", 0, -1, float("nan")),
            f"court supreme judge ended in {LAST}: its newest documents fit other topics as well.",
        ),
        ((19, "dormant", 0, -1, 2.0), f"court supreme judge became dormant in {LAST}."),
        ((19, "woken", 0, -1, 15.0), f"court supreme judge became active again in {LAST}, 15 recent documents."),
        ((19, "surprise", -1, -1, -2.0), f"In {LAST} the topics predicted documents worse than before."),
        ((19, "surprise", -1, -1, 2.0), f"In {LAST} the topics predicted documents better than before."),
    ],
)
def test_an_event_is_a_sentence(event: TopicEvent, said: str) -> None:
    assert sentences(story(STEADY, WORDS, (event,))) == [said]


def test_an_alarm_says_whether_the_turn_was_the_fastest_ever() -> None:
    alarm = (19, "drift", 0, -1, 21.4)
    fast = story(STEADY, WORDS, (alarm,), speed={(19, 0): 21.4})
    assert sentences(fast) == [f"court supreme judge drifted faster than ever before in {LAST}: 21° in one step."]
    faster_once = story(STEADY, WORDS, (alarm,), speed={(19, 0): 21.4, (7, 0): 30.0})
    assert sentences(faster_once) == [
        f"Drift alarm for court supreme judge in {LAST}: its words changed by 21° in one step."
    ]


def test_smoothed_an_alarm_needs_a_large_drift() -> None:
    alarm = (18, "drift", 0, -1, 21.4)
    assert sentences(story(STEADY, WORDS, (alarm,)), "smoothed") == []
    turned = story(STEADY, WORDS, (alarm,), speed={(17, 0): 9.0})
    assert sentences(turned, "smoothed", since=15) == [
        "court supreme judge drifted faster than ever before in 2000 Q2: 9° in one step."
    ]


def test_a_silence_that_later_documents_filled_is_none_smoothed() -> None:
    events = ((19, "ended", 0, -1, 3.0), (19, "dormant", 1, -1, 2.0))
    rows = story(STEADY, WORDS, events, late_documents=[[40.0] * 19 + [2.0], *STEADY[1:]])
    assert [c.kind for c in what_changed(CachedRows(rows), "filtered").changes] == ["ended", "dormant"]
    assert [c.kind for c in what_changed(CachedRows(rows), "smoothed").changes] == ["ended", "fallen"]


def test_growth_and_fall_are_measured_against_the_time_before() -> None:
    grown = [[40.0] * 18 + [80.0] * 2, [160.0] * 18 + [120.0] * 2]
    assert sentences(story(grown, WORDS)) == [
        f"court supreme judge grew most: from 20 % of all documents in 2000 Q1–2000 Q2 to 40 % in {BEFORE}–{LAST}.",
        f"iraq baghdad war shrank most: from 80 % of all documents in 2000 Q1–2000 Q2 to 60 % in {BEFORE}–{LAST}.",
    ]


def test_what_chance_can_do_is_not_told() -> None:
    wobble = [[40.0] * 18 + [44.0] * 2, [160.0] * 18 + [156.0] * 2]
    assert sentences(story(wobble, WORDS)) == []


def test_fewer_than_ten_documents_are_not_worth_a_sentence() -> None:
    few, enough = [[0.0] * 18 + [4.0, 5.0], [160.0] * 20], [[0.0] * 18 + [5.0, 5.0], [160.0] * 20]
    assert not any("grew" in line for line in sentences(story(few, WORDS)))
    assert any("court supreme judge grew most" in line for line in sentences(story(enough, WORDS)))


def test_new_words_were_never_among_the_eight_strongest() -> None:
    old = [f"old{k}" for k in range(9)]
    later = {
        (18, 0): ["svm", *old[:8]],
        (19, 0): ["svm", *old[:5], "margin", "old8"],  # the ninth word of old times is new among eight
        (3, 0): ["margin", *old[:7]],
    }
    rows = story([[40.0] * 20], {0: old}, later_words=later)
    assert sentences(rows, since=18) == [f"New among the strongest words of old0 old1 old2 since {BEFORE}: svm, old8."]
    assert sentences(rows, since=19) == [f"New among the strongest words of svm old0 old1 since {LAST}: old8."]


def test_settling_slices_have_no_say_as_known_then() -> None:
    later = {(19, 0): ["svm", "court", "supreme"]}
    events = ((19, "born", 2, -1, 41.0),)
    rows = story(STEADY, WORDS, events, later_words=later, settling=20)
    assert sentences(rows) == []
    assert len(sentences(rows, "smoothed")) == 2


def test_births_come_first_and_other_topics_before_the_same_again() -> None:
    later = {(19, 0): ["svm", "court", "supreme"], (19, 2): ["storm", "katrina", "flood"]}
    events = ((19, "dormant", 0, -1, 2.0), (19, "drift", 1, -1, 8.0), (18, "born", 2, -1, 41.0))
    found = what_changed(CachedRows(story(STEADY, WORDS, events, later_words=later)), "filtered").changes
    assert [c.kind for c in found] == ["born", "drift", "words", "words", "dormant"]
    assert [c.topic for c in found] == [2, 1, 0, 2, 0]


def test_a_kind_that_was_named_often_gives_way() -> None:
    events = (*((19, "born", t, -1, 41.0) for t in (0, 1, 2)), (19, "surprise", -1, -1, 2.0))
    found = what_changed(CachedRows(story(STEADY, WORDS, events)), "filtered").changes
    assert [c.kind for c in found] == ["born", "born", "surprise", "born"]


def test_new_words_of_fewer_than_ten_documents_are_not_told() -> None:
    later = {(18, 0): ["svm", "court", "supreme"], (19, 0): ["svm", "court", "supreme"]}
    for n, is_named in ((4.5, False), (5.0, True)):
        rows = story([[5.0] * 18 + [n] * 2, [60.0] * SLICES], WORDS, later_words=later)
        assert any(": svm." in line for line in sentences(rows)) == is_named


def test_an_end_long_after_the_last_row_is_not_told() -> None:
    gone = [[40.0] * 10 + [np.nan] * 10, *STEADY[1:]]
    for silent, is_named in ((9.0, True), (3.0, False)):
        lines = sentences(story(gone, WORDS, ((19, "ended", 0, -1, silent),)))
        assert any("ended in" in line for line in lines) == is_named


def test_at_most_six_sentences() -> None:
    events = tuple((19, "born", t, -1, 41.0 + t) for t in (0, 1, 2) for _ in range(4))
    assert len(sentences(story(STEADY, WORDS, events))) == MOST


def test_a_quiet_time_is_widened_until_three_sentences_are_found() -> None:
    events = ((5, "born", 2, -1, 41.0), (12, "born", 0, -1, 3.0), (19, "dormant", 1, -1, 1.0))
    changes = what_changed(CachedRows(story(STEADY, WORDS, events)), "filtered")
    assert (changes.first, changes.last, len(changes.changes)) == (4, 19, 3)
    assert sentences(story(STEADY, WORDS, events), since=13) == [f"iraq baghdad war became dormant in {LAST}."]


def test_a_merger_leads_to_the_survivor() -> None:
    (change,) = what_changed(CachedRows(story(STEADY, WORDS, ((19, "merged", 0, 1, 60.0),))), "filtered").changes
    assert (change.topic, change.at) == (1, 19)


def test_one_slice_or_none_have_nothing_to_tell() -> None:
    assert sentences(gazette(slices=1, topics=3, settling=0)) == []


def test_words_with_marks_of_ours_stay_words() -> None:
    assert changed("dormant", words="a*b {date}", date="1999") == ("", "a*b {date}", " became dormant in 1999.")


def test_columns_hold_the_sentences_of_every_date_and_since_late_slices() -> None:
    rows = CachedRows(story(STEADY, WORDS, ((19, "born", 2, -1, 41.0), (12, "dormant", 0, -1, 1.0))))
    found = columns(rows, history_of(rows, "filtered"))
    assert set(found) == {"filtered", "smoothed"}
    then = found["filtered"]
    born = [19, 2, "born", ["New in 2000 Q4: ", "katrina hurricane flood", ", 41 recent documents."]]
    silent = [12, 0, "dormant", ["", "court supreme judge", " became dormant in 1999 Q1."]]
    assert sorted(then["rows"]) == [silent, born]
    dates, visits = (
        {at: [then["rows"][k] for k in picks] for at, _, picks in then[kind]} for kind in ("dates", "visits")
    )
    assert list(dates) == list(range(20))
    assert (dates[11], dates[12], dates[18], dates[19]) == ([], [silent], [silent], [born, silent])
    assert (visits[12], visits[13], visits[19]) == ([born, silent], [born], [born])
    assert then["visits"][5][:2] == [13, "1999 Q2–2000 Q4"]
    assert list(visits) == list(range(8, 20))
    only = CachedRows(gazette(slices=4, topics=2).without_smoothed())
    assert set(columns(only, history_of(only, "filtered"))) == {"filtered"}


@pytest.mark.parametrize("reading", ["filtered", "smoothed"])
def test_what_changed_until_a_date_is_what_a_run_to_that_date_says(reading: Reading) -> None:
    whole, known = gazette(slices=24, settling=4), 17
    last = whole.slices().slice[known]
    known_then = replace(
        whole.only(lambda frame: frame.slice <= last),
        event_frame=kept(whole.events(), whole.events().slice <= last),
    )
    then = what_changed(CachedRows(known_then), reading)
    assert what_changed(CachedRows(whole), reading, until=known) == then
    assert then != what_changed(CachedRows(whole), reading)


def test_no_sentence_holds_a_word_of_the_model() -> None:
    rows = CachedRows(gazette())
    for reading in ("filtered", "smoothed"):
        for since in range(1, 30):
            for change in what_changed(rows, reading, since).changes:
                assert isinstance(change, ChangeSentence)
                assert not any(word in str(change).lower() for word in BANNED)
