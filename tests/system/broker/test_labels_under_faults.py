"""Labels of a run behind a bad network, and of one that stands still for longer than the broker waits: sent once each.

A reader of committed messages counts them: none is missing, none is there twice, each is that of the run file. What the
run reads does not come through the proxy; a consumer here joins no group, so that there is no session to lose.
"""

from __future__ import annotations

import operator
import os
import signal
from contextlib import closing
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, TopicPartition

from tests.system.broker.cluster import Broker
from tests.system.broker.conftest import Topic, Topics
from tests.system.broker.proxy import ADD_OFFSETS, ADD_PARTITIONS, COMMIT_OFFSETS, END, INIT, PRODUCE, Frames
from tests.system.broker.test_labels import KEPT, check, mixed
from tests.system.broker.trackers import children, command, counts
from tests.waiting import wait_for
from vmfstream.connectors.kafka.publisher import Deadlines

pytestmark = pytest.mark.broker

SHORT = Deadlines(request_ms=1000, delivery_ms=4000)
SHORTER = SHORT._replace(step=3.0)
STOPPED = Deadlines(step=3.0, delivery_ms=9000, transaction_ms=2000)
PART = 60  # messages, of which a tenth is bad


class Sent:
    """A topic that grows part by part, with its labels and bad messages in topics behind a proxy."""

    def __init__(self, broker: Broker, topics: Topics, folder: Path) -> None:
        self.source, self.labels, self.dead = topics(2), topics(2), topics(1)
        self.run_file = folder / "run.duckdb"
        self.parts = 0
        self._rows = mixed(40 * PART)
        self._door = f"kafka://{':'.join(map(str, broker.proxied))}"

    def start(self, deadlines: Deadlines) -> Any:
        outputs = ("--labels", f"{self._door}/{self.labels.name}", "--dead-letters", f"{self._door}/{self.dead.name}")
        return command("run", self.source.url, *KEPT, *outputs, "--out", self.run_file, deadlines=deadlines)

    def sends(self, deadlines: Deadlines) -> Any:
        """Start the run, and wait until it has sent labels and dead letters of a first part."""
        child = self.start(deadlines)
        self.grow()
        wait_for(lambda: (reached(self.labels), reached(self.dead)), all, child)
        return child

    def grow(self) -> None:
        part = self._rows[PART * self.parts : PART * (self.parts + 1)]
        self.source.fill(part, key=b"k", headers=[("mine", b"1")])
        self.parts += 1

    def ends(self, child: Any) -> None:
        """Wait until everything is sent; end the run and compare."""
        bad = self.parts * PART // 10
        whole = (self.parts * PART - bad, bad)
        wait_for(
            lambda: (*counts(self.run_file), reached(self.labels), reached(self.dead)),
            lambda seen: seen[:2] == whole and seen[2] >= whole[0] and seen[3] >= whole[1],
            child,
        )
        wait_for(lambda: (len(self.labels.read()), len(self.dead.read())), lambda seen: seen >= whole, child)
        os.kill(child.pid, signal.SIGTERM)
        child.join()
        assert child.exitcode == 0
        check(self.source, self.labels, self.dead, self.run_file)


def reached(topic: Topic, isolation: str = "read_committed") -> int:
    """How far readers of a topic can read, messages and the marks of transactions."""
    consumer = KafkaConsumer(bootstrap_servers=topic.broker.address, isolation_level=isolation)
    ends = consumer.end_offsets([TopicPartition(topic.name, number) for number in range(topic.partitions)])
    consumer.close()
    return sum(ends.values())


