"""Write to Kafka: documents of a source, and results of a run, each epoch exactly once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from kafka import KafkaProducer, TopicPartition
from kafka.errors import KafkaError, KafkaTimeoutError
from kafka.structs import OffsetAndMetadata
from numpy.typing import NDArray

from vmfstream.connectors.codecs import document_as_json
from vmfstream.connectors.kafka.client import explain_errors, known_topics, make_topics, open_consumer, open_producer
from vmfstream.connectors.kafka.options import ClientOptions, TopicAddress
from vmfstream.errors import InputError
from vmfstream.protocols import Codec, Source
from vmfstream.records import Document

COMPRESSIONS = ("gzip", "snappy", "lz4", "zstd")
"""Compressions of messages."""

_LARGEST = 900_000  # bytes of key, value and headers; brokers take a million by default
_HEAD = 100_000  # bytes kept of the value of a larger one
_OWN = "vmfstream."  # what names of headers begin with that a run adds
_SEEK_DISTANCE = 2000  # offsets up to which reading on is quicker than a seek
_SILENCE = 10.0  # seconds without a message after which the remaining ones count as deleted
_COUNTED_MS = 365 * 86_400_000  # a year; where the client begins to count anew its rates rise, though nothing happened
_BATCH = 2**18  # bytes that are sent at once
_PENDING = 8 * 2**20  # bytes sent after which the broker has to confirm before more follow


class Deadlines(NamedTuple):
    """How long sending may take; short, so that a run can end while the cluster does not answer.

    Attributes
    ----------
    step : seconds for a step of a transaction.
    request_ms, delivery_ms : milliseconds for a request, and for a message with all requests that it needs.
    transaction_ms : milliseconds after which the cluster ends a transaction of which it has heard nothing more.
    """

    step: float = 10.0
    request_ms: int = 5000
    delivery_ms: int = 10_000
    transaction_ms: int = 60_000


class OutgoingMessage(NamedTuple):
    """One message to send: bytes of a key and a value, headers, and the topic, empty for the publisher's first.

    It goes to the ``partition`` of that number, counted round where the topic has fewer; if that is None the key
    decides. The client sends no message without key and value, and no header without a value: such values are sent
    empty.
    """

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    topic: str = ""
    partition: int | None = None


class KafkaPublisher:
    """Send messages to topics so that readers of committed messages see those of each epoch exactly once.

    The messages of an epoch to all topics and its number (as metadata of consumer groups of the publisher's own, one
    for each topic) are one transaction of the broker: after a crash ``delivered`` returns the last epochs that arrived,
    and what arrived in some topics is not sent there again.

    Parameters
    ----------
    address : TopicAddress
        With one or more topics.
    options : ClientOptions
    name : str
        What names of transactions and groups begin with; one for each run file.
    deadlines : Deadlines, optional

    Raises
    ------
    InputError
        If the cluster cannot be used; raised by every method.
    """

    def __init__(
        self, address: TopicAddress, options: ClientOptions, name: str, deadlines: Deadlines | None = None
    ) -> None:
        self._address, self._options, self._deadlines = address, options, deadlines or Deadlines()
        self._groups = {topic: f"{name}-{topic}" for topic in address.topics}
        self._delivered: dict[str, int] | None = None
        self._name = "-".join([name, *address.topics])
        self._open()

    def _open(self) -> None:
        """Begin under a new producer epoch: the cluster refuses what still comes of an older one."""
        there = known_topics(self._address, self._options)
        for topic in self._address.topics:
            if topic not in there:  # the client would wait for it, and report no answer
                raise InputError(f"there is no topic {topic} at {self._address.url}; make it again")
        with explain_errors(self._address, self._options):
            self._producer = open_producer(
                self._address,
                self._options,
                transactional_id=self._name,
                batch_size=_BATCH,
                linger_ms=20,
                metrics_sample_window_ms=_COUNTED_MS,
                max_block_ms=self._deadlines.delivery_ms,
                delivery_timeout_ms=self._deadlines.delivery_ms,
                request_timeout_ms=self._deadlines.request_ms,
                transaction_timeout_ms=self._deadlines.transaction_ms,
            )
            self._producer.init_transactions()
        self._repeated = False

    def delivered(self) -> Sequence[int]:
        """Return the last epochs that were sent to topics, each number once, the smallest first; 0 before the first."""
        return sorted(set(self._marks().values()))

    def forget_after(self, epoch: int) -> int:
        """Let what was sent of epochs after ``epoch`` count as not sent; return the last of them, ``epoch`` if none."""
        marks = self._marks()
        last = max(epoch, *marks.values())
        later = [topic for topic, mark in marks.items() if mark > epoch]
        if later:
            with self._transaction():
                self._mark_as_sent(epoch, later)
            marks |= dict.fromkeys(later, epoch)
            self._repeated = True
        return last

    def _marks(self) -> dict[str, int]:
        """Return the last epoch that was sent to each topic."""
        if self._delivered is None:
            self._delivered = {topic: self._mark(topic, group) for topic, group in self._groups.items()}
        return self._delivered

    def _mark(self, topic: str, group: str) -> int:
        with explain_errors(self._address, self._options):
            consumer = open_consumer(self._address, self._options, group_id=group)
            try:
                found = consumer.committed(TopicPartition(topic, 0), metadata=True, timeout_ms=30_000)
            finally:
                consumer.close(autocommit=False)
        return 0 if found is None or found.offset < 0 else int(found.metadata)

    def send(
        self, epoch: int, messages: Iterable[OutgoingMessage], rest: Callable[[], Iterable[OutgoingMessage]] = tuple
    ) -> int:
        """Send the ``messages`` of an ``epoch``, all or none; return how many there were.

        Topics that have got the epoch already are left out. ``rest`` is called when the messages are sent and none
        counts yet, and returns further ones; if it raises an error none counts.
        """
        if self._repeated:
            with suppress(KafkaError):
                self.close()
            self._open()
        began, closed = time.monotonic(), self._closed_rate()
        marks = self._marks()
        counts = dict.fromkeys([topic for topic, mark in marks.items() if mark < epoch], 0)
        with self._transaction():
            self._send_all(messages, counts)
            self._mark_as_sent(epoch, counts)
            paused = time.monotonic()
            further = rest()
            began += time.monotonic() - paused
            self._send_all(further, counts)
        marks |= dict.fromkeys(counts, epoch)
        # a request may have been sent twice; the first of the two may come late, and end or spoil the next transaction:
        # before KIP-890 the cluster cannot tell transactions of one producer epoch apart
        slow = time.monotonic() - began > self._deadlines.request_ms / 1000
        self._repeated = slow or self._closed_rate() > closed
        return sum(counts.values())

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Let what is sent inside count at the end, or not at all."""
        with explain_errors(self._address, self._options):
            self._producer.begin_transaction()
            try:
                yield
                _call_within(self._deadlines.step, self._producer.commit_transaction)
            except BaseException:
                self._abandon()
                raise

    def _mark_as_sent(self, epoch: int, topics: Iterable[str]) -> None:
        """Note in the open transaction that ``epoch`` is the last one that was sent to ``topics``."""
        for topic in topics:
            offsets = {TopicPartition(topic, 0): OffsetAndMetadata(epoch, str(epoch), -1)}
            send_offsets = self._producer.send_offsets_to_transaction
            _call_within(self._deadlines.step, send_offsets, offsets, self._groups[topic])

    def _send_all(self, messages: Iterable[OutgoingMessage], counts: dict[str, int]) -> None:
        """Send messages to the topics of ``counts``, and count them there."""
        first = self._address.topics[0]
        bounded = _BoundedSender(self._producer, first, self._deadlines.step)
        partitions = {topic: len(self._producer.partitions_for(topic)) for topic in counts}
        for message in messages:
            topic = message.topic or first
            if topic in counts:
                key, value, headers, *_ = sendable(message)
                at = message.partition
                partition = None if at is None else at % partitions[topic]
                bounded.send(value, topic, key=key, headers=headers, partition=partition)
                counts[topic] += 1
        bounded.wait()

    def _closed_rate(self) -> float:
        """Return how often connections were closed in `_COUNTED_MS`; it rises when one is, and only then."""
        return float(self._producer.metrics()["producer-metrics"]["connection-close-rate"])

    def close(self) -> None:
        """Close the connection."""
        self._producer.close(timeout=10)

    def _abandon(self) -> None:
        """Drop what is not sent; the next publisher of this name ends the transaction.

        A normal ``close`` would first wait for messages that the cluster does not accept, and fail again when the
        client is garbage-collected.
        """
        self._producer._sender.force_close()
        with suppress(KafkaError):
            self._producer.close(timeout=1)


