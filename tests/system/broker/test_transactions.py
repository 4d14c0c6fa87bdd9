"""Requests of transactions come late or twice, and answers are lost: no epoch is missing, doubled or torn."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace

import pytest

from tests.system.broker.cluster import Broker
from tests.system.broker.conftest import Topics
from tests.system.broker.proxy import ADD_PARTITIONS, END, PRODUCE, Frames
from vmfstream.connectors.kafka.options import ClientOptions, parse_address
from vmfstream.connectors.kafka.publisher import Deadlines, KafkaPublisher, OutgoingMessage
from vmfstream.connectors.kafka.sending_process import PublishingProcess
from vmfstream.errors import VmfstreamError

pytestmark = pytest.mark.broker

EPOCHS, MESSAGES = 14, 4
PROMPT = Deadlines(request_ms=1000, delivery_ms=4000)


@pytest.mark.parametrize("kind", [KafkaPublisher, PublishingProcess])
def test_epochs_are_whole_though_requests_are_late_and_answers_lost(
    broker: Broker, topics: Topics, kind: type[KafkaPublisher] | type[PublishingProcess]
) -> None:
    def messages(epoch: int, pause: float) -> Iterator[OutgoingMessage]:
        """Those of an epoch, with a pause in which what is late comes."""
        for i in range(MESSAGES):
            yield OutgoingMessage(None, b"%d %d" % (epoch, i))
            if i == 1:
                time.sleep(pause)

    topic = topics(2)
    address = parse_address(f"kafka://{':'.join(map(str, broker.proxied))}/{topic.name}")
    kinds = [(api, fault) for api in (PRODUCE, ADD_PARTITIONS, END) for fault in ("answer lost", "late")]
    with closing(Frames(broker.proxied, broker.behind)) as proxy:
        sender, done, failures = None, 0, 0
        while done < EPOCHS:
            try:
                if sender is None:
                    sender = kind(address, ClientOptions(), "run", PROMPT)
                    (done,) = sender.delivered()
                    continue
                late = proxy.happened["late"] - proxy.happened["came late"]
                if not late and kinds:
                    api, fault = kinds.pop()
                    proxy.faults[api] = fault
                sender.send(done + 1, messages(done + 1, 2.5 if late else 0.0))
                done += 1
            except VmfstreamError:
                failures += 1
                sender = None
                proxy.faults.clear()
                assert failures < 50
        time.sleep(2.0)  # what is late comes
        if sender is not None:
            sender.close()
    found = Counter(message.value for message in topic.read())
    assert proxy.happened["came late"] == proxy.happened["answer lost"] == 3
    assert found == Counter(b"%d %d" % (epoch, i) for epoch in range(1, EPOCHS + 1) for i in range(MESSAGES))


def test_an_undisturbed_publisher_keeps_its_producer(
    broker: Broker, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [0.0]
    ahead = SimpleNamespace(monotonic=lambda: time.monotonic() + passed[0])
    for module in ("kafka_metric", "stats.sensor"):
        monkeypatch.setattr(f"kafka.metrics.{module}.time", ahead)  # the clock of what the client counts

    def messages(epoch: int, seconds: float) -> Iterator[OutgoingMessage]:
        """One message, which is made when so many seconds have passed since the first."""
        passed[0] = seconds
        yield OutgoingMessage(None, b"%d" % epoch)

    topic = topics(1)
    address = parse_address(f"kafka://{broker.address}/{topic.name}")
    with closing(KafkaPublisher(address, ClientOptions(), "run")) as sender:
        producer = sender._producer
        for epoch, seconds in enumerate((0.0, 20.0, 40.0, 70.0, 1e6), 1):
            sender.send(epoch, messages(epoch, seconds))
        assert sender._producer is producer
    assert [message.value for message in topic.read()] == [b"1", b"2", b"3", b"4", b"5"]
