"""Split bytes into lines, holding at most one line of bounded length."""

from __future__ import annotations

from typing import NamedTuple

MAX_LINE_BYTES = 16 * 2**20
"""Maximum length of a line in bytes; longer ones are skipped and reported with their size."""

_HEAD = 1024  # bytes kept of a line that is too long, enough to recognise it


class Line(NamedTuple):
    """A line without its line end; of a too long one the beginning, and its size in bytes as ``oversized``."""

    value: bytes
    oversized: int | None = None


class LineSplitter:
    """Split a stream of chunks into lines.

    Parameters
    ----------
    limit : int, > 0
        Maximum length of a line in bytes.
    """

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        if limit < 1:
            raise ValueError(f"limit must be at least 1 byte, got {limit}")
        self._limit = limit
        self._open = bytearray()
        self._size = 0

    def feed(self, chunk: bytes) -> list[Line]:
        """Add a chunk and return the lines that it completes."""
        first, *others = chunk.split(b"\n")
        self._extend(first)
        if not others:
            return []
        lines = [self._finished()]
        if len(chunk) <= self._limit:
            lines += [Line(other.removesuffix(b"\r")) for other in others[:-1]]
        else:
            for other in others[:-1]:
                self._extend(other)
                lines.append(self._finished())
        self._extend(others[-1])
        return lines

    def flush(self) -> list[Line]:
        """Return the rest after the last line end, if there is any."""
        return [self._finished()] if self._size else []

    def _extend(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._limit:
            self._open += piece
        else:
            # the first bytes of a line are in either the part already held or this piece
            self._open = self._open[:_HEAD] + piece[: max(_HEAD - len(self._open), 0)]

    def _finished(self) -> Line:
        line = Line(bytes(self._open).removesuffix(b"\r"), self._size if self._size > self._limit else None)
        self._open.clear()
        self._size = 0
        return line