class _BoundedSender:
    """Send to one topic, or others, and wait for confirmations every 8 MiB, since the client's own buffer has no limit.

    Errors of messages are raised by the next ``wait``, which lasts at most ``patience`` seconds.
    """

    def __init__(self, producer: KafkaProducer, topic: str, patience: float) -> None:
        self._producer, self._topic, self._patience = producer, topic, patience
        self._open: list[Any] = []
        self._bytes = 0

    def send(self, value: bytes | None, topic: str | None = None, **message: Any) -> None:
        """Send a message, to the one topic or another."""
        self._open.append(self._producer.send(topic or self._topic, value, **message))
        self._bytes += len(value or b"")
        if self._bytes > _PENDING:
            self.wait()

    def wait(self) -> None:
        """Wait until all messages are confirmed."""
        self._producer.flush(timeout=self._patience)
        for future in self._open:
            if not future.succeeded():  # much cheaper than `get`, which nearly all need not
                future.get(timeout=self._patience)
        self._open.clear()
        self._bytes = 0


def _call_within(seconds: float, call: Callable[..., Any], *arguments: Any) -> None:
    """Make a call that may block; raise KafkaTimeoutError after ``seconds``, although the call may succeed later."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            call(*arguments)
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise KafkaTimeoutError(f"no answer within {seconds:g} s")
    if failures:
        raise failures[0]


def read_up_to(part: NDArray[np.object_], offset: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each message the largest offset of its partition that was read from it on.

    Parameters
    ----------
    part, offset : (N,) arrays
        Places of messages in the order in which they were read.

    Returns
    -------
    (N,) array
        A number that no partition reaches where a later message has a smaller offset: the topic was made again since.

    Examples
    --------
    >>> read_up_to(np.array(["a:0", "a:0", "b:0", "a:0"], object), np.array([1, 3, 9, 5])).tolist()
    [5, 5, 9, 5]
    >>> read_up_to(np.array(["a:0", "a:0"], object), np.array([3, 0])).tolist() == [NEVER, 0]
    True
    """
    last = offset.copy()
    for name in set(part.tolist()):
        at = np.flatnonzero(part == name)
        later = offset[at][::-1]
        made_again = later > np.minimum.accumulate(later)
        last[at] = np.where(made_again, NEVER, np.maximum.accumulate(later))[::-1]
    return last


