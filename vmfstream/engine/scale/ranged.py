"""The loop over ranges: workers read, decode, encode and score; the driver plans, decides, adds up and commits.

An epoch is planned as ranges of offsets, and a plan follows from the position and from what the source holds. Workers
read the ranges and tell of each message its slice and a digest of its id. Part by part, in the order of the plan, the
driver takes messages up to the first document of a later slice: there that part waits until the slice is over, which it
is when every part waits or has nothing left. The documents taken are scored under the belief at the begin of the epoch
and added at its end. Nothing of this depends on how many workers there are, or on where they are.

The loop in one process, `vmfstream.engine.loop.engine.Engine`, scores batch by batch in the order of times. This one
learns the same documents, but in other batches; and no part makes documents of another one late.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vmfstream.directional.chunked import along_the_tree, blocks
from vmfstream.engine.loop.engine import Engine, EngineSettings, Epoch, Observer
from vmfstream.engine.scale.blocks import (
    NO_DOCUMENT,
    Choice,
    Errand,
    Fate,
    Gist,
    Learnt,
    Lesson,
    Reading,
    Topics,
    gists,
    learn_block,
    read_block,
)
from vmfstream.engine.scale.ranges import apportioned, planned
from vmfstream.errors import InputError, WorkersLost
from vmfstream.online.partial_sums import added, slice_progress, step_by_sums
from vmfstream.online.state import TrackerSettings
from vmfstream.protocols import Codec, Executor, Ranged, Source, Store
from vmfstream.records import Arrays, Checkpoint, Range
from vmfstream.text.encoders import Encoder, Growth

log = logging.getLogger(__name__)

RANGE_MESSAGES = 2500
"""Messages of a range, the unit of work: sums over ranges are added along one tree."""

MOST_RANGES = 64
"""Ranges of an epoch, beyond which they get larger: every range costs a sum over its words."""

RANGE_BYTES = 2**26
"""Bytes of messages after which a range is read no further: bounds the memory of a worker."""

_PAUSE = 0.2  # seconds between two looks whether something came
_WAITING = "ranges.waiting"

T = TypeVar("T")


class RangedEngine(Engine):
    """An engine whose documents stay with the workers of an executor.

    Parameters
    ----------
    source : Source that is `vmfstream.protocols.Ranged`.
    codec, encoder, store, track, settings : as for `Engine`; ``settings.batch_documents`` is not used.
    make_encoder : makes one like the encoder in the workers.
    executor : where ranges are read and learnt.
    range_messages : most messages of a range, on which sums depend in their last digits; 0 goes by the epoch's size.

    Raises
    ------
    InputError
        If the source cannot be read in ranges.
    """

    def __init__(
        self,
        source: Source,
        codec: Codec,
        encoder: Encoder,
        store: Store,
        track: TrackerSettings,
        settings: EngineSettings,
        make_encoder: Callable[[], Encoder],
        executor: Executor,
        range_messages: int = 0,
    ) -> None:
        if not isinstance(source, Ranged):
            raise InputError(f"{source.name} is read in one piece; only topics of Kafka can be shared among workers")
        self._waiting: dict[str, int] = {}
        super().__init__(source, codec, encoder, store, track, settings)
        self._ranged: Ranged = source
        self._executor, self._make_encoder = executor, make_encoder
        self._size = range_messages or max(RANGE_MESSAGES, -(-settings.epoch_documents // MOST_RANGES))
        self._reading = Reading(source.reader(), codec, settings.slices, RANGE_BYTES)
        self._lesson: Any = None

    def _next_epoch(self, observe: Observer | None, stop: Callable[[], bool]) -> Epoch:
        """Wait until an epoch can be planned, and let the workers do it."""
        epoch = Epoch(over=True)
        extents = self._awaited(epoch, stop, observe)
        began = time.perf_counter()
        plan = planned([one for one in extents if one.part not in self._waiting], self._budget(), self._size)
        if plan:
            self.finished = False
            self._read_and_learn(plan, epoch)
        if not epoch.stopped:
            epoch.next_slice = self._slice_after(extents, epoch.quiet)
        epoch.seconds = time.perf_counter() - began
        return epoch

    def _budget(self) -> int:
        """Most messages of the next epoch: it ends where a slice of N documents ends, or where the first fit is due."""
        most = self._settings.epoch_documents
        if self._settings.slices.documents:
            most = min(most, self._settings.slices.documents - self._reach.in_slice)
        if self._state is None:
            most = min(most, self._track.slice_limit - self._held.documents)
        return max(most, 1)

    def _awaited(self, epoch: Epoch, stop: Callable[[], bool], observe: Observer | None) -> Sequence[Range]:
        """Return what the source holds, once that is enough for an epoch, or nothing more is waited for."""
        linger, since = self._settings.linger, None
        while True:
            extents = self._ranged.extents(self._reach.position)
            ready = sum(len(one) for one in extents if one.part not in self._waiting)
            epoch.stopped = stop()
            if epoch.stopped:
                return []
            if ready >= self._budget() or all(one.part in self._waiting for one in extents):
                return extents
            now = time.monotonic()
            since = now if since is None and (ready or self._waiting) else since
            epoch.quiet = self._source.exhausted or (
                bool(self._waiting) if linger is None else since is not None and now - since >= linger
            )
            if epoch.quiet:
                epoch.end = self._source.exhausted and not ready and not self._waiting
                return extents
            self._tell(self._described(), epoch, observe, finished=self.finished)
            time.sleep(_PAUSE if linger is None else min(_PAUSE, linger / 4))

    def _slice_after(self, extents: Sequence[Range], quiet: bool) -> int | None:
        """Return the slice to go on with if the open one is over, else None.

        Slices of N documents are over when they are full, those of the calendar when all parts wait; parts that have
        nothing left are no obstacle if they were given their time (``quiet``).
        """
        size = self._settings.slices.documents
        if size and self._reach.in_slice == size:
            return (self._reach.slice or 0) + 1
        awaited = [one for one in extents if one.part not in self._waiting]
        left = any(self._reach.position.get(one.part, one.first) < one.last for one in awaited)
        return min(self._waiting.values()) if self._waiting and not left and (quiet or not awaited) else None

    def _read_and_learn(self, plan: Sequence[Range], epoch: Epoch) -> None:
        """Have a plan carried out; where workers are lost with what they held, from its beginning."""
        cut = blocks(len(plan), self._surely(lambda: self._executor.workers))
        calls = [(self._reading, list(plan[block])) for block in cut]
        held, seen = self._surely(lambda: self._brought(calls))
        choices = self._chosen([gist for block in seen for gist in block], epoch)
        so_far = None
        if self._state is not None:
            lowest = min(gist.lowest_cosine for block in seen for gist in block)
            self._state, so_far = slice_progress(self._state, lowest, self._track)
        errand = Errand(so_far, self._sample.largest)

        def learn() -> list[Learnt]:
            nonlocal held
            if held is None:
                held, _ = self._brought(calls)
            if self._lesson is None:
                self._lesson = self._executor.share(self._taught())
            rest = (self._lesson, self._executor.share(errand))
            try:
                return self._executor.map(
                    learn_block, [(pieces, choices[block], *rest) for pieces, block in zip(held, cut, strict=True)]
                )
            except WorkersLost:
                held = self._lesson = None
                raise

        self._add(self._surely(learn), epoch)

    def _brought(self, calls: Sequence[tuple[Any, ...]]) -> tuple[Any, list[list[Gist]]]:
        held = self._executor.hold(read_block, calls)
        return held, self._executor.map(gists, [(self._reading, pieces) for pieces in held])

    def _surely(self, work: Callable[[], T]) -> T:
        """Do some work again until no workers are lost over it."""
        while True:
            try:
                return work()
            except WorkersLost as error:
                log.warning("%s; epoch %d is done again", error, self._epoch + 1)

    def _taught(self) -> Lesson:
        state = self._state
        return Lesson(
            slicing=self._settings.slices,
            slice=self._reach.slice or 0,
            encoder=self._make_encoder,
            begun=self._encoder.blank_state(),
            topics=None if state is None else Topics(state.base, state.anchor, state.ids),
            threads=self._track.threads,
            seed=self._track.seed,
            sample=self._settings.sample,
            novel=self._settings.novel_documents,
        )

    def _chosen(self, seen: Sequence[Gist], epoch: Epoch) -> list[Choice]:
        """Decide about every message, move the position and count."""
        self._open_first(seen)
        stopped = set(self._waiting)
        fates = []
        for gist in seen:
            part = gist.wanted.part
            fate = np.zeros(len(gist.offset), np.int8)
            fates.append(fate)
            if part in stopped:
                continue
            ahead = self._slices_ahead(gist)
            later = np.flatnonzero((ahead > 0) & (ahead <= self._settings.max_gap))
            end = int(later[0]) if len(later) else len(fate)
            fate[:end] = self._fates(gist, ahead, end)
            late = int(np.count_nonzero((fate == Fate.LEARNT) & (ahead < 0)))
            epoch.late, self._reach.late = epoch.late + late, self._reach.late + late
            if len(later):
                self._waiting[part] = int(gist.slice[end])
            self._reach.position[part] = int(gist.offset[end]) if len(later) else gist.next
            if len(later) or gist.next < gist.wanted.last:
                stopped.add(part)
        learnt = [int(np.count_nonzero(fate == Fate.LEARNT)) for fate in fates]
        epoch.documents = sum(learnt)
        self._reach.read += epoch.documents
        self._reach.in_slice += epoch.documents
        room = self._track.slice_limit - len(self._held)
        keep = learnt if self._state is None else apportioned(max(room, 0), learnt)
        return [Choice(fate, count) for fate, count in zip(fates, keep, strict=True)]

    def _open_first(self, seen: Sequence[Gist]) -> None:
        """Let the earliest of the parts' first documents open the first slice."""
        if self._reach.slice is None:
            firsts: dict[str, int] = {}
            for gist in seen:
                slices = gist.slice[gist.slice != NO_DOCUMENT]
                if len(slices):
                    firsts.setdefault(gist.wanted.part, int(slices[0]))
            self._reach.slice = min(firsts.values(), default=None)

    def _slices_ahead(self, gist: Gist) -> NDArray[np.int64]:
        """How many slices the messages lie ahead of the open one; 0 of those that are no documents."""
        if self._settings.slices.documents or self._reach.slice is None:
            return np.zeros(len(gist.slice), np.int64)
        return np.where(gist.slice == NO_DOCUMENT, 0, gist.slice - self._reach.slice)

    def _fates(self, gist: Gist, ahead: NDArray[np.int64], end: int) -> NDArray[np.int8]:
        fate = np.full(end, Fate.LEARNT, np.int8)
        fate[gist.slice[:end] == NO_DOCUMENT] = Fate.REFUSED
        fate[ahead[:end] > 0] = Fate.BEYOND
        for i in np.flatnonzero(fate == Fate.LEARNT).tolist():
            if self._reach.recent.seen(int(gist.digest[i])):
                fate[i] = Fate.REPEATED
        return fate

    def _add(self, learnt: Sequence[Learnt], epoch: Epoch) -> None:
        """Add up what the blocks have taught, in their order."""
        more = []
        for one in learnt:
            more.append(one.counts.remap(self._encoder.absorb(one.tally)))
            self._held.add(one.kept, more[-1])
            epoch.rejected += one.rejected
            epoch.unknown += one.unknown
            epoch.words += one.words
            self._novel.join(one.novel)
            for offer in one.offers:
                self._sample.receive(offer)
        self._reach.refused += len(epoch.rejected)
        shares = [one.share for one in learnt if one.share is not None]
        if self._state is None or not shares:
            self._start_when_full(epoch)
            return
        share = along_the_tree(added, shares)
        kept = self._encoder.encode(self._encoder.concat(more))
        self._state = step_by_sums(self._state, share, kept, np.concatenate([one.resp for one in learnt]))
        epoch.scored, epoch.loglik = share.scored, share.loglik
        epoch.empty = share.documents - share.scored

    def _grow(self) -> Growth:
        self._lesson = None
        return super()._grow()

    def _close_slice(self, *, last: bool) -> Any:
        closed = super()._close_slice(last=last)
        self._waiting = {part: index for part, index in self._waiting.items() if index > (self._reach.slice or 0)}
        return closed

    def _states(self, slice_ended: bool) -> tuple[Arrays, Arrays | None]:
        open_part, slice_part = super()._states(slice_ended)
        return open_part | {_WAITING: np.frombuffer(json.dumps(self._waiting).encode(), np.uint8)}, slice_part

    def _restore(self, checkpoint: Checkpoint) -> None:
        super()._restore(checkpoint)
        stored = checkpoint.open_state.get(_WAITING)
        self._waiting = {} if stored is None else json.loads(stored.tobytes())
