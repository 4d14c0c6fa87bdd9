"""The batches of an epoch from a source that is read here, learnt one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.engine.loop.admission import NOT_BEGUN, Doubt, admit, separated
from vmfstream.engine.loop.learning import learn_batch
from vmfstream.engine.loop.reading import Chunk, ChunkReader, reader_of
from vmfstream.engine.loop.settings import EngineSettings, Epoch
from vmfstream.engine.loop.state import EngineState
from vmfstream.online.state import Rows
from vmfstream.protocols import Codec, ColumnCodec, Scores, Source
from vmfstream.records import Arrays, Documents, Position
from vmfstream.stages import timed

Assigned = Callable[[Documents, NDArray[np.int64]], None]
"""Called with each batch and the ids of the topics, or of the stories, that its documents got on arrival, -1 for none.
"""


class LocalBatches:
    """Reads a source in its order and learns batch by batch; see `vmfstream.engine.loop.engine.Batches`.

    Batches are cut by counts and by the ends of slices, wherever the chunks of the source end.

    Parameters
    ----------
    source, codec : where messages come from, and what decodes them.
    settings : EngineSettings
    assigned : called with every document once there is a model.
    in_stories : the same with stories, for all documents.
    reading : what reads the source, if that has begun.
    """

    def __init__(
        self,
        source: Source,
        codec: Codec | ColumnCodec,
        settings: EngineSettings,
        assigned: Assigned | None = None,
        in_stories: Assigned | None = None,
        reading: ChunkReader | None = None,
    ) -> None:
        self._settings, self._assigned, self._in_stories = settings, assigned, in_stories
        self._reader = reader_of(source, codec, settings) if reading is None else reading
        self._chunk = Chunk.none()
        self._next = 0

    def __enter__(self) -> LocalBatches:
        self._reader.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._reader.__exit__(*error)

    def next_epoch(
        self, state: EngineState, report: Callable[[Epoch], None], stop: Callable[[], bool], free: Callable[[], bool]
    ) -> Epoch:
        """Read and learn batches until the epoch is over."""
        epoch = Epoch()
        while True:
            with timed("reading"):
                documents = self.batch(state, epoch, stop, free)
            epoch.over |= epoch.messages >= self._settings.epoch_documents
            if documents:
                began = time.perf_counter()
                self._learn(documents, state, epoch)
                epoch.seconds += time.perf_counter() - began
            if epoch.over:
                state.model.end_epoch()
                return epoch
            report(epoch)

    def batch(
        self,
        state: EngineState,
        epoch: Epoch,
        stop: Callable[[], bool],
        free: Callable[[], bool] = lambda: True,
    ) -> Documents:
        """Take messages until a batch is full or the epoch is over; return its documents.

        The position in ``state`` moves on, and ``epoch`` counts what was taken; ``stop()`` ends the epoch early, and so
        does the linger time while ``free()`` is true.
        """
        settings, position, slicing = self._settings, state.position, self._settings.slices
        documents: list[Documents] = []
        characters = settings.batch_characters
        room = min(settings.batch_documents, settings.epoch_documents - epoch.messages)
        while room > 0 and characters > 0:
            if self._next == len(self._chunk):
                if self._refill(epoch, stop, free) or epoch.over:
                    break
                continue
            doubt = Doubt.now(slicing, settings.max_gap)
            self._settle(doubt, position.slice, stop)
            last = min(self._next + room, len(self._chunk))
            chunk, after = self._chunk.between(self._next, last), self._chunk.columns.slice[last:]
            if position.slice is None:
                position.slice = doubt.first(chunk.columns.slice, after)
            open_slice = NOT_BEGUN if position.slice is None else position.slice
            admission = admit(
                chunk.columns,
                open_slice,
                slicing,
                doubt,
                position.recent,
                after=after,
                documents=slicing.documents - position.in_slice if slicing.documents else len(chunk),
                characters=characters,
                lengths=chunk.lengths,
            )
            taken = chunk.documents[: admission.taken]
            found, rejected = separated(taken, admission.decision[: admission.taken], slicing, open_slice)
            position.offsets.update(zip(taken.part, (taken.offset + 1).tolist(), strict=True))
            position.count(admission, epoch)
            position.reject(rejected, epoch)
            documents.append(found)
            self._next += len(taken)
            room -= len(taken)
            characters -= admission.characters
            epoch.next_slice = admission.next_slice
            if slicing.documents and position.in_slice == slicing.documents:
                epoch.next_slice = open_slice + 1
            if epoch.next_slice is not None:
                epoch.over = True
                break
        return Documents.concat(documents)

    def _settle(self, doubt: Doubt, open_slice: int | None, stop: Callable[[], bool]) -> None:
        """Read what follows a document whose time is in doubt, as far as it comes soon."""
        if self._settings.slices.documents:
            return
        since, begin = time.monotonic(), NOT_BEGUN if open_slice is None else open_slice
        while doubt.open(self._chunk.columns.slice[self._next :], begin) and not (self._reader.exhausted or stop()):
            more = self._reader.read()
            if len(more):
                self._chunk = self._chunk.between(self._next, len(self._chunk)).joined(more)
                since, self._next = time.monotonic(), 0
            elif time.monotonic() - since >= self._settings.patience:
                break

    def _refill(self, epoch: Epoch, stop: Callable[[], bool], free: Callable[[], bool]) -> bool:
        """Wait for messages, or find that the epoch is over; tell whether those before are to be learnt now."""
        epoch.stopped = stop()
        epoch.end = not epoch.stopped and self._reader.exhausted
        if epoch.stopped or epoch.end:
            epoch.over = True
            return False
        self._chunk, self._next = self._reader.read(), 0
        linger, now = self._settings.linger, time.monotonic()
        if linger is None or not epoch.messages:
            return False
        if epoch.deadline is None:
            epoch.deadline = epoch.batch_deadline = now + linger
        epoch.over = now > epoch.deadline and free()
        if now <= epoch.batch_deadline:
            return False
        epoch.batch_deadline = now + linger
        return True

    def _learn(self, documents: Documents, state: EngineState, epoch: Epoch) -> None:
        """Learn a batch, or keep it until there is enough for the first topics."""
        model, settings = state.model, self._settings
        first = epoch.scored + epoch.empty == 0  # its arrays may still be under way to the store

        def score(x: Rows, keep: int) -> tuple[Scores, Any]:
            scores = model.learn(x, donate=not first)
            if self._assigned is not None:
                self._assigned(documents, scores.topic)
            return scores, None

        keep = min(state.room, len(documents)) if model.begun else len(documents)
        of_batch = score if model.begun else None
        sampling, novel = state.sampler.wanted, settings.novel_documents
        wanted: dict[str, Any] = {
            "stories": state.story_thread is not None,
            "arrived": None if state.story_thread is None else state.story_thread.arrived,
            "rows": settings.documents or settings.labels,
            "text": settings.text,
            "places": settings.labels,
            "again": state.again,
        }
        result = learn_batch(documents, state.encoder, of_batch, keep, sampling, novel, **wanted)
        state.fold(result, epoch, None if self._in_stories is None else partial(self._in_stories, documents))

    @property
    def caught_up(self) -> bool:
        """Whether all messages that were read are taken."""
        return self._next == len(self._chunk)

    def slice_ended(self, open_slice: int) -> None:
        """Nothing here holds for one slice only."""

    def committed(self, position: Position) -> None:
        """Pass on to the source what was committed."""
        self._reader.committed(position)

    def arrays(self) -> Arrays:
        """Return nothing: the position tells where to go on."""
        return {}

    def restore(self, arrays: Arrays) -> None:
        """Nothing to restore."""
