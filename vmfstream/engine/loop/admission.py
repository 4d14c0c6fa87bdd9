"""Which messages an epoch takes: decided on two columns, the slice of each document and a digest of its id.

The same rules hold in one process and for the driver of many, which sees no more of a document than these columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmfstream.engine.loop.duplicates import RecentIds, digests
from vmfstream.engine.loop.slices import Slicing
from vmfstream.records import Document, Rejected

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


def columns_of(records: Sequence[Document | Rejected], slicing: Slicing) -> Columns:
    """Return what `admit` needs of decoded messages."""
    ids = (record.id if isinstance(record, Document) else "" for record in records)
    return Columns(np.array(_slices(records, slicing), np.int64), np.array(digests(ids), np.uint64))


def _slices(records: Sequence[Document | Rejected], slicing: Slicing) -> list[int]:
    if slicing.documents:
        return [0 if isinstance(record, Document) else NO_DOCUMENT for record in records]
    out, span, index = [], None, 0
    for record in records:
        if isinstance(record, Rejected):
            out.append(NO_DOCUMENT)
            continue
        if span is None or not span[0] <= record.time < span[1]:
            index = slicing.index(record.time)
            span = slicing.span(index)
        out.append(index)
    return out


def admit(
    columns: Columns,
    open_slice: int,
    slicing: Slicing,
    max_gap: int,
    recent: RecentIds,
    *,
    documents: int = UNLIMITED,
    characters: int = UNLIMITED,
    lengths: Sequence[int] | None = None,
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
    lengths : characters of each message, needed with ``characters``.
    """
    known = columns.slice != NO_DOCUMENT
    ahead = np.where(known & (slicing.documents == 0), columns.slice - open_slice, 0)
    later = np.flatnonzero((ahead > 0) & (ahead <= max_gap))
    end = int(later[0]) if len(later) else len(known)
    decision = np.full(len(known), Decision.LEARN, np.int8)
    decision[~known] = Decision.UNDECODED
    decision[ahead > 0] = Decision.TOO_FAR_AHEAD
    candidates = np.flatnonzero(decision[:end] == Decision.LEARN)
    learnt = size = 0
    limited = False
    for i, digest in zip(candidates.tolist(), columns.digest[candidates].tolist(), strict=True):
        if recent.seen(digest):
            decision[i] = Decision.REPEATED
            continue
        learnt += 1
        size += 0 if lengths is None else lengths[i]
        if learnt >= documents or size >= characters:
            end, limited = i + 1, True
            break
    decision[end:] = Decision.DEFER
    late = int(np.count_nonzero((decision == Decision.LEARN) & (ahead < 0)))
    next_slice = int(columns.slice[end]) if len(later) and not limited else None
    return Admission(decision, end, learnt, late, next_slice, size)


def separated(
    records: Sequence[Document | Rejected], decision: NDArray[np.int8], slicing: Slicing, open_slice: int
) -> tuple[list[Document], list[Rejected]]:
    """Return the documents to learn and the rejected messages, each in their order.

    ``decision`` (N,) is a `Decision` for each of ``records``. ``slicing`` and ``open_slice`` tell by how many slices a
    document is too far ahead.
    """
    documents: list[Document] = []
    rejected: list[Rejected] = []
    for record, what in zip(records, decision.tolist(), strict=True):
        if isinstance(record, Rejected):
            rejected += [record] if what == Decision.UNDECODED else []
        elif what == Decision.LEARN:
            documents.append(record)
        elif what == Decision.TOO_FAR_AHEAD:
            ahead = slicing.index(record.time) - open_slice
            rejected.append(
                _rejected(record, f"time {record.time.isoformat()} lies {ahead} slices ahead of the open one")
            )
        elif what == Decision.REPEATED:
            rejected.append(_rejected(record, f"id {record.id!r} was read before"))
    return documents, rejected


def _rejected(document: Document, reason: str) -> Rejected:
    return Rejected(document.part, document.offset, reason, document.title[:200])
