"""Ranges of offsets of Kafka topics, read in any process and in any order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import OffsetOutOfRangeError

from vmfstream.connectors.kafka.client import explained, open_consumer
from vmfstream.connectors.kafka.columns import Columns
from vmfstream.connectors.kafka.options import ClientOptions, Place
from vmfstream.errors import InputError
from vmfstream.records import Message, Range

_ALL = 10**9
_PATIENCE_MS = 500


class KafkaRanges:
    """Reads ranges; its connection is made in the process that reads, and kept there.

    Parameters
    ----------
    place, options : where, and how to connect; the options travel with it, passwords included.
    text : whether messages are texts and not JSON.
    max_message_bytes : int
        Of longer messages only the beginning is kept.
    """

    def __init__(self, place: Place, options: ClientOptions, text: bool, max_message_bytes: int) -> None:
        self._place, self._options = place, options
        self._text, self._max_message_bytes = text, max_message_bytes

    def read(self, wanted: Range, limit: int) -> tuple[Sequence[Message], int]:
        """Return messages of a range and the offset after them, before its end if they have ``limit`` bytes.

        A cluster that does not answer is waited for.

        Raises
        ------
        InputError
            If messages of the range are gone, or the cluster refuses us.
        """
        topic, _, number = wanted.part.rpartition(":")
        tp = TopicPartition(topic, int(number))
        consumer = _consumer(self._place, _Options(self._options))
        messages: list[Message] = []
        held = 0
        with explained(self._place, self._options):
            consumer.assign([tp])
            consumer.seek(tp, wanted.first)
            while consumer.position(tp) < wanted.last:
                try:
                    found = consumer.poll(timeout_ms=_PATIENCE_MS, max_records=_ALL)
                except OffsetOutOfRangeError:
                    raise InputError(
                        f"messages of {wanted.part} between offset {wanted.first} and {wanted.last} are gone: "
                        "somebody deleted them while they were read"
                    ) from None
                part = Columns.of(found.get(tp, ())).between(wanted.first, wanted.last)
                total = held + np.cumsum(part.sizes(self._max_message_bytes))
                enough = int(np.searchsorted(total, limit)) + 1
                messages += part.messages(wanted.part, self._text, self._max_message_bytes)[:enough]
                if enough <= len(part):
                    return messages, messages[-1].offset + 1
                held = int(total[-1]) if len(part) else held
        return messages, wanted.last


class _Options:
    """Client options that can be told apart; the same ones share a connection."""

    def __init__(self, options: ClientOptions) -> None:
        self.options = options
        self._key = repr(sorted({**options.shared, **options.reading}.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Options) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=2)
def _consumer(place: Place, options: _Options) -> KafkaConsumer:
    """Connect, once per process; connecting takes as long as reading thousands of messages."""
    with explained(place, options.options):
        return open_consumer(place, options.options, group_id=None)
