"""Recognise documents that were already read, in bounded memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from functools import partial
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


def digests(ids: Iterable[str]) -> list[int]:
    """Return a hash of 64 bits for each id."""
    number, hashed = int.from_bytes, partial(blake2b, digest_size=8)
    return [number(hashed(id.encode("utf-8", "surrogatepass")).digest(), "little") for id in ids]


class RecentIds:
    """Remembers the ids of the last ``capacity`` documents; an older repetition is not recognised.

    A repeated document would count as evidence twice. An endless stream cannot be remembered whole, so repetitions are
    recognised within ``capacity`` documents.
    """

    def __init__(self, capacity: int = 65_536) -> None:
        if capacity < 1:
            raise ValueError(f"capacity: expected at least 1, got {capacity}")
        self._ring = array("Q", bytes(8 * capacity))  # of which single items are taken faster than of numpy's
        self._next = 0
        self._filled = 0
        self._known: set[int] = set()

    def seen(self, digest: int) -> bool:
        """Tell whether an id is among the recent ones, by its digest; remember it if it is not."""
        known, ring, place = self._known, self._ring, self._next
        if digest in known:
            return True
        if self._filled == len(ring):
            known.discard(ring[place])
        else:
            self._filled += 1
        ring[place] = digest
        known.add(digest)
        place += 1
        self._next = place if place < len(ring) else 0
        return False

    def state(self) -> NDArray[np.uint64]:
        """The remembered ids from oldest to newest."""
        ring = np.array(self._ring, np.uint64)
        return ring[: self._filled] if self._filled < len(ring) else np.roll(ring, -self._next)

    def restore(self, ids: NDArray[np.uint64]) -> None:
        """Continue from `state`, of which the newest are kept if it held more."""
        ids = ids[-len(self._ring) :]
        count = len(ids)
        self._ring[:count] = array("Q", ids.tobytes())
        self._next = count % len(self._ring)
        self._filled = count
        self._known = {int(i) for i in ids}
