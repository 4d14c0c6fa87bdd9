"""Records of Kafka partitions as columns, and their order by time across partitions.

Offsets, times and sizes are handled as arrays. Messages are merged as far as no earlier ones may still arrive.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.connectors.codecs import HEADER, KEY, Refusal
from vmfstream.records import MESSAGE_OVERHEAD, Message

_LATEST_MS = 253_402_300_799_000  # the last second that Python's times can hold
_HEAD = 1024  # bytes kept of a message that is too long
_KEY = 80  # bytes of a key that are shown


@dataclass(frozen=True, slots=True, eq=False)
class RecordColumns:
    """Records in the order of their offsets: times in ms since 1970, values and their lengths in bytes.

    ``attached`` holds keys and headers by their names, where they were asked for. A record without a value has the
    reason why it is no document.
    """

    offset: NDArray[np.int64]
    time: NDArray[np.int64]
    value: list[bytes | Refusal]
    length: NDArray[np.int64]
    attached: list[Mapping[str, Any]] | None = None

    def __len__(self) -> int:
        return len(self.offset)

    @classmethod
    def of(cls, records: Sequence[Any], attach: Sequence[str] = ()) -> RecordColumns:
        """Return the columns of records as a consumer returns them for one partition; ``attach`` names what to keep."""
        value = [_tombstone(record.key) if record.value is None else record.value for record in records]
        return cls(
            np.array([record.offset for record in records], np.int64),
            np.array([record.timestamp for record in records], np.int64),
            value,
            np.array([len(record.value or b"") for record in records], np.int64),
            [_attached(record, attach) for record in records] if attach else None,
        )

    def between(self, first: int, last: int) -> RecordColumns:
        """Return the records with offsets from ``first`` to before ``last``."""
        a, b = np.searchsorted(self.offset, [first, last]).tolist()
        if b - a == len(self):
            return self
        attached = None if self.attached is None else self.attached[a:b]
        return RecordColumns(self.offset[a:b], self.time[a:b], self.value[a:b], self.length[a:b], attached)

    def sizes(self, max_bytes: int) -> NDArray[np.int64]:
        """Return about how many bytes of memory each takes as a message that keeps at most ``max_bytes``."""
        return np.where(self.length > max_bytes, _HEAD, self.length) + MESSAGE_OVERHEAD

    def messages(self, part: str, text: bool, max_bytes: int) -> list[Message]:
        """Return the records of ``part`` as messages; those longer than ``max_bytes`` keep their beginning only.

        With ``text`` a value is the text of a document, otherwise bytes that are still to be decoded.
        """
        long = (self.length > max_bytes).tolist()
        heads = [
            one[:_HEAD] if cut and isinstance(one, bytes) else one for one, cut in zip(self.value, long, strict=True)
        ]
        values: list[Any] = [{"text": one} if type(one) is bytes else one for one in heads] if text else heads
        rows = zip(self.offset.tolist(), values, _moments(self.time), strict=True)
        if not any(long) and self.attached is None:
            return [Message(part, offset, value, moment) for offset, value, moment in rows]
        sizes = [n if cut else None for n, cut in zip(self.length.tolist(), long, strict=True)]
        attached = [None] * len(sizes) if self.attached is None else self.attached
        return [Message(part, *row, size, one) for row, size, one in zip(rows, sizes, attached, strict=True)]


def _tombstone(key: bytes | None) -> Refusal:
    """Return why a record without a value is no document: in a compacted topic it deletes what has the same key."""
    named = "without a key" if key is None else f"of key {key[:_KEY]!r}"
    return Refusal(f"no value: a tombstone {named}")


def _attached(record: Any, names: Sequence[str]) -> Mapping[str, Any]:
    headers = dict(record.headers)
    return {name: record.key if name == KEY else headers.get(name.removeprefix(HEADER)) for name in names}


def _moments(milliseconds: NDArray[np.int64]) -> list[Any]:
    """Return times in UTC, None for those that Python cannot express."""
    sound = (milliseconds >= 0) & (milliseconds <= _LATEST_MS)
    moments: list[Any] = np.where(sound, milliseconds, 0).astype("datetime64[ms]").tolist()
    return moments if sound.all() else [one if ok else None for one, ok in zip(moments, sound.tolist(), strict=True)]


_PATIENCE = 2.0  # seconds to wait for a partition that should have messages and gives none


class Partition:
    """The reading position of one partition, and its buffer of messages that wait for those of other partitions.

    ``start`` is the offset where reading began, ``given`` the one after the last message taken, ``next`` the next to
    fetch, ``end`` the one after the newest; ``seen`` is the latest time fetched in ms, ``bytes`` the buffer's size.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.start = self.given = self.next = self.end = 0
        self.paused = False
        self.clear()
        self.start_at(0, 0)

    def start_at(self, offset: int, end: int) -> None:
        """Read from an offset on; the buffer stays as it is."""
        self.start = self.given = self.next = offset
        self.end, self.seen = end, -1
        self.since = time.monotonic()

    def clear(self) -> None:
        """Empty the buffer."""
        self.bytes = 0
        self._waiting: list[Message] = []
        self._times = self._sizes = np.zeros(0, np.int64)

    def add(self, records: RecordColumns, now: int, text: bool, max_bytes: int) -> None:
        """Add ``records`` to the buffer; their times are made non-decreasing and at most ``now``.

        ``now`` is in milliseconds since 1970. ``text`` and ``max_bytes`` are those of `RecordColumns.messages`.
        """
        records = records.between(self.next, 2**63 - 1)
        if not len(records):
            return
        times = np.maximum.accumulate(np.maximum(np.minimum(records.time, now), self.seen))
        sizes = records.sizes(max_bytes)
        self._waiting += records.messages(self.name, text, max_bytes)
        self._times, self._sizes = np.concatenate([self._times, times]), np.concatenate([self._sizes, sizes])
        self.seen, self.next = int(times[-1]), int(records.offset[-1]) + 1
        self.bytes += int(sizes.sum())
        self.since = time.monotonic()

    def skip(self, offset: int) -> None:
        """Go on at ``offset``: up to there only ends of transactions stand, and messages of those that were aborted."""
        self.next = max(self.next, offset)

    def lag(self, position: int) -> int:
        """Return how many messages are to be read from the offset ``position`` on, as far as is known."""
        all_taken = position >= self.given and not self._waiting
        return max(self.end - (max(position, self.next) if all_taken else position), 0)

    def is_awaited(self, now: float) -> bool:
        """Return whether to wait for more of this partition; one that stays silent for 2 s is not waited for."""
        return self.next < self.end and (bool(self._waiting) or now - self.since < _PATIENCE)

    def times_until(self, horizon: int | None, most: int) -> NDArray[np.int64]:
        """Return the times of at most ``most`` first messages up to the time ``horizon``."""
        ready = len(self._times) if horizon is None else int(np.searchsorted(self._times, horizon, "right"))
        return self._times[: min(ready, most)]

    def take(self, count: int) -> list[Message]:
        """Remove and return the first messages of the buffer."""
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        self.bytes -= int(self._sizes[:count].sum())
        self._times, self._sizes = self._times[count:], self._sizes[count:]
        if taken:
            self.given = taken[-1].offset + 1
        return taken


def take_earliest(parts: Sequence[Partition], most: int) -> list[Message]:
    """Take at most ``most`` of the earliest messages of all partitions; ties go to the first partition."""
    now = time.monotonic()
    horizon = min((part.seen for part in parts if part.is_awaited(now)), default=None)
    parts = [part for part in parts if part.bytes]  # most of a thousand wait for messages
    if not parts:
        return []
    heads = [part.times_until(horizon, most) for part in parts]
    order = np.argsort(np.concatenate(heads), kind="stable")[:most]
    owner = np.repeat(np.arange(len(parts)), [len(head) for head in heads])[order]
    taken = [part.take(n) for part, n in zip(parts, np.bincount(owner, minlength=len(parts)).tolist(), strict=True)]
    # each partition's messages are in order: their places in the merged order are those of its number in `owner`
    places = np.argsort(np.argsort(owner, kind="stable"), kind="stable")
    joined = [message for some in taken for message in some]
    return [joined[i] for i in places.tolist()]
