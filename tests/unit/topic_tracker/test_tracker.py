"""The tracker as a program uses it."""

from __future__ import annotations

import doctest
import pickle
import sys
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from tests.threads import at_once
from tests.unit.engine.documents import SUBJECTS, document
from vmfstream import TopicTracker
from vmfstream.errors import InputError
from vmfstream.topic_tracker import tracker as module
from vmfstream.topic_tracker.manual_source import ManualSource

TEXTS = [document(i, 0)["text"] for i in range(60)]


def fitted(**settings: Any) -> TopicTracker:
    tracker = TopicTracker(topics=3, **settings)
    tracker.learn(TEXTS, 2001).learn(TEXTS, 2002).learn(TEXTS, 2003).finish()
    return tracker


def test_the_example_runs() -> None:
    assert doctest.testmod(module).attempted >= 4
    assert doctest.testmod(module).failed == 0


def test_one_row_per_topic_and_slice() -> None:
    rows = fitted().topics(words=8)
    assert [(row["slice"], row["topic"]) for row in rows] == [
        (y, k) for y in ("2001", "2002", "2003") for k in range(3)
    ]
    assert [round(row["documents"], 1) for row in rows] == [20.0] * 9
    assert [round(row["share"], 3) for row in rows] == [0.333] * 9
    assert all(np.isnan(row["turned"]) for row in rows[:3])
    assert all(0.0 <= row["turned"] < 5.0 for row in rows[3:])
    assert sorted(sorted(word for word, _ in row["words"]) for row in rows[:3]) == sorted(map(sorted, SUBJECTS))
    weights = [weight for _, weight in rows[0]["words"]]
    assert weights == sorted(weights, reverse=True)
    assert len(fitted().topics(words=2)[0]["words"]) == 2


@pytest.mark.filterwarnings("ignore:.*were not learnt")
def test_stories_are_labelled_from_the_first_text() -> None:
    tracker = TopicTracker(topics=3)
    texts = ["harbour strike", "comet orbit", "the", "harbour strike docker", "comet orbit", "harbour docker"]
    assert tracker.learn(texts, 2001, ids=list("abcdef")).story_labels.tolist() == [0, 1, -1, 0, 1, 0]
    assert tracker.learn(["comet orbit", "comet orbit"], 2001, ids=["b", "g"]).story_labels.tolist() == [-1, 1]
    assert not len(tracker.topic_ids)
    rows = tracker.stories(words=1, documents=2)
    assert [(row["story"], row["size"], row["first"], row["trend"], row["topic"]) for row in rows] == [
        (0, 3, "2001", "steady", None),
        (1, 3, "2001", "steady", None),
    ]
    assert [word for word, _ in rows[1]["words"]] == ["comet"] or [word for word, _ in rows[1]["words"]] == ["orbit"]
    assert rows[0]["documents"][0]["title"] == rows[0]["title"]
    assert {one["id"] for one in rows[0]["documents"]} <= set("adf")


def test_stories_survive_saving_and_can_be_left_out(tmp_path: Path) -> None:
    tracker = fitted()
    assert len(tracker.stories()) >= 3
    tracker.save(tmp_path / "saved.duckdb")
    again = TopicTracker.load(tmp_path / "saved.duckdb")
    assert again.stories() == tracker.stories()
    assert fitted(stories=False).stories() == []
    assert TopicTracker(stories=False).get_params()["stories"] is False


def test_smoothed_topics_come_with_the_end() -> None:
    tracker = TopicTracker(topics=3).learn(TEXTS, 2001).learn(TEXTS, 2002)
    assert [row["slice"] for row in tracker.topics()] == ["2001"] * 3
    with pytest.warns(UserWarning, match="no slice has been smoothed yet") as told:
        assert tracker.topics(smoothed=True) == []
    assert told[0].filename == __file__
    assert "16 later slices at most, and finish()" in str(told[0].message)
    with (
        pytest.warns(UserWarning, match="no slice has been smoothed yet") as told,
        pytest.raises(InputError, match="there is no topic 0; topics: none yet"),
    ):
        tracker.trajectory(0, smoothed=True)
    assert told[0].filename == __file__
    tracker.finish()
    assert [row["slice"] for row in tracker.topics(smoothed=True)] == ["2001"] * 3 + ["2002"] * 3
    assert tracker.topics(smoothed=True) != tracker.topics()


