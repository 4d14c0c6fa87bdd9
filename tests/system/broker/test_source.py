"""What the source reads, in which order, and what it says when it cannot."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType
from kafka.errors import UnknownTopicOrPartitionError

from tests.system.broker.cluster import PASSWORD, USER, Broker
from tests.system.broker.conftest import Topic, Topics
from tests.waiting import wait_for, wait_until
from vmfstream.connectors import open_source
from vmfstream.connectors.codecs import MESSAGE_TIME, FieldCodec
from vmfstream.connectors.kafka.inspection import OffsetRange, newest_message
from vmfstream.connectors.kafka.options import ClientOptions
from vmfstream.connectors.kafka.source import KafkaSource, OnGap
from vmfstream.errors import InputError, SourceAway
from vmfstream.protocols import Live, Source
from vmfstream.records import Document, Message, Range

pytestmark = pytest.mark.broker

Opened = Callable[..., KafkaSource]


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Open sources and close them after the test."""
    sources: list[KafkaSource] = []

    def call(topic: Topic | str, **options: Any) -> KafkaSource:
        sources.append(KafkaSource(topic if isinstance(topic, str) else topic.url, **options))
        return sources[-1]

    yield call
    for source in sources:
        source.close()


def take(source: Source, count: int) -> list[Message]:
    found: list[Message] = []

    def look() -> int:
        found.extend(source.poll(count - len(found), 0.2))
        return len(found)

    wait_for(look, lambda taken: taken >= count)
    assert len(found) == count
    return found


def numbers(messages: list[Message]) -> list[int]:
    return [json.loads(m.value)["n"] for m in messages if isinstance(m.value, bytes)]


def test_reads_from_the_beginning_and_waits_at_the_end(topics: Topics, opened: Opened) -> None:
    topic = topics(1)
    topic.fill([{"n": n} for n in range(7)])
    source = opened(topic)
    assert isinstance(source, Live)
    assert numbers(take(source, 7)) == list(range(7))
    assert source.poll(10, 0.1) == []
    assert not source.exhausted
    assert source.total is None
    assert source.name == topic.name
    topic.fill([{"n": 7}])
    (message,) = take(source, 1)
    assert (message.part, message.offset) == (f"{topic.name}:0", 7)
    assert source.lag({f"{topic.name}:0": 3}) == 5
    source.close()
    source.close()
    assert source.exhausted
    assert source.poll(10, 0.0) == []


def test_seeks_where_it_is_asked_to(topics: Topics, opened: Opened) -> None:
    topic = topics(2)
    topic.fill([{"n": n} for n in range(10)])
    source = opened(topic)
    take(source, 3)
    source.seek({f"{topic.name}:0": 4, "another:0": 99})
    assert sorted(numbers(take(source, 6))) == [1, 3, 5, 7, 8, 9]


def test_ends_of_transactions_are_no_messages_that_wait(topics: Topics, opened: Opened) -> None:
    """Neither are messages of aborted ones: both stand in a topic, and no reader gets them."""
    topic = topics(1)
    producer = KafkaProducer(bootstrap_servers=topic.broker.address, transactional_id=topic.name)
    producer.init_transactions()
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for n in range(4):
            producer.send(topic.name, json.dumps({"n": n, "text": f"number {n}", "time": 2001}).encode())
        producer.flush()
        end()
    producer.close()
    source = opened(topic)
    assert numbers(take(source, 4)) == [0, 1, 2, 3]
    part, end = f"{topic.name}:0", topic.ends()[f"{topic.name}:0"]
    assert end == 10
    wait_until(lambda: source.poll(1, 0.1) == [] and source.lag({part: 4}) == 0)
    assert source.lag({part: 3}) == end - 3
    found = newest_message(source.address, ClientOptions(), FieldCodec(), {part: OffsetRange(0, end)})
    assert isinstance(found, Document)
    assert found.text == "number 3"


