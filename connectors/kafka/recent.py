"""The newest records of a source, kept until their labels were sent."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from threading import Lock
from typing import Any

_OVERHEAD = 500  # bytes of a record besides its value, about


class RecentRecords:
    """Records of partitions as the client library returns them, the newest ones in bounded memory.

    One thread may add while another takes.

    Parameters
    ----------
    most : int
        Bytes beyond which the oldest are forgotten.
    """

    def __init__(self, most: int = 64 * 2**20) -> None:
        self._most, self._bytes = most, 0
        self._lock = Lock()
        self._added = 0
        self._parts: dict[str, deque[tuple[int, Sequence[Any], int]]] = {}

    def add(self, part: str, records: Sequence[Any]) -> None:
        """Keep records of a part, which follow those before."""
        size = sum(len(record.value or b"") for record in records) + _OVERHEAD * len(records)
        with self._lock:
            self._added += 1
            self._parts.setdefault(part, deque()).append((self._added, records, size))
            self._bytes += size
            while self._bytes > self._most:
                oldest = min((kept for kept in self._parts.values() if kept), key=lambda kept: kept[0][0])
                self._bytes -= oldest.popleft()[2]

    def take(self, part: str, offsets: Sequence[int]) -> dict[int, Any]:
        """Return the records at some ascending ``offsets`` of a ``part`` that are there, by offset.

        All up to the last one are forgotten, but for a few that came together with later ones.
        """
        if not offsets:
            return {}
        last = offsets[-1]
        with self._lock:
            kept = self._parts.get(part, deque())
            some = [records for _, records, _ in kept if records[0].offset <= last]
            while kept and kept[0][1][-1].offset <= last:
                self._bytes -= kept.popleft()[2]
        found = {record.offset: record for records in some for record in records[: _behind(records, last)]}
        return {offset: found[offset] for offset in offsets if offset in found}

    def clear(self) -> None:
        """Forget all: what follows begins elsewhere."""
        with self._lock:
            self._parts.clear()
            self._bytes = 0


def _behind(records: Sequence[Any], last: int) -> int:
    return bisect_right(records, last, key=lambda record: record.offset)
