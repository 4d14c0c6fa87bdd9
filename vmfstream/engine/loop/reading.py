"""Decoded messages of a source: read when they are needed, or ahead of that by a thread."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vmfstream.engine.loop.admission import MessageColumns, message_columns
from vmfstream.engine.loop.embedding import EmbeddingCodec
from vmfstream.engine.loop.settings import EngineSettings
from vmfstream.protocols import Codec, ColumnCodec, Live, Source
from vmfstream.records import Documents, Message, Position, size_of
from vmfstream.slicing import Slicing
from vmfstream.stages import spent, timed

PATIENCE = 0.05
"""Seconds to wait for messages between two checks whether to stop."""

CHUNK = 1000
"""Messages per poll when reading ahead."""


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Decoded messages with the columns that decide about them, made where they are decoded.

    Attributes
    ----------
    documents : the documents, and the messages that are none.
    columns : what `vmfstream.engine.loop.admission.admit` decides on.
    lengths : (N,) characters of their texts.
    """

    documents: Documents
    columns: MessageColumns
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, documents: Documents, slicing: Slicing) -> Chunk:
        """Make the columns."""
        lengths = np.fromiter((len(text or "") for text in documents.text), np.int64, len(documents))
        return cls(documents, message_columns(documents, slicing), lengths)

    @classmethod
    def none(cls) -> Chunk:
        """Return a chunk without messages."""
        return cls(
            Documents.of(()), MessageColumns(np.zeros(0, np.int64), np.zeros(0, np.uint64)), np.zeros(0, np.int64)
        )

    def __len__(self) -> int:
        return len(self.documents)

    def joined(self, other: Chunk) -> Chunk:
        """Return these messages and those of another chunk."""
        columns = MessageColumns(*(np.concatenate(pair) for pair in zip(self.columns, other.columns, strict=True)))
        lengths = np.concatenate([self.lengths, other.lengths])
        return Chunk(Documents.concat([self.documents, other.documents]), columns, lengths)

    def between(self, low: int, high: int) -> Chunk:
        """Return the messages from ``low`` up to before ``high``."""
        return Chunk(self.documents[low:high], self.columns.between(low, high), self.lengths[low:high])


def decoded(codec: Codec | ColumnCodec, messages: Sequence[Message]) -> Documents:
    """Return messages decoded, by columns where the codec can."""
    if isinstance(codec, ColumnCodec):
        return codec.decode_all(messages)
    return Documents.of([codec.decode(message) for message in messages])


class ChunkReader(Protocol):
    """Returns the messages of a source in their order; entered while a run goes on, or before.

    Messages that a run has not taken are returned first by the next one. To enter it again changes nothing.
    """

    def __enter__(self) -> ChunkReader:
        """Begin to read."""
        ...

    def __exit__(self, *error: object) -> None:
        """Read no more."""
        ...

    @property
    def exhausted(self) -> bool:
        """True once nothing will come any more."""
        ...

    def read(self) -> Chunk:
        """Return the next messages; none if nothing came in time. Errors of the source are raised."""
        ...

    def committed(self, position: Position) -> None:
        """Pass on to the source what was committed."""
        ...


def reader_of(source: Source, codec: Codec | ColumnCodec, settings: EngineSettings) -> ChunkReader:
    """Read from ``source`` and let ``codec`` decode; a thread reads ahead if the ``settings`` say so."""
    most = settings.batch_documents
    if settings.ahead:
        return ReadAhead(source, codec, settings.slices, min(most, CHUNK), settings.ahead)
    return DirectReader(source, codec, settings.slices, most)


def _read(
    source: Source, codec: Codec | ColumnCodec, slicing: Slicing, most: int
) -> tuple[Sequence[Message], Chunk, dict[str, float]]:
    """Poll and decode; the third is how many seconds that took by stages, none for nothing."""
    began, embedded = time.perf_counter(), _embedding_seconds(codec)
    messages = source.poll(most, PATIENCE)
    if not messages:
        return messages, Chunk.none(), {}
    chunk = Chunk.of(decoded(codec, messages), slicing)
    embedding = _embedding_seconds(codec) - embedded
    reading = time.perf_counter() - began - embedding
    return messages, chunk, {"reading": reading, "embedding": embedding} if embedding else {"reading": reading}


def _embedding_seconds(codec: Codec | ColumnCodec) -> float:
    """Return the seconds that a codec has spent so far on vectors of texts."""
    return codec.seconds if isinstance(codec, EmbeddingCodec) else 0.0


class DirectReader:
    """Reads from ``source`` in the calling thread, at most ``most`` messages at once.

    ``codec`` decodes them; ``slicing`` says into which slices they fall.
    """

    def __init__(self, source: Source, codec: Codec | ColumnCodec, slicing: Slicing, most: int) -> None:
        self._source, self._codec, self._slicing, self._most = source, codec, slicing, most

    def __enter__(self) -> DirectReader:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    @property
    def exhausted(self) -> bool:
        """Whether the source is."""
        return self._source.exhausted

    def read(self) -> Chunk:
        """Poll and decode."""
        _, chunk, seconds = _read(self._source, self._codec, self._slicing, self._most)
        for stage, some in seconds.items():
            spent(stage, some)
        return chunk

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
    slicing : what tells the slices of documents.
    most : int
        Messages per poll.
    bytes : int
        Most bytes of messages to hold, beyond which nothing is polled.
    """

    def __init__(self, source: Source, codec: Codec | ColumnCodec, slicing: Slicing, most: int, bytes: int) -> None:
        self._source, self._codec, self._slicing, self._most, self._bytes = source, codec, slicing, most, bytes
        self._changed = Condition()
        self._chunks: deque[tuple[Chunk, int, dict[str, float]]] = deque()
        self._held = 0
        self._position: Position | None = None
        self._error: BaseException | None = None
        self._thread: Thread | None = None
        self._ended = self._ending = False

    def __enter__(self) -> ReadAhead:
        if self._thread is None:
            self._ended = self._ending = False
            self._thread = Thread(target=self._work, name="vmfstream-reader", daemon=True)
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

    def read(self) -> Chunk:
        """Take the oldest chunk; wait a little for one."""
        with self._changed:
            with timed("waiting"):
                self._changed.wait_for(lambda: self._chunks or self._ended, PATIENCE)
            if self._chunks:
                chunk, size, seconds = self._chunks.popleft()
                for stage, some in seconds.items():
                    spent(stage, some, meanwhile=True)
                self._held -= size
                self._changed.notify_all()
                return chunk
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            return Chunk.none()

    def committed(self, position: Position) -> None:
        """Let the thread pass on to the source what was committed."""
        with self._changed:
            self._position = position
            self._changed.notify_all()

    def _work(self) -> None:
        try:
            while self._go_on() and not self._source.exhausted:
                messages, chunk, seconds = _read(self._source, self._codec, self._slicing, self._most)
                if messages:
                    self._add(chunk, size_of(messages), seconds)
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

    def _add(self, chunk: Chunk, size: int, seconds: dict[str, float]) -> None:
        with self._changed:
            self._chunks.append((chunk, size, seconds))
            self._held += size
            self._changed.notify_all()

    def _pass_on(self) -> None:
        with self._changed:
            position, self._position = self._position, None
        if position is not None and isinstance(self._source, Live):
            self._source.committed(position)
