"""Records of the client library as messages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from vmfstream.records import Message

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_MS = 253_402_300_799_000  # the last second that Python's times can hold
_HEAD = 1024  # bytes kept of a message that is too long


def as_message(part: str, record: Any, text: bool, max_bytes: int) -> Message:
    """Return a record as a message; of one longer than ``max_bytes`` its beginning."""
    value, oversized = record.value or b"", None
    if len(value) > max_bytes:
        value, oversized = value[:_HEAD], len(value)
    return Message(part, record.offset, {"text": value} if text else value, _moment(record.timestamp), oversized)


def _moment(milliseconds: int) -> datetime | None:
    """Return the time of a message, None if it has none that can be."""
    if not 0 <= milliseconds <= _LATEST_MS:
        return None
    return _EPOCH + timedelta(milliseconds=milliseconds)
