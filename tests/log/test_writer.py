"""The log file: all or nothing, one holder at a time, and plain words for whatever is wrong with it."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.log.records import commit, smoothed, state
from vmfstream.errors import FormatVersion, InputError, StoreLocked
from vmfstream.log import schema, writer
from vmfstream.log.queries import Reader
from vmfstream.log.writer import Log
from vmfstream.records import Commit, Rejected


def snapshot(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return every row of every table but the clock's."""
    with duckdb.connect(path, read_only=True) as connection:
        tables = connection.execute("select table_name from duckdb_tables() order by 1").fetchall()
        rows = {table: connection.execute(f"select * from {table} order by all").fetchall() for (table,) in tables}
    rows["epoch"] = [row[:3] + row[4:] for row in rows["epoch"]]
    return rows


def run(script: str, *arguments: object) -> subprocess.Popen[str]:
    root = Path(__file__).resolve().parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root,
    )  # fmt: skip


# --- all or nothing


def test_a_failure_on_the_way_leaves_the_old_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path / "run.duckdb")
    log.commit(commit(0))
    before = snapshot(log.path)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    # the state is written last: every other row stands in the transaction already
    with monkeypatch.context() as patch:
        patch.setattr(writer, "_keep", fail)
        with pytest.raises(KeyboardInterrupt):
            log.commit(commit(1))
    assert snapshot(log.path) == before
    log.commit(commit(1))
    assert Reader(log.path).newest().epoch == 1


def test_rows_that_break_a_key_take_nothing_with_them(tmp_path: Path) -> None:
    log = Log(tmp_path / "run.duckdb")
    log.commit(commit(0))
    before = snapshot(log.path)
    with pytest.raises(InputError, match=r"nothing of epoch 1 could be written.*[Cc]onstraint") as caught:
        log.commit(commit(1, closed=commit(0).closed))
    assert snapshot(log.path) == before  # and the error, still held, does not hold the file
    assert caught.value.__cause__ is not None


_COMMIT_FOREVER = """
import sys
from tests.log.records import commit, smoothed
from vmfstream.log.writer import Log
log = Log(sys.argv[1])
checkpoint = log.resume()
epoch = 0 if checkpoint is None else checkpoint.epoch + 1
print("ready", flush=True)
while True:
    log.commit(commit(epoch, size=100_000))
    epoch += 1
"""


