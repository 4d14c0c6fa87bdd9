"""Which messages an epoch takes: decided on two columns, the slice of each document and a digest of its id.

The same rules hold in one process and for the driver of many, which sees no more of a document than these columns.
Documents that were already read are recognised by their digests, in bounded memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from functools import partial
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmfstream.clock import now
from vmfstream.records import Documents, Rejected
from vmfstream.slicing import Slicing


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

NEIGHBOURS = 8
"""Documents that are asked whether the time of the one before them can be right."""

NOT_BEGUN = -(2**40)
"""Stands for the open slice before there is one; all documents lie far ahead of it."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Which times are not believed: a document must not move the stream far ahead alone.

    One that lies more than ``max_gap`` slices ahead of the open one, or begins the stream, is checked: at least half
    of the next `NEIGHBOURS` documents must be no more than ``max_gap`` slices before it, and all of them if it lies
    after ``today``, the slice of the clock. Where none follows, it must not lie after that. So a message with a wrong
    time is rejected, and a silence is not.
    """

    max_gap: int
    today: int

    @classmethod
    def now(cls, slicing: Slicing, max_gap: int) -> Doubt:
        """Doubt by the clock, as if it was never set back; times up to one slice after now are believed."""
        return cls(max_gap, 0 if slicing.documents else slicing.index(datetime.fromtimestamp(now(), UTC)) + 1)

    def believed(self, slices: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which messages have a time that is believed, (N,); those without a document have none.

        ``slices`` (N,) are those of the messages, ``after`` (M,) of those that follow.
        """
        both = np.concatenate([slices, after])
        places = np.flatnonzero(both != NO_DOCUMENT)
        own = both[places]
        padded = np.concatenate([own, np.full(NEIGHBOURS + 1, NO_DOCUMENT)])
        following = np.lib.stride_tricks.sliding_window_view(padded[1:], NEIGHBOURS)[: len(own)]
        there = (following != NO_DOCUMENT).sum(axis=1)
        agree = (following >= own[:, None] - self.max_gap).sum(axis=1)
        out = np.zeros(len(both), np.bool_)
        out[places] = np.where(own <= self.today, 2 * agree >= there, (agree == there) & (there > 0))
        return out[: len(slices)]

    def first(self, slices: NDArray[np.int64], after: NDArray[np.int64]) -> int | None:
        """Return the slice that a stream begins with, None if no time is believed; arguments as for `believed`."""
        good = np.flatnonzero(self.believed(slices, after))
        return int(slices[good[0]]) if len(good) else None

    def open(self, slices: NDArray[np.int64], open_slice: int) -> bool:
        """Tell whether documents must be known that follow ``slices`` (N,) before the next one can be decided about."""
        known = slices != NO_DOCUMENT
        ahead = np.where(known, slices - open_slice, 0)
        doubtful = ahead > self.max_gap
        if not doubtful.any():
            return False
        lacking = known[::-1].cumsum()[::-1] - known < NEIGHBOURS
        moves = (ahead > 0) & (~doubtful | (~lacking & self.believed(slices, slices[:0])))
        end = int(moves.argmax()) if moves.any() else len(slices)
        return bool((doubtful & lacking)[:end].any())


class Verdict(IntEnum):
    """What is done with a message: left for a later epoch, learnt, or rejected for one of three reasons."""

    DEFER = 0
    LEARN = 1
    TOO_FAR_AHEAD = 2
    REPEATED = 3
    UNDECODED = 4


class MessageColumns(NamedTuple):
    """Consecutive messages: their slices (N,), `NO_DOCUMENT` where there is none, and digests of their ids (N,)."""

    slice: NDArray[np.int64]
    digest: NDArray[np.uint64]

    def between(self, low: int, high: int) -> MessageColumns:
        """Return the messages from ``low`` up to before ``high``."""
        return MessageColumns(self.slice[low:high], self.digest[low:high])


