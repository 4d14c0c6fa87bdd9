"""What `doctor --deep` compares: tables of a run file with each other, and the saved states with the tables."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import duckdb
import pytest

from tests.unit.engine.documents import document
from vmfstream import TopicTracker
from vmfstream.cli.console import damage_told
from vmfstream.cli.look import export
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import Item, MemorySource
from vmfstream.dashboards.app import create_app
from vmfstream.dashboards.page.run_file_watch import RunFileWatch
from vmfstream.decisions import decision
from vmfstream.engine.loop.settings import Progress
from vmfstream.engine.loop.state_agreement import state_problems
from vmfstream.engine.run import RunSettings, follow
from vmfstream.engine.snapshots.batch import take_snapshots
from vmfstream.errors import InputError
from vmfstream.records import Position
from vmfstream.runfile.decide import decide
from vmfstream.runfile.verification import DISAGREEMENTS, problems
from vmfstream.runfile.writer import RunFile

SETTINGS = RunSettings(
    topics=3, threads=1, slices="year", window=80, epoch_documents=30, sample=40, documents="all", smoothed_stories=True
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run file that has rows in nearly every table and ends in the middle of a slice."""
    path = tmp_path_factory.mktemp("whole") / "run.duckdb"
    items: list[Item] = [document(i, 2001 + i // 60) | {"title": "Night watch"} for i in range(225)]
    items.insert(20, b"{")

    def follow_until(documents: int) -> None:
        learnt = 0

        def observe(progress: Progress) -> None:
            nonlocal learnt
            learnt = progress.documents

        given = MemorySource(items), FieldCodec(), RunFile(path), SETTINGS
        follow(*given, observe=observe, stop=lambda: learnt >= documents, labels=True, ahead=0)

    follow_until(90)
    decide(path, [decision("merge", 1, other=0), decision("merge", 0, other=2)])
    follow_until(210)
    RunFile(path).name_topics([(2001, 0, "ports")])
    take_snapshots(path, ["flat"])
    return path


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copyfile(whole, tmp_path / "run.duckdb"))


def damaged(path: Path, statements: str) -> Path:
    with duckdb.connect(path) as connection:
        connection.execute(statements)
    return path


NEWEST = "(select max(slice) from slice)"
LAST = "(select max(epoch) from epoch)"
FIRST_STORY = "(select min(story) from story)"

DAMAGE = [
    ("delete from epoch where epoch = 2", "epochs are missing"),
    ("update epoch set slice = 2001 where epoch = " + LAST, "epochs go back to slices before"),
    ("update epoch set empty = n + 1 where epoch = 1", "epochs have numbers that are none"),
    ("update rejected set epoch = epoch + 1", "rejected messages are missing"),
    ("delete from document where slice = 2001", "documents are missing"),
    ("update document set place = 900 where slice = 2001 and place = 3", "places of documents are missing"),
    ("update document set place = 4 where slice = 2001 and place = 3", "places of documents are there twice"),
    ("update document set slice = 1990 where slice = 2001", "documents are of slices that no epoch has"),
    ("update document_smoothed set place = 900 where place = 3", "document_smoothed has documents that are not there"),
    ("insert into story_smoothed values (2001, 900, 0)", "story_smoothed has documents that are not there"),
    ("insert into document_smoothed from document_smoothed limit 1", "document_smoothed has documents twice"),
    ("insert into story_smoothed values (2001, 9, 0), (2001, 9, 1)", "story_smoothed has documents twice"),
    ("update slice set epoch = 99 where slice = 2001", "closed slices name epochs that are missing"),
    (
        "update slice set n = n + 1 where slice = 2001",
        "closed slices have other numbers of documents than their epochs",
    ),
    ("delete from slice where slice = 2001", "slices before the newest are not closed"),
    *(
        (f"delete from slice where slice = {slice}", f"{table} has slices that are not closed")
        for table, slice in (
            ("filtered", 2001),
            ("filtered_word", 2001),
            ("smoothed", 2002),
            ("smoothed_word", 2002),
            ("representative", 2001),
            ("event", 2001),
            ("topic_name", 2001),
            ("novel", 2001),
        )
    ),
    *(
        (f"update {table} set slice = 1990", f"{table} has slices that no epoch has")
        for table in ("sample", "story_slice", "story_event")
    ),
    *(
        (f"update {table} set epoch = 99", f"{table} has epochs that are missing")
        for table in ("topic", "event", "story_event", "decision", "outbox")
    ),
    *(
        (f"delete from {whole}", f"{table} has topics that {whole} has not")
        for table, whole in (
            ("word", "topic"),
            ("filtered_word", "filtered"),
            ("topic_name", "filtered"),
            ("representative", "filtered"),
            ("topic_phrase", "topic_name"),
            ("given_name", "topic_name"),
            ("smoothed_word", "smoothed"),
            ("filtered_sketch", "filtered"),
            ("smoothed_sketch", "smoothed"),
        )
    ),
    *(
        (f"insert into {table} from {table} limit 1", f"{table} has topics twice")
        for table in ("topic", "filtered", "smoothed", "topic_name", "filtered_sketch", "smoothed_sketch")
    ),
    *(
        (f"{how} {table}_angle {what}", f"{table}_angle has not each pair of topics once")
        for table in ("filtered", "smoothed")
        for how, what in (
            ("delete from", "where rowid = 0"),
            ("insert into", f"from {table}_angle limit 1"),
            ("update", "set other = 99 where rowid = 0"),
        )
    ),
    *(
        (f"update {table} set rank = rank + 1", f"{table} has other ranks than 1, 2, ...")
        for table in (
            "word",
            "filtered_word",
            "smoothed_word",
            "topic_phrase",
            "representative",
            "novel",
            "story_word",
            "story_document",
            "snapshot_word",
        )
    ),
    *(
        (f"update {table} set {change}", f"{table} has numbers that are none")
        for table, change in (
            ("topic", "n = 'nan'"),
            ("filtered", "share = 2"),
            ("smoothed", "n = -5"),
            ("word", "weight = 'inf'"),
            ("filtered_word", "weight = 'nan'"),
            ("smoothed_word", "weight = 'nan'"),
            ("topic_phrase", "weight = 'nan'"),
            ("story_word", "weight = 'nan'"),
            ("filtered_angle", "degrees = 'nan'"),
            ("smoothed_angle", "degrees = 181"),
            ("filtered_sketch", "numbers = 'abc'::blob"),
            ("smoothed_sketch", "numbers = 'abc'::blob"),
            ("document", "probability = 7"),
            ("document", "novelty = 'nan'"),
            ("story", "size = -1"),
            ("story", "first_slice = last_slice + 1"),
            ("story", "trend = 'nan'"),
            ("novel", "novelty = 'inf'"),
            ("stage", "seconds = -1"),
        )
    ),
    *(
        (f"update {table} set n = 2 * n", f"topics in {table} have more documents than their slices")
        for table in ("filtered", "smoothed")
    ),
    ("update event set epoch = epoch + 1", "events have other epochs than the ends of their slices"),
    ("update event set value = null", "events have numbers that are none"),
    ("delete from decision where number = 1", "events name decisions that are missing"),
    ("update decision set slice = 1990", "decisions have slices that there are not"),
    ("update decision set number = 9 where number = 1", "decisions are missing"),
    ("update decision set undone_by = 9", "decisions are undone by others that are missing"),
    ("insert into story from story limit 1", "stories are there twice"),
    *(
        (f"delete from story where story = {FIRST_STORY}", f"{table} has stories that are missing")
        for table in ("story_word", "story_document", "story_slice", "story_event", "novel")
    ),
    ("update story set first_slice = 1990", "stories have first slices that no epoch has"),
    ("update story set last_slice = 2090", "stories have last slices that no epoch has"),
    ("update story set size = size + 1", "stories have other numbers of documents than were given to them"),
    ("delete from snapshot", "snapshot_topic has snapshots, or topics of theirs, that are missing"),
    (
        "update snapshot_word set node = node + 100",
        "snapshot_word has snapshots, or topics of theirs, that are missing",
    ),
    ("update snapshot_topic set parent = 99", "topics of snapshots have parents that are missing"),
    ("insert into sample from sample limit 1", "sampled documents are there twice"),
    ("delete from position", "there are epochs, but no position in the source"),
    (
        "update position set next_offset = next_offset - 1",
        "the position in the source lies before messages that were counted",
    ),
    *(
        (
            f"update {table} set source_offset = 9000",
            f"the position in the source lies before messages in {table}",
        )
        for table in ("rejected", "sample", "outbox")
    ),
]


@pytest.fixture(scope="module")
def connection(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Opens a copy, which each test leaves as it was."""
    with duckdb.connect(shutil.copyfile(whole, tmp_path_factory.mktemp("copy") / "run.duckdb")) as one:
        yield one


@pytest.mark.parametrize(("statement", "told"), DAMAGE)
def test_tables_that_do_not_agree_are_told(connection: duckdb.DuckDBPyConnection, statement: str, told: str) -> None:
    connection.begin()
    try:
        assert connection.execute(DISAGREEMENTS[told]).fetchall() != [(True,)]
        connection.execute(statement)
        assert connection.execute(DISAGREEMENTS[told]).fetchall() == [(True,)]
    finally:
        connection.rollback()


def test_every_comparison_is_tried() -> None:
    assert {told for _, told in DAMAGE} == set(DISAGREEMENTS)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("insert into story from story", "stories are there twice"),
        ("update story set story = 99", "stories are there twice"),
        ("update event set value = null", "events have numbers that are none"),
    ],
)
def test_a_page_of_rows_that_do_not_agree_is_refused_in_one_sentence(
    copy: Path, tmp_path: Path, statement: str, told: str
) -> None:
    with pytest.raises(InputError, match=f"the run file .* is damaged: {told}"):
        export(damaged(copy, statement), tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_live_page_says_which_rows_do_not_agree(copy: Path) -> None:
    watch = RunFileWatch(damaged(copy, "update event set value = null"))
    told = "the run file run.duckdb is damaged: events have numbers that are none"
    served = create_app(watch).server.test_client().get("/")
    assert served.status_code == 200
    assert told in served.get_data(as_text=True)
    assert watch.poll()["problem"].startswith(told)


def test_a_live_page_lacks_the_figures_and_lists_whose_rows_do_not_agree(copy: Path) -> None:
    watch = RunFileWatch(damaged(copy, "update document set slice = 2010 where slice = 2001"))
    state = watch.newest()
    assert state is not None
    client = create_app(watch).server.test_client()
    with patch("vmfstream.dashboards.page.run_file_watch.answer", side_effect=IndexError):
        refused = client.get("/documents.json")
    assert refused.status_code == 400
    assert refused.get_data(as_text=True).startswith("the run file run.duckdb is damaged: ")
    with patch.object(state.drawings, "figure", side_effect=IndexError):
        key = "river/smoothed/share/wide"
        asked = {"id": "ask", "property": "data", "value": {"id": 7, "stamp": state.stamp, "keys": [key]}}
        body = {"output": "answer.data", "outputs": {"id": "answer", "property": "data"}, "inputs": [asked]}
        found = client.post("/_dash-update-component", json=body | {"changedPropIds": ["ask.data"]})
    assert found.get_json()["response"]["answer"]["data"] == {"figures": {key: None}, "id": 7}
    assert watch.poll()["problem"].startswith("the run file run.duckdb is damaged: ")


def test_a_tracker_is_not_loaded_from_rows_that_do_not_agree(copy: Path) -> None:
    with pytest.raises(
        InputError, match=r"the run file .* is damaged: topic_phrase has topics that topic_name has not"
    ):
        TopicTracker.load(damaged(copy, "delete from topic_name"))


def test_numbers_that_cannot_be_compared_are_told(copy: Path) -> None:
    damaged(
        copy,
        "update epoch set epoch = 9223372036854775807 where epoch = 8; update epoch set epoch = -9 where epoch = 1",
    )
    with pytest.raises(InputError, match=r"the rows of the run file .* cannot be compared: Out of Range"):
        list(problems(copy))


def test_an_error_of_our_own_is_none_of_the_run_file(copy: Path) -> None:
    def command(run_file: Path) -> None:
        raise KeyError(run_file)

    with pytest.raises(KeyError):
        damage_told(command)(copy)


def test_a_run_agrees_with_itself(copy: Path) -> None:
    assert list(problems(copy)) == []
    assert list(state_problems(copy)) == []


def test_a_cycle_of_mergers_is_no_endless_search(copy: Path) -> None:
    """Mergers of a stranger's file may go round."""
    one, other = "'merged', 0, 1, 1, null", "'merged', 1, 1, 0, null"
    damaged(copy, f"insert into story_event values (2001, 1, {one}), (2001, 1, {other})")
    assert "stories have other numbers of documents than were given to them" not in list(problems(copy))


class TopicMadeAgain(MemorySource):
    """What a Kafka topic is for a run with `--on-gap earliest`: offsets begin anew, whatever was read before."""

    def seek(self, position: Position) -> None:
        super().seek({})


@pytest.mark.parametrize("part", ["news:0", "news.jsonl"])
def test_offsets_of_a_topic_that_was_made_again_may_go_back(tmp_path: Path, part: str) -> None:
    path, learnt = tmp_path / "run.duckdb", [0]
    settings = replace(SETTINGS, source="kafka://host/news", sample=200)
    for until in (90, 150):  # all of one slice: its sample has two documents of an offset
        source = TopicMadeAgain([document(until + i, 2001) for i in range(120)], "news", part)
        given = source, FieldCodec(), RunFile(path), settings
        follow(
            *given,
            observe=lambda progress: learnt.append(progress.documents),
            stop=lambda until=until: learnt[-1] >= until,  # type: ignore[misc]
            labels=True,
            ahead=0,
        )
    assert bool(list(problems(path))) == (part == "news.jsonl")
    assert list(state_problems(path)) == []


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (
            "update epoch set n = n + 1 where epoch = 1",
            "the saved state knows 210 documents and 1 rejected messages, the epochs have 211 documents",
        ),
        (
            f"update epoch set n = n + 1 where epoch = 1; update epoch set n = n - 1 where epoch = {LAST}",
            "the state from before the newest slice ended knows 180 documents and 1 rejected messages, the epochs",
        ),
        (
            f"update epoch set slice = 2003 where epoch = {LAST}",
            "the saved state knows 30 documents of the open slice, the epochs have 0",
        ),
        (f"update slice set slice = 2004 where slice = {NEWEST}", "the saved state goes on with slice 2004, but"),
        (f"update slice set n = 1 where slice = {NEWEST}", "the saved state has documents of slice 2003 that"),
        (f"update filtered set topic = topic + 50 where slice = {NEWEST}", "the saved state has other topics than"),
        ("update event set topic = 99", "there is a topic 99, but the saved state has given numbers below"),
        ("update document set second = 99", "there is a topic 99, but the saved state has given numbers below"),
        (f"update story set size = size + 1 where story = {FIRST_STORY}", "the saved state has other stories, or"),
        (f"update story set ended = true where story = {FIRST_STORY}", "the saved state has other stories, or"),
        ("update sample set key = key + 1 where slice = 2001", "the saved state has other sampled documents than"),
        ("delete from sample where slice = 2002", "the saved state has other sampled documents than"),
        ("delete from sample where slice = 2004", "the saved state has other sampled documents than"),
    ],
)
def test_states_that_do_not_agree_with_the_tables_are_told(copy: Path, statement: str, told: str) -> None:
    found = list(state_problems(damaged(copy, statement)))
    assert any(one.startswith(told) for one in found), found
