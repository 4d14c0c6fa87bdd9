"""Tables as input of a tracker, and what it tells as tables."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from vmfstream import TopicTracker
from vmfstream.cli.document_table import newest_rows
from vmfstream.errors import InputError
from vmfstream.runfile.queries import DocumentChoice, Reader
from vmfstream.runfile.verification import problems

N = 40
TEXTS = ["cat fur paw claw", "ship sea harbour port"] * (N // 2)
TIMES = [datetime(2001 + i // 20, 3, 1 + i % 20) for i in range(N)]
IDS = [f"doc {i}" for i in range(N)]
TITLES = [f"Title {i}" for i in range(N)]
COLUMNS: dict[str, Any] = {"headline": TITLES, "body": TEXTS, "doc_id": IDS, "published": TIMES, "other": [None] * N}


class HuggingFace:
    """Looks like ``datasets.Dataset``: names of columns, and columns by name."""

    column_names = tuple(COLUMNS)

    def __getitem__(self, name: str) -> list[Any]:
        return list(COLUMNS[name])


class Once:
    """An Arrow stream that can be asked for once, as those of running queries."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self.connection.register("given", pd.DataFrame(COLUMNS))
        self.asked = 0

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        self.asked += 1
        return self.connection.sql("select * from given").__arrow_c_stream__(requested_schema)


def arrow() -> Any:
    return pytest.importorskip("pyarrow").table(COLUMNS)


def polars() -> Any:
    return pytest.importorskip("polars").DataFrame(COLUMNS)


def mappings() -> Any:
    return ({name: column[i] for name, column in COLUMNS.items()} for i in range(N))


def learnt(*given: Any, **named: Any) -> TopicTracker:
    tracker = TopicTracker(topics=2, documents=True).learn(*given, **named)
    tracker.finish()
    return tracker


def known(tracker: TopicTracker) -> str:
    return repr([tracker.topics(), tracker.stories(), {k: v.tolist() for k, v in tracker.documents().items()}])


def untitled(tracker: TopicTracker) -> str:
    """Topics without titles and names, which know the titles of documents."""
    return repr(
        [{name: value for name, value in row.items() if name not in ("title", "name")} for row in tracker.topics()]
    )


@pytest.mark.parametrize(
    "table",
    [
        lambda: COLUMNS,
        lambda: pd.DataFrame(COLUMNS),
        lambda: pd.DataFrame(COLUMNS).rename(columns=str.title),
        arrow,
        polars,
        Once,
        HuggingFace,
        mappings,
        lambda: [{key.title(): value for key, value in row.items()} for row in mappings()],
    ],
)
def test_tables_are_read_by_the_usual_names_of_columns(table: Callable[[], Any]) -> None:
    found = learnt(table())
    assert found.documents()["id"].tolist() == IDS
    assert found.stories()[0]["title"].startswith("Title ")
    assert known(found) == known(learnt(COLUMNS))
    plain = learnt(TEXTS, TIMES, IDS)
    assert untitled(found) == untitled(plain)
    assert found.rejected == []


def test_columns_can_be_named() -> None:
    frame = pd.DataFrame(COLUMNS | {"text": ["nothing"] * N, "time": [1999] * N})
    found = learnt(frame, text="body", time="published", id="headline")
    assert found.documents()["id"].tolist() == TITLES
    assert untitled(found) == untitled(learnt(TEXTS, TIMES))


def test_slices_of_a_number_of_documents_need_no_time() -> None:
    tracker = TopicTracker(topics=2, slices=20).learn({"text": TEXTS})
    again = TopicTracker(topics=2, slices=20).learn(TEXTS, 1970)
    assert repr(tracker.topics()) == repr(again.topics())
    assert repr(TopicTracker(topics=2, slices=20).learn(TEXTS).topics()) == repr(again.topics())
    with pytest.raises(InputError, match="texts are given with times=, one for each or one for all"):
        TopicTracker(topics=2, slices="year").learn(TEXTS)


