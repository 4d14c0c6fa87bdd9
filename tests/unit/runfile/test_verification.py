"""`doctor --deep` finds rows that contradict each other, or the saved states; nothing in a file that a run wrote."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.unit.engine.documents import years
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.loop.state_agreement import state_problems
from vmfstream.engine.run import RunSettings, follow
from vmfstream.runfile.verification import DISAGREEMENTS, problems
from vmfstream.runfile.writer import RunFile

SETTINGS = RunSettings(
    title="Reports",
    topics=3,
    threads=1,
    window=60,
    epoch_documents=30,
    documents="all",
    smoothed_stories=True,
    phrases=True,
    sample=50,
)

_REST = """
insert into story_smoothed select slice, place, story from document where story >= 0 limit 1;
insert into topic_phrase select slice, topic, 1, 'sea port', .5 from topic_name limit 1;
insert into outbox select 1, part, 1, 0, .5, 0, .5 from position;
insert into given_name select slice, topic, 'given' from topic_name limit 1;
insert into decision select 1, 'k', now()::timestamp, 'pin', 0, -1, '', max(slice), max(epoch), '', null from slice;
insert into snapshot select 1, 'hierarchical', max(slice), now()::timestamp, 9, 0, 0, 0 from slice;
insert into snapshot_topic values (1, 0, -1, 0, -1, 9, 1, .5, .5), (1, 1, 0, 1, -1, 9, 1, .5, .5);
insert into snapshot_word values (1, 0, 1, 'ship', .5), (1, 0, 2, 'sea', .5), (1, 1, 1, 'ship', .5);
"""
"""Rows as a run with labels, phrases, names, decisions and snapshots writes them."""


def _other(table: str, column: str) -> str:
    """Add a row as one that is there, with a number in a ``column`` that nothing else has."""
    return f"insert into {table} select * replace (9999 as {column}) from {table} limit 1"


def _set(table: str, change: str) -> str:
    return f"update {table} set {change} where rowid = (select max(rowid) from {table})"


def _again(table: str) -> str:
    return f"insert into {table} from {table} limit 1"


DAMAGES = {
    "epochs are missing": "delete from epoch where epoch = 2",
    "epochs go back to slices before": "update epoch set slice = 9999 where epoch = 1",
    "epochs have numbers that are none": _set("epoch", "late = -1"),
    "rejected messages are missing": "delete from rejected",
    "documents are missing": "delete from document where rowid = 0",
    "places of documents are missing": "update document set place = 999 where rowid = 0",
    "places of documents are there twice": "update document set place = 1 where place = 0",
    "documents are of slices that no epoch has": _set("document", "slice = 9999"),
    "closed slices name epochs that are missing": _set("slice", "epoch = 9999"),
    "closed slices have other numbers of documents than their epochs": _set("slice", "n = n + 1"),
    "slices before the newest are not closed": "delete from slice where slice = (select min(slice) from slice)",
    "filtered_angle has not each pair of topics once": _again("filtered_angle"),
    "smoothed_angle has not each pair of topics once": "delete from smoothed_angle where rowid = 0",
    "events have other epochs than the ends of their slices": "update event set epoch = 1",
    "events name decisions that are missing": _set("event", "decision = 9999"),
    "decisions have slices that there are not": _set("decision", "slice = 9999"),
    "decisions are missing": _set("decision", "number = 2"),
    "decisions are undone by others that are missing": _set("decision", "undone_by = 9999"),
    "stories are there twice": _again("story"),
    "stories have first slices that no epoch has": _set("story", "first_slice = 9999"),
    "stories have last slices that no epoch has": _set("story", "last_slice = 9999"),
    "stories have other numbers of documents than were given to them": _set("story", "size = size + 1"),
    "story_event has stories that are missing": """
        insert into story_event select max(slice), max(epoch), 'born', 9999, 5, null, null from slice""",
    "story_event has slices that no epoch has": """
        insert into story_event select 9999, max(epoch), 'merged', 0, 5, null, null from slice""",
    "story_event has epochs that are missing": """
        insert into story_event select max(slice), 9999, 'merged', 0, 5, null, null from slice""",
    "snapshot_topic has snapshots, or topics of theirs, that are missing": _other("snapshot_topic", "snapshot"),
    "snapshot_word has snapshots, or topics of theirs, that are missing": _other("snapshot_word", "node"),
    "topics of snapshots have parents that are missing": _set("snapshot_topic", "parent = 9999"),
    "sampled documents are there twice": _again("sample"),
    "there are epochs, but no position in the source": "delete from position",
    "the position in the source lies before messages that were counted": "update position set next_offset = 1",
    "the position in the source lies before messages in rejected": _set("rejected", "source_offset = 9999"),
    "the position in the source lies before messages in sample": _set("sample", "source_offset = 9999"),
    "the position in the source lies before messages in outbox": _set("outbox", "source_offset = 9999"),
    "word has topics that topic has not": _other("word", "topic"),
    "topic_phrase has topics that topic_name has not": _other("topic_phrase", "topic"),
    "given_name has topics that topic_name has not": _other("given_name", "topic"),
    "smoothed_word has topics that smoothed has not": _other("smoothed_word", "topic"),
    "smoothed_sketch has topics that smoothed has not": _other("smoothed_sketch", "topic"),
    **{
        f"{table} has topics that filtered has not": _other(table, "topic")
        for table in ("filtered_word", "topic_name", "representative", "filtered_sketch")
    },
    **{
        f"{table} has documents that are not there": _set(table, "place = 999")
        for table in ("document_smoothed", "story_smoothed")
    },
    **{f"{table} has documents twice": _again(table) for table in ("document_smoothed", "story_smoothed")},
    **{
        f"{table} has slices that are not closed": _other(table, "slice")
        for table in (
            *("filtered", "filtered_word", "smoothed", "smoothed_word"),
            *("representative", "event", "topic_name", "novel"),
        )
    },
    **{f"{table} has slices that no epoch has": _other(table, "slice") for table in ("sample", "story_slice")},
    **{f"{table} has epochs that are missing": _other(table, "epoch") for table in ("topic", "event", "decision")},
    "outbox has epochs that are missing": _other("outbox", "epoch"),
    **{
        f"{table} has topics twice": _again(table)
        for table in ("topic", "filtered", "smoothed", "topic_name", "filtered_sketch", "smoothed_sketch")
    },
    **{
        f"{table} has other ranks than 1, 2, ...": f"update {table} set rank = rank + 1"
        for table in (
            *("word", "filtered_word", "smoothed_word", "topic_phrase", "representative"),
            *("novel", "story_word", "story_document", "snapshot_word"),
        )
    },
    **{
        f"{table} has numbers that are none": _set(table, change)
        for table, change in (
            ("topic", "share = 'nan'"),
            ("filtered", "n = -5"),
            ("smoothed", "share = 1.1"),
            *((f"{kind}word", "weight = 'inf'") for kind in ("", "filtered_", "smoothed_", "story_")),
            ("topic_phrase", "weight = 'nan'"),
            ("filtered_angle", "degrees = 'nan'"),
            ("smoothed_angle", "degrees = 181"),
            ("filtered_sketch", "numbers = 'short'::blob"),
            ("smoothed_sketch", "numbers = 'short'::blob"),
            ("document", "probability = 2"),
            ("story", "size = 0"),
            ("novel", "novelty = 'nan'"),
            ("stage", "seconds = -1"),
        )
    },
    **{
        f"topics in {table} have more documents than their slices": f"update {table} set n = 1e6"
        for table in ("filtered", "smoothed")
    },
    **{
        f"{table} has stories that are missing": _set(table, "story = 9999")
        for table in ("story_word", "story_document", "story_slice", "novel")
    },
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run file with rows in all tables but that of merged stories."""
    path = tmp_path_factory.mktemp("run") / "run.duckdb"
    items = [*years({2001: 90, 2002: 90, 2003: 200, 2004: 60}), b"{", b"?"]
    follow(MemorySource(items), FieldCodec(), RunFile(path), SETTINGS)
    with duckdb.connect(path) as connection:
        connection.execute(_REST)
        if not connection.execute("select count(*) from event").fetchall()[0][0]:
            connection.execute(
                "insert into event select slice, epoch, 'born', 0, null, 1, 1, 1, null from slice limit 1"
            )
    return path


