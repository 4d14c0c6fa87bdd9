"""Inspect topics without following them: their offsets, the lag of a run, and whether a message can be read."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from vmfstream.connectors import open_source
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.kafka.client import explain_errors, open_consumer
from vmfstream.connectors.kafka.options import ClientOptions, TopicAddress
from vmfstream.protocols import Live
from vmfstream.records import Document, Message, Position, Rejected

_WAIT = 5.0  # seconds for one message
_BACK = 100  # offsets to go back where the newest one holds no message but the end of a transaction


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The offsets of a partition: ``oldest`` is the first there is, ``next`` the one after the newest."""

    oldest: int
    next: int


def offset_ranges(address: TopicAddress, options: ClientOptions, topics: Mapping[str, int]) -> dict[str, OffsetRange]:
    """Return the offsets of all partitions of topics, by part (``topic:partition``).

    Parameters
    ----------
    address : TopicAddress
    options : ClientOptions
        Of the client that asks the cluster at ``address``.
    topics : mapping of str to int
        Topics with their numbers of partitions.

    Raises
    ------
    InputError
        If the cluster does not answer.
    """
    from kafka import TopicPartition

    parts = [TopicPartition(topic, number) for topic, count in topics.items() for number in range(count)]
    with explain_errors(address, options):
        consumer = open_consumer(address, options, group_id=None)
        try:
            oldest, newest = consumer.beginning_offsets(parts), consumer.end_offsets(parts)
        finally:
            consumer.close(autocommit=False, timeout_ms=1000)
    return {f"{tp.topic}:{tp.partition}": OffsetRange(oldest[tp], newest[tp]) for tp in parts}


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a position is behind: messages that wait, and that were deleted unread; topics that end before it."""

    waiting: int
    gone: int
    made_again: Sequence[str]


def lag(ranges: Mapping[str, OffsetRange], position: Position) -> Lag:
    """Return how far a position is behind what the partitions hold.

    Examples
    --------
    >>> lag({"a:0": OffsetRange(5, 9), "b:0": OffsetRange(0, 9), "a:1": OffsetRange(0, 9)}, {"a:0": 2, "b:0": 12})
    Lag(waiting=22, gone=3, made_again=['b'])
    """
    again = {part for part, one in ranges.items() if position.get(part, 0) > one.next}
    known = {part: position.get(part, one.oldest) for part, one in ranges.items() if part not in again}
    waiting = sum(one.next - max(known.get(part, 0), one.oldest) for part, one in ranges.items())
    gone = sum(max(ranges[part].oldest - offset, 0) for part, offset in known.items())
    return Lag(waiting, gone, sorted({part.rpartition(":")[0] for part in again}))


def newest_message(
    address: TopicAddress,
    options: ClientOptions,
    codec: FieldCodec,
    ranges: Mapping[str, OffsetRange],
    schema_registry: str | None = None,
) -> Document | Rejected | None:
    """Read and decode the newest message of one partition; None if there is no message.

    Parameters
    ----------
    address : TopicAddress
    options : ClientOptions
    codec : FieldCodec
    ranges : mapping of str to OffsetRange
        Offsets by part, from `offset_ranges`.
    schema_registry : str, optional
        URL of the registry whose schemas say what messages hold.

    Raises
    ------
    InputError
        If the cluster cannot be read.
    """
    newest = {part: one.next - 1 for part, one in ranges.items() if one.next > one.oldest}
    if not newest:
        return None
    earlier = {part: max(one.next - _BACK, one.oldest) for part, one in ranges.items()}
    how = {"options": options, "on_gap": "latest", "attach": codec.attached, "schema_registry": schema_registry}
    with closing(open_source(address.url, **how)) as source:
        assert isinstance(source, Live)
        for begin in (newest, earlier):
            position = {part: one.next for part, one in ranges.items()} | begin
            source.seek(position)
            messages: list[Message] = []
            deadline = time.monotonic() + _WAIT
            while not messages and source.lag(position) and time.monotonic() < deadline:
                messages = list(source.poll(_BACK * len(ranges), 0.1))
            if messages:
                return codec.decode(messages[-1])
    return None
