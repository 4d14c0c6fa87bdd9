"""Batches read as columns hold what the client library finds in them, record by record."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import Fetcher
from kafka.errors import CorruptRecordError
from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder

from vmfstream.connectors.kafka_blocks import Block, blocks_of, in_blocks
from vmfstream.connectors.kafka_order import Partition, in_order
from vmfstream.records import Message

TP = TopicPartition("news", 3)
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4

Row = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


def batch(rows: list[Row], first: int = 0, packed: int = 0, magic: int = 2) -> bytes:
    """A batch of (time, key, value, headers), as a producer sends it."""
    builder = MemoryRecordsBuilder(magic=magic, compression_type=packed, batch_size=10**7)
    for time, key, value, headers in rows:
        assert builder.append(time, key, value, headers) is not None
    builder.close()
    body = bytearray(builder.buffer())
    if magic == 2:
        body[:8] = first.to_bytes(8, "big")  # which the broker does
    return bytes(body)


def fetched(body: bytes, *, first: int = 0, blocks: bool, **how: Any) -> Any:
    """What a fetcher makes of an answer."""
    fetcher = SimpleNamespace(PartitionRecords=Fetcher.PartitionRecords)
    if blocks:
        in_blocks(SimpleNamespace(_fetcher=fetcher))
    return fetcher.PartitionRecords(first, TP, MemoryRecords(body), **how)


def plain(body: bytes, first: int = 0) -> list[tuple[int, int, bytes]]:
    return [(one.offset, one.timestamp, one.value or b"") for one in fetched(body, first=first, blocks=False).take()]


def columns(body: bytes, first: int = 0) -> list[tuple[int, int, bytes]]:
    found = []
    for block in blocks_of(fetched(body, first=first, blocks=True).take()):
        block = block.between(first, 2**62)
        values = [block.body[a : a + n] for a, n in zip(block.start.tolist(), block.length.tolist(), strict=True)]
        found += list(zip(block.offset.tolist(), block.time.tolist(), values, strict=True))
    return found


some_bytes = st.none() | st.binary(max_size=300)
row = st.tuples(
    st.integers(0, 2**45), some_bytes, some_bytes, st.lists(st.tuples(st.text(max_size=5), some_bytes), max_size=2)
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(row, min_size=1, max_size=9), min_size=1, max_size=3), st.sampled_from([0, GZIP, LZ4, ZSTD]))
def test_records_are_those_of_the_library(batches: list[list[Any]], packed: int) -> None:
    body, at = b"", 5
    for rows in batches:
        body += batch(rows, at, packed)
        at += len(rows)
    assert columns(body) == plain(body)
    assert len(columns(body)) == at - 5
    assert columns(body, at - 2) == plain(body, at - 2)


def test_an_answer_is_read_to_the_same_offset() -> None:
    body = batch([(1, None, b"a", []), (2, None, b"b", [])]) + batch([(3, None, b"c", [])], 2)
    ours, theirs = (fetched(body, blocks=blocks) for blocks in (True, False))
    assert len(ours.take()) == 2
    assert len(theirs.take()) == 3
    assert ours.next_fetch_offset == theirs.next_fetch_offset == 3


def test_batches_of_the_old_format_are_read_too() -> None:
    body = batch([(1, None, b"a", []), (2, b"k", None, [])], magic=1)
    assert columns(body) == plain(body) == [(0, 1, b"a"), (1, 2, b"")]


def test_a_damaged_batch_is_refused() -> None:
    body = bytearray(batch([(1, None, b"a" * 50, [])]))
    body[-10] ^= 1
    with pytest.raises(CorruptRecordError, match="crc"):
        fetched(bytes(body), blocks=True).take()


def test_a_batch_that_lies_about_lengths_is_explained_by_the_library() -> None:
    body = bytearray(batch([(1, None, b"a" * 50, [])]))
    body[61] = 0x7F  # the record's length
    for blocks in (True, False):
        part = fetched(bytes(body), blocks=blocks)
        part.check_crcs = False
        with pytest.raises(CorruptRecordError):
            part.take()


def test_aborted_transactions_are_left_out() -> None:
    builder = MemoryRecordsBuilder(
        magic=2, compression_type=0, batch_size=10**6, transactional=True, producer_id=7, producer_epoch=0,
        base_sequence=0,
    )  # fmt: skip
    builder.append(1, None, b"never", [])
    builder.close()
    body = bytes(builder.buffer()) + batch([(2, None, b"good", [])], 1)
    aborted = [SimpleNamespace(first_offset=0, producer_id=7)]
    part = fetched(body, blocks=True, isolation_level=1, aborted_transactions=aborted)
    assert [block.body[block.start[0] :][:4] for block in blocks_of(part.take())] == [b"good"]


def test_a_library_without_that_door_is_left_as_it_is() -> None:
    stranger: Any = SimpleNamespace()
    assert in_blocks(stranger) is stranger
    assert not vars(stranger)


def test_this_library_has_the_door() -> None:
    assert callable(Fetcher.PartitionRecords)
    assert "_fetcher" in KafkaConsumer.__init__.__code__.co_names


# --- messages and their order


def block(times: list[int], first: int = 0, size: int = 3) -> Block:
    n = len(times)
    lengths = np.full(n, size, np.int64)
    return Block(b"x" * (n * size), np.arange(first, first + n), np.array(times), np.arange(n) * size, lengths)


def test_messages_have_their_time_and_too_long_ones_a_beginning() -> None:
    made = block([0, -1, 1_700_000_000_123, 10**15], size=2000).messages("t:0", False, 2000)
    assert [one.time for one in made] == [datetime(1970, 1, 1), None, datetime(2023, 11, 14, 22, 13, 20, 123000), None]
    assert {len(one.value) for one in made} == {2000}
    assert {one.oversized for one in made} == {None}
    long = block([5], size=2001).messages("t:0", True, 2000)
    assert (long[0].value, long[0].oversized) == ({"text": b"x" * 1024}, 2001)
    for text in (True, False):
        both = Block(b"x" * 3000, np.arange(2), np.zeros(2, np.int64), np.array([0, 10]), np.array([10, 2500]))
        made = both.messages("t:0", text, 2000)
        assert both.sizes(2000).tolist() == [one.size for one in made]


def taken(parts: list[Partition], most: int) -> list[tuple[str, int]]:
    return [(one.part, one.offset) for one in in_order(parts, most)]


def filled(name: str, *blocks: Block, end: int = 0, now: int = 10**13) -> Partition:
    part = Partition(name)
    part.place(int(blocks[0].offset[0]), end)
    for one in blocks:
        part.add(one, now, False, 100)
    return part


def test_messages_of_partitions_come_by_time_then_by_partition() -> None:
    parts = [filled("a", block([1, 5, 5]), block([9], 3)), filled("b", block([2, 5, 7]))]
    assert taken(parts, 4) == [("a", 0), ("b", 0), ("a", 1), ("a", 2)]
    assert taken(parts, 10) == [("b", 1), ("b", 2), ("a", 3)]
    assert taken(parts, 10) == []
    assert [part.bytes for part in parts] == [0, 0]


def test_nothing_later_than_what_may_still_come_is_given() -> None:
    parts = [filled("a", block([1, 5, 9])), filled("b", block([2, 6]), end=100)]
    assert taken(parts, 10) == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert taken(parts, 10) == []  # "b" may have messages of the time 7


def test_times_never_run_back_nor_ahead_of_now() -> None:
    parts = [filled("a", block([50, 10, 999, 60]), now=100), filled("b", block([40, 55, 100]), now=100)]
    assert taken(parts, 10) == [("b", 0), ("a", 0), ("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 2)]


def test_the_middle_of_a_batch_is_no_beginning() -> None:
    part = Partition("a")
    part.place(2, 0)
    part.add(block([1, 2, 3, 4]), 100, False, 100)
    assert taken([part], 10) == [("a", 2), ("a", 3)]
    assert part.next == 4


def test_what_waits_is_forgotten() -> None:
    part = filled("a", block([1, 2]))
    assert part.bytes == sum(Message("a", i, b"xxx").size for i in range(2))
    part.forget()
    assert (part.bytes, taken([part], 5)) == (0, [])


def test_times_of_messages_are_taken_for_utc() -> None:
    from vmfstream.connectors.codecs import FieldCodec
    from vmfstream.records import Document

    (made,) = block([1_700_000_000_000]).messages("t:0", True, 100)
    document = FieldCodec().decode(made)
    assert isinstance(document, Document)
    assert document.time == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
