"""Requests of transactions come late or twice, and answers are lost: no epoch is missing, doubled or torn."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pytest

from tests.system.broker.cluster import Broker
from tests.system.broker.conftest import Topics
from tests.system.broker.proxy import Proxy
from vmfstream.connectors.kafka import publisher
from vmfstream.connectors.kafka.options import ClientOptions, parse_address
from vmfstream.connectors.kafka.publisher import KafkaPublisher, OutgoingMessage
from vmfstream.errors import VmfstreamError

pytestmark = pytest.mark.broker

PRODUCE, ADD_PARTITIONS, END = 0, 24, 26
EPOCHS, MESSAGES = 14, 4
PROMPT = {"max_block_ms": 4000, "delivery_timeout_ms": 4000, "request_timeout_ms": 1000, "linger_ms": 5}


class Frames(Proxy):
    """Knows the requests of Kafka's protocol; ``faults`` has for kinds of them what happens to the next one, once."""

    def __init__(self, *doors: Any) -> None:
        self.faults: dict[int, str] = {}
        self.happened = Counter[str]()
        super().__init__(*doors)

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        """Pass requests on: as they are, with the answer lost, or long after the client has asked again."""
        if one.getpeername()[1] == self._target[1]:
            return super()._pass(one, other)
        with suppress(OSError, struct.error):
            while True:
                frame = _frame(one)
                fault = self.faults.pop(struct.unpack_from(">h", frame, 4)[0], "")
                self.happened[fault] += 1
                if fault == "answer lost":
                    other.sendall(frame)
                    time.sleep(0.2)
                    break
                if fault == "late":  # by a connection of its own, as what waited in a network
                    threading.Thread(target=self._later, args=(frame,), daemon=True).start()
                    break
                other.sendall(frame)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _later(self, frame: bytes) -> None:
        time.sleep(1.5)
        with suppress(OSError), socket.create_connection(self._target, 5.0) as far:
            far.sendall(frame)
            far.recv(65536)
            self.happened["came late"] += 1


def _frame(one: socket.socket) -> bytes:
    head = _bytes(one, 4)
    return head + _bytes(one, *struct.unpack(">i", head))


def _bytes(one: socket.socket, count: int) -> bytes:
    body = b""
    while len(body) < count:
        piece = one.recv(count - len(body))
        if not piece:
            raise OSError("closed")
        body += piece
    return body


def test_epochs_are_whole_though_requests_are_late_and_answers_lost(
    broker: Broker, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "_PROMPT", PROMPT)

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
                    sender = KafkaPublisher(address, ClientOptions(), "run")
                    done = sender.delivered()
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


def test_an_undisturbed_publisher_keeps_its_producer(broker: Broker, topics: Topics) -> None:
    topic = topics(1)
    address = parse_address(f"kafka://{broker.address}/{topic.name}")
    with closing(KafkaPublisher(address, ClientOptions(), "run")) as sender:
        producer = sender._producer
        for epoch in range(1, 4):
            sender.send(epoch, [OutgoingMessage(None, b"%d" % epoch)])
        assert sender._producer is producer
    assert [message.value for message in topic.read()] == [b"1", b"2", b"3"]