def test_documents_without_times_have_none(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    tracker = TopicTracker(topics=2, slices=20, story_days=1, documents=True).learn(TEXTS)
    tracker.learn({"text": TEXTS[:3], "year": [2001, None, np.datetime64("NaT", "us")]})
    assert tracker.rejected == []
    tracker.save(path)
    assert list(problems(path)) == []
    loaded = TopicTracker.load(path)
    loaded.learn(TEXTS).finish()
    times = loaded.documents()["time"]
    assert times[~np.isnat(times)].tolist() == [datetime(2001, 1, 1)]
    assert len(times) == 2 * N + 3
    rows = newest_rows(Reader(path), DocumentChoice(), 3)
    assert [row["time"] for row in rows] == [None, None, "2001-01-01T00:00:00"]


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        (
            {"words": ["a"], "year": [2001]},
            {},
            "text: expected a column text or body .* or the like, found: words, year",
        ),
        ({"text": ["a"]}, {}, "time: expected a column time or timestamp .* or the like, found: text"),
        ({"text": ["a"], "year": [2001]}, {"id": "key"}, "id: expected a column key, found: text, year"),
        ({"text": ["a", "b"], "year": [2001]}, {}, r"time: expected one value per text \(2\), got 1"),
        ("a text", {}, "expected a table or texts with times, got one string"),
        (5, {}, "expected a table or an iterable of mappings, got int"),
        (["a", "b"], {}, "document 0: expected a mapping with text and time, found str"),
    ],
)
def test_other_tables_are_refused(given: Any, named: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TopicTracker().learn(given, **named)


def test_columns_are_not_named_beside_times() -> None:
    with pytest.raises(InputError, match="text: columns are named for a table"):
        TopicTracker().learn(["a"], 2001, text="body")


@pytest.mark.filterwarnings("ignore:.*were not learnt")
def test_missing_texts_are_rejected_one_by_one() -> None:
    frame = pd.DataFrame({"text": ["cat fur", None], "time": [2001, 2001]})
    for table in (frame, Once, {"text": ["cat fur", None], "time": [2001, 2001]}):
        if table is not Once:
            assert [one.offset for one in TopicTracker().learn(table).rejected] == [1]
    stream = duckdb.connect().sql("select * from (values ('cat fur', 2001), (null, 2001)) as given(text, year)")
    assert [one.reason for one in TopicTracker().learn(stream).rejected] == ["text: expected a string, got NoneType"]


def test_what_is_told_becomes_frames_and_arrow() -> None:
    tracker = learnt(COLUMNS)
    for rows in (tracker.topics(), tracker.stories()):
        frame = rows.to_pandas()
        assert frame.shape == (len(rows), len(rows[0]))
        assert pd.DataFrame(rows).shape == frame.shape
        assert frame["words"][0] == [word for word, _ in rows[0]["words"]]
        assert duckdb_rows(rows)[0][0] == next(iter(rows[0].values()))
        assert len(duckdb_rows(rows)) == len(rows)
        assert repr(pickle.loads(pickle.dumps(rows))) == repr(rows)
    documents = tracker.documents()
    assert documents.to_pandas()["id"].tolist() == IDS
    assert [row[0] for row in duckdb_rows(documents)] == IDS
    pa = pytest.importorskip("pyarrow")
    assert pa.table(documents).num_rows == N
    assert pa.RecordBatchReader.from_stream(tracker.topics()).read_all()["topic"].to_pylist() == [
        row["topic"] for row in tracker.topics()
    ]
    again = learnt(documents.to_pandas().assign(text=TEXTS), id="id", text="text")
    assert untitled(again) == untitled(tracker)


def duckdb_rows(table: Any) -> list[Any]:
    with duckdb.connect() as connection:
        connection.register("told", pytest.importorskip("pyarrow").RecordBatchReader.from_stream(table))
        return connection.execute("select * from told").fetchall()


def test_a_tracker_without_rows_has_no_columns() -> None:
    rows = TopicTracker().topics()
    assert rows == []
    assert rows.columns == {}
    with pytest.raises(InputError, match="there are no rows yet"):
        rows.__arrow_c_stream__()
    assert np.array_equal(TopicTracker(documents=True).documents()["id"], np.zeros(0, object))


@pytest.mark.parametrize(
    "table",
    [
        lambda: COLUMNS,
        lambda: pd.DataFrame(COLUMNS),
        lambda: duckdb.connect().sql("select 'cat' as body"),
        lambda: TopicTracker().topics(),
        arrow,
        polars,
        Once,
        HuggingFace,
    ],
)
def test_a_table_is_no_sequence_of_texts(table: Callable[[], Any]) -> None:
    tracker = TopicTracker(topics=2).learn(COLUMNS)
    said = r"texts: expected texts, such as frame\['text'\], got a table"
    for method in (tracker.label, tracker.transform, tracker.predict, tracker.novelty, tracker.freeze().label):
        with pytest.raises(InputError, match=said):
            method(table())
    with pytest.raises(InputError, match=said):
        tracker.fit_temperature(table(), [0])
    with pytest.raises(InputError, match=said):
        tracker.learn(table(), 2003)


def test_a_column_is_a_sequence_of_texts() -> None:
    tracker = TopicTracker(topics=2).learn(COLUMNS)
    wanted = tracker.predict(TEXTS).tolist()
    columns = [
        pd.DataFrame(COLUMNS)["body"],
        pd.Series(TEXTS, index=["columns", "column_names", *IDS[2:]]),
        pd.Index(TEXTS),
        np.array(TEXTS, object),
        polars()["body"],
    ]
    for column in columns:
        assert tracker.predict(column).tolist() == wanted
        assert tracker.label(column)["topic"].tolist() == wanted
        assert len(tracker.novelty(column)) == N


def test_rows_have_columns_for_arrow() -> None:
    pa = pytest.importorskip("pyarrow")
    tracker = learnt(COLUMNS)
    for rows in (tracker.topics(), tracker.stories()):
        table = pa.table(rows.columns)
        assert table.column_names == list(rows[0])
        assert table["words"].to_pylist() == [[word for word, _ in row["words"]] for row in rows]


def test_rows_and_columns_become_frames_of_polars() -> None:
    polars = pytest.importorskip("polars")
    tracker = TopicTracker(2, slices="year", documents=True)
    tracker.learn(["cat fur paw", "ship sea harbour"] * 9, 2001).learn(["sea"], 2002)
    frame = tracker.topics().to_polars()
    assert frame.schema["words"] == polars.List(polars.String)
    assert frame["words"].to_list() == [[word for word, _ in row["words"]] for row in tracker.topics()]
    assert tracker.documents().to_polars()["topic"].to_list() == tracker.documents()["topic"].tolist()


def test_events_novel_documents_and_decisions_are_tables_too() -> None:
    pytest.importorskip("polars")
    tracker = TopicTracker(2, slices="year")
    tracker.learn(["cat fur paw", "ship sea harbour"] * 9, 2001).learn(["sea"], 2002)
    tracker.forbid("harbour")
    tracker.learn(["sea"], 2003)
    tracker.name(0, "pets")
    for rows in (tracker.events(), tracker.novel(), tracker.decisions()):
        assert rows.to_pandas().shape == rows.to_polars().shape == (len(rows), len(rows[0]))
    assert tracker.decisions().to_polars()["kind"].to_list() == ["forbid", "name"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"text": "cat fur", "time": "2001-01-01"},
            r"^text: expected a value for each document, got one str; a single",
        ),
        ({"text": TEXTS, "time": 2001}, "^time: expected a value for each document, got one int; a single document is"),
        (pd.DataFrame([["cat", "fur", 2001]], columns=["text", "text", "time"]), "different names, got text more than"),
    ],
)
def test_columns_that_are_none_are_told(table: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TopicTracker(slices="year").learn(table)


def test_other_columns_of_a_mapping_may_be_one_value() -> None:
    table = {"text": TEXTS, "time": TIMES, "source": "here", "count": 3}
    assert TopicTracker(topics=2, slices="year").learn(table).stories() == learnt(TEXTS, TIMES).stories()


def test_generators_and_columns_of_arrow_are_read_like_lists() -> None:
    wanted = learnt(TEXTS, TIMES, IDS).documents()
    found = learnt(iter(TEXTS), iter(TIMES), iter(IDS)).documents()
    assert repr(found) == repr(wanted)
    counted = [TopicTracker(topics=2, slices=10, documents=True).learn(given) for given in (TEXTS, iter(TEXTS))]
    fitted = TopicTracker(topics=2, slices=10, documents=True).fit(iter(TEXTS))
    assert repr(counted[0].documents()) == repr(counted[1].documents())
    assert len(fitted.documents()["id"]) == N
    columns = pytest.importorskip("pyarrow").table(COLUMNS)
    assert repr(learnt(columns["body"], columns["published"], columns["doc_id"]).documents()) == repr(wanted)
    with pytest.raises(InputError, match=r"^ids: expected one per text, got int"):
        learnt(TEXTS, TIMES, 5)


def test_a_column_that_is_an_index_is_told_as_such() -> None:
    frame = pd.DataFrame({"date": TIMES, "body": TEXTS, "key": IDS})
    with pytest.raises(
        InputError, match=r"found: body, key; date is an index of the frame: give frame.reset_index\(\)"
    ):
        TopicTracker(slices="year").learn(frame.set_index("date"))
    with pytest.raises(InputError, match=r"column key, found: body; key is an index of the frame: give frame\.reset"):
        TopicTracker(slices=10).learn(frame.set_index(["date", "key"]), id="key")
    with pytest.raises(InputError, match=r"found: body$"):
        TopicTracker(slices="year").learn(frame[["body"]])


def test_tables_of_no_rows_are_empty() -> None:
    pytest.importorskip("polars")
    rows = TopicTracker(topics=2).stories()
    assert rows.to_pandas().shape == rows.to_polars().shape == rows.columns.to_polars().shape == (0, 0)


def test_the_first_record_need_not_have_all_fields() -> None:
    records = [
        {"text": text, "time": time, "title": title} for text, time, title in zip(TEXTS, TIMES, TITLES, strict=True)
    ]
    odd: list[dict[str, Any]] = [{"time": 2001}, {"text": "cat fur"}, {"words": "cat fur", "time": 2001}]
    tracker = TopicTracker(topics=2)
    with pytest.warns(UserWarning, match="3 of 43 documents were not learnt"):
        tracker.learn(odd + records)
    reasons = sorted(one.reason for one in tracker.rejected)
    assert reasons[:2] == ["text: expected a string, got NoneType"] * 2
    assert reasons[2].startswith("times[1]: expected a datetime")
    found = TopicTracker(topics=2).learn([{"text": "cat fur", "time": TIMES[0]}, *records])
    assert found.stories()[0]["title"].startswith("Title ")
