"""The log file: all or nothing, and what is stored."""

from __future__ import annotations

import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.unit.runfile.processes import run, snapshot
from tests.unit.runfile.records import commit, smoothed, state, topic_rows
from vmfstream.errors import InputError
from vmfstream.records import Rejected
from vmfstream.runfile import schema, writer
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile

# --- all or nothing


def test_a_failure_on_the_way_leaves_the_old_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0))
    before = snapshot(run_file.path)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    # the state is written last: every other row stands in the transaction already
    with monkeypatch.context() as patch:
        patch.setattr(writer, "_write_state", fail)
        with pytest.raises(KeyboardInterrupt):
            run_file.commit(commit(1))
    assert snapshot(run_file.path) == before
    run_file.commit(commit(1))
    assert Reader(run_file.path).newest().epoch == 1


def test_rows_that_break_a_key_take_nothing_with_them(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0))
    before = snapshot(run_file.path)
    with pytest.raises(InputError, match=r"nothing of epoch 1 could be written.*[Cc]onstraint") as caught:
        run_file.commit(commit(1, closed=commit(0).closed))
    assert snapshot(run_file.path) == before  # and the error, still held, does not hold the file
    assert caught.value.__cause__ is not None


_COMMIT_FOREVER = """
import sys
from tests.unit.runfile.records import commit, smoothed
from vmfstream.runfile.writer import RunFile
log = RunFile(sys.argv[1])
checkpoint = log.resume()
epoch = 0 if checkpoint is None else checkpoint.epoch + 1
print("ready", flush=True)
while True:
    log.commit(commit(epoch, size=100_000))
    print(epoch, flush=True)
    epoch += 1
"""


@pytest.mark.thorough
def test_killed_at_any_moment_it_holds_whole_epochs(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    rng = np.random.default_rng(5)
    for kill in range(5):
        with run(_COMMIT_FOREVER, path) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            if kill == 4:
                assert process.stdout.readline()  # one epoch at least, however busy the machine is
            time.sleep(rng.uniform(0.02, 0.3))
            process.send_signal(signal.SIGKILL)
        checkpoint = RunFile(path).resume()
        reader = Reader(path)
        if checkpoint is None:
            assert reader.newest().epoch == -1
            continue
        assert checkpoint.position == {"a.jsonl": 101 * (checkpoint.epoch + 1)}
        np.testing.assert_array_equal(checkpoint.open_state["mean"], state(checkpoint.epoch, 100_000)["mean"])
        assert checkpoint.slice_state is not None
        assert checkpoint.slice_state["seed"] == 1000 + checkpoint.epoch
        epochs = np.arange(checkpoint.epoch + 1)
        np.testing.assert_array_equal(reader.epochs().epoch, epochs)
        np.testing.assert_array_equal(reader.topics("filtered").slice, np.repeat(epochs, 2))
        np.testing.assert_array_equal(reader.words("filtered").slice, np.repeat(epochs, 4))
    assert checkpoint is not None


def test_what_was_committed_and_not_yet_folded_in_is_read(tmp_path: Path) -> None:
    # a copy taken between COMMIT and close looks like a process killed there: the rows are still in the side file
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0))
    with duckdb.connect(run_file.path) as connection:
        connection.execute("insert into rejected values ('p', 1, 0, 'late', '')")
        side = run_file.path.with_name(run_file.path.name + ".wal")
        assert side.exists()
        (tmp_path / "killed").mkdir()
        for file in (run_file.path, side):
            shutil.copy(file, tmp_path / "killed" / file.name)
    killed = tmp_path / "killed" / run_file.path.name
    assert Reader(killed).rejections().reasons == {"late": 1, "not JSON": 1}
    RunFile(killed).commit(commit(1))
    assert Reader(killed).rejections().total == 3


# --- what is stored


def test_an_epoch_without_topics_is_one_row(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0, small=True))
    rows = snapshot(run_file.path)
    assert len(rows["epoch"]) == 1
    assert not any(rows[table] for table in ("topic", "word", "slice", "event", "rejected", "filtered"))


def test_smoothing_replaces_a_slice_as_a_whole(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0, smoothed=[smoothed(0, (3, 7)), smoothed(1, (3,))]))
    run_file.commit(commit(1, smoothed=[smoothed(0, (9,), mark="new")]))
    reader = Reader(run_file.path)
    topics, words = reader.topics("smoothed"), reader.words("smoothed", top=1)
    assert list(zip(topics.slice, topics.topic, strict=True)) == [(0, 9), (1, 3)]
    assert list(words.word) == ["new9_0", "s3_0"]


def test_texts_that_utf8_cannot_hold_do_not_stop_a_run(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0, rejected=[Rejected("a\0b", 1, "half a pair \ud800", "日本\0")]))
    frame = Reader(run_file.path).rejected()
    assert (frame.part[0], frame.reason[0], frame.excerpt[0]) == ("a\0b", "half a pair ?", "日本\0")


def test_large_states_keep_their_order(tmp_path: Path) -> None:
    # several of the groups of rows that DuckDB may write and read by several threads
    run_file = RunFile(tmp_path / "run.duckdb")
    large = {"mean": np.arange(1_500_001, dtype=np.float32)}
    run_file.commit(commit(0, open_state=large, slice_state=large))
    checkpoint = run_file.resume()
    assert checkpoint is not None
    assert checkpoint.slice_state is not None
    for found in (checkpoint.open_state, checkpoint.slice_state):
        np.testing.assert_array_equal(found["mean"], large["mean"])


@pytest.mark.thorough
def test_many_states_do_not_make_the_file_grow(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    big = {"mean": np.random.default_rng(0).random(250_000, dtype=np.float32)}  # 1 MB
    sizes = []
    for number in range(60):
        run_file.commit(commit(number, small=True, open_state=big))
        sizes.append(run_file.path.stat().st_size)
    assert max(sizes[30:]) <= max(sizes[:30])
    assert sizes[-1] < 8e6


def test_settings_must_not_name_the_format(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must not hold the key 'format'"):
        RunFile(tmp_path / "run.duckdb").settings({"format": "7"})


@pytest.mark.parametrize(("table", "column"), schema.NARROW)
def test_a_column_is_as_wide_as_its_numbers(table: str, column: str) -> None:
    narrow, wide = schema.NARROW[table, column]
    with duckdb.connect() as connection:
        for migrate in schema.MIGRATIONS:
            migrate(connection)

        def kind() -> str:
            query = "select data_type from duckdb_columns() where table_name = ? and column_name = ?"
            return str(connection.execute(query, [table, column]).fetchall()[0][0])

        for number, expected in ((schema.LARGEST[narrow], narrow), (schema.LARGEST[narrow] + 1, wide)):
            connection.begin()
            connection.execute(f"delete from {table}")
            schema.widen(connection, table, {column: np.array([number])})
            connection.commit()
            assert kind() == expected
        assert schema.fingerprint(schema._columns(connection)) == schema.FINGERPRINT


def test_weights_have_four_decimals(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    rows = replace(topic_rows((3,)), words=[[("oil", 0.123456), ("gas", 0.00004), ("coal", -0.5)]])
    run_file.commit(commit(0, smoothed=[replace(smoothed(0, (3,)), topics=rows)]))
    words = Reader(run_file.path).words("smoothed")
    assert words.word.tolist() == ["oil", "gas", "coal"]
    np.testing.assert_allclose(words.weight, [0.1235, 0.0, -0.5], rtol=1e-6)
