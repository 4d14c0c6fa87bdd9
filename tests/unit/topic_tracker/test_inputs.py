"""What a tracker answers besides: probabilities of texts, what happened, and itself from a file."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from tests.tiers import first_of
from tests.unit.engine.documents import SUBJECTS, document
from vmfstream import TopicTracker
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.decisions import decision
from vmfstream.engine.run import RunSettings, follow
from vmfstream.errors import InputError
from vmfstream.online.settings import BirthSettings, TrackerSettings
from vmfstream.records import Arrays, Commit
from vmfstream.runfile import connection
from vmfstream.runfile.decide import decide
from vmfstream.runfile.json_records import from_json, to_json
from vmfstream.runfile.memory import MemoryStore
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.rows import WEIGHT_DIGITS
from vmfstream.runfile.writer import RunFile
from vmfstream.topic_tracker.rows import (
    columns_of_documents,
    rows_of_events,
    rows_of_novel_documents,
    rows_of_stories,
    rows_of_topics,
)
from vmfstream.topic_tracker.saved import flattened, read_saved, unflattened, write_saved

TEXTS = [document(i, 0)["text"] for i in range(60)]
ROWS = [document(i, 2001 + i // 60) for i in range(240)]


def begun(**settings: Any) -> TopicTracker:
    return TopicTracker(topics=3, **settings).learn(TEXTS, 2001).learn(TEXTS, 2002).learn(TEXTS[:25], 2003)


def by_lengths(texts: list[str]) -> list[list[float]]:
    """Return vectors of texts by the lengths of their words, for a model."""
    return [[1.0, *(float(sum(len(word) == n for word in text.split())) for n in range(2, 9))] for text in texts]


def ended(tracker: TopicTracker) -> TopicTracker:
    tracker.learn(TEXTS[25:], 2003).learn(TEXTS, 2005).finish()
    return tracker


def known(tracker: TopicTracker) -> str:
    return repr([tracker.topics(), tracker.topics(smoothed=True), tracker.events(), tracker.transform(TEXTS).tolist()])


# --- reading documents in other forms


def test_mappings_and_tables_are_read_like_texts() -> None:
    times = [2001] * 60 + [2002] * 60
    rows = [{"text": text, "time": time} for text, time in zip(TEXTS * 2, times, strict=True)]
    wanted = TopicTracker(topics=3).learn(TEXTS * 2, times)
    for documents in (rows, iter(rows), pd.DataFrame(rows)):
        np.testing.assert_equal(TopicTracker(topics=3).learn_many(documents).topics(), wanted.topics())


@pytest.mark.filterwarnings("ignore:.*were not learnt")
def test_ids_of_mappings_count() -> None:
    rows = [{"text": text, "time": 2001, "id": i // 2} for i, text in enumerate(TEXTS)]
    tracker = TopicTracker(topics=3).learn_many(rows)
    assert len(tracker.rejected) == 30


MISSING: tuple[Any, ...] = (None, "", " ", float("nan"), np.float64("nan"))


@pytest.mark.parametrize("missing", MISSING, ids=repr)
def test_documents_without_an_id_are_all_learnt(missing: Any) -> None:
    tracker = TopicTracker(topics=2, documents=True)
    tracker.learn(list("abcdef"), 2001, ids=["x", missing, "y", missing, missing, "1"])
    assert tracker.documents()["id"].tolist() == ["x", "texts:1", "y", "texts:3", "texts:4", "1"]
    tracker.learn([{"text": "g", "time": 2001, "id": missing}, {"text": "h", "time": 2001}])
    assert tracker.documents()["id"].tolist()[6:] == ["texts:6", "texts:7"]
    assert not tracker.rejected


def test_tables_may_lack_some_ids() -> None:
    pa = pytest.importorskip("pyarrow")
    rows = {"text": list("abc"), "time": [2001] * 3, "id": ["x", None, None]}
    whole = rows | {"id": [3, None, 4]}
    for table in (pd.DataFrame(rows), pa.table(rows), duckdb.from_arrow(pa.table(rows)), rows):
        tracker = TopicTracker(topics=2, documents=True).learn(table)
        assert tracker.documents()["id"].tolist() == ["x", "texts:1", "texts:2"]
    for table in (pd.DataFrame(whole), pd.DataFrame(whole).convert_dtypes(), pa.table(whole)):
        tracker = TopicTracker(topics=2, documents=True).learn(table)
        assert tracker.documents()["id"].tolist() == ["3", "texts:1", "4"]


@pytest.mark.parametrize(
    "ids",
    [
        np.arange(3),
        np.arange(3.0),
        np.arange(3, dtype=np.float32),
        [0, 1, 2],
        ["0", "1", "2"],
        [b"0", b"1", b"2"],
        pd.Series([0, 1, 2]),
    ],
)
def test_numbers_are_ids(ids: Any) -> None:
    tracker = TopicTracker(topics=2, documents=True).learn(list("abc"), 2001, ids=ids)
    assert tracker.documents()["id"].tolist() == ["0", "1", "2"]


def test_titles_may_be_numbers_or_lack() -> None:
    rows = {"text": ["cat fur"] * 4, "year": [2001] * 4, "title": [7.0, None, "\ud800", float("nan")]}
    (story,) = TopicTracker(topics=2).learn(rows).stories(documents=4)
    assert sorted(one["title"] for one in story["documents"]) == ["7", "?", "cat fur"]


def test_what_no_table_can_hold_becomes_a_question_mark() -> None:
    tracker = TopicTracker(topics=2, documents=True).learn(["cat \udcff"], 2001, ids=["a\udcff"])
    assert tracker.documents().to_polars()["id"].to_list() == ["a?"]


@pytest.mark.parametrize("empty", ["", "  \n", "&nbsp;"])
def test_empty_texts_are_left_out_and_told(empty: str) -> None:
    with pytest.warns(UserWarning, match="1 of 3 documents were not learnt, .* reason: text is empty; `rejected` has"):
        tracker = TopicTracker(topics=2, documents=True).learn(["cat fur", empty, "fur"], 2001, ids=["a", "b", "c"])
    assert tracker.documents()["id"].tolist() == ["a", "c"]
    assert tracker.learn(["cat fur"], 2001, ids=["b"]).documents()["id"].tolist() == ["a", "c", "b"]


class Lines:
    """Can be gone through, and has no length."""

    def __iter__(self) -> Iterator[str]:
        return iter(["cat fur", "fur"])


def test_what_can_be_gone_through_is_learnt_and_nothing_else() -> None:
    assert len(TopicTracker(topics=2).learn(Lines(), 2001).story_labels) == 2
    for given in (None, 5):
        with pytest.raises(InputError, match=f"texts: expected a sequence of texts, got {type(given).__name__}"):
            TopicTracker(topics=2).learn(given, 2001)


def test_numbers_of_texts_are_no_ids_of_others() -> None:
    tracker = TopicTracker(topics=2, documents=True).learn(list("abc"), 2001)
    tracker.learn(list("def"), 2001, ids=["0", "1", "2"])
    assert not tracker.rejected
    assert len(tracker.documents()["id"]) == 6


def test_documents_that_were_not_learnt_are_told() -> None:
    tracker = TopicTracker(topics=2).learn(list("abc"), 2001, ids=list("xyz"))
    with pytest.warns(UserWarning, match="2 of 3 documents were not learnt, .* read before: id 'y'; `rejected` has"):
        tracker.learn(list("def"), 2001, ids=["y", "w", "z"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"text": "a"}], "document 0: expected a mapping with text and time, found text"),
        ([{"text": "a", "time": 2001}, "b"], "document 1: .* found str"),
    ],
)
def test_other_documents_are_refused(rows: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TopicTracker().learn_many(rows)


COLUMNS: dict[str, Callable[[list[str]], Any]] = {
    "pandas": pd.Series,
    "polars": lambda texts: pytest.importorskip("polars").Series(texts),
    "array": np.array,
    "objects": lambda texts: np.array(texts, np.object_),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_texts_needs_no_times_where_slices_are_counted(kind: str) -> None:
    column = COLUMNS[kind](TEXTS)
    wanted = TopicTracker(topics=3, slices=30).learn(TEXTS)
    np.testing.assert_equal(TopicTracker(topics=3, slices=30).learn(column).topics(), wanted.topics())
    wanted.finish()
    np.testing.assert_equal(TopicTracker(topics=3, slices=30).fit(column).topics(), wanted.topics())
    assert TopicTracker(topics=3, slices=30).learn(COLUMNS[kind]([])).topics() == []


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_texts_needs_times_where_slices_are_of_time(kind: str) -> None:
    with pytest.raises(InputError, match=r"document 0: .* texts are given with times="):
        TopicTracker(topics=3).learn(COLUMNS[kind](TEXTS))
    with pytest.raises(InputError, match="times: expected one per text, or one for all, got none"):
        TopicTracker(topics=3).fit(COLUMNS[kind](TEXTS))


def test_rows_out_of_order_are_read_in_the_order_of_their_times() -> None:
    rng = np.random.default_rng(3)
    times = np.repeat([2001, 2002, 2003], 60)
    mixed = rng.permutation(180)
    texts = TEXTS * 3
    ordered = sorted(mixed.tolist(), key=lambda row: int(times[row]))
    wanted = TopicTracker(topics=3).learn([texts[row] for row in ordered], times[ordered].tolist())
    tracker = TopicTracker(topics=3).learn([texts[row] for row in mixed], times[mixed].tolist())
    np.testing.assert_equal(tracker.topics(), wanted.topics())
    labels = dict(zip(ordered, wanted.story_labels.tolist(), strict=True))
    assert tracker.story_labels.tolist() == [labels[row] for row in mixed.tolist()]


def test_slices_of_a_number_of_documents_take_them_as_they_come() -> None:
    tracker = TopicTracker(topics=3, slices="60").learn(TEXTS * 2, [2002] * 60 + [2001] * 60)
    again = TopicTracker(topics=3, slices="60").learn(TEXTS * 2, 2001)
    np.testing.assert_equal(tracker.topics(), again.topics())


def test_documents_of_slices_that_earlier_calls_closed_are_told() -> None:
    tracker = TopicTracker(topics=3).learn(TEXTS, 2001).learn(TEXTS, 2002)
    with pytest.warns(UserWarning, match="40 of 60 documents belong to slices that were closed by earlier calls"):
        tracker.learn(TEXTS, [2001] * 40 + [2002] * 20)


@pytest.mark.parametrize("time", ["2002", "2002-01", "2002-01-01", "2002-01-01T12:00:00+01:00", " 2002-01-01 "])
def test_texts_are_times(time: str) -> None:
    wanted = TopicTracker(topics=3).learn(TEXTS, 2002).learn(TEXTS[:1], 2003)
    for given in (time, [time] * 60):
        found = TopicTracker(topics=3).learn(TEXTS, given).learn(TEXTS[:1], "2003")
        np.testing.assert_equal(found.topics(), wanted.topics())


@pytest.mark.parametrize("time", ["yesterday", "", None, True, float("nan"), np.datetime64("NaT", "us"), pd.NaT])
def test_a_document_without_a_time_is_left_out(time: Any) -> None:
    texts = ["a ship", "a cat", "a dog"]
    rows = [{"text": "a ship", "time": 2001}, {"text": "a cat", "time": time}, {"text": "a dog", "time": "2001-03"}]
    asked: list[Any] = [(texts, [2001, time, "2001-03"]), (rows,), ({"text": texts, "time": [2001, time, "2001-03"]},)]
    asked += [([rows[0], {"text": "a cat"}, rows[2]],), (pd.DataFrame(rows),)] if time is None else []
    for given in asked:
        tracker = TopicTracker(documents=True)
        with pytest.warns(UserWarning, match=r"1 of 3 .* reason: times\[1\]: (NaT is no time|expected a .*, got)"):
            tracker.learn(*given)
        assert [one.offset for one in tracker.rejected] == [1]
        assert tracker.documents()["id"].tolist() == ["texts:0", "texts:2"]


@pytest.mark.parametrize("missing", [np.datetime64("NaT", "us"), pd.NaT, "31/03/2001"])
def test_times_none_of_which_can_be_read_are_refused(missing: Any) -> None:
    message = r"times\[0\]: (NaT is no time|expected a datetime, a date, a year or a text such as 2021-03-31, got )"
    with pytest.raises(InputError, match=message):
        TopicTracker().learn(["a ship"] * 3, [missing, cast(Any, None), missing])
    with pytest.raises(InputError, match=message):
        TopicTracker().learn({"text": ["a ship"] * 3, "time": [missing] * 3})


@pytest.mark.parametrize("times", [object(), np.array(2001)])
def test_times_are_one_or_several(times: Any) -> None:
    expected = f"times: expected one per text, or one for all, got {type(times).__name__}"
    with pytest.raises(InputError, match=expected):
        TopicTracker().learn(["a ship"], times)


@pytest.mark.parametrize("form", [set, frozenset, dict.fromkeys])
def test_what_has_another_order_than_the_texts_is_refused(form: Any) -> None:
    texts, times, ids = ["a ship", "a goal"], ["2001", "2002"], ["a", "b"]
    says = f"expected a list in the order of the texts, got {type(form(ids)).__name__}"
    with pytest.raises(InputError, match=f"times: {says}"):
        TopicTracker().learn(texts, form(times))
    with pytest.raises(InputError, match=f"ids: {says}"):
        TopicTracker().learn(texts, times, form(ids))
    with pytest.raises(InputError, match=f"year: {says}"):
        TopicTracker().learn({"text": texts, "year": form(times)})
    with pytest.raises(InputError, match="texts: expected "):
        TopicTracker().learn(form(texts), times)
    TopicTracker().learn(texts, times, cast(Any, dict.fromkeys(ids).keys()))


# --- probabilities


def test_texts_get_the_topic_of_their_subject() -> None:
    tracker = begun()
    found = tracker.transform([" ".join(words) for words in SUBJECTS] + ["unheard", ""])
    assert found.shape == (5, 3)
    np.testing.assert_allclose(found.sum(axis=1), [1, 1, 1, 0, 0])
    topics = tracker.topic_ids[found[:3].argmax(axis=1)]
    assert sorted(topics) == [0, 1, 2]
    words = {row["topic"]: {word for word, _ in row["words"]} for row in tracker.topics(words=8)}
    assert all(words[int(topic)] <= set(subject) for topic, subject in zip(topics, SUBJECTS, strict=True))


def test_a_temperature_spreads_probabilities() -> None:
    tracker, text = begun(), ["harbour ship comet"]
    plain, spread = tracker.transform(text, temperature=1.0), tracker.transform(text, temperature=10.0)
    np.testing.assert_allclose(spread, plain**0.1 / (plain**0.1).sum(), rtol=1e-9)
    for wrong in (0.0, "a"):
        with pytest.raises(ValueError, match=rf"temperature: expected a number in \(0, inf\), got {wrong!r}"):
            tracker.transform(text, temperature=cast(Any, wrong))
    for topics, told in ((["a"], r"got \['a'\]"), (None, "got None")):
        with pytest.raises(InputError, match=f"topics: expected one number per text, {told}"):
            tracker.fit_temperature(text, cast(Any, topics))


def test_probabilities_are_those_of_the_stream_s_temperature_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    tracker, text = begun(), ["harbour ship comet"]
    monkeypatch.setattr(TopicTracker, "temperature", 10.0)
    np.testing.assert_array_equal(tracker.transform(text), tracker.transform(text, temperature=10.0))


def test_a_tracker_shows_what_it_knows() -> None:
    tracker = TopicTracker(topics=3)
    assert repr(tracker) == "TopicTracker(topics=3, slices='year'): 0 documents, no closed slice yet; next: learn()"
    assert "Learn documents of a later slice, or call finish()" in tracker._repr_html_()
    assert ": 1 document, no closed slice" in repr(TopicTracker(topics=3).learn(["cat"], 2001))
    tracker = ended(begun())
    newest = tracker.topics()[-1]["slice"]
    documents = tracker._engine.documents
    closed = len({row["slice"] for row in tracker.topics()})
    said = f"{documents} documents, {closed} closed slices, the newest {newest}, 3 topics"
    said += "; next: topics(), stories(), save(path)"
    assert repr(tracker) == f"TopicTracker(topics=3, slices='year'): {said}"
    shown = tracker._repr_html_()
    assert shown.count("<tr>") == 1 + 3
    assert SUBJECTS[0][0] in shown


@pytest.mark.filterwarnings("ignore:.*were not learnt")
def test_a_tracker_says_what_can_be_done_next() -> None:
    tracker = TopicTracker(topics=3).learn(["the same text"] * 12 + [None], times=2001)
    assert repr(tracker).endswith("12 documents, 1 rejected, no closed slice yet; next: learn() more or finish()")
    tracker.finish()
    assert repr(tracker).endswith("0 topics; next: stories(); too few texts share words for topics")
    assert repr(begun()).endswith("3 topics; next: topics(), stories(), learn() more or finish()")


def test_former_names_are_not_listed() -> None:
    listed = dir(TopicTracker())
    assert {"temper", "fit_temper"}.isdisjoint(listed)
    assert {"temperature", "fit_temperature", "learn", "topics", "_run"} <= set(listed)


def test_no_documents_are_learnt_from_an_empty_list() -> None:
    tracker = TopicTracker(topics=3).learn([])
    assert repr(tracker).startswith("TopicTracker(topics=3, slices='year'): 0 documents")
    with pytest.raises(InputError, match=r"document 0: .* found str; texts are given with times=, .* slices=100"):
        tracker.learn(["a text"])


def test_words_are_text_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"slice": "2001", "topic": 0, "documents": 1.0, "share": 1.0, "words": [("<script>", 1.0)]}
    monkeypatch.setattr(TopicTracker, "topics", lambda self, **given: [row])
    assert "&lt;script&gt;" in TopicTracker()._repr_html_()
    assert "<script>" not in TopicTracker()._repr_html_()


def test_the_inverse_temperature_is_still_understood() -> None:
    tracker, text = begun(), ["harbour ship comet"]
    with pytest.warns(DeprecationWarning, match="temperature"):
        inverse = tracker.transform(text, temper=0.1)
    np.testing.assert_array_equal(inverse, tracker.transform(text, temperature=10.0))
    with pytest.warns(DeprecationWarning, match="temperature"):
        stream = tracker.transform(text, temper=None)
    np.testing.assert_array_equal(stream, tracker.transform(text, temperature=None))
    with pytest.warns(DeprecationWarning, match="temperature"):
        assert tracker.temper == 1.0 / tracker.temperature
    learnt = [int(topic) for topic in tracker.topic_ids]
    known = [" ".join(words) for words in SUBJECTS]
    with pytest.warns(DeprecationWarning, match="fit_temperature"):
        assert tracker.fit_temper(known, learnt) == 1.0 / tracker.fit_temperature(known, learnt)
    with (
        pytest.warns(DeprecationWarning, match="temper"),
        pytest.raises(ValueError, match="temper: expected a number in"),
    ):
        tracker.transform(text, temper=0.0)


def test_former_names_of_arguments_are_understood() -> None:
    with pytest.warns(DeprecationWarning, match="vocabulary_size"):
        former = TopicTracker(topics=3, capacity=100)
    assert former.get_params() == TopicTracker(topics=3, vocabulary_size=100).get_params()
    tracker = ended(begun())
    with pytest.warns(DeprecationWarning, match="smoothed"):
        rows = tracker.topics(hindsight=True)
    np.testing.assert_equal(rows, tracker.topics(smoothed=True))
    with pytest.warns(DeprecationWarning, match="smoothed"):
        rows = tracker.trajectory(1, hindsight=True)
    np.testing.assert_equal(rows, tracker.trajectory(1, smoothed=True))
    np.testing.assert_equal([row["turned"] for row in rows], [row["drift_angle"] for row in rows])


def test_a_temperature_is_fitted_to_known_topics() -> None:
    tracker = begun()
    rng = np.random.default_rng(1)
    words = [word for subject in SUBJECTS for word in subject]
    mixed = [" ".join(rng.choice(words, 4)) for _ in range(300)]
    first = tracker.transform(mixed).argmax(axis=1)
    labels = np.where(rng.random(300) < 0.3, rng.integers(0, 3, 300), first)
    temperature = tracker.fit_temperature(mixed, tracker.topic_ids[labels].tolist())
    assert 1 < temperature < 1e4
    tried = (temperature, temperature / 0.8, temperature / 1.25)
    own = [tracker.transform(mixed, temperature=t)[np.arange(300), labels] for t in tried]
    likelihood = [np.log(p).mean() for p in own]
    assert likelihood[0] > max(likelihood[1:])
    with pytest.raises(InputError, match="numbers of active ones, got 77"):
        tracker.fit_temperature(mixed[:2], [0, 77])
    with pytest.raises(InputError, match=r"one per text \(2\), got 1"):
        tracker.fit_temperature(mixed[:2], [0])
    with pytest.raises(InputError, match="texts: expected at least one with a known word, got none"):
        tracker.fit_temperature([], [])


def test_what_is_like_no_document_is_novel() -> None:
    tracker = begun()
    strange, usual = tracker.novelty(["harbour comet wheat sailor moon barley", " ".join(SUBJECTS[0])])
    assert strange > usual
    assert usual < 0
    assert tracker.novelty(["unheard", "", "the and of", "unheard harbour ship"]).tolist()[:3] == [np.inf, 0.0, 0.0]
    assert np.isfinite(tracker.novelty(["unheard harbour ship"])).all()


WRONG_TEXTS: dict[str, Any] = {
    r"texts\[0\]: expected a string, got NoneType": [None],
    r"texts\[1\]: expected a string, got int": ["ship", 3],
    r"texts\[2\]: expected a string, got float": pd.Series(["ship", "sea", float("nan")], dtype=object),
    "texts: expected a sequence of texts, got int": 3,
    "texts: expected a sequence of texts, got one string": "ship",
    "texts: expected texts, .* got a table": pd.DataFrame({"text": ["ship"]}),
}


@pytest.mark.parametrize("embed", first_of([None, by_lengths]))
def test_only_texts_are_labelled(embed: Any) -> None:
    tracker = begun(embed=embed)
    for ask in (tracker.label, tracker.transform, tracker.predict, tracker.novelty):
        for message, texts in WRONG_TEXTS.items():
            with pytest.raises(InputError, match=message):
                ask(texts)
    others: tuple[Any, ...] = (np.array(TEXTS[:3]), pd.Series(TEXTS[:3]), iter(TEXTS[:3]))
    for given in others:
        np.testing.assert_array_equal(tracker.predict(given), tracker.predict(TEXTS[:3]))


def test_questions_teach_nothing() -> None:
    asked, left = begun(), begun()
    asked.transform(["entirely new words", *TEXTS])
    asked.novelty(["other new words"] * 5)
    assert known(ended(asked)) == known(ended(left))


def test_before_the_first_topics_there_is_no_answer() -> None:
    tracker = TopicTracker()
    assert len(tracker.topic_ids) == 0
    for ask in (tracker.transform, tracker.novelty):
        with pytest.raises(InputError, match="there are no topics: the first ones are found when a slice ends"):
            ask(["a"])
    with pytest.raises(InputError, match=r"in at most half of them, .*; learn\(\) more or finish\(\)$"):
        tracker.predict(["a"])
    tracker.learn(["cat", "fur", "paw"], 2001).finish()
    with pytest.raises(InputError, match=r"need some in two documents or more .* that is not 0$"):
        tracker.predict(["a"])
    with pytest.raises(InputError, match=r"need some in two documents or more .* that is not 0$"):
        tracker.label(["a"])
    with pytest.raises(InputError, match="one string"):
        tracker.transform("a")


# --- what happened


def test_a_trajectory_is_one_topic_over_time() -> None:
    tracker = ended(begun())
    rows = tracker.trajectory(1, words=3)
    assert [row["slice"] for row in rows] == ["2001", "2002", "2003", "2004", "2005"]
    np.testing.assert_equal(rows, [row for row in tracker.topics(words=3) if row["topic"] == 1])
    assert len(tracker.trajectory(1, smoothed=True)) == 5
    with pytest.raises(InputError, match="no topic 9; topics: 0, 1, 2"):
        tracker.trajectory(9)


@pytest.mark.parametrize("wrong", [True, 0.0, -1, "0", None, np.array([0])])
def test_a_trajectory_is_that_of_an_id_as_a_pin_is(wrong: Any) -> None:
    tracker = begun()
    for call in (tracker.trajectory, tracker.pin):
        with pytest.raises(
            InputError, match=f"{call.__name__}: expected the id of a topic, .* got {re.escape(repr(wrong))}"
        ):
            call(wrong)
    np.testing.assert_equal(tracker.trajectory(np.int64(1)), tracker.trajectory(1))  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [-1, "a", 2.5, True, None])
def test_numbers_of_words_and_documents_are_checked(wrong: Any) -> None:
    tracker = TopicTracker()
    expected = f"expected a whole number of at least 0, got {wrong!r}"
    for ask in (tracker.topics, tracker.stories):
        with pytest.raises(InputError, match=f"words: {expected}"):
            ask(words=wrong)
    with pytest.raises(InputError, match=f"documents: {expected}"):
        tracker.stories(documents=wrong)


def test_words_and_documents_may_be_left_out() -> None:
    tracker = begun()
    assert {len(row["words"]) for row in tracker.topics(words=0)} == {0}
    rows = tracker.stories(words=np.int64(0), documents=0)  # type: ignore[arg-type]
    assert {(len(row["words"]), len(row["documents"])) for row in rows} == {(0, 0)}


def test_events_are_reported_in_order() -> None:
    events = ended(begun()).events()
    assert [(e["slice"], e["kind"], e["topic"]) for e in events] == [("2001", "started", k) for k in range(3)]
    assert set(events[0]) == {"slice", "kind", "topic", "other", "value", "evidence", "chance", "decision"}


# --- going on


@pytest.mark.parametrize(
    "settings",
    first_of(
        [
            {},
            {"living_topics": False, "story_component": "cauchy"},
            {"story_grain": 0.3, "slices": 40, "stop_words": None, "seed": 3},
        ]
    ),
)
def test_a_saved_tracker_goes_on_as_if_nothing_had_been(tmp_path: Path, settings: dict[str, Any]) -> None:
    wanted = known(ended(begun(**settings)))
    begun(**settings).save(tmp_path / "tracker.duckdb")
    assert known(ended(TopicTracker.load(tmp_path / "tracker.duckdb"))) == wanted
    assert known(ended(pickle.loads(pickle.dumps(begun(**settings))))) == wanted


def test_a_finished_tracker_stays_finished(tmp_path: Path) -> None:
    tracker = ended(begun())
    tracker.save(tmp_path / "tracker.duckdb")
    again = TopicTracker.load(tmp_path / "tracker.duckdb")
    assert known(again) == known(tracker)
    with pytest.raises(InputError, match="was finished"):
        again.learn(["a"], 2009)


def test_what_was_saved_is_a_run_file(tmp_path: Path) -> None:
    tracker = ended(begun())
    tracker.save(tmp_path / "tracker.duckdb")
    reader = Reader(tmp_path / "tracker.duckdb")
    assert reader.slices().label.tolist() == ["2001", "2002", "2003", "2004", "2005"]
    assert reader.meta()["slices"] == "year"
    with pytest.raises(InputError, match="exists already"):
        tracker.save(tmp_path / "tracker.duckdb")
    assert [path.name for path in tmp_path.iterdir()] == ["tracker.duckdb"]


@pytest.mark.thorough
def test_what_is_decided_about_a_saved_tracker_is_kept(tmp_path: Path) -> None:
    tracker = begun()
    topics = tracker.topic_ids.tolist()
    tracker.name(topics[0], "Before")
    tracker.save(tmp_path / "run.duckdb")
    named = decision("name", topics[1], text="From the command")
    decide(tmp_path / "run.duckdb", [named, decision("merge", topics[2], topics[1]), decision("forbid", text="ship")])
    loaded = TopicTracker.load(tmp_path / "run.duckdb")
    assert loaded.names() == {topics[0]: "Before", topics[1]: "From the command"}
    loaded.learn(TEXTS, 2003).learn(TEXTS, 2004)
    done = [(one["kind"], one["refused"], one["slice"] is None) for one in loaded.decisions()]
    assert sorted(done) == [(kind, "", False) for kind in ("forbid", "merge", "name", "name")]
    assert topics[2] not in loaded.topic_ids
    loaded.save(tmp_path / "again.duckdb")
    again = TopicTracker.load(tmp_path / "again.duckdb")
    assert again.names() == loaded.names()
    assert repr(again.decisions()) == repr(loaded.decisions())


def test_an_empty_tracker_is_saved_too(tmp_path: Path) -> None:
    TopicTracker(topics=3).save(tmp_path / "tracker.duckdb")
    again = TopicTracker.load(tmp_path / "tracker.duckdb")
    assert again.get_params() == TopicTracker(topics=3).get_params()
    again.learn(TEXTS, 2001).learn(TEXTS, 2002).learn(TEXTS[:25], 2003)
    assert known(ended(again)) == known(ended(begun()))


def test_what_is_no_saved_tracker(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file"):
        TopicTracker.load(tmp_path / "none.duckdb")
    assert not list(tmp_path.iterdir())
    (tmp_path / "text").write_text("hello")
    with pytest.raises(InputError, match="not a DuckDB file"):
        TopicTracker.load(tmp_path / "text")
    follow(MemorySource(ROWS), FieldCodec(), RunFile(tmp_path / "run.duckdb"), RunSettings(topics=3, stop_words="ship"))
    run_file = duckdb.connect(str(tmp_path / "run.duckdb"))
    run_file.execute("update meta set value = '16' where key = 'dimension'")
    run_file.close()
    with pytest.raises(InputError, match="the run follows vectors"):
        TopicTracker.load(tmp_path / "run.duckdb")


def rounded(value: Any) -> Any:
    """Return numbers with four digits, weights of words with the decimals of a run file, and NaN as a text."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], float):
        return value[0], f"{value[1]:.{WEIGHT_DIGITS}f}"
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return f"{value:.4g}" if isinstance(value, float) else value


