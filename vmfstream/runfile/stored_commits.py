"""Read a run file that a command wrote into a store in memory, so that a `TopicTracker` can answer from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np
from numpy.typing import NDArray

from vmfstream.records import (
    Commit,
    DocumentRows,
    EpochReport,
    Event,
    Novel,
    Rejected,
    Representative,
    Slice,
    SliceReport,
    SmoothedDocuments,
    SmoothedSlice,
    SmoothedStories,
    StoryEvent,
    StoryRows,
    StorySlices,
    TopicNames,
    TopicRows,
)
from vmfstream.runfile.checkpoints import one_commit
from vmfstream.runfile.memory import MemoryStore
from vmfstream.runfile.queries.base import unmasked
from vmfstream.runfile.stored_decisions import stored_decisions
from vmfstream.runfile.writer import stored_checkpoint
from vmfstream.text.topic_names import JOINT

ColumnArrays: TypeAlias = dict[str, NDArray[Any]]
"""Columns of some rows of a table, by name."""

_LISTS = ("words", "angles", "sketches", "part_of")


def read_commits(path: Path) -> MemoryStore:
    """Return settings, last states and all rows of the run file at ``path``, as one commit for each slice.

    Sample, angles and sketches of topics, and labels that wait to be sent are left out; of documents all are read where
    the run keeps all, else none.

    Raises
    ------
    InputError
        If the run file cannot be read.
    FormatVersion
        If it was written by a newer version.
    StoreLocked
        If another process does not release it in time.
    """
    with one_commit(path) as connection:
        settings = dict(connection.execute("select key, value from meta where key <> 'format'").fetchall())
        checkpoint = stored_checkpoint(connection)
        commits = _commits(connection, documents=settings.get("documents") == "all")
    return MemoryStore.holding(commits, settings, checkpoint)


def _commits(connection: duckdb.DuckDBPyConnection, *, documents: bool) -> list[Commit]:
    closed = {report.slice.index: report for report in _closed(connection)}
    smoothed = _topics(connection, "smoothed")
    rows = _documents(connection) if documents else {}
    later = _by(connection, "slice", "document_smoothed order by slice, place") if documents else {}
    other = _by(connection, "slice", "story_smoothed order by slice, place") if documents else {}
    happened = _by(connection, "slice", "story_event order by slice, rowid")
    refused = _by(connection, "slice", "(select r.*, slice from rejected r join epoch using (epoch)) order by epoch")
    given = connection.execute("select slice, topic, name from given_name").fetchall()
    decisions = stored_decisions(connection)
    epochs = connection.execute("""
        select slice, arg_max(label, epoch), sum(n)::bigint, sum(rejected)::bigint, sum(late)::bigint,
            sum(empty)::bigint, arg_max(oov_rate, epoch), arg_max(prequential, epoch), sum(seconds),
            arg_max(lag, epoch), bool_or(finished) from epoch group by slice order by slice""").fetchall()
    commits = []
    for number, (index, label, n, rejected, late, empty, oov, prequential, seconds, lag, finished) in enumerate(
        epochs, start=1
    ):
        until = epochs[number][0] if number < len(epochs) else np.inf
        from_ = index if number > 1 else -np.inf
        mine = [i for i in sorted(closed) if from_ <= i < until]
        own = closed[index].slice if index in closed else Slice(index, label)
        report = EpochReport(
            number, own, n, rejected, late, empty, _number(oov), _number(prequential), seconds, None, lag
        )
        commits.append(
            Commit(
                report,
                [closed[i] for i in mine],
                [
                    Rejected(*row)
                    for row in zip(
                        *_lists(refused.get(index), "part", "source_offset", "reason", "excerpt"), strict=True
                    )
                ],
                {},
                {},
                None,
                smoothed=[SmoothedSlice(i, smoothed[i]) for i in sorted(smoothed) if from_ <= i < until],
                finished=finished,
                story_events=_story_events(index, happened.get(index)),
                documents=rows.get(index) if documents else None,
                relabelled=_relabelled(index, later.get(index)),
                in_other_stories=[SmoothedStories(**{k: other[index][k] for k in ("slice", "place", "story")})]
                if index in other
                else [],
                given_names=[tuple(row) for row in given if from_ <= row[0] < until],
            )
        )
    if commits:
        undone = {one.number: one.undone_by for one in decisions if one.undone_by is not None}
        commits[-1] = replace(
            commits[-1],
            stories=_stories(connection),
            story_slices=_story_slices(connection),
            decisions=[replace(one, undone_by=None) for one in decisions],
            undone=undone,
        )
    return commits


def _closed(connection: duckdb.DuckDBPyConnection) -> list[SliceReport]:
    topics = _topics(connection, "filtered")
    names = _names(connection)
    best = _by(connection, "slice", "representative order by slice, topic, rank")
    novel = _by(connection, "slice", "novel order by slice, rank")
    events = _by(connection, "slice", "event order by slice, epoch, rowid")
    query = "select slice, label, begins, ends, n, predicted, persistence, warm_up, dimension, temperature from slice"
    found = connection.execute(f"{query} order by slice").fetchall()
    return [
        SliceReport(
            Slice(index, label, _aware(begins), _aware(ends)),
            n,
            _number(predicted),
            _number(persistence),
            warm_up,
            dimension,
            topics.get(index),
            _representative(best[index]) if index in best else None,
            _events(events.get(index)),
            _novel(novel[index]) if index in novel else None,
            _number(temperature),
            names.get(index),
        )
        for index, label, begins, ends, n, predicted, persistence, warm_up, dimension, temperature in found
    ]


def _topics(connection: duckdb.DuckDBPyConnection, table: str) -> dict[int, TopicRows]:
    """Return the topics of closed slices, by slice."""
    words = _ranked(connection, f"{table}_word", "word")
    found = {}
    for index, rows in _by(connection, "slice", f"{table} order by slice, topic").items():
        numbers = {name: column for name, column in rows.items() if name not in ("slice", *_LISTS)}
        part_of = rows["part_of"].astype(np.int64) if "part_of" in rows else None  # NULL is -1
        own = [words.get((index, topic), []) for topic in rows["topic"].tolist()]
        found[index] = TopicRows(**numbers, words=own, part_of=part_of)
    return found


def _names(connection: duckdb.DuckDBPyConnection) -> dict[int, TopicNames]:
    phrases = _ranked(connection, "topic_phrase", "phrase")
    found = {}
    for index, rows in _by(connection, "slice", "topic_name order by slice, topic").items():
        parts = [name.split(JOINT) if name else [] for name in rows["name"].tolist()]
        own = [phrases.get((index, topic), []) for topic in rows["topic"].tolist()]
        found[index] = TopicNames(rows["topic"], parts, rows["title"].tolist(), own)
    return found


def _ranked(
    connection: duckdb.DuckDBPyConnection, table: str, what: str
) -> dict[tuple[int, int], list[tuple[str, float]]]:
    """Return words or phrases with weights by slice and topic, the largest first."""
    rows = connection.execute(
        f"select slice, topic, {what}, weight from {table} order by slice, topic, rank"
    ).fetchall()
    return {key: [row[2:] for row in own] for key, own in groupby(rows, key=lambda row: row[:2])}


def _representative(rows: ColumnArrays) -> Representative:
    return Representative(
        rows["topic"], rows["rank"], rows["id"].tolist(), rows["title"].tolist(), _moments(rows), rows["score"]
    )


def _novel(rows: ColumnArrays) -> Novel:
    columns = rows["id"].tolist(), rows["title"].tolist(), _moments(rows)
    return Novel(rows["rank"], *columns, rows["novelty"], rows["topic"], rows["story"])


def _events(rows: ColumnArrays | None) -> list[Event]:
    names = ("kind", "topic", "other", "value", "evidence", "chance", "decision")
    return [Event(*row) for row in zip(*_lists(rows, *names), strict=True)]


def _story_events(index: int, rows: ColumnArrays | None) -> list[StoryEvent]:
    names = ("kind", "story", "size", "other", "evidence")
    return [
        StoryEvent(slice=index, **dict(zip(names, row, strict=True))) for row in zip(*_lists(rows, *names), strict=True)
    ]


def _documents(connection: duckdb.DuckDBPyConnection) -> dict[int, DocumentRows]:
    """Return what documents got on arrival, by slice."""
    found = {}
    for index, rows in _by(connection, "slice", "document order by slice, place").items():
        texts = rows["text"].tolist()
        found[index] = DocumentRows(
            rows["id"].tolist(),
            rows["time"].astype("datetime64[us]").astype(np.int64),
            rows["topic"],
            rows["probability"].astype(np.float32),
            rows["story"],
            rows["novelty"].astype(np.float32),
            rows["second"],
            rows["second_probability"].astype(np.float32),
            rows["place"],
            None if None in texts else texts,
        )
    return found


def _relabelled(index: int, rows: ColumnArrays | None) -> list[SmoothedDocuments]:
    """Return later topics of a slice, those of neighbours together."""
    if rows is None:
        return []
    places, topics = rows["place"], rows["topic"]
    cuts = [0, *(np.flatnonzero(np.diff(places) != 1) + 1).tolist(), len(places)]
    return [SmoothedDocuments(index, int(places[low]), topics[low:high]) for low, high in pairwise(cuts)]


def _stories(connection: duckdb.DuckDBPyConnection) -> StoryRows | None:
    """Return all stories as they are known now, None if there are none."""
    names = ("story", "first_slice", "last_slice", "first", "last", "size", "topic", "trend", "ended")
    rows = _columns(connection, "story order by story")
    if not len(rows["story"]):
        return None
    words: dict[int, list[tuple[str, float]]] = {}
    for story, word, weight in connection.execute(
        "select story, word, weight from story_word order by story, rank"
    ).fetchall():
        words.setdefault(story, []).append((word, weight))
    documents: dict[int, list[tuple[str, str, int, float]]] = {}
    for story, id, title, time, score in connection.execute(
        "select story, id, title, epoch_us(time), score from story_document order by story, rank"
    ).fetchall():
        documents.setdefault(story, []).append((id, title, time, score))
    ids = rows["story"].tolist()
    # the title of a story is that of its first document
    first = zip(ids, rows["title"].tolist(), strict=True)
    own = [documents.get(story) or [("", title, 0, 0.0)] for story, title in first]
    return StoryRows(
        **{name: rows[name] for name in names}, words=[words.get(story, []) for story in ids], documents=own
    )


def _story_slices(connection: duckdb.DuckDBPyConnection) -> list[StorySlices]:
    """Return what stories were at the ends of slices."""
    rows = _columns(connection, "story_slice order by slice, story")
    if not len(rows["slice"]):
        return []
    titles, words = (rows.pop(name).tolist() for name in ("title", "words"))
    return [StorySlices(**rows, title=titles, words=[some.split(JOINT) if some else [] for some in words])]


def _by(connection: duckdb.DuckDBPyConnection, key: str, rows: str) -> dict[int, ColumnArrays]:
    """Return the columns of ``rows`` of a table, which are ordered by ``key``, by their keys."""
    columns = _columns(connection, rows)
    keys, first = np.unique(columns[key], return_index=True)
    ends = [*first[1:].tolist(), len(columns[key])][: len(keys)]
    return {
        int(one): {name: column[low:high] for name, column in columns.items()}
        for one, low, high in zip(keys.tolist(), first.tolist(), ends, strict=True)
    }


def _columns(connection: duckdb.DuckDBPyConnection, rows: str) -> ColumnArrays:
    """Return all columns of ``rows`` of a table; NULL becomes NaN, NaT, -1 or None."""
    found = connection.execute(f"select * from {rows}").fetchnumpy()
    return {
        name: column.astype(np.int64) if column.dtype.kind == "u" else unmasked(column)
        for name, column in found.items()
    }


def _lists(rows: Mapping[str, NDArray[Any]] | None, *names: str) -> Sequence[list[Any]]:
    """Return columns as lists; missing numbers, which are NaN or -1 in columns that may miss them, become None."""
    if rows is None:
        return [[] for _ in names]
    found = []
    for name in names:
        values = rows[name].tolist()
        if name in ("other", "decision"):
            values = [None if value < 0 else value for value in values]
        if name in ("value", "evidence", "chance"):
            values = [None if value != value else value for value in values]
        found.append(values)
    return found


def _moments(rows: ColumnArrays) -> list[datetime | None]:
    return [_aware(time) for time in rows["time"].astype("datetime64[us]").tolist()]


def _aware(time: datetime | None) -> datetime | None:
    return None if time is None else time.replace(tzinfo=UTC)


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
