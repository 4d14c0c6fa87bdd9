"""A real broker for the whole session, topics in it, and trackers in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

from tests.system.broker.cluster import MISSING, Broker, Cluster


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A running broker; a test that stops it starts it again."""
    if MISSING:
        pytest.fail(f"the broker tests need {', '.join(MISSING)} on the path")
    one = Broker(tmp_path_factory.mktemp("broker") / "kafka")
    try:
        one.start()
        yield one
    finally:
        one.stop()


class Topic:
    """A topic of the test's own, with what a test does to it."""

    def __init__(self, broker: Broker | Cluster, name: str, partitions: int, **configs: str) -> None:
        self.broker, self.name, self.partitions = broker, name, partitions
        self.url = f"kafka://{broker.address}/{name}"
        self.admin = KafkaAdminClient(bootstrap_servers=broker.address)
        wish = {"num_partitions": partitions, "configs": {"retention.ms": "-1"} | configs}
        self.admin.create_topics({name: wish}, wait_for_metadata=True)

    def fill(self, values: Iterable[bytes | dict[str, Any] | None], partition: int | None = None, **how: Any) -> None:
        """Send values, round by partition unless one is named; ``how`` is for the producer or the messages."""
        message = {name: how.pop(name) for name in ("key", "headers") if name in how}
        times = how.pop("times", None)
        producer = KafkaProducer(bootstrap_servers=self.broker.address, linger_ms=20, batch_size=200_000, **how)
        sent = []
        for i, value in enumerate(values):
            body = json.dumps(value).encode() if isinstance(value, dict) else value
            at = i % self.partitions if partition is None else partition
            when = None if times is None else times[i]
            sent.append(producer.send(self.name, body, partition=at, timestamp_ms=when, **message))
        producer.flush()
        for one in sent:
            one.get(timeout=30)
        producer.close()

    def ends(self) -> dict[str, int]:
        """What comes next in every partition, as a log stores it."""
        consumer = KafkaConsumer(bootstrap_servers=self.broker.address)
        parts = [TopicPartition(self.name, number) for number in range(self.partitions)]
        found = consumer.end_offsets(parts)
        consumer.close()
        return {f"{tp.topic}:{tp.partition}": offset for tp, offset in found.items()}

    def read(self) -> list[Any]:
        """All committed messages, by partition and offset."""
        consumer = KafkaConsumer(
            bootstrap_servers=self.broker.address, isolation_level="read_committed", auto_offset_reset="none"
        )
        out = []
        for number in range(self.partitions):
            tp = TopicPartition(self.name, number)
            consumer.assign([tp])
            consumer.seek(tp, 0)
            end = consumer.end_offsets([tp])[tp]
            while consumer.position(tp) < end:
                out += consumer.poll(timeout_ms=500).get(tp, [])
        consumer.close()
        return out

    def forget(self, partition: int, before: int) -> None:
        """Delete the messages before an offset, as retention does."""
        self.admin.delete_records({TopicPartition(self.name, partition): before})

    def delete(self) -> None:
        """Delete the topic."""
        self.admin.delete_topics([self.name])


class Topics:
    """Makes topics and closes their connections."""

    def __init__(self, broker: Broker | Cluster) -> None:
        self._broker = broker
        self._made: list[Topic] = []

    def __call__(self, partitions: int = 1, name: str | None = None, **configs: str) -> Topic:
        """Make a topic with a name that is new."""
        Topics.count += 1
        topic = Topic(self._broker, name or f"topic-{Topics.count}", partitions, **configs)
        self._made.append(topic)
        return topic

    count = 0

    def close(self) -> None:
        for topic in self._made:
            topic.admin.close()


@pytest.fixture
def topics(broker: Broker) -> Iterator[Topics]:
    made = Topics(broker)
    yield made
    made.close()


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a command; what still runs after the test is killed."""
    running: list[subprocess.Popen[str]] = []

    def call(*words: object, **environment: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "vmfstream", *map(str, words)]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        running.append(subprocess.Popen(command, env=os.environ | environment, **pipes))
        return running[-1]

    yield call
    for one in running:
        if one.poll() is None:
            one.kill()
        one.communicate()


def ended(one: subprocess.Popen[str], how: signal.Signals | None = None) -> tuple[int, str, str, float]:
    """Wait for the end, after a signal if one is named: code, output, errors, seconds."""
    began = time.monotonic()
    if how is not None:
        one.send_signal(how)
    out, err = one.communicate()
    assert "Traceback" not in err, err
    return one.returncode, out, err, time.monotonic() - began