@pytest.mark.thorough
def test_a_slice_is_smoothed_after_16_later_ones_at_most() -> None:
    tracker = TopicTracker(topics=3, stories=False)
    assert tracker.learn(TEXTS[:30], 2001).topics(smoothed=True) == []  # no slice is closed yet
    for year in range(2002, 2018):
        tracker.learn(TEXTS[:30], year)
    with pytest.warns(UserWarning, match="no slice has been smoothed yet"):
        assert tracker.topics(smoothed=True) == []
    tracker.learn(TEXTS[:30], 2018)
    assert {row["slice"] for row in tracker.topics(smoothed=True)} == {"2001"}


def test_how_texts_arrive_does_not_matter() -> None:
    times = [2001] * 60 + [2002] * 60 + [2003] * 60
    at_once = TopicTracker(topics=3).learn(TEXTS * 3, times)
    at_once.finish()
    np.testing.assert_equal(at_once.topics(), fitted().topics())


def test_equal_seeds_give_equal_topics() -> None:
    np.testing.assert_equal(fitted(seed=4).topics(smoothed=True), fitted(seed=4).topics(smoothed=True))


@pytest.mark.parametrize(
    "moment",
    [
        2003,
        2003.0,
        np.int64(2003),
        np.float32(2003),
        date(2003, 5, 17),
        datetime(2003, 5, 17),
        datetime(2003, 5, 17, tzinfo=UTC),
        datetime(2004, 1, 1, 3, tzinfo=timezone(timedelta(hours=9))),
        np.datetime64("2003-05-17"),
        np.datetime64("2003-05-17T12:00:00.123456789"),
    ],
    ids=repr,
)
def test_a_moment_has_many_forms(moment: Any) -> None:
    for times in (moment, [moment] * 60):
        tracker = TopicTracker(topics=3).learn(TEXTS, times)
        tracker.finish()
        assert {row["slice"] for row in tracker.topics()} == {"2003"}


def test_times_may_be_an_array() -> None:
    for times in (np.full(60, 2003), np.full(60, "2003-02-01", "datetime64[D]")):
        tracker = TopicTracker(topics=3).learn(TEXTS, times)  # type: ignore[arg-type]
        tracker.finish()
        assert {row["slice"] for row in tracker.topics()} == {"2003"}


class Missing(datetime):
    """A time that is not itself, as the missing time of pandas."""

    def __ne__(self, other: object) -> bool:
        return True