def test_labels_are_sent_once_though_requests_come_late_and_answers_late_or_never(
    broker: Broker, topics: Topics, tmp_path: Path
) -> None:
    sent = Sent(broker, topics, tmp_path)
    kinds = (PRODUCE, ADD_PARTITIONS, ADD_OFFSETS, COMMIT_OFFSETS, END)
    with closing(Frames(broker.proxied, broker.behind)) as proxy:
        child = sent.start(SHORT)
        for api, fault in product(kinds, ("answer lost", "answer late", "late")):
            before = proxy.happened[fault]
            proxy.faults[api] = fault
            sent.grow()
            wait_for(partial(proxy.happened.__getitem__, fault), partial(operator.lt, before), child)
        sent.grow()
        wait_for(lambda: proxy.happened["came late"], lambda seen: seen == len(kinds), child)
        sent.ends(child)


def test_a_commit_that_comes_after_the_run_has_begun_again_is_refused(
    broker: Broker, topics: Topics, tmp_path: Path
) -> None:
    """No commit comes through until the run has given up and sends the same once more; then all of them come."""
    sent = Sent(broker, topics, tmp_path)
    with closing(Frames(broker.proxied, broker.behind)) as proxy:
        child = sent.sends(SHORTER)
        proxy.always[END] = "held"
        sent.grow()
        wait_for(lambda: (proxy.happened["held"], dict(proxy.seen)), operator.itemgetter(0), child)
        began = proxy.seen[INIT]
        wait_for(lambda: dict(proxy.seen), lambda seen: seen[INIT] > began, child)
        proxy.always.clear()
        produced = proxy.seen[PRODUCE]
        wait_for(lambda: dict(proxy.seen), lambda seen: seen[PRODUCE] > produced, child)
        proxy.release()
        wait_for(lambda: proxy.happened["came late"], bool, child)
        sent.ends(child)


def test_a_commit_that_comes_in_the_next_transaction_does_not_end_that_one(
    broker: Broker, topics: Topics, tmp_path: Path
) -> None:
    """The next one has sent its messages and cannot go on: what was committed of it would be sent once more."""
    sent = Sent(broker, topics, tmp_path)
    with closing(Frames(broker.proxied, broker.behind)) as proxy:
        child = sent.sends(SHORTER)
        proxy.faults[END] = "into the next"
        sent.grow()
        wait_for(lambda: proxy.happened["into the next"], bool, child)
        proxy.always[ADD_OFFSETS] = "held"
        sent.grow()
        wait_for(lambda: (proxy.happened["came late"], proxy.happened["held"]), all, child)
        began = proxy.seen[INIT]
        wait_for(lambda: dict(proxy.seen), lambda seen: seen[INIT] > began, child)
        proxy.always.clear()
        proxy.release()
        sent.ends(child)


def signalled(process: int, what: signal.Signals) -> None:
    """Send a signal to a process and to those that it has started."""
    os.kill(process, what)
    for child in children(process):
        signalled(child, what)


@pytest.mark.parametrize("moment", ["held", "answer held"])
def test_a_run_that_stands_still_until_the_broker_ends_its_transaction_sends_labels_once(
    broker: Broker, topics: Topics, tmp_path: Path, moment: str
) -> None:
    """It is stopped before its commit has come to the broker, or before the answer has come back."""
    sent = Sent(broker, topics, tmp_path)
    with closing(Frames(broker.proxied, broker.behind)) as proxy:
        child = sent.sends(STOPPED)
        known = reached(sent.labels)
        proxy.faults[END] = moment
        sent.grow()
        wait_for(lambda: proxy.happened[moment], bool, child)
        signalled(child.pid, signal.SIGSTOP)
        # the broker has ended the transaction, by itself or as asked: readers get to the end again
        wait_for(
            lambda: (reached(sent.labels), reached(sent.labels, "read_uncommitted")),
            lambda seen: seen[0] == seen[1] > known,
            child,
        )
        began = proxy.seen[INIT]
        signalled(child.pid, signal.SIGCONT)
        sent.grow()
        # it has given up, and does not know what became of the transaction
        wait_for(lambda: dict(proxy.seen), lambda seen: seen[INIT] > began, child)
        proxy.release()
        sent.ends(child)
