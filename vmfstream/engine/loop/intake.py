"""Taking documents in: how far a stream was read, which documents a batch holds, and what is refused."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from vmfstream.engine.loop.admission import beyond, read_before
from vmfstream.engine.loop.duplicates import RecentIds, digests
from vmfstream.engine.loop.reading import Reader
from vmfstream.engine.loop.settings import EngineSettings, Epoch
from vmfstream.records import Document, Rejected

_NO_SLICE = -(2**62)


@dataclass(slots=True)
class Reach:
    """How far a stream was read.

    ``position`` holds the next offset of every part; ``slice`` is the open one, None before the first document, and
    ``in_slice`` its documents; ``read`` and ``refused`` count documents and rejected messages of all runs, ``late``
    those documents of this run that came after their slice was closed.
    """

    recent: RecentIds
    position: dict[str, int] = field(default_factory=dict)
    slice: int | None = None
    in_slice: int = 0
    read: int = 0
    refused: int = 0
    late: int = 0

    def counters(self) -> list[int]:
        """Return the numbers that `restore` takes."""
        return [_NO_SLICE if self.slice is None else self.slice, self.in_slice, self.read, self.refused]

    def restore(self, slice: int, in_slice: int, read: int, refused: int) -> None:
        """Continue from stored numbers."""
        self.slice = None if slice == _NO_SLICE else slice
        self.in_slice, self.read, self.refused = in_slice, read, refused


class Intake:
    """Takes documents from a reader, batch by batch.

    Batches are cut by counts and by the ends of slices, wherever the reader's chunks end.
    """

    def __init__(self, reader: Reader, reach: Reach, settings: EngineSettings) -> None:
        self._reader, self._reach, self._settings = reader, reach, settings
        self._queue: deque[tuple[Document | Rejected, int]] = deque()  # with the digests of their ids
        self._span: tuple[int, datetime, datetime] | None = None

    def batch(self, epoch: Epoch, stop: Callable[[], bool]) -> list[Document]:
        """Take messages until a batch is full or the epoch is over."""
        documents: list[Document] = []
        characters = 0
        settings, reach, queue = self._settings, self._reach, self._queue
        position, seen, ends = reach.position, reach.recent.seen, settings.slices.documents
        room = min(settings.batch_documents, settings.epoch_documents - epoch.messages)
        while room > 0 and characters < settings.batch_characters:
            if not queue:
                self._refill(epoch, stop)
                if epoch.over:
                    break
                continue
            record, digest = queue[0]
            ahead = self._ahead(record) if isinstance(record, Document) else 0
            if 0 < ahead <= settings.max_gap:
                epoch.next_slice, epoch.over = (reach.slice or 0) + ahead, True
                break
            queue.popleft()
            room -= 1
            position[record.part] = record.offset + 1
            if isinstance(record, Document) and ahead > 0:
                record = beyond(record, ahead)
            elif isinstance(record, Document) and seen(digest):
                record = read_before(record)
            if isinstance(record, Rejected):
                epoch.rejected.append(record)
                reach.refused += 1
                continue
            documents.append(record)
            characters += len(record.text or "")
            epoch.documents += 1
            reach.read += 1
            reach.in_slice += 1
            if ahead < 0:
                epoch.late += 1
                reach.late += 1
            if reach.in_slice == ends:
                epoch.next_slice, epoch.over = (reach.slice or 0) + 1, True
                break
        return documents

    def _refill(self, epoch: Epoch, stop: Callable[[], bool]) -> None:
        """Wait for messages, or find that the epoch is over."""
        epoch.stopped = stop()
        epoch.end = not epoch.stopped and self._reader.exhausted
        if epoch.stopped or epoch.end:
            epoch.over = True
            return
        records = self._reader.read()
        ids = (record.id if isinstance(record, Document) else "" for record in records)
        self._queue.extend(zip(records, digests(ids), strict=True))
        if self._settings.linger is not None and epoch.messages:
            epoch.deadline = epoch.deadline or time.monotonic() + self._settings.linger
            epoch.over = time.monotonic() > epoch.deadline

    def _ahead(self, document: Document) -> int:
        """How many slices a document lies ahead of the open one, which the very first document opens."""
        slicing, reach = self._settings.slices, self._reach
        if slicing.documents:
            reach.slice = reach.slice or 0
            return 0
        if self._span is not None and self._span[0] == reach.slice and self._span[1] <= document.time < self._span[2]:
            return 0
        index = slicing.index(document.time)
        if reach.slice is None:
            reach.slice = index
        if index == reach.slice:
            span = slicing.slice(index)
            self._span = None if span.begins is None or span.ends is None else (index, span.begins, span.ends)
        return index - reach.slice
