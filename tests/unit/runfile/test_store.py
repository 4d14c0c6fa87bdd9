"""What every store must do, on the file and in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.runfile.records import commit, state
from vmfstream.errors import InputError
from vmfstream.protocols import Store
from vmfstream.records import Arrays
from vmfstream.runfile.memory import MemoryStore
from vmfstream.runfile.writer import RunFile


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return RunFile(tmp_path / "run.duckdb") if request.param == "file" else MemoryStore()


def same(one: Arrays, other: Arrays) -> bool:
    return list(one) == list(other) and all(
        one[name].dtype == other[name].dtype and one[name].tobytes() == other[name].tobytes() for name in one
    )


def test_a_new_store_has_nothing_to_resume(store: Store) -> None:
    assert store.resume() is None


def test_settings_are_those_of_the_first_time(store: Store) -> None:
    assert store.settings({}) == {}
    assert store.settings({"title": "Größe", "seed": "1"}) == {"title": "Größe", "seed": "1"}
    assert store.settings({"title": "other", "topics": "9"}) == {"title": "Größe", "seed": "1"}


@pytest.mark.parametrize("first", [0, 1])
def test_resumes_with_the_last_commit(store: Store, first: int) -> None:
    store.commit(commit(first, position={"a": 5, "b": 7}))
    store.commit(commit(first + 1, small=True, position={"a": 9}, finished=True))
    checkpoint = store.resume()
    assert checkpoint is not None
    assert (checkpoint.epoch, checkpoint.position, checkpoint.finished) == (first + 1, {"a": 9, "b": 7}, True)
    assert same(checkpoint.open_state, state(first + 1))
    assert checkpoint.slice_state is not None
    assert same(checkpoint.slice_state, state(1000 + first))


def test_has_no_slice_state_before_a_slice_closed(store: Store) -> None:
    store.commit(commit(0, small=True))
    checkpoint = store.resume()
    assert checkpoint is not None
    assert checkpoint.slice_state is None
    assert not checkpoint.finished


@pytest.mark.parametrize(
    ("before", "epoch", "says"),
    [(0, 2, "new and must begin"), (2, 0, "already"), (2, 1, "already"), (2, 3, "must go on with 2, got 3")],
)
def test_refuses_epochs_out_of_order(store: Store, before: int, epoch: int, says: str) -> None:
    for number in range(before):
        store.commit(commit(number))
    resumed = store.resume()
    with pytest.raises(InputError, match=says):
        store.commit(commit(epoch, position={"a.jsonl": 999}))
    after = store.resume()
    if resumed is None:
        assert after is None
    else:
        assert after is not None
        assert (after.epoch, after.position) == (resumed.epoch, resumed.position)
        assert same(after.open_state, resumed.open_state)


def test_refuses_a_state_of_objects_and_stays_usable(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    with pytest.raises(ValueError, match="must hold numbers"):
        run_file.commit(commit(0, open_state={"bad": np.array([None])}))
    run_file.commit(commit(0))


def test_keeps_its_own_copy(store: Store) -> None:
    mine = commit(0)
    store.commit(mine)
    mine.open_state["mean"][:] = 0
    first = store.resume()
    assert first is not None
    first.open_state["mean"][:] = 0
    second = store.resume()
    assert second is not None
    assert same(second.open_state, state(0))


def test_leaves_the_commit_alone(store: Store) -> None:
    given, twin = commit(0), commit(0)
    store.commit(given)
    assert same(given.open_state, twin.open_state)
    assert given.position == twin.position
    assert given.epoch.topics is not None
    assert twin.epoch.topics is not None
    np.testing.assert_array_equal(given.epoch.topics.drift_angle, twin.epoch.topics.drift_angle)
    assert given.epoch.topics.words == twin.epoch.topics.words


def test_commits_no_more_after_two_closes(store: Store) -> None:
    store.commit(commit(0))
    store.close()
    store.close()
    with pytest.raises(InputError, match="closed"):
        store.commit(commit(1))
    assert store.resume() is not None


def test_memory_keeps_rows_but_not_old_states() -> None:
    run_file = MemoryStore()
    for number in range(3):
        run_file.commit(commit(number))
    assert [kept.epoch.epoch for kept in run_file.commits] == [0, 1, 2]
    assert all(kept.open_state == {} and kept.slice_state is None for kept in run_file.commits)
    assert run_file.commits[1].closed[0].events[0].kind == "started"