@dataclass(frozen=True, slots=True, eq=False)
class Admission:
    """A `Verdict` for each message, (N,) int8, and what follows from them.

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


def message_columns(documents: Documents, slicing: Slicing) -> MessageColumns:
    """Return what `admit` needs of decoded messages."""
    index = np.zeros(len(documents), np.int64) if slicing.documents else slicing.indices(documents.time)
    index[list(documents.rejected)] = NO_DOCUMENT
    return MessageColumns(index, np.array(digests(documents.id), np.uint64))


def admit(
    columns: MessageColumns,
    open_slice: int,
    slicing: Slicing,
    doubt: Doubt,
    recent: RecentIds,
    *,
    after: NDArray[np.int64],
    documents: int = UNLIMITED,
    characters: int = UNLIMITED,
    lengths: NDArray[np.int64] | None = None,
) -> Admission:
    """Decide about consecutive messages; the ids of learnt documents are added to ``recent``.

    Messages are taken up to the first document of a later slice, or to the document that reaches a limit. A document
    far ahead is rejected if its time is not believed. A document of an earlier slice is late and is learnt with the
    open one.

    Parameters
    ----------
    columns : slices and digests of ids of the messages.
    open_slice : number of the open slice; not used for slices of N documents.
    slicing : how the stream is cut.
    doubt : which times are not believed.
    after : (M,) slices of messages that follow these, `NO_DOCUMENT` where there is none.
    documents : documents to learn after which no more are taken, >= 1.
    characters : sum of ``lengths`` of learnt documents at which no more are taken, >= 1.
    lengths : (N,) characters of each message, needed with ``characters``.
    """
    known = columns.slice != NO_DOCUMENT
    ahead = np.where(known & (slicing.documents == 0), columns.slice - open_slice, 0)
    refused = ahead > doubt.max_gap
    if refused.any():
        refused &= ~doubt.believed(columns.slice, after)
    later = np.flatnonzero((ahead > 0) & ~refused)
    end = int(later[0]) if len(later) else len(known)
    decision = np.full(len(known), Verdict.LEARN, np.int8)
    decision[~known] = Verdict.UNDECODED
    decision[ahead > 0] = Verdict.TOO_FAR_AHEAD
    candidates = np.flatnonzero(decision[:end] == Verdict.LEARN)
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
                decision[i] = Verdict.REPEATED
                continue
            learnt += 1
            size += own
            if learnt >= documents or size >= characters:
                end, limited = i + 1, True
                break
    decision[end:] = Verdict.DEFER
    late = int(np.count_nonzero((decision == Verdict.LEARN) & (ahead < 0)))
    next_slice = int(columns.slice[end]) if len(later) and not limited else None
    return Admission(decision, end, learnt, late, next_slice, size)


def separated(
    documents: Documents, decision: NDArray[np.int8], slicing: Slicing, open_slice: int
) -> tuple[Documents, list[Rejected]]:
    """Return the documents to learn and the rejected messages, each in their order.

    ``decision`` (N,) is a `Verdict` for each of ``documents``. ``slicing`` and ``open_slice`` tell by how many slices
    a document is too far ahead.
    """
    learnt = np.flatnonzero(decision == Verdict.LEARN)
    rejected: list[Rejected] = []
    for at in np.flatnonzero(decision > Verdict.LEARN).tolist():
        if decision[at] == Verdict.UNDECODED:
            rejected.append(documents.rejected[at])
            continue
        document = documents[at]
        if decision[at] == Verdict.TOO_FAR_AHEAD and document.time is not None:
            far = "far ahead of the others"
            if open_slice != NOT_BEGUN:
                far = f"{slicing.index(document.time) - open_slice} slices ahead of the open one"
            reason = f"too far ahead: {document.time.isoformat()} lies {far}, and the next documents do not agree"
        else:
            reason = f"read before: id {document.id!r}"
        rejected.append(Rejected(document.part, document.offset, reason, document.title[:200]))
    return documents.take(range(len(documents)) if len(learnt) == len(documents) else learnt.tolist()), rejected
