"""Which messages an epoch takes: not those of a later slice, and no document twice."""

from __future__ import annotations

from vmfstream.records import Document, Rejected


def beyond(document: Document, ahead: int) -> Rejected:
    """Refuse a document whose time is taken for an error."""
    return _refused(document, f"time {document.time.isoformat()} lies {ahead} slices ahead of the open one")


def read_before(document: Document) -> Rejected:
    """Refuse a document whose id is known."""
    return _refused(document, f"id {document.id!r} was read before")


def _refused(document: Document, reason: str) -> Rejected:
    return Rejected(document.part, document.offset, reason, document.title[:200])
