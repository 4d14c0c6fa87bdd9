"""Workers of a Dask cluster on a real broker: the same log as in one process, whatever is killed."""

from __future__ import annotations

import operator
import os
import random
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.system.broker.cluster import Broker
from tests.system.broker.conftest import Start, Topic, Topics
from tests.system.broker.conftest import ended as finished
from tests.system.broker.dask_processes import Grid, driver, epochs, follow_by_workers, wait_for_epochs
from tests.system.broker.test_labels import KEPT, check, mixed
from tests.system.broker.trackers import ask, counts, documents, join, stored, times
from tests.system.test_recovery import equal
from tests.waiting import wait_for

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


def test_labels_of_workers_that_die_are_sent_once(
    topics: Topics, grid: Grid, start: Start, broker: Broker, tmp_path: Path
) -> None:
    """Workers, the driver, the scheduler and the broker die; labels and dead letters are each sent once."""
    topic, labels, dead, run_file = topics(2), topics(1), topics(1), tmp_path / "run.duckdb"
    rows = mixed(4000)
    topic.fill(rows[:3000], key=b"k", headers=[("mine", b"1")])
    outputs = ("--out", run_file, "--labels", labels.url, "--dead-letters", dead.url)
    way = ("run", topic.url, *KEPT, *outputs, "--executor", grid.address)
    one = start(*way)
    for kill in range(3):
        before = epochs(run_file)
        wait_for(lambda: epochs(run_file), partial(operator.lt, before), one)
        match kill:
            case 0:
                grid.kill_worker()
                grid.add()
            case 1:
                one.kill()
                one.communicate()
                one = start(*way)
            case _:
                grid.kill_scheduler()
                grid.start(2)
    before = epochs(run_file)  # a run that begins while the broker is away ends with an error
    wait_for(lambda: epochs(run_file), partial(operator.lt, before), one)
    broker.kill()
    broker.start()
    topic.fill(rows[3000:], key=b"k", headers=[("mine", b"1")])
    wait_for(lambda: sum(counts(run_file)), lambda seen: seen == 4000, one)
    assert finished(one, signal.SIGTERM)[0] == 0
    one = start(*way)  # it sends what could not be sent while the broker was away
    wait_for(lambda: run_file.with_name("run.duckdb.lock").exists(), bool, one)  # before, a signal would end it at once
    wait_for(lambda: (len(labels.read()), len(dead.read())), lambda seen: seen == (3600, 400), one)
    assert finished(one, signal.SIGTERM)[0] == 0
    check(topic, labels, dead, run_file)
