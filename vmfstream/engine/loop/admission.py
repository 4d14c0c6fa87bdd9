"""Which messages an epoch takes: decided on two columns, the slice of each document and a digest of its id.

The same rules hold in one process and for the driver of many, which sees no more of a document than these columns.
Documents that were already read are recognised by their digests, in bounded memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmfstream.engine.loop.slices import Slicing
from vmfstream.records import Documents, Rejected


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

    def all_new(self, digests: NDArray[np.uint64]) -> bool:
        """Tell whether none of these is among the recent ones, nor twice among themselves; remember them if so."""
        known, ring, place, count = self._known, self._ring, self._next, len(digests)
        given = set(digests.tolist())
        if len(given) < count or count > len(ring) or not known.isdisjoint(given):
            return False
        new = array("Q", digests.tobytes())
        before_end = min(count, len(ring) - place)
        for at, some in ((place, new[:before_end]), (0, new[before_end:])):
            if some:
                known.difference_update(ring[at : min(at + len(some), self._filled)])
                ring[at : at + len(some)] = some
        known |= given
        self._filled = min(self._filled + count, len(ring))
        self._next = (place + count) % len(ring)
        return True

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


NO_DOCUMENT = -(2**63)
"""Stands for the slice of a message that could not be decoded."""

UNLIMITED = 2**62


class Decision(IntEnum):
    """What is done with a message: left for a later epoch, learnt, or rejected for one of three reasons."""

    DEFER = 0
    LEARN = 1
    TOO_FAR_AHEAD = 2
    REPEATED = 3
    UNDECODED = 4


class Columns(NamedTuple):
    """Consecutive messages: their slices (N,), `NO_DOCUMENT` where there is none, and digests of their ids (N,)."""

    slice: NDArray[np.int64]
    digest: NDArray[np.uint64]

    def between(self, low: int, high: int) -> Columns:
        """Return the messages from ``low`` up to before ``high``."""
        return Columns(self.slice[low:high], self.digest[low:high])

    @property
    def first_slice(self) -> int | None:
        """Slice of the first document, None if there is no document."""
        documents = self.slice[self.slice != NO_DOCUMENT]
        return int(documents[0]) if len(documents) else None


@dataclass(frozen=True, slots=True, eq=False)
class Admission:
    """A `Decision` for each message, (N,) int8, and what follows from them.

    The first ``taken`` messages are consumed, ``learnt`` of them documents to learn, of which ``late`` belong to slices
    that were closed before; ``characters`` is the sum of the lengths of all learnt. ``next_slice`` is the slice of the
    later document that ended the taking, None if none did.
    """

    decision: NDArray[np.int8]
    taken: int
    learnt: int
    late: int
    next_slice: int | None
    characters: int = 0


def columns_of(documents: Documents, slicing: Slicing) -> Columns:
    """Return what `admit` needs of decoded messages."""
    index = np.zeros(len(documents), np.int64) if slicing.documents else slicing.indices(documents.time)
    index[list(documents.rejected)] = NO_DOCUMENT
    return Columns(index, np.array(digests(documents.id), np.uint64))


def admit(
    columns: Columns,
    open_slice: int,
    slicing: Slicing,
    max_gap: int,
    recent: RecentIds,
    *,
    documents: int = UNLIMITED,
    characters: int = UNLIMITED,
    lengths: NDArray[np.int64] | None = None,
) -> Admission:
    """Decide about consecutive messages; the ids of learnt documents are added to ``recent``.

    Messages are taken up to the first document of a later slice, or to the document that reaches a limit. A document
    more than ``max_gap`` slices ahead is rejected: its time is taken for an error. A document of an earlier slice is
    late and is learnt with the open one.

    Parameters
    ----------
    columns : slices and digests of ids of the messages.
    open_slice : number of the open slice; not used for slices of N documents.
    slicing : how the stream is cut.
    documents : documents to learn after which no more are taken, >= 1.
    characters : sum of ``lengths`` of learnt documents at which no more are taken, >= 1.
    lengths : (N,) characters of each message, needed with ``characters``.
    """
    known = columns.slice != NO_DOCUMENT
    ahead = np.where(known & (slicing.documents == 0), columns.slice - open_slice, 0)
    later = np.flatnonzero((ahead > 0) & (ahead <= max_gap))
    end = int(later[0]) if len(later) else len(known)
    decision = np.full(len(known), Decision.LEARN, np.int8)
    decision[~known] = Decision.UNDECODED
    decision[ahead > 0] = Decision.TOO_FAR_AHEAD
    candidates = np.flatnonzero(decision[:end] == Decision.LEARN)
    sizes = np.zeros(len(candidates), np.int64) if lengths is None else lengths[candidates]
    most = min(documents, int(np.searchsorted(np.cumsum(sizes), characters)) + 1, len(candidates))
    if recent.all_new(columns.digest[candidates[:most]]):
        learnt, size = most, int(sizes[:most].sum())
        limited = most > 0 and (learnt >= documents or size >= characters)
        end = int(candidates[most - 1]) + 1 if limited else end
    else:
        learnt = size = 0
        limited = False
        for i, digest, own in zip(
            candidates.tolist(), columns.digest[candidates].tolist(), sizes.tolist(), strict=True
        ):
            if recent.seen(digest):
                decision[i] = Decision.REPEATED
                continue
            learnt += 1
            size += own
            if learnt >= documents or size >= characters:
                end, limited = i + 1, True
                break
    decision[end:] = Decision.DEFER
    late = int(np.count_nonzero((decision == Decision.LEARN) & (ahead < 0)))
    next_slice = int(columns.slice[end]) if len(later) and not limited else None
    return Admission(decision, end, learnt, late, next_slice, size)


def separated(
    documents: Documents, decision: NDArray[np.int8], slicing: Slicing, open_slice: int
) -> tuple[Documents, list[Rejected]]:
    """Return the documents to learn and the rejected messages, each in their order.

    ``decision`` (N,) is a `Decision` for each of ``documents``. ``slicing`` and ``open_slice`` tell by how many slices
    a document is too far ahead.
    """
    learnt = np.flatnonzero(decision == Decision.LEARN)
    rejected: list[Rejected] = []
    for at in np.flatnonzero(decision > Decision.LEARN).tolist():
        if decision[at] == Decision.UNDECODED:
            rejected.append(documents.rejected[at])
            continue
        document = documents[at]
        if decision[at] == Decision.TOO_FAR_AHEAD:
            ahead = slicing.index(document.time) - open_slice
            reason = f"time {document.time.isoformat()} lies {ahead} slices ahead of the open one"
        else:
            reason = f"id {document.id!r} was read before"
        rejected.append(Rejected(document.part, document.offset, reason, document.title[:200]))
    return documents.take(range(len(documents)) if len(learnt) == len(documents) else learnt.tolist()), rejected