def test_what_a_run_wrote_agrees(whole: Path) -> None:
    assert list(problems(whole)) == []
    assert list(state_problems(whole)) == []


def test_every_disagreement_has_a_damage() -> None:
    assert set(DAMAGES) == set(DISAGREEMENTS)


@pytest.fixture(scope="module")
def connection(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Opens a copy, which each test leaves as it was."""
    with duckdb.connect(shutil.copyfile(whole, tmp_path_factory.mktemp("copy") / "run.duckdb")) as one:
        yield one


@pytest.mark.parametrize("told", DAMAGES)
def test_rows_that_contradict_each_other_are_found(connection: duckdb.DuckDBPyConnection, told: str) -> None:
    connection.begin()
    try:
        assert connection.execute(DISAGREEMENTS[told]).fetchall() != [(True,)]
        assert connection.execute(DAMAGES[told]).fetchall() != [(0,)], "nothing was damaged"
        assert connection.execute(DISAGREEMENTS[told]).fetchall() == [(True,)]
    finally:
        connection.rollback()


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("update epoch set n = n + 1 where epoch = 1", "the saved state knows"),
        ("update slice set n = 0", "the saved state has documents of slice"),
        ("update filtered set topic = topic + 100", "the saved state has other topics than the newest slice"),
        (
            "update document set second = 500 where rowid = 0",
            "there is a topic 500, but the saved state has given numbers",
        ),
        ("update story set size = size + 1", "the saved state has other stories, or other numbers of their documents"),
        ("delete from sample where rowid = 0", "the saved state has other sampled documents than the table sample"),
        ("update slice set slice = slice + 100", "the saved state goes on with slice"),
    ],
)
def test_rows_that_contradict_the_saved_state_are_found(whole: Path, tmp_path: Path, damage: str, told: str) -> None:
    path = shutil.copyfile(whole, tmp_path / "run.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute(damage)
    assert any(one.startswith(told) for one in state_problems(path))
