"""A look at topics without following them: how much they hold, how far a log is, and whether a message can be read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from vmfstream.connectors.kafka.client import explained, open_consumer
from vmfstream.connectors.kafka.options import ClientOptions, Place
from vmfstream.connectors.kafka.source import KafkaSource
from vmfstream.protocols import Codec
from vmfstream.records import Document, Message, Position, Rejected

_WAIT = 5.0  # seconds for one message


@dataclass(frozen=True, slots=True)
class Extent:
    """What a partition holds: from the oldest offset to the one that comes next."""

    oldest: int
    next: int


def extents(place: Place, options: ClientOptions, topics: Mapping[str, int]) -> dict[str, Extent]:
    """Return what the partitions of topics hold, by part.

    Parameters
    ----------
    topics : mapping of str to int
        Numbers of partitions.

    Raises
    ------
    InputError
        If the cluster does not answer.
    """
    from kafka import TopicPartition

    parts = [TopicPartition(topic, number) for topic, count in topics.items() for number in range(count)]
    with explained(place, options):
        consumer = open_consumer(place, options, group_id=None)
        try:
            oldest, newest = consumer.beginning_offsets(parts), consumer.end_offsets(parts)
        finally:
            consumer.close(autocommit=False, timeout_ms=1000)
    return {f"{tp.topic}:{tp.partition}": Extent(oldest[tp], newest[tp]) for tp in parts}


def lag(held: Mapping[str, Extent], position: Position) -> tuple[int, int]:
    """Return how many messages lie behind a position, and how many before them are gone unread."""
    waiting = sum(one.next - max(position.get(part, one.oldest), one.oldest) for part, one in held.items())
    gone = sum(max(one.oldest - position.get(part, one.oldest), 0) for part, one in held.items())
    return waiting, gone


def sample(
    place: Place, options: ClientOptions, codec: Codec, held: Mapping[str, Extent]
) -> Document | Rejected | None:
    """Read and decode the newest message of some partition; None if there is none.

    Raises
    ------
    InputError
        If the cluster does not let us read.
    """
    newest = {part: one.next - 1 for part, one in held.items() if one.next > one.oldest}
    if not newest:
        return None
    ends = {part: one.next for part, one in held.items()} | newest
    with closing(KafkaSource(place.url, options=options, on_gap="latest")) as source:
        source.seek(ends)
        messages: list[Message] = list(source.poll(1, _WAIT))
    return codec.decode(messages[0]) if messages else None
