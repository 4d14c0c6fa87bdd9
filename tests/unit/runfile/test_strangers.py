"""Run files of strangers: what they hold is data, and nothing in them reaches other files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.unit.runfile.records import commit
from vmfstream.errors import InputError
from vmfstream.runfile import schema
from vmfstream.runfile.connection import BLOCK, connected
from vmfstream.runfile.queries import DocumentChoice, Reader
from vmfstream.runfile.rollback import cut_off
from vmfstream.runfile.snapshots import read_stored
from vmfstream.runfile.writer import RunFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0))
    return run_file.path


def altered(path: Path, *statements: str) -> Path:
    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def test_the_fingerprint_is_that_of_the_migrations() -> None:
    with duckdb.connect() as connection:
        for migrate in schema.MIGRATIONS:
            migrate(connection)
        assert schema.fingerprint(schema._columns(connection)) == schema.FINGERPRINT


def test_a_new_file_has_the_tables_that_the_migrations_make(tmp_path: Path) -> None:
    made = "select lower(sql) from duckdb_tables() where table_name not in ('meta', 'migration') order by all"
    with duckdb.connect() as connection:
        for migrate in schema.MIGRATIONS:
            migrate(connection)
        expected = connection.execute(made).fetchall()
    with duckdb.connect(RunFile(tmp_path / "run.duckdb").path) as connection:
        assert connection.execute(made).fetchall() == expected
        recorded = connection.execute("select name from migration").fetchall()
    assert {name for (name,) in recorded} == {migrate.__name__ for migrate in schema.MIGRATIONS}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("filtered set n = 'nan'", "filtered.n: expected a number from -0.001 on, got nan"),
        ("filtered set share = 'inf'", "filtered.share: expected a number from -0.001 on, got inf"),
        ("filtered set drift_angle = '-inf'", "filtered.drift_angle: expected a number or none, got -inf"),
        ("filtered set radius = 1e30", "filtered.radius: expected a number or none, got 1e+30"),
        ("filtered_word set rank = -1", "filtered_word.rank: expected a number from 1 on, got -1"),
        ("filtered_word set weight = 'nan'", "filtered_word.weight: expected a number from -1e+06 on, got nan"),
        ("filtered_angle set degrees = 'nan'", "filtered_angle.degrees: expected a number from 0 on, got nan"),
    ],
)
def test_numbers_that_no_run_writes_are_told(path: Path, change: str, says: str) -> None:
    def asked() -> None:
        reader = Reader(path)
        reader.topics("filtered")
        reader.uncertainty("filtered")
        reader.angles("filtered")
        reader.word_codes("filtered")
        reader.words("filtered")

    altered(path, "update filtered set drift_angle = 'nan', tightness = null, gamma = 'inf'")
    asked()
    altered(path, f"update {change}")
    with pytest.raises(InputError, match=re.escape(f"the run file is damaged: {says}")):
        asked()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("filtered set share = 'inf'", "filtered.share: expected a number from -0.001 on, got inf"),
        ("filtered set certainty = 'inf'", "filtered.certainty: expected a number or none, got inf"),
        ("filtered_word set weight = 'nan'", "filtered_word.weight: expected a number from -1e+06 on, got nan"),
        ("event set value = 1e30", "event.value: expected a number or none, got 1e+30"),
        ("slice set predicted = 'inf'", "slice.predicted: expected a number or none, got inf"),
        ("slice set ends = '200000-01-01'", "slice.ends: expected times of the years 1 to 9999, got others"),
        ("stage set seconds = 'inf'", "stage.seconds: expected a number or none, got inf"),
    ],
)
def test_numbers_in_rows_that_are_published_are_told_too(path: Path, change: str, says: str) -> None:
    def asked() -> None:
        Reader(path).closed_after(-1)
        Reader(path).stages()

    altered(path, "insert into stage values ('words', 1.0)")
    asked()
    altered(path, f"update {change}")
    with pytest.raises(InputError, match=re.escape(f"the run file is damaged: {says}")):
        asked()


@pytest.mark.parametrize(
    ("table", "time", "asked"),
    [
        ("slice", "begins", Reader.slices),
        ("representative", "time", Reader.representative),
        ("document", "time", lambda reader: reader.documents(DocumentChoice())),
    ],
)
@pytest.mark.parametrize("value", ["200000-01-01", "290000-01-01 (BC)"])
def test_times_that_no_calendar_has_are_told(
    path: Path, table: str, time: str, asked: Callable[[Reader], object], value: str
) -> None:
    altered(path, "insert into document by name select 'a' as id, now() as time, 0 as slice, 0 as topic, 0 as story")
    asked(Reader(path))
    altered(path, f"update {table} set {time} = '{value}'")
    with pytest.raises(InputError, match=rf"{table}\.{time}: expected times of the years 1 to 9999, got others"):
        asked(Reader(path))


def test_decisions_of_a_time_that_no_calendar_has_are_told(path: Path) -> None:
    row = "1, 'k', '200000-01-01', 'pin', 3, null, '', 0, 0, '', null"
    altered(path, f"insert into decision values ({row})")
    for asked in (Reader(path).topic_names, RunFile(path).resume):
        with pytest.raises(InputError, match=r"decision\.made: expected times of the years 1 to 9999"):
            asked()


def test_a_slice_that_no_epoch_has_is_told(path: Path) -> None:
    labels = Reader(path).slice_labels()
    assert dict(labels) == {0: "slice 0"}
    with pytest.raises(InputError, match="the run file is damaged: rows name the slice 99, which no epoch has"):
        labels[99]


def test_mergers_of_stories_that_go_round_are_followed_once(path: Path) -> None:
    altered(
        path,
        "insert into document by name select 'a' as id, now() as time, 0 as slice, 0 as topic, 1 as story, 0 as place",
        "insert into story_event by name select 0 as slice, 0 as epoch, 'merged' as kind, 1 as size, unnest([1, 2]) as "
        "story, unnest([2, 1]) as other",
    )
    assert Reader(path).newest_listed(10, [1, 2]).story.tolist() == [1]


@pytest.mark.parametrize("opened", [Reader, RunFile, read_stored])
def test_a_view_in_place_of_a_table_is_refused(path: Path, opened: type[Reader]) -> None:
    secret = path.with_name("secret.txt")
    secret.write_text("secret")
    altered(
        path,
        "drop table representative",
        f"create view representative as select 0 as slice, 0 as topic, 1 as rank, content as id, content as title, "
        f"null::timestamp as time, 1.0 as score from read_text('{secret}')",
    )
    with pytest.raises(InputError, match="representative is missing, or not a table"):
        opened(path)


@pytest.mark.parametrize(
    ("statement", "own"),
    [
        ("create macro count(x) as 7", "a function of its own, 'count'"),
        ("create macro duckdb_tables() as table select 'meta' as table_name", "a function of its own, 'duckdb_tables'"),
        ("create type mood as enum ('good')", "a type of its own, 'mood'"),
    ],
)
@pytest.mark.parametrize("opened", [Reader, RunFile, read_stored])
def test_functions_and_types_of_its_own_are_refused(path: Path, opened: type[Reader], statement: str, own: str) -> None:
    """DuckDB takes them before its own of the same name."""
    before = altered(path, statement).read_bytes()
    with pytest.raises(InputError, match=own):
        opened(path)
    assert path.read_bytes() == before


def test_what_is_journaled_is_not_in_the_hands_of_a_stranger(path: Path) -> None:
    altered(path, "create macro pragma_database_size() as table select 7 as block_size")
    with connected(path, read_only=False, timeout=1.0), path.open("rb") as file:
        journal = cut_off(path, file)
    assert journal is not None
    assert {len(block) for block in journal.blocks.values()} == {BLOCK}


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("drop table word", "word is missing"),
        ("alter table word alter weight type varchar", "the table word differs in weight FLOAT, weight VARCHAR"),
        ("alter table word add column other integer", "the table word differs in other INTEGER"),
        ("alter table story drop trend", "the table story differs in trend DOUBLE"),
    ],
)
def test_other_tables_are_refused(path: Path, statement: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Reader(altered(path, statement))


def test_tables_beside_the_expected_ones_are_no_matter(path: Path) -> None:
    altered(path, "create table notes(text varchar)", "create view newest as select max(epoch) from epoch")
    assert Reader(path).newest().epoch == 0
    RunFile(path).commit(commit(1))
    assert Reader(path).newest().epoch == 1


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize(
    "statement",
    [
        "from read_text('{other}')",
        "copy (select 1) to '{other}.csv'",
        "attach '{other}.duckdb'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "reset lock_configuration",
    ],
)
def test_a_connection_reaches_no_other_file(path: Path, statement: str, read_only: bool) -> None:
    other = path.with_name("other.txt")
    other.write_text("text")
    with connected(path, read_only=read_only, timeout=1.0) as connection, pytest.raises(duckdb.Error):
        connection.execute(statement.format(other=other)).fetchall()
    assert sorted(one.name for one in path.parent.iterdir()) == ["other.txt", "run.duckdb"]
