"""Workers of a Dask cluster on a real broker: the same log as in one process, whatever is killed."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.broker.conftest import Topic, Topics
from tests.system.broker.dask_processes import Grid, driver, epochs, follow_by_workers, wait_for_epochs
from tests.system.broker.trackers import ask, counts, documents, join, stored, times
from tests.system.test_recovery import equal

pytestmark = pytest.mark.broker

KILLS = int(os.environ.get("VMFSTREAM_DASK_KILLS", "10"))


@pytest.fixture
def grid() -> Iterator[Grid]:
    one = Grid()
    one.start(2)
    yield one
    one.stop()


def filled(topic: Topic, count: int) -> dict[str, int]:
    rows = documents(count)
    topic.fill(rows, times=times(rows))
    return topic.ends()


def ended(child: object, path: Path, ends: dict[str, int]) -> None:
    join(child, path)
    assert child.exitcode == 0  # type: ignore[attr-defined]
    assert stored(path) == ends


def test_two_workers_write_the_run_file_of_one_process(topics: Topics, grid: Grid, tmp_path: Path) -> None:
    topic = topics(3)
    ends = filled(topic, 9000)
    follow_by_workers(str(tmp_path / "here.duckdb"), topic.url, ends, "here", {"slices": "hour"})
    path = tmp_path / "run.duckdb"
    ended(driver(path, topic.url, ends, grid.address, slices="hour"), path, ends)
    equal(tmp_path / "here.duckdb", path)
    assert counts(path) == (9000, 0)
    assert ask(path, "select sum(late)::int, count(*) > 6 from epoch") == [(0, True)]


def test_whatever_is_killed_every_message_counts_once(topics: Topics, grid: Grid, tmp_path: Path) -> None:
    """Workers die and come, the driver dies, the scheduler dies; the log is that of an undisturbed run."""
    topic = topics(2)
    ends = filled(topic, 1000 * KILLS)
    whole, path = tmp_path / "whole.duckdb", tmp_path / "run.duckdb"
    follow_by_workers(str(whole), topic.url, ends, "here", {"epoch_documents": 500})
    rng = random.Random(7)
    child = driver(path, topic.url, ends, grid.address, epoch_documents=500)
    kills = 0
    while kills < KILLS and wait_for_epochs(path, kills + 2, child):
        child.join(rng.uniform(0.0, 0.3))  # in the middle of an epoch
        if child.exitcode is not None:
            break
        match kills % 5:
            case 1 | 4:
                child.kill()
                child.join()
                child = driver(path, topic.url, ends, grid.address, epoch_documents=500)
            case 3:
                grid.kill_scheduler()
                grid.start(2)
            case _:
                grid.kill_worker()
                grid.add()
        kills += 1
    ended(child, path, ends)
    assert kills == KILLS
    assert epochs(path) > KILLS
    assert counts(path) == (1000 * KILLS, 0)  # a message read twice would be rejected: its id was read before
    equal(whole, path)