def test_killed_at_any_moment_it_holds_whole_epochs(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    rng = np.random.default_rng(5)
    for _ in range(5):
        with run(_COMMIT_FOREVER, path) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(rng.uniform(0.02, 0.3))
            process.send_signal(signal.SIGKILL)
        checkpoint = Log(path).resume()
        reader = Reader(path)
        if checkpoint is None:
            assert reader.newest().epoch == -1
            continue
        assert checkpoint.position == {"a.jsonl": 100 * (checkpoint.epoch + 1)}
        np.testing.assert_array_equal(checkpoint.open_state["mean"], state(checkpoint.epoch, 100_000)["mean"])
        assert checkpoint.slice_state is not None
        assert checkpoint.slice_state["seed"] == 1000 + checkpoint.epoch
        epochs = np.arange(checkpoint.epoch + 1)
        np.testing.assert_array_equal(reader.epochs().epoch, epochs)
        np.testing.assert_array_equal(reader.topics("then").slice, np.repeat(epochs, 2))
        np.testing.assert_array_equal(reader.words("then").slice, np.repeat(epochs, 4))
    assert checkpoint is not None


def test_what_was_committed_and_not_yet_folded_in_is_read(tmp_path: Path) -> None:
    # a copy taken between COMMIT and close looks like a process killed there: the rows are still in the side file
    log = Log(tmp_path / "run.duckdb")
    log.commit(commit(0))
    with duckdb.connect(log.path) as connection:
        connection.execute("insert into rejected values ('p', 1, 0, 'late', '')")
        side = log.path.with_name(log.path.name + ".wal")
        assert side.exists()
        (tmp_path / "killed").mkdir()
        for file in (log.path, side):
            shutil.copy(file, tmp_path / "killed" / file.name)
    killed = tmp_path / "killed" / log.path.name
    assert Reader(killed).rejections().reasons == {"late": 1, "not JSON": 1}
    Log(killed).commit(commit(1))
    assert Reader(killed).rejections().total == 3


# --- what is stored


def test_an_epoch_without_topics_is_one_row(tmp_path: Path) -> None:
    log = Log(tmp_path / "run.duckdb")
    log.commit(commit(0, small=True))
    rows = snapshot(log.path)
    assert len(rows["epoch"]) == 1
    assert not any(rows[table] for table in ("topic", "word", "slice", "event", "rejected", "filtered"))


def test_hindsight_replaces_a_slice_as_a_whole(tmp_path: Path) -> None:
    log = Log(tmp_path / "run.duckdb")
    log.commit(commit(0, smoothed=[smoothed(0, (3, 7)), smoothed(1, (3,))]))
    log.commit(commit(1, smoothed=[smoothed(0, (9,), mark="new")]))
    reader = Reader(log.path)
    topics, words = reader.topics("hindsight"), reader.words("hindsight", top=1)
    assert list(zip(topics.slice, topics.topic, strict=True)) == [(0, 9), (1, 3)]
    assert list(words.word) == ["new9_0", "s3_0"]


def test_texts_that_utf8_cannot_hold_do_not_stop_a_run(tmp_path: Path) -> None:
    log = Log(tmp_path / "run.duckdb")
    log.commit(commit(0, rejected=[Rejected("a\0b", 1, "half a pair \ud800", "日本\0")]))
    frame = Reader(log.path).rejected()
    assert (frame.part[0], frame.reason[0], frame.excerpt[0]) == ("a\0b", "half a pair ?", "日本\0")


def test_large_states_keep_their_order(tmp_path: Path) -> None:
    # several of the groups of rows that DuckDB may write and read by several threads
    log = Log(tmp_path / "run.duckdb")
    large = {"mean": np.arange(1_500_001, dtype=np.float32)}
    log.commit(commit(0, open_state=large, slice_state=large))
    checkpoint = log.resume()
    assert checkpoint is not None
    assert checkpoint.slice_state is not None
    for found in (checkpoint.open_state, checkpoint.slice_state):
        np.testing.assert_array_equal(found["mean"], large["mean"])


def test_many_states_do_not_make_the_file_grow(tmp_path: Path) -> None:
    log = Log(tmp_path / "run.duckdb")
    big = {"mean": np.random.default_rng(0).random(250_000, dtype=np.float32)}  # 1 MB
    sizes = []
    for number in range(60):
        log.commit(commit(number, small=True, open_state=big))
        sizes.append(log.path.stat().st_size)
    assert max(sizes[30:]) <= max(sizes[:30])
    assert sizes[-1] < 8e6


def test_settings_must_not_name_the_format(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must not hold the key 'format'"):
        Log(tmp_path / "run.duckdb").settings({"format": "7"})


# --- one holder at a time

_HOLD = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "True")
print("held", flush=True)
sys.stdin.readline() if len(sys.argv) < 4 else __import__("time").sleep(float(sys.argv[3]))
"""


@pytest.mark.parametrize("reading", [True, False])
def test_names_the_process_that_holds_the_file(tmp_path: Path, reading: bool) -> None:
    log = Log(tmp_path / "run.duckdb", timeout=0.2)
    log.commit(commit(0))
    with run(_HOLD, log.path, reading, 60) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            with pytest.raises(StoreLocked, match=rf"run\.duckdb is held by process {process.pid} .* 0\.2 s"):
                log.commit(commit(1))
            if not reading:
                with pytest.raises(StoreLocked, match=str(process.pid)):
                    Reader(log.path, timeout=0.1)
        finally:
            process.kill()
    log.commit(commit(1))


def test_waits_for_a_file_that_is_soon_released(tmp_path: Path) -> None:
    log = Log(tmp_path / "run.duckdb")
    with run(_HOLD, log.path, False, 0.3) as process:
        assert process.stdout is not None
        process.stdout.readline()
        log.commit(commit(0))
        assert Reader(log.path).newest().epoch == 0


def test_a_writer_in_the_same_process_makes_a_reader_wait(tmp_path: Path) -> None:
    log = Log(tmp_path / "run.duckdb")
    reader = Reader(log.path, timeout=0.1)
    with duckdb.connect(log.path), pytest.raises(StoreLocked, match="another connection of this process"):
        reader.newest()
    assert reader.newest().epoch == -1


def test_holds_nothing_between_commits(tmp_path: Path) -> None:
    log = Log(tmp_path / "run.duckdb")
    log.commit(commit(0))
    with run("import sys, duckdb; duckdb.connect(sys.argv[1]).execute('drop table event')", log.path) as process:
        assert process.wait() == 0


# --- files that are no log


def test_refuses_a_newer_format_and_says_both(tmp_path: Path) -> None:
    log = Log(tmp_path / "run.duckdb")
    with duckdb.connect(log.path) as connection:
        connection.execute("update meta set value = '99' where key = 'format'")
    says = re.escape(f"format 99, this program knows formats up to {len(schema.MIGRATIONS)}")
    for attempt in (lambda: Log(log.path), lambda: Reader(log.path), log.resume):
        with pytest.raises(FormatVersion, match=says):
            attempt()


def test_brings_an_older_log_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path / "run.duckdb")
    log.commit(commit(0))

    def add_a_column(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("alter table topic add column mood double")

    def break_off(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("alter table topic add column half double")
        raise KeyboardInterrupt

    now = len(schema.MIGRATIONS)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, add_a_column))
    with pytest.raises(FormatVersion, match=f"has format {now}, this program reads format {now + 1}"):
        Reader(log.path)
    Log(log.path)
    assert Reader(log.path).meta()["format"] == str(now + 1)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, break_off))
    with pytest.raises(KeyboardInterrupt):
        Log(log.path)
    rows = snapshot(log.path)
    assert ("format", str(now + 1)) in rows["meta"]
    assert {name for name, _ in rows["migration"]} == {made.__name__ for made in schema.MIGRATIONS[:-1]}
    assert len(rows["topic"][0]) == 11  # with mood, without half


@pytest.mark.parametrize("opened", [Log, Reader])
def test_says_what_is_no_log(tmp_path: Path, opened: type[Log] | type[Reader]) -> None:
    text = tmp_path / "notes.duckdb"
    text.write_text("dear diary " * 1000)
    foreign = tmp_path / "shop.duckdb"
    with duckdb.connect(foreign) as connection:
        connection.execute("create table orders(id integer)")
    cousin = tmp_path / "cousin.duckdb"
    with duckdb.connect(cousin) as connection:
        connection.execute("create table meta(a integer); create table migration(a integer)")
    for path, says in [
        (text, "not a DuckDB file"),
        (foreign, "no vmfstream log: it holds the tables orders"),
        (cousin, "names no format"),
        (tmp_path, "is a folder"),
        (tmp_path / "no" / "run.duckdb", "folder of the log does not exist"),
        (text / "run.duckdb", "folder of the log does not exist"),
        (tmp_path / ("x" * 300), "File name too long"),
    ]:
        with pytest.raises(InputError, match=says):
            opened(path)
    assert text.read_text().startswith("dear diary")


def test_a_reader_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no log at"):
        Reader(tmp_path / "run.duckdb")
    assert list(tmp_path.iterdir()) == []
    with duckdb.connect(tmp_path / "bare.duckdb"):
        pass
    with pytest.raises(InputError, match="is empty"):
        Reader(tmp_path / "bare.duckdb")


def test_does_not_begin_anew_when_its_file_is_deleted(tmp_path: Path) -> None:
    log = Log(tmp_path / "run.duckdb")
    log.commit(commit(0))
    log.path.unlink()
    with pytest.raises(InputError, match="is gone"):
        log.commit(commit(1))
    assert not log.path.exists()


@contextmanager
def unprivileged() -> Iterator[Path]:
    """Yield a folder whose rights hold even if the tests are run by root."""
    folder = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    if root:
        os.chown(folder, 65534, -1)
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o700)
        shutil.rmtree(folder)


def test_says_that_permission_is_missing() -> None:
    with unprivileged() as folder:
        log = Log(folder / "run.duckdb")
        log.commit(commit(0))
        log.path.chmod(0o400)
        with pytest.raises(InputError, match=r"no permission .*run\.duckdb"):
            log.commit(commit(1))
        assert Reader(log.path).newest().epoch == 0
        folder.chmod(0o500)
        with pytest.raises(InputError, match=r"no permission .*new\.duckdb"):
            Log(folder / "new.duckdb")
        log.path.chmod(0o600)
        with pytest.raises(InputError, match=r"run\.duckdb"):
            log.commit(commit(1))
        folder.chmod(0o700)
        log.commit(commit(1))


def test_a_full_disk_leaves_the_last_epoch(tmp_path: Path) -> None:
    # a limit on the size of files stands for the disk
    log = Log(tmp_path / "run.duckdb")
    log.commit(commit(0))
    before = snapshot(log.path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    big: Commit = commit(1, open_state={"mean": np.random.default_rng(0).random(1_000_000)})
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.path.stat().st_size + 500_000, limits[1]))
    try:
        with pytest.raises(InputError, match=r"nothing of epoch 1 could be written .*make room"):
            log.commit(big)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert snapshot(log.path) == before
    log.commit(big)
    assert Reader(log.path).newest().epoch == 1