@pytest.mark.parametrize(
    ("kept", "says"), [("none", "no documents"), ("2", "of its documents the newest 2 of a topic")]
)
def test_a_run_that_does_not_keep_all_documents_says_how(kept: str, says: str, tmp_path: Path) -> None:
    settings = RunSettings(topics=3, documents=kept)
    follow(MemorySource(ROWS), FieldCodec(), RunFile(tmp_path / "run.duckdb"), settings)
    with pytest.raises(InputError, match=f"keeps {says}.* or a run with --documents all"):
        TopicTracker.load(tmp_path / "run.duckdb").documents()


def test_to_load_a_tracker_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file may be on a share that can only be read."""
    trackers = {"empty": TopicTracker(), "begun": TopicTracker(topics=3, slices="year").learn(TEXTS, 2001)}
    for name, tracker in trackers.items():
        tracker.save(tmp_path / name)
    decide(tmp_path / "begun", [decision("forbid", text="ship")])

    def refuse(path: Path, timeout: float) -> None:
        raise InputError(f"no permission to write {path}")

    monkeypatch.setattr(connection, "_writing", refuse)
    for name, tracker in trackers.items():
        assert repr(TopicTracker.load(tmp_path / name)) == repr(tracker)
    assert [one["told"] for one in TopicTracker.load(tmp_path / "begun").decisions()] == ["forbid the word 'ship'"]


def test_a_tracker_reads_what_a_command_wrote(tmp_path: Path) -> None:
    rows = [*ROWS[:150], {"time": "soon", "text": "no time"}, {"time": 2001, "text": "late ship harbour"}, *ROWS[150:]]
    settings = RunSettings(topics=3, documents="all", window=40, epoch_documents=50)
    kept = MemoryStore()
    follow(MemorySource(rows), FieldCodec(), kept, settings)
    follow(MemorySource(rows), FieldCodec(), RunFile(tmp_path / "run.duckdb"), settings)
    tracker = TopicTracker.load(tmp_path / "run.duckdb")
    for smoothed in (False, True):
        wanted = rows_of_topics(kept.commits, {}, smoothed=smoothed, words=20)
        assert len(wanted) > 8
        assert rounded(tracker.topics(smoothed=smoothed, words=20)) == rounded(wanted)
    assert tracker.events() == rows_of_events(kept.commits)
    assert rounded(tracker.novel()) == rounded(rows_of_novel_documents(kept.commits))
    label = {one.epoch.slice.index: one.epoch.slice.label for one in kept.commits}
    stories = rows_of_stories(kept.commits, label.__getitem__, 10, 3)
    assert len(stories) > 2
    assert rounded(list(tracker.stories())) == rounded(stories)
    documents = columns_of_documents(kept.commits)
    np.testing.assert_equal(dict(tracker.documents()), documents)
    assert len(documents["id"]) == 241
    assert [one.reason for one in tracker.rejected] == [
        one.reason for commit in kept.commits for one in commit.rejected
    ]
    assert repr(tracker).startswith("TopicTracker(topics=3, slices='year'): 241 documents, 1 rejected, 4 closed slices")
    shares = tracker.transform(TEXTS)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)
    assert len({one.argmax() for one in shares}) == 3
    with pytest.raises(InputError, match="the run of a command is continued by it"):
        tracker.learn(TEXTS, 2009)
    tracker.save(tmp_path / "again.duckdb")
    assert known(TopicTracker.load(tmp_path / "again.duckdb")) == known(tracker)


def test_a_clone_has_learnt_nothing() -> None:
    tracker = begun(seed=5, vocabulary_size=100)
    copy = clone(tracker)
    assert copy.get_params() == tracker.get_params()
    assert copy.topics() == []


def test_a_damaged_saved_tracker_is_told(tmp_path: Path) -> None:
    texts = ["the ball and the goal", "rain and wind", "ships in the harbour"] * 20
    TopicTracker(topics=2, slices="year", documents=True).learn(texts, 2001).learn(texts, 2002).save(
        tmp_path / "a.duckdb"
    )
    store, _ = read_saved(tmp_path / "a.duckdb")
    good = flattened(store)
    tree = json.loads(good["tree"].tobytes())
    columns = {name: array for name, array in good.items() if f'"{name}"' in json.dumps(tree[0])}
    taken = []
    for name, array in columns.items():
        for wrong in (array.reshape(-1, 1), array[:-1], array.astype("U30"), array.astype(bool)):
            if wrong.dtype != array.dtype or wrong.shape != array.shape:
                with suppress(InputError):
                    unflattened(good | {name: wrong})
                    taken.append((name, wrong.shape))
    assert len(columns) > 50
    assert len(taken) == 1, taken  # the only column of its record
    commit = tree[0][0]
    for key, wrong in [
        ("epoch", None),
        ("epoch", commit["epoch"] | {"n": "many"}),
        ("epoch", commit["epoch"] | {"slice": commit["epoch"]}),
        ("closed", {"@time": 5}),
        ("closed", {"@mapping": [[[], 1]]}),
        ("closed", {"@array": []}),
        ("closed", {"@array": "array.none"}),
        ("finished", {"@record": "Nothing"}),
        ("seconds", {"@mapping": [["a", "b"]]}),
        ("something", 5),
    ]:
        body = json.dumps([[commit | {key: wrong}], *tree[1:]])
        with pytest.raises(InputError, match="the saved tracker is damaged: "):
            unflattened(good | {"tree": np.frombuffer(body.encode(), np.uint8)})
    for text in ("[" * 100_000, "[]", "[[], {}, {}, [{}, null], 5]", "{", "\xff"):
        with pytest.raises(InputError, match="the saved tracker is damaged: "):
            unflattened(good | {"tree": np.frombuffer(text.encode("latin-1"), np.uint8)})
    with pytest.raises(InputError, match="the saved tracker is damaged: 'tree' is missing"):
        unflattened({})


@pytest.mark.parametrize("name", ["held.slices", "window.index"])
def test_a_saved_tracker_with_documents_of_other_slices_is_refused(tmp_path: Path, name: str) -> None:
    begun().save(tmp_path / "good.duckdb")
    store, _ = read_saved(tmp_path / "good.duckdb")
    checkpoint = store.resume()
    assert checkpoint is not None
    assert checkpoint.slice_state is not None
    state = checkpoint.slice_state | {name: checkpoint.slice_state[name] - 1}
    altered = MemoryStore.holding(store.commits, store.settings({}), replace(checkpoint, slice_state=state))
    write_saved(altered, tmp_path / "altered.duckdb")
    with pytest.raises(InputError, match="expected the slices of the window"):
        TopicTracker.load(tmp_path / "altered.duckdb")


def test_records_become_plain_and_come_back() -> None:
    from tests.unit.runfile.records import commit

    arrays: Arrays = {}
    given = commit(3, open_state={}, slice_state=None)
    plain = json.loads(json.dumps(to_json([given, {4: b"ab\0"}], arrays)))
    again = from_json(plain, arrays)
    assert from_json(json.loads(json.dumps(to_json(again[0].closed[0].slice, {}))), {}) == given.closed[0].slice
    assert again[1] == {4: b"ab\0"}
    np.testing.assert_array_equal(again[0].closed[0].topics.share, given.closed[0].topics.share)  # type: ignore[union-attr]
    for bad in (object(), {"a": {1}}):
        with pytest.raises(ValueError, match="expected a record or a plain value"):
            to_json(bad, {})
    with pytest.raises(ValueError, match="expected a record, got 'Nothing'"):
        from_json({"@record": "Nothing"}, {})


def test_a_tracker_continues_under_the_rules_of_its_run_file() -> None:
    rules = TrackerSettings(births=BirthSettings(least_gain=5.0))
    store = MemoryStore()
    store.settings(RunSettings(topics=3, sample=0, rules=rules).as_text())
    again = TopicTracker._continued(store)
    assert again._track.births.least_gain == 5.0
    assert pickle.loads(pickle.dumps(again))._track == again._track


def test_parameters_are_set_before_anything_is_learnt() -> None:
    tracker = TopicTracker(topics=3).set_params(topics=2, seed=4)
    assert tracker.get_params() == TopicTracker(topics=2, seed=4).get_params()
    same = TopicTracker(topics=2, seed=4)
    for one in (tracker, same):
        one.learn(TEXTS, 2001).learn(TEXTS, 2002).finish()
    assert known(tracker) == known(same)
    assert tracker.story_labels.tolist() == same.story_labels.tolist()
    assert tracker.set_params() is tracker
    with pytest.raises(InputError, match="set_params: expected a tracker that has learnt nothing, got one with 1"):
        tracker.set_params(topics=5)
    with pytest.raises(InputError, match=r"set_params: expected some of topics, slices, .*, got 'colour'"):
        TopicTracker().set_params(colour=1)
    with pytest.raises(InputError, match="topics: expected an integer of at least 1, got 0"):
        TopicTracker().set_params(topics=0)


def test_fit_begins_anew_and_predict_answers_with_ids() -> None:
    cats, ships = "cat fur paw", "ship sea harbour"
    texts = [cats, ships] * 20
    tracker = TopicTracker(topics=2, slices=20).learn(["quark lepton", "boson gluon"] * 20, 2001)
    tracker.fit(texts, y=[0, 1] * 20)
    assert tracker.fit(texts).predict([cats, ships, "nothing known", cats]).tolist() == [
        (one := int(tracker.label([cats])["topic"][0])),
        int(tracker.label([ships])["topic"][0]),
        -1,
        one,
    ]
    assert set(tracker.predict(texts)) == set(tracker.topic_ids)
    assert known(tracker) == known(TopicTracker(topics=2, slices=20).fit(texts))
    assert tracker.predict(["quark"]).tolist() == [-1]
    with pytest.raises(InputError, match="finished"):
        tracker.learn(texts, 2001)
    with pytest.raises(InputError, match="times: expected one per text, or one for all, got none"):
        TopicTracker().fit(texts, [2001] * 40)
    by_year = TopicTracker(topics=2).fit(texts, times=[2001] * 20 + [2002] * 20)
    assert {row["slice"] for row in by_year.topics()} == {"2001", "2002"}
    table = TopicTracker(topics=2).fit({"body": texts, "year": [2001] * 40})
    assert {row["slice"] for row in table.topics()} == {"2001"}
    with pytest.raises(InputError, match="there are no topics: the first ones are found when a slice ends"):
        TopicTracker().predict(texts)
    known_before = known(table)
    with pytest.raises(InputError, match=r"times\[0\]: expected a datetime"):
        table.fit(texts[:2], times=cast(Any, [None, None]))
    assert known(table) == known_before


def test_of_topics_between_ends_of_slices_only_the_newest_are_kept(tmp_path: Path) -> None:
    tracker = TopicTracker(topics=3, slices="year").learn(TEXTS, 2001).learn(TEXTS, 2002)
    one = len(pickle.dumps(tracker))
    for text in TEXTS[:20]:
        tracker.learn([text], 2002)
    assert len(pickle.dumps(tracker)) - one < 20 * 5_000
    tracker.save(tmp_path / "tracker.duckdb")
    with duckdb.connect(tmp_path / "tracker.duckdb", read_only=True) as connection:
        found = connection.execute("select distinct epoch from topic where epoch = (select max(epoch) from epoch)")
        assert len(found.fetchall()) == len(connection.execute("select distinct epoch from topic").fetchall()) == 1


@pytest.mark.thorough
def test_many_calls_are_saved_in_one_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = TopicTracker(topics=2, slices="year")
    for i in range(40):
        tracker.learn(["cat fur paw", "ship sea harbour"], 2001 + i // 15)
    written: list[int] = []
    commit = RunFile.commit

    def counted(self: RunFile, *commits: Commit) -> None:
        written.append(len(commits))
        commit(self, *commits)

    monkeypatch.setattr(RunFile, "commit", counted)
    tracker.save(tmp_path / "all.duckdb")
    assert len(written) == 1
    assert written[0] >= 40
    one_by_one = RunFile(tmp_path / "one.duckdb")
    for epoch in tracker._store.commits:
        commit(one_by_one, epoch)
    readers = [Reader(tmp_path / name) for name in ("all.duckdb", "one.duckdb")]
    for table in (
        "slice",
        "topic",
        "filtered",
        "filtered_word",
        "position",
        "story",
        "story_slice",
        "event",
        "representative",
    ):
        rows = [reader._rows(f'select * from "{table}" order by all') for reader in readers]
        assert repr(rows[0]) == repr(rows[1]), table
    loaded = TopicTracker.load(tmp_path / "all.duckdb")
    assert repr(loaded.topics()) == repr(tracker.topics())


def test_a_pipeline_may_end_with_a_tracker() -> None:
    texts = [f"cat fur paw w{i % 7}" if i % 2 else f"ship sea harbour w{i % 5}" for i in range(80)]
    pipeline = make_pipeline(TopicTracker(topics=2, slices=20))
    with pytest.raises(NotFittedError):
        check_is_fitted(pipeline)
    found = pipeline.fit(texts).predict(texts)
    np.testing.assert_array_equal(found, TopicTracker(topics=2, slices=20).fit(texts).predict(texts))
    assert len(set(found)) == 2


def test_columns_of_a_frame_are_transformed_under_the_numbers_of_topics() -> None:
    texts = [f"cat fur paw w{i % 7}" if i % 2 else f"ship sea harbour w{i % 5}" for i in range(80)]
    frame = pd.DataFrame({"text": texts, "likes": np.arange(80.0)})
    columns = ColumnTransformer(
        [("topics", TopicTracker(topics=2, slices=20), "text"), ("n", "passthrough", ["likes"])]
    )
    assert columns.fit_transform(frame).shape == (80, 3)
    ids = columns.named_transformers_["topics"].topic_ids
    names = [*(f"topics__topictracker{topic}" for topic in ids), "n__likes"]
    assert columns.get_feature_names_out().tolist() == names
    with pytest.raises(InputError, match="there are no topics"):
        TopicTracker(topics=2).get_feature_names_out()