REFUSED: dict[str, Callable[[TopicTracker], object]] = {
    "one per text": lambda t: t.learn(TEXTS, [2001] * 59),
    "ids: expected one": lambda t: t.learn(TEXTS, 2001, ["a"] * 61),
    "got 2.5": lambda t: t.learn(TEXTS, 2.5),
    "got 0": lambda t: t.learn(TEXTS, 0),
    "got 10000": lambda t: t.learn(TEXTS, 10_000),
    "got nan": lambda t: t.learn(TEXTS, float("nan")),
    "got 'soon'": lambda t: t.learn(TEXTS, "soon"),
    "got None": lambda t: t.learn(TEXTS, [None] * 60),  # type: ignore[list-item]
    "NaT": lambda t: t.learn(TEXTS, np.datetime64("NaT", "us")),
    "NaT is no time": lambda t: t.learn(TEXTS, Missing(2001, 1, 1)),
    "got one string": lambda t: t.learn(TEXTS[0], 2001),
    "century": lambda t: TopicTracker(slices="century"),
    "topics: expected an integer of at least 1, got 'a'": lambda t: TopicTracker("a"),  # type: ignore[arg-type]
    "topics: expected an integer of at least 1, got None": lambda t: TopicTracker(None),  # type: ignore[arg-type]
    "topics: expected an integer of at least 1, got 2.5": lambda t: TopicTracker(2.5),  # type: ignore[arg-type]
    "seed: expected an integer of at least 0, got -1": lambda t: TopicTracker(seed=-1),
    "stop_words: expected a language, a list of words or None, got 3": lambda t: TopicTracker(stop_words=3),  # type: ignore[arg-type]
    "vocabulary_size: expected an integer": lambda t: TopicTracker(vocabulary_size=0),
    "living_topics: expected True or False, got 'no'": lambda t: TopicTracker(living_topics="no"),  # type: ignore[arg-type]
    "refit_budget: expected a number": lambda t: TopicTracker(refit_budget=-1.0),
    "story_days: expected a number": lambda t: TopicTracker(story_days="x"),  # type: ignore[arg-type]
    "story_grain: expected a number": lambda t: TopicTracker(story_grain=1.0),
    "story_component: expected one of 'vmf', 'cauchy', got 'x'": lambda t: TopicTracker(story_component="x"),
    "stories: expected True or False, got 'x'": lambda t: TopicTracker(stories="x"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_not_understood_is_refused_as_a_whole(said: str) -> None:
    tracker = TopicTracker(topics=3).learn(TEXTS, 2000)
    with pytest.raises(InputError, match=said):
        REFUSED[said](tracker)
    tracker.finish()
    assert sum(row["documents"] for row in tracker.topics()) == pytest.approx(60)


@pytest.mark.filterwarnings("ignore:.*were not learnt")
def test_repeated_ids_are_left_out() -> None:
    ids = [f"d{i}" for i in range(60)]
    tracker = TopicTracker(topics=3).learn(TEXTS, 2001, ids).learn(TEXTS[:5], 2001, ids[:5])
    tracker.finish()
    assert len(tracker.rejected) == 5
    assert tracker.rejected[0].reason == "read before: id 'd0'"
    assert sum(row["documents"] for row in tracker.topics()) == pytest.approx(60)


def test_texts_without_ids_are_all_new() -> None:
    tracker = TopicTracker(topics=3).learn(TEXTS[:1] * 30, 2001).learn(TEXTS[:1] * 30, 2001)
    tracker.finish()
    assert not tracker.rejected


@pytest.mark.filterwarnings("ignore:.*were not learnt")
def test_something_that_is_no_text_is_left_out() -> None:
    tracker = TopicTracker(topics=3).learn([*TEXTS, None, 7], 2001)
    tracker.finish()
    assert [r.reason for r in tracker.rejected] == [
        "text: expected a string, got NoneType",
        "text: expected a string, got int",
    ]


def test_slices_of_documents() -> None:
    tracker = TopicTracker(topics=3, slices=30).learn(TEXTS, 2001).learn(TEXTS[:30], 2001)
    tracker.finish()
    assert list(dict.fromkeys(row["slice"] for row in tracker.topics())) == ["1 to 30", "31 to 60", "61 to 90"]


def test_more_texts_than_an_epoch_holds() -> None:
    tracker = TopicTracker(topics=3).learn(TEXTS * 90, 2001)
    tracker.finish()
    assert sum(row["documents"] for row in tracker.topics()) == pytest.approx(5400, rel=1e-3)


def test_nothing_comes_after_the_end() -> None:
    tracker = fitted()
    with pytest.raises(InputError, match="was finished"):
        tracker.learn(TEXTS, 2004)
    tracker.finish()
    assert len(tracker.topics()) == 9


def test_nothing_in_nothing_out() -> None:
    tracker = TopicTracker(topics=3).learn([], [])
    assert tracker.topics() == []
    tracker.finish()
    assert not tracker.topics()
    assert not tracker.topics(smoothed=True)
    assert not tracker.rejected


def test_words_that_are_kept() -> None:
    texts = [f"the {text}" for text in TEXTS]
    for stop_words, there in (("english", False), (None, True)):
        tracker = TopicTracker(topics=3, stop_words=stop_words)
        tracker.learn(texts[:20] + TEXTS[20:], 2001).finish()
        words = {word for row in tracker.topics(words=60) for word, _ in row["words"]}
        assert ("the" in words) == there


# --- what every document got


def test_documents_are_columns_that_survive_saving(tmp_path: Path) -> None:
    texts = ["cat fur paw claw", "ship sea harbour port"] * 20
    tracker = TopicTracker(topics=2, slices="year", documents=True)
    assert {name: len(column) for name, column in tracker.documents().items()} == dict.fromkeys(
        (
            *("id", "time", "slice", "topic", "probability", "second", "second_probability"),
            *("story", "novelty", "smoothed_topic"),
        ),
        0,
    )
    tracker.learn(texts, 2001, [f"a{i}" for i in range(40)]).learn(texts, 2002, [f"b{i}" for i in range(40)])
    found = tracker.documents()
    assert found["id"].tolist() == [f"{name}{i}" for name in "ab" for i in range(40)]
    assert found["slice"].tolist() == ["2001"] * 40 + ["2002"] * 40
    assert found["time"][[0, 79]].astype("datetime64[Y]").astype(str).tolist() == ["2001", "2002"]
    assert found["topic"][:40].tolist() == [-1] * 40
    assert sorted({*found["topic"][40:].tolist()}) == [0, 1]
    assert found["smoothed_topic"][:40].tolist() == found["topic"][40:].tolist()  # told with the first topics
    assert (found["second"][40:] == 1 - found["topic"][40:]).all()
    assert found["story"][40:].tolist() == tracker.story_labels.tolist()
    tracker.save(tmp_path / "tracker.duckdb")
    for other in (TopicTracker.load(tmp_path / "tracker.duckdb"), pickle.loads(pickle.dumps(tracker))):
        for name, column in other.documents().items():
            np.testing.assert_array_equal(column, found[name])
    assert len(TopicTracker.load(tmp_path / "tracker.duckdb").learn(texts, 2003).documents()["id"]) == 120


def test_a_pickle_of_many_calls_takes_each_as_it_is() -> None:
    tracker, steps, known = TopicTracker(topics=2, slices=20), list[int](), list[int]()
    for i in range(200):
        tracker.learn(TEXTS[i % 60 : i % 60 + 1])
        if i in (99, 199):
            sys.setprofile(lambda *_: steps.append(0))
            try:
                pickled = pickle.dumps(tracker)
            finally:
                sys.setprofile(None)
            known.append(len(steps))
            steps.clear()
    assert known[1] - known[0] < 100 * 500
    assert repr(pickle.loads(pickled).topics()) == repr(tracker.topics())


def test_a_tracker_without_documents_says_so() -> None:
    tracker = TopicTracker(topics=2).learn(["cat fur", "ship sea"] * 9, 2001)
    with pytest.raises(InputError, match="keeps no documents; make one with documents=True"):
        tracker.documents()


def test_nothing_is_waited_for_that_cannot_come(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    poll = ManualSource.poll

    def counted(self: ManualSource, limit: int, timeout: float) -> Any:
        asked.append(limit)
        return poll(self, limit, timeout)

    monkeypatch.setattr(ManualSource, "poll", counted)
    tracker = TopicTracker(topics=2, slices="year").learn(["cat fur paw"], 2001)
    tracker.learn(["ship sea harbour"], 2001).learn(["cat paw"], 2019)  # 18 years ahead, and the last
    assert tracker.rejected == []
    assert len(asked) < 12


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_call_that_fails_leaves_nothing_behind(error: type[BaseException]) -> None:
    room: list[float] = [np.inf]

    def cut(text: str) -> list[str]:
        room[0] -= 1
        if room[0] < 0:
            raise error("away")
        return text.split()

    def learnt(fails: Sequence[int]) -> TopicTracker:
        room[0] = np.inf
        tracker = TopicTracker(topics=3, documents=True, tokeniser=cut, topics_from={"sea": ["ship", "harbour"]})
        for year in range(2001, 2005):
            if year == 2003:
                tracker.name(2, "grain")
            for many in fails:
                room[0] = many
                with pytest.raises((InputError, error)):
                    tracker.learn(TEXTS * 3, [year] * 120 + [year + 1] * 60)
                room[0] = np.inf
                assert f"{(year - 2001) * 60:,} documents" in repr(tracker)
            tracker.learn(TEXTS, year)
        for _ in fails:
            room[0] = 0
            with pytest.raises((InputError, error)):
                tracker.finish()
            room[0] = np.inf
        tracker.finish()
        return tracker

    whole, again = learnt([]), learnt([0, 70, 150])
    assert repr(again.topics()) == repr(whole.topics())
    assert repr(again.stories()) == repr(whole.stories())
    assert [one["told"] for one in again.decisions()] == [one["told"] for one in whole.decisions()]
    columns, expected = again.documents(), whole.documents()
    assert all(columns[name].tolist() == expected[name].tolist() for name in ("id", "topic", "story"))


def test_threads_that_learn_and_ask_take_turns() -> None:
    rng = np.random.default_rng(5)
    topics = [[f"{kind}{i}" for i in range(30)] for kind in ("animal", "harbour", "planet")]
    texts = [" ".join(rng.choice(topics[i % 3], 7)) for i in range(600)]
    times = [datetime(2021, 1, 1, tzinfo=UTC) + timedelta(hours=4 * i) for i in range(600)]

    def begun() -> TopicTracker:
        made = TopicTracker(topics=3, slices="week", documents=True)
        return made.learn(texts[:200], times[:200])

    def learn(tracker: TopicTracker) -> None:
        for low in range(200, 600, 50):
            tracker.learn(texts[low : low + 50], times[low : low + 50])

    alone, asked = begun(), begun()
    learn(alone)
    learnt = Event()

    def ask() -> None:
        while not learnt.is_set():
            assert asked.transform(texts[:9]).shape[0] == len(asked.predict(texts[:9])) == 9
            assert asked.label(texts[:9])["name"].all()
            assert len(asked.topics(words=2)) <= 3 * 30
            assert len(asked.documents()["smoothed_topic"]) >= 200
            pickle.dumps(asked)

    def learn_while_asked() -> None:
        try:
            learn(asked)
        finally:
            learnt.set()

    at_once([learn_while_asked, ask, ask])
    assert repr(asked.topics()) == repr(alone.topics())
    assert repr(asked.documents()) == repr(alone.documents())

    shared = begun()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # documents may come late
        at_once([partial(learn, shared)] * 2)
    assert len(shared.documents()["id"]) == 200 + 2 * 400
