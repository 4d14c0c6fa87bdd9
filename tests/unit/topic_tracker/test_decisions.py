"""What people tell a tracker about its topics."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.documents import document
from vmfstream import TopicTracker
from vmfstream.errors import InputError
from vmfstream.runfile.queries import Reader

TEXTS = [document(i, 0)["text"] for i in range(60)]


def begun(**settings: Any) -> TopicTracker:
    return (
        TopicTracker(topics=4, stories=False, **settings).learn(TEXTS, 2001).learn(TEXTS, 2002).learn(TEXTS[:9], 2003)
    )


def test_decisions_take_effect_at_the_end_of_the_open_slice() -> None:
    tracker = begun()
    gone, into, other = tracker.topic_ids.tolist()[:3]
    tracker.merge(gone, into)
    tracker.pin(other)
    tracker.forbid(["ship", "moon"])
    assert gone in tracker.topic_ids
    assert [(row["kind"], row["number"], row["slice"]) for row in tracker.decisions()] == [
        ("merge", None, None),
        ("pin", None, None),
        ("forbid", None, None),
        ("forbid", None, None),
    ]
    tracker.learn(TEXTS, 2004)
    assert gone not in tracker.topic_ids
    assert {(row["slice"], row["refused"], row["number"]) for row in tracker.decisions()} == {
        ("2003", "", number) for number in (1, 2, 3, 4)
    }
    (event,) = [row for row in tracker.events() if row["decision"] is not None]
    assert event == event | {"slice": "2003", "kind": "merged", "topic": gone, "other": into, "decision": 1}
    words = {word for row in tracker.topics() if row["slice"] == "2003" for word, _ in row["words"]}
    assert not words & {"ship", "moon"}
    tracker.allow("ship")
    tracker.unpin(other)
    tracker.split(into)
    tracker.end(other)
    tracker.learn(TEXTS, 2005).finish()
    rows = tracker.decisions()
    assert [row["undone_by"] for row in rows[:4]] == [7, 6, 5, None]
    assert [row["refused"] for row in rows] == [""] * 8
    assert other not in tracker.topic_ids
    assert rows[6]["other"] in tracker.topic_ids


def test_names_are_given_at_once() -> None:
    tracker = begun()
    topic = int(tracker.topic_ids[0])
    tracker.name(topic, " <b>ships\n")
    assert tracker.names() == {topic: "<b>ships"}
    assert {row["name"] for row in tracker.topics() if row["topic"] == topic} == {"<b>ships"}
    tracker.learn(TEXTS, 2004).finish()
    tracker.name(topic, "ports")
    assert {row["name"] for row in tracker.trajectory(topic)} == {"ports"}
    tracker.name(topic, "")
    assert tracker.names() == {}


def test_a_word_is_what_the_tracker_s_own_tokeniser_finds() -> None:
    tracker = begun(tokeniser=str.split)
    tracker.forbid(["x", "C++"])
    assert [row["text"] for row in tracker.decisions()] == ["x", "C++"]


def test_what_a_tokeniser_leaves_together_is_one_word() -> None:
    tracker = begun(tokeniser=lambda text: text.split(","))
    tracker.forbid(["two words", "Ship,Ship"])
    assert [row["text"] for row in tracker.decisions()] == ["two words", "Ship,Ship"]


def test_runs_with_phrases_forbid_words_with_their_phrases() -> None:
    tracker = begun(phrases=True)
    tracker.forbid("ship")
    with pytest.raises(InputError, match="forbid: expected one word, got 'ship harbour'"):
        tracker.forbid("ship harbour")
    assert [row["text"] for row in tracker.decisions()] == ["ship"]


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["save", "pickle"])
def test_decisions_stay_with_a_tracker(tmp_path: Path, way: str) -> None:
    tracker = begun()
    gone, into = tracker.topic_ids.tolist()[:2]
    tracker.learn(TEXTS[9:], 2003)
    tracker.name(into, "both")
    tracker.merge(gone, into)
    if way == "save":
        tracker.save(tmp_path / "t.duckdb")
        assert Reader(tmp_path / "t.duckdb").topic_names() == {into: "both"}
        again = TopicTracker.load(tmp_path / "t.duckdb")
    else:
        again = pickle.loads(pickle.dumps(tracker))
    for one in (tracker, again):
        one.learn(TEXTS, 2004).learn(TEXTS, 2005).finish()
    assert again.names() == {into: "both"}
    assert again.decisions() == tracker.decisions()
    assert repr(again.topics()) == repr(tracker.topics())
    assert gone not in again.topic_ids


def test_decisions_before_the_first_document_are_not_lost_by_saving(tmp_path: Path) -> None:
    tracker = TopicTracker(topics=2)
    tracker.forbid("ship")
    with pytest.raises(InputError, match="a tracker with decisions is saved once it has learnt a document"):
        tracker.save(tmp_path / "t.duckdb")
    assert not list(tmp_path.iterdir())
    tracker.learn(TEXTS, 2001).save(tmp_path / "t.duckdb")
    assert [row["text"] for row in TopicTracker.load(tmp_path / "t.duckdb").decisions()] == ["ship"]


def test_wrong_decisions_are_told_at_once() -> None:
    with pytest.raises(InputError, match="there is no topic 0; topics: none yet"):
        TopicTracker().name(0, "x")
    tracker = begun()
    for call in (tracker.pin, tracker.unpin, tracker.split, tracker.end):
        with pytest.raises(InputError, match="there is no topic 99; topics: "):
            call(99)
    with pytest.raises(InputError, match="there is no topic 99"):
        tracker.merge(0, 99)
    with pytest.raises(InputError, match="forbid: expected a word"):
        tracker.forbid([""])
    for none in ("x", "!!!", "C++", ["ship", "12"]):
        with pytest.raises(InputError, match=r"forbid: expected a word, got '.*', in which the tokeniser finds none"):
            tracker.forbid(none)
    for decide in (tracker.forbid, tracker.allow):
        for several in ("two words", ["ship", "two words"], "two-words"):
            with pytest.raises(InputError, match=r"expected one word, got 'two.words', .* finds 'two', 'words'"):
                decide(several)
    with pytest.raises(InputError, match="allow: expected a word, got 'x'"):
        tracker.allow("x")
    for wrong in (None, 5):
        with pytest.raises(InputError, match=r"forbid: expected a word, or several, got (NoneType|int)"):
            tracker.forbid(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="topic 0 has no name that was given to it"):
        tracker.name(0, "")
    tracker.finish()
    with pytest.raises(InputError, match="this tracker was finished"):
        tracker.pin(int(tracker.topic_ids[0]))
    with pytest.raises(InputError, match="this tracker was finished"):
        tracker.allow("ship")
    assert tracker.decisions() == []