def test_partitions_and_topics_are_merged_by_time(topics: Topics, opened: Opened) -> None:
    one, two = topics(2), topics(1)
    order = [0, 1, 2, 3, 4, 5, 6, 7, 8]
    for topic, partition, mine in ((one, 0, order[6:]), (one, 1, order[:3]), (two, 0, order[3:6])):
        for k in range(3):
            topic.fill([{"n": mine[k]}], partition, times=[1_000_000 + mine[k]])
    source = opened(f"{one.url},{two.name}")
    assert numbers(take(source, 9)) == order
    # a time that runs back, and one of the future, hold nobody up
    one.fill([{"n": 10}, {"n": 11}], 0, times=[5, int(time.time() * 1000) + 3_000_000])
    one.fill([{"n": 12}], 1, times=[2_000_000])
    assert sorted(numbers(take(source, 3))) == [10, 11, 12]


def test_a_backlog_far_apart_is_read_in_bounded_memory(topics: Topics, opened: Opened) -> None:
    topic = topics(2)
    filler = "x" * 10_000
    topic.fill([{"n": n, "f": filler} for n in range(600)], 0, times=[1000 + n for n in range(600)])
    topic.fill([{"n": 1000 + n, "f": filler} for n in range(600)], 1, times=[5000 + n for n in range(600)])
    source = opened(topic, buffer_bytes=1_000_000)
    kept = 0
    found: list[Message] = []
    while len(found) < 1200:
        found += source.poll(50, 0.2)
        kept = max(kept, sum(part.bytes for part in source._parts.values()))
    assert numbers(found) == [*range(600), *range(1000, 1600)]
    assert kept < 3_000_000  # its share, and what one poll brings


def test_new_partitions_are_read_from_their_beginning(topics: Topics, opened: Opened) -> None:
    topic = topics(1)
    topic.fill([{"n": 0}])
    source = opened(topic)
    take(source, 1)
    until = time.monotonic() + 7.0  # what the client knows of the topic is as old then as what it looks up by itself
    while time.monotonic() < until:
        assert source.poll(1, 0.2) == []
    topic.admin.create_partitions({topic.name: 3})
    topic.partitions = 3
    topic.fill([{"n": 1}], 2)
    topic.fill([{"n": 2}], 0)
    assert sorted(numbers(take(source, 2))) == [1, 2]


@pytest.mark.parametrize("packed", ["gzip", "snappy", "lz4", "zstd"])
def test_packed_messages_are_unpacked(topics: Topics, opened: Opened, packed: str) -> None:
    topic = topics(1)
    topic.fill([{"n": n, "text": "again and again " * 50} for n in range(300)], compression_type=packed)
    assert numbers(take(opened(topic), 300)) == list(range(300))


def test_text_and_the_time_of_messages(topics: Topics, opened: Opened) -> None:
    topic = topics(1)
    topic.fill(["Größe".encode(), b"\xff", None], times=[1_600_000_000_000, 0, 1], key=b"k")
    codec = FieldCodec(unit="offset")
    records = [codec.decode(message) for message in take(opened(topic, format="text"), 3)]
    assert isinstance(records[0], Document)
    assert (records[0].text, str(records[0].time)) == ("Größe", "2020-09-13 12:26:40+00:00")
    assert records[0].id == f"{topic.name}:0:0"
    assert [getattr(r, "reason", "") for r in records[1:]] == [
        "not UTF-8: byte 0xff at position 0 in text",
        "no value: a tombstone of key b'k'",
    ]
    topic.fill([{"text": "a b", "time": "1990-01-01"}], times=[1_600_000_000_000])
    (message,) = opened(topic).poll(9, 5.0)[3:]
    late = FieldCodec(unit="offset", time=MESSAGE_TIME).decode(message)
    assert isinstance(late, Document)
    assert str(late.time).startswith("2020-")


def test_too_long_messages_are_passed_over(topics: Topics, opened: Opened) -> None:
    topic = topics(1)
    topic.fill([b"x" * 5000, b'{"n": 1}'])
    long, short = take(opened(topic, max_message_bytes=4096), 2)
    assert (long.oversized, len(long.value)) == (5000, 1024)
    assert FieldCodec(unit="offset").decode(long).reason == "too long: offset 0 has 5,000 bytes"  # type: ignore[union-attr]
    assert short.oversized is None


