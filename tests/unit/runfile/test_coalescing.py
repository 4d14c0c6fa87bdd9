"""Epochs that are written together leave what they leave one by one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from tests.unit.runfile.processes import snapshot
from tests.unit.runfile.records import commit, documents, smoothed, state, stories
from vmfstream.errors import InputError
from vmfstream.records import Commit, Sampled, StoryEvent, StorySlices
from vmfstream.runfile.memory import MemoryStore
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile, stored_state


def sampled(index: int, keys: list[int], cut: dict[int, int] | None = None) -> Sampled:
    packed = [f"bag {key}".encode() for key in keys]
    return Sampled(index, np.array(keys, np.uint64), ["p"] * len(keys), np.array(keys, np.int64), packed, cut or {})


def then(*rows: tuple[int, int, int]) -> StorySlices:
    """Stories at the end of slices: slice, story, documents."""
    slices, story, size = (np.array(column) for column in zip(*rows, strict=True))
    titles = [f"title {number}" for number in size.tolist()]
    words = [[f"w{number}", "x"][: number - 2] for number in size.tolist()]
    return StorySlices(slices, story, size, story - 2, size / 2.0, titles, words)


def epochs() -> list[Commit]:
    """Epochs of three slices: smoothed topics are renewed, the sample thinned, and some end no slice."""
    within: dict[str, Any] = {"closed": (), "slice_state": None}
    return [
        commit(
            0, sampled=sampled(0, [5, 1, 9]), stories=stories((1, 3), (2, 4)), documents=documents("a", "b"), **within
        ),
        commit(1, sampled=sampled(0, [2, 8]), documents=documents("c"), smoothed=[smoothed(0, mark="first")]),
        commit(
            2,
            sampled=sampled(1, [4, 3], {0: 5}),
            smoothed=[smoothed(0, mark="second"), smoothed(1)],
            story_slices=[then((1, 2, 3), (1, 1, 2)), then((2, 2, 7))],
        ),
        commit(3, sampled=sampled(2, [7]), stories=stories((2, 9), (3, 3), mark="n"), **within),
        commit(
            4,
            small=True,
            stories=stories((1, 5), mark="m"),
            story_slices=[then((3, 1, 5))],
            story_events=[StoryEvent("burst", 1, 3, 5), StoryEvent("merged", 2, 3, 4, 1, 7.5)],
        ),
        commit(5, sampled=sampled(2, [6], {0: 2, 1: 3}), smoothed=[smoothed(1, mark="third")]),
        commit(6, documents=documents("d"), **within),
    ]


def written(path: Path, ends: list[int]) -> RunFile:
    """Write the epochs in transactions that end before these."""
    run_file, all_of_them = RunFile(path), epochs()
    for first, last in zip([0, *ends], [*ends, len(all_of_them)], strict=True):
        if first < last:
            run_file.commit(*all_of_them[first:last])
    return run_file


@pytest.fixture(scope="module")
def one_by_one(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[object, ...]]]:
    return snapshot(written(tmp_path_factory.mktemp("log") / "run.duckdb", [1, 2, 3, 4, 5, 6]).path)


@pytest.mark.thorough
@pytest.mark.parametrize("ends", [[], [2], [3, 5]])
def test_it_does_not_matter_which_epochs_are_written_together(
    one_by_one: dict[str, list[tuple[object, ...]]], tmp_path: Path, ends: list[int]
) -> None:
    found = snapshot(written(tmp_path / "run.duckdb", ends).path)
    del found["migration"], found["stage"]  # times
    for table, rows in found.items():
        assert repr(rows) == repr(one_by_one[table]), table


def test_the_states_from_before_a_slice_ended_stay(tmp_path: Path) -> None:
    with duckdb.connect(written(tmp_path / "run.duckdb", []).path, read_only=True) as connection:
        seeds = [
            int(stored["seed"])
            for kind in ("open", "slice", "open_before", "slice_before")
            if (stored := stored_state(connection, kind)) is not None
        ]
    assert seeds == [6, 1005, 4, 1002]


def test_a_gap_among_epochs_writes_none_of_them(tmp_path: Path) -> None:
    run_file, memory = RunFile(tmp_path / "run.duckdb"), MemoryStore()
    for store in (run_file, memory):
        with pytest.raises(InputError, match="must go on with 2, got 3"):
            store.commit(commit(0), commit(1), commit(3))
        assert store.resume() is None
        store.commit(commit(0), commit(1), commit(2))
        found = store.resume()
        assert found is not None
        assert (found.epoch, found.position) == (2, {"a.jsonl": 303})
        np.testing.assert_array_equal(found.open_state["mean"], state(2)["mean"])


def test_epochs_begin_one_after_the_other(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0), commit(1), commit(2))
    with duckdb.connect(run_file.path, read_only=True) as connection:
        begun = [one for (one,) in connection.execute("select begun from epoch order by epoch").fetchall()]
    assert [b - a for a, b in pairwise(begun)] == [timedelta(seconds=0.5)] * 2
    assert timedelta(seconds=0.5) <= datetime.now(UTC).replace(tzinfo=None) - begun[-1] < timedelta(seconds=60)


def test_dropped_documents_are_never_written(tmp_path: Path) -> None:
    run_file = written(tmp_path / "run.duckdb", [])
    with duckdb.connect(run_file.path, read_only=True) as connection:
        found = connection.execute("select slice, key, packed from sample order by all").fetchall()
    assert found == [(0, 1, b"bag 1"), (0, 2, b"bag 2"), (1, 3, b"bag 3"), (2, 6, b"bag 6"), (2, 7, b"bag 7")]


def test_a_story_has_the_rows_of_the_last_epoch_that_knows_it(tmp_path: Path) -> None:
    reader = Reader(written(tmp_path / "run.duckdb", [2, 4]).path)
    frame = reader.stories()
    assert [(story, size) for story, size in zip(frame.story, frame.size, strict=True)] == [(3, 3), (2, 9), (1, 5)]
    assert frame.title.tolist() == ["n title", "n title", "m title"]
    assert frame.ended.tolist() == [False, True, False]
    assert reader.story_words().word.tolist() == ["m1", "n2", "n2", "n3", "n3", "n3"]
    assert reader.story_documents(2).rank.tolist() == [1, 1, 2, 1, 2]
    past = reader.story_slices()
    assert (past.story.tolist(), past.slice.tolist()) == ([1, 1, 2, 2], [1, 3, 1, 2])
    assert (past.size.tolist(), past.topic.tolist()) == ([2, 5, 3, 7], [-1, -1, 0, 0])
    assert past.trend.tolist() == [1.0, 2.5, 1.5, 3.5]
    assert past.title.tolist() == ["title 2", "title 5", "title 3", "title 7"]
    assert past.words.tolist() == ["", "w5, x", "w3", "w7, x"]
    events = reader.story_events()
    assert events.kind.tolist() == ["burst", "merged"]
    assert (events.story.tolist(), events.size.tolist(), events.other.tolist()) == ([1, 2], [5, 4], [-1, 1])
    np.testing.assert_array_equal(events.evidence, [np.nan, 7.5])
    assert events.epoch.tolist() == [4, 4]
