"""Three brokers, of which the leaders of a run's labels end in order or crash; one is lost: labels are sent once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.system.broker.cluster import MISSING, Cluster
from tests.system.broker.conftest import Start, Topics, ended
from tests.system.broker.test_labels import KEPT, check, mixed
from tests.system.broker.test_labels_under_faults import reached
from tests.system.broker.trackers import counts
from tests.waiting import wait_for

PART = 600

pytestmark = [
    pytest.mark.broker,
    pytest.mark.skipif("VMFSTREAM_SOAK_BROKERS" not in os.environ, reason="a minute of processor time: make soak"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if MISSING:
        pytest.fail(f"the broker tests need {', '.join(MISSING)} on the path")
    three = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        three.start()
        yield three
    finally:
        three.stop()


def test_labels_are_sent_once_though_leaders_change_and_a_broker_is_lost(
    cluster: Cluster, start: Start, tmp_path: Path
) -> None:
    with closing(Topics(cluster)) as topics:
        source, labels, dead = topics(2), topics(2), topics(1)
        run_file = tmp_path / "run.duckdb"
        rows = mixed(4 * PART)

        def leader() -> int:
            (about,) = labels.admin.describe_topics([labels.name])
            return int(next(one["leader_id"] for one in about["partitions"] if one["partition_index"] == 0))

        def grow(part: int) -> None:
            source.fill(rows[PART * part : PART * (part + 1)], key=b"k", headers=[("mine", b"1")])

        grow(0)
        outputs = ("--labels", labels.url, "--dead-letters", dead.url)
        one = start("run", source.url, *KEPT, *outputs, "--out", run_file)
        wait_for(lambda: reached(labels), lambda seen: seen > PART / 2, one)

        first = leader()
        cluster.nodes[first].stop()  # in order: others take over before it ends
        grow(1)
        wait_for(lambda: (leader(), reached(labels)), lambda seen: seen[0] != first and seen[1] > PART, one)
        cluster.nodes[first].start()

        second = leader()
        cluster.nodes[second].kill()  # at once, and it stays away
        grow(2)
        wait_for(lambda: leader(), lambda now: now not in (-1, second), one)
        grow(3)
        whole = (4 * PART * 9 // 10, 4 * PART // 10)
        wait_for(lambda: (counts(run_file), reached(labels), reached(dead)), lambda seen: seen[1] >= whole[0], one)
        wait_for(lambda: (len(labels.read()), len(dead.read())), lambda seen: seen >= whole, one)
        code, _, err, _ = ended(one, signal.SIGTERM)
        assert code == 0, err
        check(source, labels, dead, run_file)