def test_a_group_serves_monitoring_only(topics: Topics, opened: Opened) -> None:
    topic = topics(1)
    topic.fill([{"n": n} for n in range(5)])
    source = opened(topic, group="watchers")
    take(source, 5)
    source.committed({f"{topic.name}:0": 3})
    wait_for(lambda: source._consumer.committed(TopicPartition(topic.name, 0)), lambda offset: offset == 3)
    assert numbers(take(opened(topic, group="watchers"), 5)) == [0, 1, 2, 3, 4]


GAPS = pytest.mark.parametrize(("stored", "gone"), [(2, "3 messages of {}:0 are gone"), (99, "{}:0 ends at offset 8")])


def with_a_gap(topics: Topics) -> Topic:
    """Return a topic of eight messages whose first five are gone."""
    topic = topics(1)
    topic.fill([{"n": n} for n in range(8)])
    topic.forget(0, 5)
    return topic


@GAPS
def test_a_gap_is_an_error(topics: Topics, opened: Opened, stored: int, gone: str) -> None:
    topic = with_a_gap(topics)
    with pytest.raises(InputError, match=gone.format(topic.name)):
        opened(topic).seek({f"{topic.name}:0": stored})


@GAPS
@pytest.mark.parametrize(("policy", "left"), [("earliest", [5, 6, 7]), ("latest", [])])
def test_a_gap_is_passed_where_that_is_asked_but_not_in_silence(
    topics: Topics,
    opened: Opened,
    caplog: pytest.LogCaptureFixture,
    stored: int,
    gone: str,
    policy: OnGap,
    left: list[int],
) -> None:
    topic = with_a_gap(topics)
    source = opened(topic, on_gap=policy)
    with caplog.at_level(logging.WARNING):
        source.seek({f"{topic.name}:0": stored})
    assert gone.format(topic.name) in caplog.text
    assert f"going on with the {'oldest' if policy == 'earliest' else 'newest'}" in caplog.text
    topic.fill([{"n": 8}])
    assert numbers(take(source, len(left) + 1)) == [*left, 8]


def test_a_gap_that_opens_while_reading(topics: Topics, opened: Opened) -> None:
    topic = topics(1)
    topic.fill([{"n": n, "f": "x" * 10_000} for n in range(500)])
    source = opened(topic, options=ClientOptions({}, {"max_partition_fetch_bytes": 20_000, "fetch_max_bytes": 20_000}))
    take(source, 1)
    topic.forget(0, 480)
    with pytest.raises(InputError, match=r"messages of .* are gone"):
        take(source, 499)


@pytest.mark.parametrize("policy", ["fail", "earliest"])
def test_a_topic_that_is_made_again_while_it_is_read(topics: Topics, opened: Opened, policy: OnGap) -> None:
    topic = topics(1)
    topic.fill([{"n": n} for n in range(8)])
    source = opened(topic, on_gap=policy)
    assert numbers(take(source, 8)) == [*range(8)]
    topic.delete()
    wait_for(topic.admin.list_topics, lambda names: topic.name not in names)
    topics(1, topic.name).fill([{"n": n} for n in (100, 101, 102)])
    if policy == "fail":
        with pytest.raises(InputError, match=r"the run file is at 8: the topic was made again; --on-gap earliest"):
            take(source, 1)
    else:
        assert numbers(take(source, 3)) == [100, 101, 102]


