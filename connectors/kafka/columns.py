"""Records of one Kafka partition as columns, so that offsets, times and sizes are handled as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.records import Message

_LATEST_MS = 253_402_300_799_000  # the last second that Python's times can hold
_HEAD = 1024  # bytes kept of a message that is too long
_OVERHEAD = 100  # what a message takes besides its bytes


@dataclass(frozen=True, slots=True, eq=False)
class RecordColumns:
    """Records in the order of their offsets: times in ms since 1970, values and their lengths in bytes.

    A missing value is empty bytes.
    """

    offset: NDArray[np.int64]
    time: NDArray[np.int64]
    value: list[bytes]
    length: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offset)

    @classmethod
    def of(cls, records: Sequence[Any]) -> RecordColumns:
        """Return the columns of records as a consumer returns them for one partition."""
        value = [record.value or b"" for record in records]
        return cls(
            np.array([record.offset for record in records], np.int64),
            np.array([record.timestamp for record in records], np.int64),
            value,
            np.array([len(one) for one in value], np.int64),
        )

    def between(self, first: int, last: int) -> RecordColumns:
        """Return the records with offsets from ``first`` to before ``last``."""
        a, b = np.searchsorted(self.offset, [first, last]).tolist()
        if b - a == len(self):
            return self
        return RecordColumns(self.offset[a:b], self.time[a:b], self.value[a:b], self.length[a:b])

    def sizes(self, max_bytes: int) -> NDArray[np.int64]:
        """Return about how many bytes of memory each takes as a message that keeps at most ``max_bytes``."""
        return np.where(self.length > max_bytes, _HEAD, self.length) + _OVERHEAD

    def messages(self, part: str, text: bool, max_bytes: int) -> list[Message]:
        """Return the records of ``part`` as messages; those longer than ``max_bytes`` keep their beginning only.

        With ``text`` a value is the text of a document, otherwise bytes that are still to be decoded.
        """
        long = (self.length > max_bytes).tolist()
        heads = [one[:_HEAD] if cut else one for one, cut in zip(self.value, long, strict=True)]
        values: list[Any] = [{"text": one} for one in heads] if text else heads
        rows = zip(self.offset.tolist(), values, _moments(self.time), strict=True)
        if not any(long):
            return [Message(part, offset, value, moment) for offset, value, moment in rows]
        sizes = [n if cut else None for n, cut in zip(self.length.tolist(), long, strict=True)]
        return [Message(part, *row, size) for row, size in zip(rows, sizes, strict=True)]


def _moments(milliseconds: NDArray[np.int64]) -> list[Any]:
    """Return times in UTC, None for those that Python cannot express."""
    sound = (milliseconds >= 0) & (milliseconds <= _LATEST_MS)
    moments: list[Any] = np.where(sound, milliseconds, 0).astype("datetime64[ms]").tolist()
    return moments if sound.all() else [one if ok else None for one, ok in zip(moments, sound.tolist(), strict=True)]
