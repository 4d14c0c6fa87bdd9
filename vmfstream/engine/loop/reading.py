"""Decoded messages of a source: read when they are needed, or ahead of that by a thread."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from contextvars import copy_context
from threading import Condition, Thread
from typing import Protocol, TypeAlias

from vmfstream.protocols import Codec, Live, Source
from vmfstream.records import Document, Message, Position, Rejected
from vmfstream.stages import spent, timed

Decoded: TypeAlias = Sequence[Document | Rejected]

PATIENCE = 0.05
"""Seconds to wait for messages between two checks whether to stop."""

CHUNK = 1000
"""Messages per poll when reading ahead."""


class Reader(Protocol):
    """Returns the messages of a source in their order; entered while a run goes on.

    Messages that a run has not taken are returned first by the next one.
    """

    def __enter__(self) -> Reader:
        """Begin to read."""
        ...

    def __exit__(self, *error: object) -> None:
        """Read no more."""
        ...

    @property
    def exhausted(self) -> bool:
        """True once nothing will come any more."""
        ...

    def read(self) -> Decoded:
        """Return the next messages; none if nothing came in time. Errors of the source are raised."""
        ...

    def committed(self, position: Position) -> None:
        """Pass on to the source what was committed."""
        ...


def reader(source: Source, codec: Codec, most: int, ahead: int) -> Reader:
    """Read at most so many messages at once, and up to ``ahead`` bytes of them before they are asked for."""
    return ReadAhead(source, codec, min(most, CHUNK), ahead) if ahead else DirectReader(source, codec, most)


def _read(source: Source, codec: Codec, most: int) -> tuple[Sequence[Message], Decoded]:
    """Poll and decode."""
    began = time.perf_counter()
    messages = source.poll(most, PATIENCE)
    decoded = [codec.decode(message) for message in messages]
    if messages:
        spent("reading", time.perf_counter() - began)
    return messages, decoded


class DirectReader:
    """Reads in the calling thread."""

    def __init__(self, source: Source, codec: Codec, most: int) -> None:
        self._source, self._codec, self._most = source, codec, most

    def __enter__(self) -> DirectReader:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    @property
    def exhausted(self) -> bool:
        """Whether the source is."""
        return self._source.exhausted

    def read(self) -> Decoded:
        """Poll and decode."""
        return _read(self._source, self._codec, self._most)[1]

    def committed(self, position: Position) -> None:
        """Pass on to the source what was committed."""
        if isinstance(self._source, Live):
            self._source.committed(position)


class ReadAhead:
    """Reads ahead in a thread, which alone polls the source while it runs.

    The thread waits while messages of ``bytes`` bytes or more are not yet taken, so that it holds at most one chunk
    beyond them. An error or the end of the source reaches the caller after all messages before it. The thread ends with
    the run; messages left then are returned first by the next run.

    Parameters
    ----------
    source, codec : where messages come from, and what decodes them.
    most : int
        Messages per poll.
    bytes : int
        Most bytes of messages to hold, beyond which nothing is polled.
    """

    def __init__(self, source: Source, codec: Codec, most: int, bytes: int) -> None:
        self._source, self._codec, self._most, self._bytes = source, codec, most, bytes
        self._changed = Condition()
        self._chunks: deque[tuple[Decoded, int]] = deque()
        self._held = 0
        self._position: Position | None = None
        self._error: BaseException | None = None
        self._thread: Thread | None = None
        self._ended = self._ending = False

    def __enter__(self) -> ReadAhead:
        self._ended = self._ending = False
        self._thread = Thread(target=copy_context().run, args=(self._work,), name="vmfstream-reader", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._pass_on()

    @property
    def exhausted(self) -> bool:
        """True once the source is exhausted and all its messages were taken."""
        with self._changed:
            return self._ended and not self._chunks and self._error is None

    def read(self) -> Decoded:
        """Take the oldest chunk; wait a little for one."""
        with self._changed:
            with timed("waiting"):
                self._changed.wait_for(lambda: self._chunks or self._ended, PATIENCE)
            if self._chunks:
                chunk, size = self._chunks.popleft()
                self._held -= size
                self._changed.notify_all()
                return chunk
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            return []

    def committed(self, position: Position) -> None:
        """Let the thread pass on to the source what was committed."""
        with self._changed:
            self._position = position
            self._changed.notify_all()

    def _work(self) -> None:
        try:
            while self._go_on() and not self._source.exhausted:
                messages, decoded = _read(self._source, self._codec, self._most)
                if messages:
                    self._add(decoded, sum(m.size for m in messages))
        except BaseException as error:
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _go_on(self) -> bool:
        """Wait for room; False if the run ends."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ending or self._position is not None or self._held < self._bytes)
                if self._ending:
                    return False
                if self._position is None:
                    return True
            self._pass_on()

    def _add(self, chunk: Decoded, size: int) -> None:
        with self._changed:
            self._chunks.append((chunk, size))
            self._held += size
            self._changed.notify_all()

    def _pass_on(self) -> None:
        with self._changed:
            position, self._position = self._position, None
        if position is not None and isinstance(self._source, Live):
            self._source.committed(position)