NEVER = 2**62
"""An offset that no partition reaches."""


def reread(
    address: TopicAddress,
    options: ClientOptions,
    wanted: Mapping[str, Sequence[int]],
    last: Mapping[str, int] = MappingProxyType({}),
) -> Iterator[tuple[str, int, Any | None]]:
    """Read single messages by their offsets.

    Parameters
    ----------
    address : TopicAddress
    options : ClientOptions
    wanted : mapping of str to sequence of int
        Offsets by part (``topic:partition``).
    last : mapping of str to int
        The largest offset of a part that was read from these messages on, see `read_up_to`; by default that of the
        messages themselves. A part that does not reach it is of a topic that was made again.

    Yields
    ------
    part, offset, record
        By part and offset; the record is None where the cluster has deleted it.
    """
    with closing(MessageReader(address, options)) as reader:
        yield from reader.read_all(wanted, last)


class MessageReader:
    """Reads single messages by their offsets over a connection that stays open; arguments as in `reread`."""

    def __init__(self, address: TopicAddress, options: ClientOptions) -> None:
        self._address, self._options = address, options
        with explain_errors(address, options):
            self._consumer = open_consumer(address, options, group_id=None)

    def read_all(
        self, wanted: Mapping[str, Sequence[int]], last: Mapping[str, int] = MappingProxyType({})
    ) -> Iterator[tuple[str, int, Any | None]]:
        """Do as `reread`."""
        for part, offsets in wanted.items():
            with explain_errors(self._address, self._options):
                found = self.read(part, sorted(offsets), last.get(part, -1))
                yield from ((part, offset, record) for offset, record in found)

    def read(self, part: str, offsets: Sequence[int], last: int = -1) -> Iterator[tuple[int, Any | None]]:
        """Yield the messages of a ``part`` at ascending ``offsets``.

        All are gone if it reaches neither the largest of these nor ``last``: its topic was made again.
        """
        topic, _, number = part.rpartition(":")
        tp = TopicPartition(topic, int(number))
        numbers = self._consumer.partitions_for_topic(topic)
        if numbers and tp.partition not in numbers:
            yield from ((offset, None) for offset in offsets)
            return
        self._consumer.assign([tp])
        oldest = self._consumer.beginning_offsets([tp])[tp]
        if max(offsets[-1], last) >= self._consumer.end_offsets([tp])[tp]:
            oldest = offsets[-1] + 1
        yield from ((offset, None) for offset in offsets if offset < oldest)
        left = [offset for offset in reversed(offsets) if offset >= oldest]
        reached = -_SEEK_DISTANCE - 1
        since = time.monotonic()
        while left and time.monotonic() - since < _SILENCE:
            if left[-1] - reached > _SEEK_DISTANCE:
                reached = left[-1]
                self._consumer.seek(tp, reached)
            for record in self._consumer.poll(timeout_ms=1000, max_records=1000).get(tp, ()):
                since = time.monotonic()
                reached = record.offset + 1
                while left and left[-1] < record.offset:
                    yield left.pop(), None
                if left and left[-1] == record.offset:
                    yield left.pop(), record
        yield from ((offset, None) for offset in reversed(left))

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close(autocommit=False, timeout_ms=1000)


