"""Record batches of Kafka as columns.

The client library makes two objects of every record, field by field, which takes longer than fetching it. Here it is
handed whole batches instead: it still sees to checksums, compression, transactions and positions, and what comes out as
the value of one record is a `Block` of all of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from kafka import KafkaConsumer
from kafka.record.default_records import DefaultRecord
from numba import njit
from numpy.typing import NDArray

from vmfstream.records import Message

_LATEST_MS = 253_402_300_799_000  # the last second that Python's times can hold
_HEAD = 1024  # bytes kept of a message that is too long
_OVERHEAD = 100  # what a message takes besides its bytes


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Records in the order of their offsets: times in ms since 1970, and values as parts of ``body`` from ``start`` on.

    A record without a value has the length 0.
    """

    body: bytes
    offset: NDArray[np.int64]
    time: NDArray[np.int64]
    start: NDArray[np.int64]
    length: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offset)

    def between(self, first: int, last: int) -> Block:
        """Return the records of these offsets, ``last`` excluded."""
        a, b = np.searchsorted(self.offset, [first, last]).tolist()
        if b - a == len(self):
            return self
        return Block(self.body, self.offset[a:b], self.time[a:b], self.start[a:b], self.length[a:b])

    def sizes(self, max_bytes: int) -> NDArray[np.int64]:
        """About how many bytes each takes as a message of which at most ``max_bytes`` are kept."""
        return np.where(self.length > max_bytes, _HEAD, self.length) + _OVERHEAD

    def messages(self, part: str, text: bool, max_bytes: int) -> list[Message]:
        """Return the records as messages; of those longer than ``max_bytes`` the beginning."""
        lengths, starts = self.length.tolist(), self.start.tolist()
        long = bool((self.length > max_bytes).any())
        kept = [min(n, _HEAD) if n > max_bytes else n for n in lengths] if long else lengths
        values: list[Any] = [self.body[a : a + n] for a, n in zip(starts, kept, strict=True)]
        if text:
            values = [{"text": value} for value in values]
        rows = zip(self.offset.tolist(), values, _moments(self.time), strict=True)
        if not long:
            return [Message(part, offset, value, moment) for offset, value, moment in rows]
        sizes = [n if n > max_bytes else None for n in lengths]
        return [Message(part, *row, size) for row, size in zip(rows, sizes, strict=True)]


def in_blocks(consumer: KafkaConsumer) -> KafkaConsumer:
    """Let a consumer return blocks; `blocks_of` reads what it returns, also where its library has changed."""
    fetcher = getattr(consumer, "_fetcher", None)
    parsed = getattr(fetcher, "PartitionRecords", None)
    if fetcher is not None and parsed is not None:
        fetcher.PartitionRecords = lambda offset, part, records, *rest, **how: parsed(
            offset, part, _Batches(records), *rest, **how
        )
    return consumer


def blocks_of(records: Sequence[Any]) -> Iterator[Block]:
    """Yield what a consumer has returned of one partition as blocks."""
    single: list[Any] = []
    for record in records:
        if not isinstance(record.value, Block):
            single.append(record)
            continue
        if single:
            yield _joined(single)
            single = []
        yield record.value
    if single:
        yield _joined(single)


class _Batches:
    """The batches of an answer, of which each has one record."""

    def __init__(self, records: Any) -> None:
        self._records = records

    def next_batch(self) -> Any:
        batch = self._records.next_batch()
        return batch if batch is None or batch.magic < 2 or batch.is_control_batch else _Batch(batch)


class _Batch:
    """A batch as the library knows it, whose only record is its block."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __iter__(self) -> Iterator[Any]:
        inner: Iterator[Any] = iter(self._batch)  # unpacks what is compressed
        block = _read(self._batch)
        if block is None:
            return inner
        whole = DefaultRecord(
            len(block.body),
            self._batch.last_offset,
            self._batch.max_timestamp,
            self._batch.timestamp_type,
            None,
            block,
            [],
        )
        return iter([whole] if len(block) else [])


def _read(batch: Any) -> Block | None:
    """Find the records of an unpacked batch; None if they are not where they should be, which the library explains."""
    body = bytes(batch._buffer)
    found, end = _records(np.frombuffer(body, np.uint8), batch._pos, batch.records_count)
    if end != len(body):
        return None
    time = batch.first_timestamp + found[0]
    if batch.timestamp_type == batch.LOG_APPEND_TIME:
        time[:] = batch.max_timestamp
    return Block(body, batch.base_offset + found[1], time, found[2], found[3])


@njit(cache=True, nogil=True)
def _varint(body, at):  # type: ignore[no-untyped-def]
    value = np.uint64(0)
    shift = np.uint64(0)
    while 0 <= at < body.size and shift < np.uint64(64):
        byte = np.uint64(body[at])
        at += 1
        value |= (byte & np.uint64(127)) << shift
        if byte < np.uint64(128):
            return np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1)), at
        shift += np.uint64(7)
    return np.int64(0), -1


@njit(cache=True, nogil=True)
def _records(body, at, count):  # type: ignore[no-untyped-def]
    """Return differences of time and offset, begins and lengths of values (4, count), and the end, -1 if it is unsound.

    A record is its length, a byte of attributes, the two differences, key, value and headers; numbers are zigzag
    varints.
    """
    found = np.zeros((4, count), dtype=np.int64)
    for i in range(count):
        size, at = _varint(body, at)
        end = at + size
        if at < 0 or size < 0 or end > body.size:
            return found, -1
        found[0, i], at = _varint(body, at + 1)
        found[1, i], at = _varint(body, at)
        key, at = _varint(body, at)
        if at < 0 or key > end - at:
            return found, -1
        length, at = _varint(body, at + max(key, 0))
        if at < 0 or length > end - at:
            return found, -1
        found[2, i], found[3, i] = at, max(length, 0)
        at = end
    return found, at


def _joined(records: Sequence[Any]) -> Block:
    values = [record.value or b"" for record in records]
    length = np.array([len(value) for value in values], np.int64)
    offset, time = np.array([(record.offset, record.timestamp) for record in records], np.int64).T
    return Block(b"".join(values), offset, time, np.cumsum(length) - length, length)


def _moments(milliseconds: NDArray[np.int64]) -> list[Any]:
    """Return times in UTC, None for those that cannot be."""
    sound = (milliseconds >= 0) & (milliseconds <= _LATEST_MS)
    moments: list[Any] = np.where(sound, milliseconds, 0).astype("datetime64[ms]").tolist()
    return moments if sound.all() else [one if ok else None for one, ok in zip(moments, sound.tolist(), strict=True)]
