"""Standard input as a source: one document per line."""

from __future__ import annotations

import os
import select
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from vmfstream.connectors.lines import MAX_LINE_BYTES, Line, LineSplitter
from vmfstream.errors import InputError
from vmfstream.records import Message, Position

_CHUNK = 1 << 16  # bytes read at once, what a pipe holds
_LOOK = 0.2  # seconds to wait for the first line until asking whether to stop


class StdinSource:
    """Lines of a pipe as they arrive, the offset being the line from 0.

    A pipe cannot be rewound. To continue a run, pipe in the same lines from the first on, of which ``seek`` skips those
    that were read before; or other lines, which ``count_from`` counts from there.

    Parameters
    ----------
    format : {"jsonl", "txt"}
        One JSON object per line, or one text per line, whose time is that of its arrival.
    max_line_bytes : int
        Longer lines are rejected with their size, and never held in memory.
    descriptor : int, optional
        An open file descriptor to read instead of standard input.

    Raises
    ------
    InputError
        If there is no standard input or the format is unknown.
    """

    part = "stdin"

    def __init__(
        self, *, format: str = "jsonl", max_line_bytes: int = MAX_LINE_BYTES, descriptor: int | None = None
    ) -> None:
        if format not in ("jsonl", "txt"):
            raise InputError(f"format of standard input must be jsonl or txt, got {format!r}")
        self._format = format
        self._descriptor = _stdin() if descriptor is None else descriptor
        self._splitter = LineSplitter(max_line_bytes)
        self._lines: deque[Line] = deque()
        self._next = 0
        self._start = 0
        self._begun = False
        self._ended = False

    @property
    def name(self) -> str:
        """What the page's title calls the stream."""
        return "standard input"

    @property
    def total(self) -> int | None:
        """None: the length of a pipe is unknown."""
        return None

    @property
    def exhausted(self) -> bool:
        """True once the pipe was closed at the other end and every line was returned."""
        return self._ended and not self._lines

    def first(self, stop: Callable[[], bool]) -> Message | None:
        """Wait for the first line until ``stop()``, and return it; None if there is none."""
        while not (self._lines or self._ended or stop()):
            self._read(_LOOK)
        line = next((line for line in self._lines if line.value.strip()), None)
        return None if line is None else Message(self.part, 0, line.value, None, line.oversized)

    def count_from(self, position: Position) -> None:
        """Count the lines of this pipe from ``position["stdin"]`` on."""
        self._start = self._next = max(position.get(self.part, 0), 0)

    def poll(self, limit: int, timeout: float) -> Sequence[Message]:
        """Return at most ``limit`` lines that have arrived; wait at most ``timeout`` seconds for the first.

        Raises
        ------
        InputError
            If the pipe has ended before the line that it was to go on from.
        """
        deadline = time.monotonic() + max(timeout, 0.0)
        messages: list[Message] = []
        while len(messages) < limit:
            if self._lines:
                message = self._message(self._lines.popleft())
                if message is not None:
                    messages.append(message)
            elif self._ended or not self._read(0.0 if messages else max(deadline - time.monotonic(), 0.0)):
                break
        if self.exhausted and self._next < self._start:
            raise InputError(
                f"standard input ended after line {self._next:,}, and {self._start:,} lines of it were read before; "
                "pipe in the same lines from the first on, or others"
            )
        return messages

    def seek(self, position: Position) -> None:
        """Skip the lines before ``position["stdin"]``.

        Raises
        ------
        InputError
            If a later line was returned already.
        """
        start = max(position.get(self.part, 0), 0)
        if start < self._next:
            raise InputError(f"standard input cannot go back to line {start + 1}, {self._next} lines were read")
        self._start = start

    def close(self) -> None:
        """Stop reading; standard input itself stays open."""
        self._ended = True
        self._lines.clear()

    def _read(self, timeout: float) -> bool:
        """Wait for bytes and split them into lines; return False if none came in time."""
        ready, _, _ = select.select([self._descriptor], [], [], timeout)
        if not ready:
            return False
        chunk = os.read(self._descriptor, _CHUNK)
        if not self._begun:
            self._begun = True
            chunk = chunk.removeprefix(b"\xef\xbb\xbf")
        self._lines.extend(self._splitter.feed(chunk) if chunk else self._splitter.flush())
        self._ended = not chunk
        return True

    def _message(self, line: Line) -> Message | None:
        offset = self._next
        self._next += 1
        if offset < self._start or not line.value.strip():
            return None
        if self._format == "txt":
            return Message(self.part, offset, {"text": line.value}, datetime.now(UTC), line.oversized)
        return Message(self.part, offset, line.value, oversized=line.oversized)


def _stdin() -> int:
    try:
        return sys.stdin.fileno()
    except (AttributeError, OSError, ValueError) as error:
        raise InputError("there is no standard input to read") from error
