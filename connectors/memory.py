"""A list as a source, with marks that make it end, fail or pause at an item, for tests and examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias

from vmfstream.errors import VmfstreamError
from vmfstream.records import Message, Messages, Position


class Mark(Enum):
    """A mark between the items of a `MemorySource`; it takes effect once, also after a seek."""

    EOF = "the source is exhausted here; a later seek goes on behind"
    ABORT = "poll raises Aborted"
    PAUSE = "one poll returns nothing"


EOF, ABORT, PAUSE = Mark.EOF, Mark.ABORT, Mark.PAUSE

Item: TypeAlias = bytes | Mapping[str, Any] | Mark


class Aborted(VmfstreamError):
    """The source reached the mark ``ABORT``."""


class MemorySource:
    """The items of a list in order, each the bytes of a JSON object or a mapping; the offset counts them from 0.

    Parameters
    ----------
    items : iterable of bytes, mapping or Mark
    name : str
        Title of the stream.
    part : str
        Name of the only part, see `vmfstream.records.Position`.
    """

    def __init__(self, items: Iterable[Item], name: str = "memory", part: str = "memory") -> None:
        items = list(items)
        self.part = part
        self._name = name
        self._values = [item for item in items if not isinstance(item, Mark)]
        self._marks: dict[int, list[Mark]] = {}
        before = 0
        for item in items:
            if isinstance(item, Mark):
                self._marks.setdefault(before, []).append(item)
            else:
                before += 1
        self._next = 0
        self._ended = False

    @property
    def name(self) -> str:
        """What the page's title calls the stream."""
        return self._name

    @property
    def total(self) -> int | None:
        """Number of items, marks not counted."""
        return len(self._values)

    @property
    def exhausted(self) -> bool:
        """True at ``EOF`` and after the last item and mark."""
        return self._ended or (self._next >= len(self._values) and not self._marks.get(self._next))

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        """Return the items before the next mark, at most ``limit``; never waits.

        Raises
        ------
        Aborted
            At the mark ``ABORT``.
        """
        if limit < 1 or self.exhausted:
            return []
        if marks := self._marks.get(self._next):
            mark = marks.pop(0)
            if mark is Mark.ABORT:
                raise Aborted(f"{self._name} was asked to fail before item {self._next}")
            self._ended = mark is Mark.EOF
            return []
        ahead = [at for at, marks in self._marks.items() if marks and at > self._next]
        first, self._next = self._next, min(self._next + limit, len(self._values), *ahead)
        return Messages([self.part] * (self._next - first), range(first, self._next), self._values[first : self._next])

    def seek(self, position: Position) -> None:
        """Continue with item ``position[part]``, the first if not named."""
        self._next = min(max(position.get(self.part, 0), 0), len(self._values))
        self._ended = False

    def close(self) -> None:
        """End the source."""
        self._ended = True
