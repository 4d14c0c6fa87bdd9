"""Recognising a document that was already read, in bounded memory."""

from __future__ import annotations

from array import array
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


def digest(id: str) -> int:
    """Return 64 bits that stand for an id."""
    return int.from_bytes(blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


class RecentIds:
    """Remembers the ids of the last ``capacity`` documents; an older repetition is not recognised.

    A repeated document would count as evidence twice. An endless stream cannot be remembered whole, so the promise is
    limited to a stated distance.
    """

    def __init__(self, capacity: int = 65_536) -> None:
        if capacity < 1:
            raise ValueError(f"capacity: expected at least 1, got {capacity}")
        self._ring = array("Q", bytes(8 * capacity))  # of which single items are taken faster than of numpy's
        self._next = 0
        self._filled = 0
        self._known: set[int] = set()

    def seen(self, id: str) -> bool:
        """Tell whether ``id`` is among the recent ones; remember it if it is not."""
        return self.seen_digest(digest(id))

    def seen_digest(self, known: int) -> bool:
        """Do as `seen` with the `digest` of an id."""
        if known in self._known:
            return True
        if self._filled == len(self._ring):
            self._known.discard(self._ring[self._next])
        else:
            self._filled += 1
        self._ring[self._next] = known
        self._known.add(known)
        self._next = (self._next + 1) % len(self._ring)
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