def publish_documents(
    source: Source,
    codec: Codec,
    address: TopicAddress,
    options: ClientOptions,
    *,
    rate: float | None = None,
    partitions: int = 4,
    compression: str | None = None,
    observe: Callable[[int, int], None] = lambda sent, rejected: None,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[int, int]:
    """Send the documents of a source as JSON messages, with the id as key and the time as timestamp.

    Parameters
    ----------
    source, codec
        Where documents come from, and how they are decoded.
    address : TopicAddress
        With one topic, which is made if it does not exist.
    options : ClientOptions
        Of the client that writes there.
    rate : float, optional
        Documents per second; by default as fast as possible.
    partitions : int
        Number of partitions, if the topic is made.
    compression : one of ``COMPRESSIONS``, optional
    observe : callable
        Called with the numbers of documents sent and rejected so far.
    stop : callable
        Asked between messages; nothing more is sent once it returns true.

    Returns
    -------
    sent, rejected : int
        ``rejected`` counts messages of the source that are no documents.

    Raises
    ------
    InputError
        If the cluster cannot be used or refuses a message.
    """
    (topic,) = address.topics
    make_topics(address, options, partitions)
    sent = rejected = 0
    began = time.monotonic()
    with explain_errors(address, options, topic):
        producer = open_producer(address, options, linger_ms=20, batch_size=256 * 1024, compression_type=compression)
        try:
            bounded = _BoundedSender(producer, topic, 150.0)
            while not (source.exhausted or stop()):
                for message in source.poll(500, 0.2):
                    record = codec.decode(message)
                    if not isinstance(record, Document):
                        rejected += 1
                        continue
                    bounded.send(document_as_json(record), key=record.id.encode(), timestamp_ms=_milliseconds(record))
                    sent += 1
                    if rate is not None and (ahead := sent / rate - (time.monotonic() - began)) > 0:
                        time.sleep(ahead)
                observe(sent, rejected)
            bounded.wait()
        finally:
            producer.close(timeout=10)
    return sent, rejected


def _milliseconds(document: Document) -> int | None:
    """Return a document's time as the timestamp of its message in ms; Kafka has no times before 1970.

    It is None, which is that of sending, for a document without a time.
    """
    return None if document.time is None else max(int(document.time.timestamp() * 1000), 0)


def sendable(message: OutgoingMessage) -> OutgoingMessage:
    """Return a message as the client and the cluster take it, with no more than they do.

    Of one that is too long the value is cut, and ``vmfstream.bytes`` has its length; where key and headers alone are
    too long, those of the original are left out, and ``vmfstream.left_out`` says so.

    Examples
    --------
    >>> sendable(OutgoingMessage(None, None, [("a", None)]))[:3]
    (None, b'', [('a', b'')])
    """
    headers = [(name, b"" if value is None else value) for name, value in message.headers]
    key, value = message.key, message.value or b""
    attached = len(key or b"") + sum(len(name) + len(body) for name, body in headers)
    if attached + len(value) > _LARGEST:
        if len(value) > _HEAD:
            headers.append((f"{_OWN}bytes", b"%d" % len(value)))
            value = value[:_HEAD]
        if attached + len(value) > _LARGEST:
            key, headers = None, [one for one in headers if one[0].startswith(_OWN)]
            headers.append((f"{_OWN}left_out", b"true"))
    absent = message.value is None and key is not None
    return message._replace(key=key, value=None if absent else value, headers=headers)
