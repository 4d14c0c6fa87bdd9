"""Whatever breaks, every message counts once."""

from __future__ import annotations

import operator
import os
import random
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.system.broker.cluster import Broker
from tests.system.broker.conftest import Topic, Topics
from tests.system.broker.trackers import counts, documents, join, rows_of, stored, times, tracker
from tests.system.test_recovery import equal
from tests.waiting import wait_for

pytestmark = pytest.mark.broker

KILLS = int(os.environ.get("VMFSTREAM_SOAK_KILLS", "8"))
OUTAGES = int(os.environ.get("VMFSTREAM_SOAK_OUTAGES", "1"))


def filled(topic: Topic, count: int) -> dict[str, int]:
    rows = documents(count)
    topic.fill(rows, times=times(rows))
    return topic.ends()


def run_to_end(path: Path, topic: Topic, ends: dict[str, int], **settings: Any) -> None:
    child = tracker(path, topic.url, ends, **settings)
    join(child, path)
    assert child.exitcode == 0
    assert stored(path) == ends


def followed_to_the_end(folder: Path, topic: Topic, ends: dict[str, int]) -> Iterator[Path]:
    """Follow a topic into log after log until trackers were killed `KILLS` times at random moments; yield each log."""
    rng = random.Random(7)
    kills = 0
    while kills < KILLS:
        path = folder / f"run{kills}.duckdb"
        while kills < KILLS:
            child = tracker(path, topic.url, ends)
            child.join(rng.uniform(0.0, 2.0))
            child.kill()
            child.join()
            if child.exitcode == 0:
                break
            assert child.exitcode == -signal.SIGKILL
            kills += 1
        run_to_end(path, topic, ends)
        yield path


def test_one_partition_killed_at_random_moments_equals_the_undisturbed_run(topics: Topics, tmp_path: Path) -> None:
    topic = topics(1)
    ends = filled(topic, 20_000)
    run_to_end(tmp_path / "whole.duckdb", topic, ends)
    for path in followed_to_the_end(tmp_path, topic, ends):
        equal(tmp_path / "whole.duckdb", path)


def test_four_partitions_killed_at_random_moments_count_every_message_once(topics: Topics, tmp_path: Path) -> None:
    topic = topics(4)
    ends = filled(topic, 100_000)
    for path in followed_to_the_end(tmp_path, topic, ends):
        assert counts(path) == (100_000, 0)  # a message read twice would be rejected: its id was read before


def test_a_broker_that_dies_is_waited_for(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    topic = topics(2)
    path = tmp_path / "run.duckdb"
    rows = documents(12_000 * OUTAGES)
    parts = [rows[i::OUTAGES] for i in range(OUTAGES)]
    child = tracker(path, topic.url, None, linger=0.5)
    for number, part in enumerate(parts):
        topic.fill(part, times=times(part))
        wait_for(lambda: rows_of(path, "epoch"), bool, child)
        before = sum(stored(path).values())
        least = min(before, 12_000 * number + 1)
        wait_for(lambda: sum(stored(path).values()), partial(operator.le, least), child)
        broker.kill()
        assert child.is_alive()
        broker.start()
    wait_for(lambda: stored(path), lambda position: position == topic.ends(), child)
    child.terminate()
    join(child, path)
    assert counts(path) == (len(rows), 0)