def test_a_topic_that_is_deleted(topics: Topics, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmfstream.connectors.kafka.source._DELETED_AFTER", 1.0)
    monkeypatch.setattr("vmfstream.connectors.kafka.source._DISCOVERY_INTERVAL", 0.5)
    topic = topics(1)
    topic.fill([{"n": 1}])
    source = opened(topic)
    take(source, 1)
    topic.delete()
    with pytest.raises(InputError, match=rf"topic {topic.name} at .* was deleted"):
        take(source, 1)


@pytest.mark.parametrize("method", ["poll", "partitions_for_topic"])
def test_a_deleted_topic_may_be_unknown_to_the_client(
    topics: Topics, opened: Opened, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr("vmfstream.connectors.kafka.source._DELETED_AFTER", 1.0)
    monkeypatch.setattr("vmfstream.connectors.kafka.source._DISCOVERY_INTERVAL", 0.2)
    topic = topics(1)
    source = opened(topic)

    def unknown(*_: Any, **__: Any) -> Any:
        raise UnknownTopicOrPartitionError

    monkeypatch.setattr(KafkaConsumer, method, unknown)
    if method == "poll":
        assert source.poll(1, 0.5) == []
        monkeypatch.setattr(KafkaConsumer, "partitions_for_topic", lambda *_: set())
    with pytest.raises(InputError, match=rf"topic {topic.name} at .* was deleted"):
        take(source, 1)


def test_no_such_topic_and_no_such_host(broker: Broker, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="there is no topic nowhere at kafka://"):
        opened(f"kafka://{broker.address}/nowhere")
    assert "nowhere" not in Topic(broker, "somewhere", 1).admin.list_topics()  # nobody made it by asking
    quick = ClientOptions({"bootstrap_timeout_ms": 1500})
    with pytest.raises(InputError, match=r"kafka://127.0.0.1:9/x does not answer: .*REFUSED"):
        opened("kafka://127.0.0.1:9/x", options=quick)
    with pytest.raises(InputError, match=r"kafka://nohost.invalid:9092/x does not answer"):
        opened("kafka://nohost.invalid/x", options=quick)


def secured(broker: Broker, password: str = PASSWORD, patience: int = 60_000) -> ClientOptions:
    return ClientOptions(
        {
            "security_protocol": "SASL_SSL",
            "ssl_cafile": str(broker.certificate),
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": USER,
            "sasl_plain_password": password,
            "bootstrap_timeout_ms": patience,
        }
    )


def allow(topic: Topic, *operations: ACLOperation) -> None:
    pattern = ResourcePattern(ResourceType.TOPIC, topic.name)
    given = [ACL(f"User:{USER}", "*", one, ACLPermissionType.ALLOW, pattern) for one in operations]
    topic.admin.create_acls(given)


def test_tls_password_and_rights(
    broker: Broker, topics: Topics, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    topic = topics(1)
    topic.fill([{"n": 3}])
    url = f"kafka://{broker.secure}/{topic.name}"
    with pytest.raises(InputError, match=f"no topic {topic.name} .* or no right to see it"):
        opened(url, options=secured(broker))
    allow(topic, ACLOperation.DESCRIBE)
    with pytest.raises(InputError, match=f"no right to use topic {topic.name}"):
        take(opened(url, options=secured(broker)), 1)
    allow(topic, ACLOperation.READ)
    assert numbers(take(opened(url, options=secured(broker)), 1)) == [3]
    for patience in (3_000, 12_000, 48_000):  # refused clients try again until it ends, busy brokers need longer
        with pytest.raises(InputError) as error:
            opened(url, options=secured(broker, "wrong secret", patience))
        if "does not answer" not in str(error.value):
            break
    assert "not accept user and password" in str(error.value)
    assert "wrong secret" not in f"{error.value}{caplog.text}"
    assert PASSWORD not in caplog.text


def test_open_source_knows_kafka(topics: Topics, tmp_path: Path) -> None:
    topic = topics(1)
    topic.fill([{"n": 1}])
    with closing(open_source(topic.url)) as source:
        assert numbers(take(source, 1)) == [1]


def test_ranges_wait_for_a_cluster_that_is_away(
    broker: Broker, topics: Topics, opened: Opened, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A driver that asks while nobody answers is told, and a worker that begins meanwhile waits."""
    topic = topics(1)
    topic.fill([{"n": n} for n in range(5)])
    source, whole = opened(topic), Range(f"{topic.name}:0", 0, 5)
    monkeypatch.setattr("vmfstream.connectors.kafka.client.CONNECT_MS", 300)
    monkeypatch.setattr("vmfstream.connectors.kafka.source._ANSWER_MS", 300)
    broker.kill()
    with ThreadPoolExecutor(1) as pool:
        try:
            with pytest.raises(SourceAway, match="does not answer"):
                source.extents({})
            reading = pool.submit(source.reader().read, whole, 10**6)
            wait_for(lambda: caplog.text.count("; waiting"), lambda told: told > 1)
            assert not reading.done()
        finally:
            broker.start()
    messages, end = reading.result()
    assert (numbers(list(messages)), end) == ([0, 1, 2, 3, 4], 5)

    def extents() -> list[Range]:
        with suppress(SourceAway):
            return list(source.extents({}))
        return []

    assert wait_for(extents, len) == [whole]
