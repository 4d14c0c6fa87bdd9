"""The source that a caller fills with texts, and the times of these texts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime

import numpy as np

from vmfstream.errors import InputError
from vmfstream.records import Document, Message, Position, Rejected

Time = datetime | date | np.datetime64 | int | float
"""A moment; an int or float is a year."""

PART = "texts"


class ManualSource:
    """A source that is filled by its owner, who added ``count`` texts in earlier runs."""

    name = PART
    total = None

    def __init__(self, count: int = 0) -> None:
        self._waiting: deque[Message] = deque()
        self._count = count
        self.closed = False

    @property
    def added(self) -> int:
        """Number of texts added, those of earlier runs included: the offset of the next one."""
        return self._count

    @property
    def empty(self) -> bool:
        """Whether no text waits to be read."""
        return not self._waiting

    @property
    def exhausted(self) -> bool:
        """Whether no text waits and none will be added."""
        return self.closed and self.empty

    def add(self, texts: Iterable[str], times: Sequence[datetime], ids: Sequence[str] | None) -> None:
        """Add ``texts`` to be read, with one time each in ``times``; without ``ids`` each is numbered.

        Raises ValueError if there are more texts than times or the reverse.
        """
        for i, (text, time) in enumerate(zip(texts, times, strict=True)):
            value = {"id": str(self._count) if ids is None else str(ids[i]), "text": text}
            self._waiting.append(Message(PART, self._count, value, time))
            self._count += 1

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        """Return at most ``limit`` of the texts that wait."""
        return [self._waiting.popleft() for _ in range(min(limit, len(self._waiting)))]

    def seek(self, position: Position) -> None:
        """Do nothing: the owner adds only texts that were not read."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


class ManualCodec:
    """The codec of a `ManualSource`, whose messages hold an id and a text."""

    def decode(self, message: Message) -> Document | Rejected:
        """Return the document."""
        value = message.value
        if isinstance(value, bytes) or message.time is None or not isinstance(value["text"], str):
            kind = "bytes" if isinstance(value, bytes) else type(value["text"]).__name__
            return Rejected(message.part, message.offset, f"text: expected a string, got {kind}")
        return Document(message.part, message.offset, value["id"], message.time, value["text"])


def moment(time: Time) -> datetime:
    """Return a time as an aware datetime, in UTC if it names no zone.

    Raises
    ------
    InputError
        If it is missing (NaT) or no time.
    """
    if isinstance(time, datetime):
        if time != time:  # the missing time of pandas
            raise InputError("times: NaT is no time")
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    if isinstance(time, date):
        return datetime(time.year, time.month, time.day, tzinfo=UTC)
    if isinstance(time, np.datetime64):
        if np.isnat(time):
            raise InputError("times: NaT is no time")
        return moment(time.astype("datetime64[us]").item())
    if isinstance(time, int | float | np.number) and 1 <= time <= 9999 and time == int(time):
        return datetime(int(time), 1, 1, tzinfo=UTC)
    raise InputError(f"times: expected a datetime, a date or a year, got {time!r}")
