"""Read ranges of offsets of Kafka topics, in any process and in any order."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import LogTruncationError, OffsetOutOfRangeError

from vmfstream.connectors.kafka.client import explain_errors, open_consumer
from vmfstream.connectors.kafka.options import ClientOptions, TopicAddress
from vmfstream.connectors.kafka.partitions import RecordColumns
from vmfstream.errors import InputError, SourceAway
from vmfstream.records import Message, Range

log = logging.getLogger(__name__)

_ALL = 10**9
_PATIENCE_MS = 500


class KafkaRanges:
    """Read ranges of offsets; the connection is made in the process that reads, and kept there.

    Parameters
    ----------
    address : TopicAddress
    options : ClientOptions
        Pickled with the reader, passwords included.
    text : bool
        Whether messages are plain texts instead of JSON.
    max_message_bytes : int
        Longer messages keep their beginning only.
    attach : sequence of str
        Which of ``@key`` and ``@header.NAME`` to pass with messages.
    """

    def __init__(
        self,
        address: TopicAddress,
        options: ClientOptions,
        text: bool,
        max_message_bytes: int,
        attach: Sequence[str] = (),
    ) -> None:
        self._address, self._options = address, options
        self._text, self._max_message_bytes, self._attach = text, max_message_bytes, attach

    def read(self, wanted: Range, limit: int) -> tuple[Sequence[Message], int]:
        """Return messages of a range, about ``limit`` bytes at most, and the offset after the last of them.

        Waits while the cluster does not answer, also for the first connection.

        Raises
        ------
        InputError
            If messages of the range were deleted, or the cluster refuses access.
        """
        topic, _, number = wanted.part.rpartition(":")
        tp = TopicPartition(topic, int(number))
        consumer = self._connected()
        messages: list[Message] = []
        size = 0
        with explain_errors(self._address, self._options):
            consumer.assign([tp])
            consumer.seek(tp, wanted.first)
            while consumer.position(tp) < wanted.last:
                try:
                    found = consumer.poll(timeout_ms=_PATIENCE_MS, max_records=_ALL)
                except (LogTruncationError, OffsetOutOfRangeError):
                    raise InputError(
                        f"messages of {wanted.part} between offset {wanted.first} and {wanted.last} are gone: "
                        "they were deleted while the range was read"
                    ) from None
                part = RecordColumns.of(found.get(tp, ()), self._attach).between(wanted.first, wanted.last)
                total = size + np.cumsum(part.sizes(self._max_message_bytes))
                enough = int(np.searchsorted(total, limit)) + 1
                messages += part.messages(wanted.part, self._text, self._max_message_bytes)[:enough]
                if enough <= len(part):
                    return messages, messages[-1].offset + 1
                size = int(total[-1]) if len(part) else size
        return messages, wanted.last

    def _connected(self) -> KafkaConsumer:
        """Return the connection of this process; a worker may begin while the cluster is away."""
        while True:
            try:
                return _consumer(self._address, _HashableOptions(self._options))
            except SourceAway as error:
                log.warning("%s; waiting", error)


class _HashableOptions:
    """Client options with equality and a hash, so that readers with the same options share a connection."""

    def __init__(self, options: ClientOptions) -> None:
        self.options = options
        self._key = repr(sorted({**options.shared, **options.reading}.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _HashableOptions) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=2)
def _consumer(address: TopicAddress, options: _HashableOptions) -> KafkaConsumer:
    """Connect, once per process: connecting takes as long as reading thousands of messages."""
    with explain_errors(address, options.options):
        return open_consumer(address, options.options, group_id=None)
