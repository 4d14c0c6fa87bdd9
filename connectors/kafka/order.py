"""Messages of several partitions in one order: that of their times, as far as no earlier ones may still come."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vmfstream.connectors.kafka.columns import Columns
from vmfstream.records import Message

_PATIENCE = 2.0  # seconds to wait for a partition that should have messages and gives none


class Partition:
    """Where one partition is read, and its messages that wait for those of others.

    ``start`` is where reading began, ``next`` what to fetch, ``end`` what it has, ``seen`` its latest time in ms;
    ``bytes`` counts what waits.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.start = self.next = self.end = 0
        self.paused = False
        self.forget()
        self.place(0, 0)

    def place(self, offset: int, end: int) -> None:
        """Begin to read here; messages that wait stay."""
        self.start = self.next = offset
        self.end, self.seen = end, -1
        self.since = time.monotonic()

    def forget(self) -> None:
        """Drop what waits."""
        self.bytes = 0
        self._waiting: list[Message] = []
        self._times = self._sizes = np.zeros(0, np.int64)

    def add(self, records: Columns, now: int, text: bool, max_bytes: int) -> None:
        """Take in records, whose times are taken for ones that never run back or ahead of ``now``."""
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

    def awaited(self, now: float) -> bool:
        """Tell whether this partition should have more; one that gives nothing for a while is not waited for."""
        return self.next < self.end and (bool(self._waiting) or now - self.since < _PATIENCE)

    def until(self, horizon: int | None, most: int) -> NDArray[np.int64]:
        """Return the times of the first messages up to a time, at most so many."""
        ready = len(self._times) if horizon is None else int(np.searchsorted(self._times, horizon, "right"))
        return self._times[: min(ready, most)]

    def take(self, count: int) -> list[Message]:
        """Remove the first messages."""
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        self.bytes -= int(self._sizes[:count].sum())
        self._times, self._sizes = self._times[count:], self._sizes[count:]
        return taken


def in_order(parts: Sequence[Partition], most: int) -> list[Message]:
    """Take the earliest messages of all partitions, at most so many; of equal times those of the first partition."""
    now = time.monotonic()
    horizon = min((part.seen for part in parts if part.awaited(now)), default=None)
    heads = [part.until(horizon, most) for part in parts]
    order = np.argsort(np.concatenate(heads), kind="stable")[:most] if heads else np.zeros(0, np.int64)
    owner = np.repeat(np.arange(len(parts)), [len(head) for head in heads])[order]
    taken = [part.take(n) for part, n in zip(parts, np.bincount(owner, minlength=len(parts)).tolist(), strict=True)]
    # what each has given stands in its own order: the places in the common one are those of its number in `owner`
    places = np.argsort(np.argsort(owner, kind="stable"), kind="stable")
    joined = [message for some in taken for message in some]
    return [joined[i] for i in places.tolist()]
